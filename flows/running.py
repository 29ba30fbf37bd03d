"""What the commands that make a release share: settings, progress, and a last verification."""

import json
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

import typer
from rich.console import Console

from flows.environment import configure
from flows.terminal import Progress
from hybriddp.errors import require
from tasks.checks import Check
from tasks.groups import ANSWERS, NUMBERS, people_of
from tasks.home import Home
from tasks.keys import read_public_key
from tasks.log_files import BadInput
from tasks.outcome import Outcome
from tasks.policy import Charge
from tasks.verify import own_measurements, verify_release

Asked = TypeVar("Asked")

# What a command takes that is no setting of a request.
_NO_SETTINGS = {"config", "columns", "engine", "home", "as_json"}


def settings_from(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings among a command's arguments, on top of those in its TOML file."""
    given = {
        name: value
        for name, value in arguments.items()
        if value is not None and name not in _NO_SETTINGS
    }
    return read_settings(arguments["config"], given, arguments["columns"] or [])


def read_settings(config: Path | None, given: dict[str, Any], columns: list[str]) -> dict[str, Any]:
    """Put the settings of a file and of the command line together; the latter win."""
    settings: dict[str, Any] = {}
    if config is not None:
        try:
            settings = tomllib.loads(config.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise BadInput(f"{config} cannot be read as TOML ({type(error).__name__}).") from None
    mapping = dict(settings.pop("columns", {}))
    for pair in columns:
        name, equals, column = pair.partition("=")
        require(bool(equals), "--columns must look like person=UserId", repr(pair), "add the =")
        mapping[name] = column or None
    if mapping:
        settings["columns"] = mapping
    return {**settings, **given}


def run_release_flow(
    name: str,
    request: Asked,
    identify: Callable[[Asked, Home], object],
    home: Path | None,
    *,
    is_quiet: bool,
) -> tuple[Outcome, dict[str, float], Home]:
    """Run the flow of this name; return how it ended, the seconds of every step, and the home."""
    place = configure(home, quiet=True)
    identify(request, place)  # what is refused anyway is refused before Prefect starts

    def run() -> Outcome:
        flow = getattr(import_module(f"flows.{name}"), name)  # importing Prefect takes seconds
        outcome: Outcome = flow(request)
        return outcome

    return *with_progress(run, is_quiet=is_quiet), place


def with_progress(
    run_flow: Callable[[], Outcome], *, is_quiet: bool
) -> tuple[Outcome, dict[str, float]]:
    """Run a flow and show its steps; return how it ended, and the seconds of every step."""
    with Progress(Console(stderr=True, quiet=is_quiet, highlight=False)) as progress:
        from tasks.orchestrated import announce  # importing Prefect takes seconds

        announce.set(progress.announce)
        outcome = run_flow()
    return outcome, progress.seconds


def say_published(
    outcome: Outcome,
    seconds: dict[str, float],
    home: Home,
    show: Callable[[Path, int], None],
    *,
    as_json: bool,
) -> None:
    """Verify what was published, and say what it is."""
    # A replay of an old release is still that release, however long ago it expired.
    _, checks = verify_folder(
        outcome.folder, home, None, 0, with_measurements=True, may_be_expired=True
    )
    if as_json:
        facts = {"checks": [check.name for check in checks], "steps": seconds}
        typer.echo(json.dumps({**outcome.model_dump(mode="json"), **facts}))
    else:
        show(outcome.folder, len(checks))


def verify_folder(
    folder: Path,
    home: Home,
    key: Path | None,
    min_sequence: int,
    *,
    measurements: Path | None = None,
    with_measurements: bool,
    may_be_expired: bool = False,
) -> tuple[dict[str, Any], list[Check]]:
    """Verify with the home's own measurements, where they are and nobody gave others."""
    public_key = read_public_key(key or home.public / "signing.pub")
    if with_measurements:  # the home is at hand, so its ledger is asked, too
        own = own_measurements(home, folder, public_key)
        measurements = measurements or (own if own.is_dir() else None)
    return verify_release(
        folder,
        public_key,
        min_sequence=min_sequence,
        measurements=measurements,
        may_be_expired=may_be_expired,
    )


def promise(guarantees: Mapping[str, Mapping[str, Any]]) -> str:
    """Say what everybody pays; opt-in people may be in two groups."""
    parts = []
    for together in people_of(guarantees):
        paid = [guarantees[group] for group in together]
        charge = Charge(
            sum(terms["epsilon_nano"] for terms in paid), sum(terms["delta_atto"] for terms in paid)
        )
        who = "clients" if together[0] in (NUMBERS, ANSWERS) else "opt-in people"
        parts.append(f"{charge} for each of {paid[0]['people']:,} {who}")
    return ", ".join(parts)
