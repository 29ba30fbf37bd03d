"""What the commands that make a release share: settings, progress, and a last verification."""

import re
import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from flows.environment import configure
from flows.temporary import begin
from flows.terminal import Progress, say, say_json
from flows.verifying import verify_folder
from hybriddp.errors import require
from tasks.groups import ANSWERS, NUMBERS, people_of
from tasks.home import Home
from tasks.ledger_rules import Kind
from tasks.outcome import Outcome
from tasks.policy import Charge
from tasks.products import product_of
from tasks.publish import newest_publication
from tasks.reading import Unreadable, read_file
from tasks.refusals import BadInput
from tasks.replay import refuse_if_it_names
from tasks.run import LogRun

Asked = TypeVar("Asked")
Timings = dict[str, float]
_MAX_SETTINGS_BYTES = 1_000_000

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
    settings = {} if config is None else read_toml(config)
    named = settings.pop("columns", {})
    if not isinstance(named, dict):
        raise BadInput(f"{config}: columns must be a table, such as columns = {{person = 'uid'}}.")
    mapping = dict(named)
    for pair in columns:
        name, equals, column = pair.partition("=")
        require(bool(equals), "--columns must look like person=UserId", repr(pair), "add the =")
        mapping[name] = column or None
    if mapping:
        settings["columns"] = mapping
    return {**settings, **given}


def read_toml(path: Path) -> dict[str, Any]:
    """Read a file of settings; say where it is wrong."""
    try:
        data = read_file(path.absolute().parent, path.name, _MAX_SETTINGS_BYTES)
        return tomllib.loads(data.decode("utf-8"))
    except Unreadable as error:
        raise BadInput(f"the settings cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: byte {error.start + 1} is not UTF-8; save it as such.") from None
    except (ValueError, RecursionError) as error:
        place = re.search(r"line (\d+), column (\d+)", str(error))
        where = f"line {place[1]}, column {place[2]}" if place else "its end"
        raise BadInput(
            f'{path}, {where}: this is no TOML; a setting looks like epoch = "2026-W46".'
        ) from None


def run_release_flow(
    name: str,
    request: Asked,
    identify: Callable[[Asked, Home], LogRun],
    home: Path | None,
    *,
    is_quiet: bool,
) -> tuple[Outcome, Timings, Home]:
    """Run the flow of this name; return how it ended, the seconds of every step, and the home."""
    place = configure(home, quiet=True)
    run = identify(request, place)  # what is refused anyway is refused before Prefect starts
    if (outcome := replay_of(run)) is not None:
        return outcome, {}, place
    return *run_flow(name, request, place, is_quiet=is_quiet), place


def replay_of(run: LogRun) -> Outcome | None:
    """Return what this release published, if it is all there: that needs no Prefect and no draw."""
    if not run.state.has(Kind.PUBLISHED):
        return None
    outcome, settings = Outcome.published(run), run.request.settings
    blocked = product_of(run.reservation["parameters"]).blocked(run, settings)
    refuse_if_it_names(run, newest_publication(run), blocked, settings)
    is_there = (outcome.folder / "manifest.json").exists()
    # Without them the flow puts them on the shelf again, from the measurements.
    return outcome if is_there and (outcome.folder.parent / "latest.json").exists() else None


def run_flow(name: str, request: object, home: Home, *, is_quiet: bool) -> tuple[Any, Timings]:
    """Run a flow and show its steps; return its result, and the seconds of every step."""
    with Progress(is_quiet=is_quiet) as progress:
        server = begin(home)  # it starts while this process imports Prefect: seconds, both
        flow = getattr(import_module(f"flows.{name}"), name)
        orchestrated = import_module("tasks.orchestrated")
        server.wait()
        orchestrated.announce.set(progress.announce)
        result = flow(request)
    return result, progress.seconds


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
    is_replay = not seconds  # nothing was done, so nothing took time
    if as_json:
        facts = {"checks": [check.name for check in checks], "seconds": seconds}
        say_json({**outcome.model_dump(mode="json"), "is_replay": is_replay, **facts})
    else:
        show(outcome.folder, len(checks))
        if is_replay:
            say("Replay: nothing was paid, nothing was drawn.")
        if outcome.not_applied:
            options = [
                f"--{name.replace('_', '-')} {value}" for name, value in outcome.not_applied.items()
            ]
            say(
                "It was published with other settings, which were not changed. To change them: "
                f"hybriddp reprocess {outcome.release_id} {' '.join(options)}"
            )


def blocked_words(manifest: Mapping[str, Any]) -> str:
    """Say that what is blocked stays so, if anything is; not which texts."""
    n_blocked = manifest.get("blocked_queries", manifest.get("blocked_items", 0))
    if not n_blocked:
        return ""
    return (
        f"Left out by a blocklist: {n_blocked}. That is for good: no revision of this release will "
        "publish them, whatever later blocklists say.\n"
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
