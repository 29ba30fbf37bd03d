"""Walk a release's steps without Prefect; its copy of the log goes with the run."""

import sqlite3
from pathlib import Path

from hybriddp.errors import HybridDPError
from tasks.ledger.rules import Kind
from tasks.publish.publish import published_folder
from tasks.release.run import LogRun
from tasks.store.working_copies import let_go


def run_release(run: LogRun, *, before: str | None = None) -> Path | None:
    """Run every step, or those before the one of this title; None means: nothing is published."""
    try:
        for step in run.product.working.STEPS:
            if step.title == before:
                return None
            if step.applies(run):
                step.work(run)
    finally:
        leave_working_copy(run)
    return None if run.is_collecting else published_folder(run)


def discard_private_tables(run: LogRun) -> None:
    """Remove the log's tables once nothing will be drawn from them any more."""
    if not run.needs_the_log:
        leave_working_copy(run)


def leave_working_copy(run: LogRun) -> None:
    """End this run's work on its copy of the log; it stays only if people have paid for it.

    A refusal before the charge, a burnt draw and the last draw leave nothing behind.
    """
    let_go(run.home.warehouse(run.release_id), is_needed=_needs_its_copy(run))


def _needs_its_copy(run: LogRun) -> bool:
    try:
        state = run.state
        is_paid = state.has(Kind.RESERVED) and not state.has(Kind.VOIDED)
        return is_paid and not state.burnt_draws and run.needs_the_log
    except (HybridDPError, sqlite3.Error, OSError):
        return False  # nobody can tell: it is made again from the log
