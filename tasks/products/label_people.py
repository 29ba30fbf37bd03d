"""What labels say of who took part and of which rows count, alike for all products."""

from collections.abc import Mapping
from typing import Any

from tasks.log.epochs import TIMES_CHECKED, TIMES_MISSING


def membership_limits(parameters: Mapping[str, Any]) -> list[str]:
    """Say what of taking part is not hidden; nothing if a roster says who takes part."""
    optin = parameters["optin"]
    if optin == "roster":
        return []
    is_timed = parameters.get("times") == TIMES_CHECKED
    where = "the log of this epoch" if is_timed else "the log at all"
    sentences = [f"Who takes part was read off the log, so being in {where} is not protected."]
    if optin == "column":
        sentences.append(
            "Who opted in was read off people's rows too, so the sizes of the groups depend on "
            "what people's rows say; a roster would avoid that."
        )
    return sentences


def epoch_promise(parameters: Mapping[str, Any]) -> list[str]:
    """Say whether anybody checked that rows belong to the epoch; version 0.1.0 says nothing."""
    said = {
        TIMES_CHECKED: "Only rows whose time lies in this epoch, in UTC, count.",
        TIMES_MISSING: "The log had no times, so nobody checked that its rows belong to this "
        "epoch.",
    }
    times = parameters.get("times")
    return [f"**Which rows.** {said[times]}"] if times in said else []
