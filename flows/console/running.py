"""What the commands that make a release share: replay, progress, and a last verification."""

from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

from flows.console.terminal import Progress, say, say_json
from flows.console.verifying import verify_folder
from flows.server.environment import configure
from flows.server.temporary import begin
from tasks.imports import importing
from tasks.ledger.rules import Kind
from tasks.products.product import Product
from tasks.products.request import LogRequest
from tasks.publish.publish import newest_publication
from tasks.release.outcome import Outcome
from tasks.release.replay import refuse_if_it_names
from tasks.release.run import LogRun
from tasks.store.home import Home

Timings = dict[str, float]


def run_release_flow(
    product: Product, request: LogRequest, home: Path | None, *, is_quiet: bool
) -> tuple[Outcome, Timings, Home]:
    """Run a product's flow; return how it ended, the seconds of every step, and the home."""
    place = configure(home, quiet=True)
    # What is refused anyway is refused before Prefect starts.
    run = product.working.identify(request, place)
    if (outcome := replay_of(run)) is not None:
        return outcome, {}, place
    return *run_flow(product.name, request, place, is_quiet=is_quiet), place


def replay_of(run: LogRun) -> Outcome | None:
    """Return what this release published, if it is all there: that needs no Prefect and no draw."""
    if not run.state.has(Kind.PUBLISHED):
        return None
    outcome, settings = Outcome.published(run), run.request.settings
    blocked = run.product.making.blocked(run, settings)
    refuse_if_it_names(run, newest_publication(run), blocked, settings)
    is_there = (outcome.folder / "manifest.json").exists()
    # Without them the flow puts them on the shelf again, from the measurements.
    return outcome if is_there and (outcome.folder.parent / "latest.json").exists() else None


def run_flow(name: str, request: object, home: Home, *, is_quiet: bool) -> tuple[Any, Timings]:
    """Run a flow and show its steps; return its result, and the seconds of every step."""
    with Progress(is_quiet=is_quiet) as progress:
        server = begin(home)  # it starts while this process imports Prefect: seconds, both
        with importing():
            flow = getattr(import_module(f"flows.{name}"), name)
            orchestrated = import_module("tasks.orchestration.tasks")
        if isinstance(request, LogRequest):  # whose log will be judged
            _get_gates_ready()
        server.wait()
        orchestrated.announce.set(progress.announce)
        result = flow(request)
    return result, progress.seconds


def _get_gates_ready() -> None:
    """Import what judges: seconds, in which this process would only wait for Prefect's server.

    If it fails, it fails again where it is needed, and is explained there.
    """
    from tasks.gates.suites import great_expectations

    with suppress(Exception):
        great_expectations()


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
