"""The steps of a release as Prefect tasks: order, retries and artifacts, no work of their own."""

import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, TypeVar
from urllib.parse import quote

from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency
from prefect.runtime import deployment, flow_run

from hybriddp.errors import HybridDPError
from tasks.budget.paid import saying_what_was_paid
from tasks.gates.preflight import can_ask
from tasks.orchestration.reasons import reasoned_task
from tasks.products.registry import product_named
from tasks.products.request import LogRequest
from tasks.publish import shelf
from tasks.publish.publish import revise
from tasks.publish.showing import rows_to_show
from tasks.release import artifacts
from tasks.release import reprocess as reprocessing
from tasks.release.artifacts import Artifacts, Picture, Rows, Words
from tasks.release.reprocess import ReprocessRequest
from tasks.release.run import LogRun, Release
from tasks.release.step import Step
from tasks.release.walk import leave_working_copy
from tasks.store.home import Home, write_whole
from tasks.store.machine import MachineFailed, machine_fault
from tasks.verify.checks import Check
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication

R = TypeVar("R")
S = TypeVar("S", bound=Release)
Announce = Callable[[str], None]

LEDGER_LIMIT = "hybriddp-ledger"
# A slot whose holder was killed frees itself; the ledger's own transactions are the guard.
_SLOT_DECAY_PER_SECOND = 0.005
_WAIT_SECONDS = 600
_RETRIES = 2

# Who wants to know which step begins; the command line shows it.
announce: ContextVar[Announce | None] = ContextVar("announce", default=None)


class StepFailed(HybridDPError):
    """A step failed in a way that nobody foresaw; its message might quote private data."""


def guarded(title: str, home: Home, function: Callable[[], R]) -> R:
    """Run a step; keep an unforeseen error's text in the private zone and raise only its class."""
    listener = announce.get()
    if listener is not None:
        listener(title)
    try:
        return function()
    except HybridDPError as error:
        # Without the frames below: they hold private data and open connections alive.
        raise error.with_traceback(None) from None
    except Exception as error:
        if isinstance(error, OSError) and (fault := machine_fault(error)):
            raise MachineFailed(f"{title}: {fault}") from None
        raise StepFailed(
            f"{title}: failed with {type(error).__name__}. The details may quote private data; "
            f"{_kept(home, traceback.format_exc())}."
        ) from None


def _kept(home: Home, details: str) -> str:
    """Keep the text of an unforeseen error, and say where it is."""
    path = home.failures / f"{datetime.now(UTC).strftime('%Y%m%dT%H%M%S%f')}.txt"
    try:
        write_whole(path, details.encode())
    except OSError as error:  # the disk may be why the step failed
        return f"they could not be kept ({error.strerror})"
    return f"they are in private/failures/{path.name} of the home"


def _is_unforeseen(_task: Any, _run: Any, state: Any) -> bool:
    """Retry what a second try may cure; a refusal stays a refusal."""
    try:
        state.result()
    except HybridDPError as error:
        return isinstance(error, StepFailed)
    except Exception:
        return True
    return True


@dataclass(frozen=True)
class Passed(Generic[S]):
    """A release that has passed a step: what the next step takes, so that a run is a chain.

    It refers to a release and holds none of its data.
    """

    release: S
    title: str


@functools.cache
def task_of(step: Step) -> Callable[[Passed[S]], Passed[S]]:
    """Make a Prefect task of a step: it runs guarded, and shows what it did.

    Draws have no retries and no cache; the ledger decides what was drawn. Post-processing may
    retry freely: it is deterministic and costs nothing.
    """

    @reasoned_task(
        name=step.title,
        retries=_RETRIES if step.is_free else 0,
        retry_delay_seconds=1,
        retry_condition_fn=_is_unforeseen if step.is_free else None,
    )
    def run_step(before: Passed[S]) -> Passed[S]:
        do(step, before.release)
        return Passed(before.release, step.title)

    return run_step


def do(step: Step, release: Release) -> Any:
    """Do a step, guarded, and show what it did: what it shows is made of measurements, too."""

    def work() -> Any:
        result = step.work(release)
        show(release.release_id, step.show(release, result))
        return result

    asking = can_ask.set(deployment.id is not None or sys.stdin.isatty())
    try:
        with saying_what_was_paid(release), ledger_turn() if step.takes_a_turn else nullcontext():
            return guarded(step.title, release.home, work)
    except BaseException:
        if isinstance(release, LogRun):
            leave_working_copy(release)
        raise
    finally:
        can_ask.reset(asking)


@contextmanager
def ledger_turn() -> Iterator[None]:
    """Take turns at the ledger with other runs of the same Prefect server.

    Only deployed runs do: a command-line run has a server of its own, and nobody to wait for.
    """
    if deployment.id is None:
        yield
        return
    with get_client(sync_client=True) as client:
        client.upsert_global_concurrency_limit_by_name(
            LEDGER_LIMIT, limit=1, slot_decay_per_second=_SLOT_DECAY_PER_SECOND
        )
    with concurrency(LEDGER_LIMIT, timeout_seconds=_WAIT_SECONDS, strict=True):
        yield


@reasoned_task(name="identify")
def identify(product: str, request: LogRequest) -> Passed[LogRun]:
    """Find out which release this is; every run begins with it."""
    home = Home.open()
    # A retry days later must still mean the week that it was scheduled for.
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    working = product_named(product).working

    def work() -> LogRun:
        run = working.identify(request.at(moment), home)
        show(run.release_id, artifacts.identity(run))
        return run

    return Passed(guarded("identify", home, work), "identify")


@reasoned_task(name="find release")
def find_release(request: ReprocessRequest) -> Passed[Release]:
    """Find a published release."""
    home = Home.open()
    found = guarded("find release", home, lambda: reprocessing.find(request, home))
    return Passed(found, "find release")


@reasoned_task(name="judge and revise")
def judge_and_revise(before: Passed[Release], request: ReprocessRequest) -> Path:
    """Judge the list with other settings, and publish it if it differs."""
    release = before.release

    def work() -> Path:
        settings = reprocessing.settings_for(release, request)
        verdict = reprocessing.judge(release, settings, accept_collapse=request.accept_collapse)
        show(release.release_id, artifacts.gate("gate-published-list", release, verdict))
        return revise(release, settings)

    with ledger_turn():
        return guarded("judge and revise", release.home, work)


@reasoned_task(name="find publications")
def published_folders(release_id: str | None) -> list[Path]:
    """Return the folders to check: those of one release, or the newest of every product."""
    home = Home.open()
    return guarded("find publications", home, lambda: shelf.folders_to_check(home, release_id))


@reasoned_task(name="check publication", retries=2)
def check_publication(folder: Path) -> None:
    """Verify one publication, with the measurements that it was made from."""
    home = Home.open()

    def work() -> list[Check]:
        key = read_public_key(home.public / "signing.pub")
        return verify_publication(home, folder, key)

    checks = guarded("check publication", home, work)
    rows = [{"check": check.name, "result": check.detail} for check in checks]
    show(folder.name, [Rows("verification", rows, f"Checks of {folder.name}")])


def show(name: str, shown: Artifacts) -> None:
    """Put on Prefect's page what a step shows of a release."""
    for artifact in shown:
        key = f"hybriddp-{artifact.key}".lower().replace("_", "-")
        match artifact:
            case Words():
                words = f"{artifact.key} of {name}"
                create_markdown_artifact(artifact.text, key=key, description=words)
            case Rows():
                rows = rows_to_show(artifact.rows)
                create_table_artifact(rows, key=key, description=artifact.title)
            case Picture():
                # An image artifact would show its address, a page long, below the picture.
                picture = f"![{artifact.title}](data:image/svg+xml;utf8,{quote(artifact.svg)})"
                create_markdown_artifact(picture, key=key, description=artifact.title)
