"""The steps of a release as Prefect tasks: order, retries and artifacts, no work of their own.

Draws have no retries and no cache; the ledger decides what was drawn. Post-processing may retry
freely: it is deterministic and costs nothing.
"""

import functools
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

from prefect.client.orchestration import get_client
from prefect.concurrency.sync import concurrency
from prefect.runtime import deployment, flow_run

from hybriddp.errors import HybridDPError
from tasks import artifacts, shelf, steps
from tasks import reprocess as reprocessing
from tasks.checks import Check
from tasks.draws import leave_working_copy
from tasks.home import Home, write_whole
from tasks.log_request import LogRequest
from tasks.machine import MachineFailed, machine_fault
from tasks.paid import saying_what_was_paid
from tasks.publish import revise
from tasks.reasons import reasoned_task
from tasks.reprocess import ReprocessRequest
from tasks.run import LogRun, Release, Run, SearchRun
from tasks.run import identify as identify_run
from tasks.signatures import read_public_key
from tasks.verify import verify_publication

R = TypeVar("R")
S = TypeVar("S", bound=Release)
L = TypeVar("L", bound=LogRun)
A = TypeVar("A", bound=LogRequest)
Announce = Callable[[str], None]

LEDGER_LIMIT = "hybriddp-ledger"
# A slot whose holder was killed frees itself; the ledger's own transactions are the guard.
_SLOT_DECAY_PER_SECOND = 0.005
_WAIT_SECONDS = 600

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


def step(
    title: str,
    function: Callable[[S], Any],
    show: Callable[[S], None] | None = None,
    *,
    retries: int = 0,
    writes_ledger: bool = False,
) -> Callable[[S], Any]:
    """Make a Prefect task of a step: it runs guarded, and shows what it did."""

    @reasoned_task(
        name=title,
        retries=retries,
        retry_delay_seconds=1,
        retry_condition_fn=_is_unforeseen if retries else None,
    )
    @functools.wraps(function)
    def run_step(run: S) -> Any:
        try:
            with saying_what_was_paid(run), ledger_turn() if writes_ledger else nullcontext():
                result = guarded(title, run.home, lambda: function(run))
        except BaseException:
            if isinstance(run, LogRun):
                leave_working_copy(run)
            raise
        if show is not None:
            show(run)
        return result

    return run_step


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


def identification(find: Callable[[A, Home], L]) -> Callable[[A], L]:
    """Make the Prefect task that every release begins with, of what finds out which one it is."""

    @reasoned_task(name="identify")
    def identify(request: A) -> L:
        home = Home.open()
        # A retry days later must still mean the week that it was scheduled for.
        moment = flow_run.scheduled_start_time or datetime.now(UTC)
        run = guarded("identify", home, lambda: find(request.at(moment), home))
        artifacts.show_identity(run)
        return run

    return identify


def _check_inputs(run: LogRun) -> None:
    steps.check_inputs(run, can_ask=deployment.id is not None or sys.stdin.isatty())


def _judge_log(run: LogRun) -> None:
    artifacts.show_gate(run, steps.judge_log(run), "gate-raw-log")


def _expect_a_list(run: SearchRun) -> None:
    if (forecast := steps.expect_a_list(run)) is not None:
        artifacts.show_words(run, "forecast", f"Before anybody pays: {forecast.words}.")


def _judge_release(run: Run) -> None:
    verdict = steps.judge_release(run, run.request.settings)
    artifacts.show_gate(run, verdict, "gate-published-list")


def _collect_reports(run: Run) -> bool:
    is_complete = steps.measure_clients(run)
    if is_complete:
        artifacts.show_reports(run)
    return is_complete


def _publish(run: Run) -> Any:
    return steps.publish(run, run.request.settings)


identify = identification(identify_run)
check_inputs = step("check inputs", _check_inputs)
ingest = step("ingest", steps.ingest, artifacts.show_ingest)
judge_log = step("judge the log", _judge_log)
choose_cohorts = step("choose cohorts", steps.choose_cohorts, artifacts.show_cohorts)
expect_a_list = step("predict the list", _expect_a_list)
reserve = step("reserve budget", steps.reserve, artifacts.show_budget, writes_ledger=True)
draw_head_list = step(
    "draw head list", steps.draw_head_list, artifacts.show_head_list_draw, writes_ledger=True
)
settle_list = step("settle the list", steps.settle_list, writes_ledger=True)
draw_optin_histogram = step("draw opt-in histogram", steps.draw_optin_histogram, writes_ledger=True)
trim_head_list = step("trim head list", steps.trim_head_list, artifacts.show_histogram, retries=2)
publish_package = step(
    "publish collection package", steps.publish_package, artifacts.show_package, retries=2
)
collect_reports = step("collect client reports", _collect_reports, writes_ledger=True)
discard_private_tables = step("discard the log's tables", steps.discard_private_tables, retries=2)
denoise = step(
    "denoise", steps.denoise_reports, artifacts.show_estimates("client-records"), retries=2
)
blend = step("blend", steps.blend_estimates, artifacts.show_estimates("blended-records"), retries=2)
project = step(
    "project", steps.project_estimates, artifacts.show_estimates("projected-records"), retries=2
)
estimate_intervals = step(
    "estimate intervals",
    steps.estimate_intervals,
    artifacts.show_estimates("published-records"),
    retries=2,
)
check_groups_agree = step(
    "cross-check the groups", steps.check_groups_agree, artifacts.show_cross_check, retries=2
)
judge_release = step("judge the published list", _judge_release)
publish = step("publish", _publish, artifacts.show_publication, writes_ledger=True)


@reasoned_task(name="find release")
def find_release(request: ReprocessRequest) -> Release:
    """Find a published release."""
    home = Home.open()
    return guarded("find release", home, lambda: reprocessing.find(request, home))


@reasoned_task(name="judge and revise")
def judge_and_revise(release: Release, request: ReprocessRequest) -> Path:
    """Judge the list with other settings, and publish it if it differs."""

    def work() -> Path:
        settings = reprocessing.settings_for(release, request)
        verdict = reprocessing.judge(release, settings, accept_collapse=request.accept_collapse)
        artifacts.show_gate(release, verdict, "gate-published-list")
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
    artifacts.show_checks(folder, rows)
