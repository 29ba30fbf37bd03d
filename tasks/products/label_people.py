"""What labels say of who took part and of which rows count, alike for all products."""

from tasks.log.epochs import TIMES_CHECKED, TIMES_MISSING
from tasks.products.parameters import MeasurementParameters


def membership_limits(parameters: MeasurementParameters) -> list[str]:
    """Say what of taking part is not hidden; nothing if a roster says who takes part."""
    if parameters.optin == "roster":
        return []
    is_timed = parameters.times == TIMES_CHECKED
    where = "the log of this epoch" if is_timed else "the log at all"
    sentences = [f"Who takes part was read off the log, so being in {where} is not protected."]
    if parameters.optin == "column":
        sentences.append(
            "Who opted in was read off people's rows too, so the sizes of the groups depend on "
            "what people's rows say; a roster would avoid that."
        )
    return sentences


def epoch_promise(parameters: MeasurementParameters) -> list[str]:
    """Say whether anybody checked that rows belong to the epoch; version 0.1.0 says nothing."""
    said = {
        TIMES_CHECKED: "Only rows whose time lies in this epoch, in UTC, count.",
        TIMES_MISSING: "The log had no times, so nobody checked that its rows belong to this "
        "epoch.",
    }
    return [f"**Which rows.** {said[parameters.times]}"] if parameters.times in said else []
