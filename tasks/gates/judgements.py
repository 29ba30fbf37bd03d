"""Verdicts on raw logs: each tells something about people's data without noise, so each is a row.

A gate's limits are parameters. Whoever may ask as often as they like, and stop before anybody is
charged, finds out a share of the raw log to any number of digits. So every question is put on
record before its answer is known, and those that no draw follows are counted and limited: for each
epoch's name, whatever the log, and for each log, whatever it is called. A log without times may be
given to any epoch, and unreadable rows are judged among all rows of a file, so that other names
would ask the same again. The rows say what was asked, never what was answered.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime

from tasks.budget.policy import current_policy
from tasks.ledger.chain import canonical
from tasks.ledger.ledger import GENESIS, Head, Recheck
from tasks.ledger.payloads import Judged, Reserved
from tasks.ledger.rules import ONCE_ATTEMPT, Entry, Kind
from tasks.log.raw.files import BadInput
from tasks.release.refusals import BudgetRefused
from tasks.release.run import LogRun, log_id_of

# What is asked of a log before its gate is: whether it can be read at all.
READING = "reading"
_KINDS = (Kind.JUDGED, Kind.RESERVED, Kind.DRAWN, Kind.POLICY)
# Which questions count together.
Pot = Callable[[Judged], bool]
_FROM_THE_BEGINNING = Head(0, GENESIS)


def record_judgement(run: LogRun, suite: str, limits: Mapping[str, float] = {}) -> None:
    """Put on record that a log is judged, before it is; refuse if too many were for nothing.

    The same log under the same limits gives the same answer, so asking again costs nothing.
    """
    asked = Judged(
        release_id=run.release_id,
        product=run.request.product,
        epoch=run.request.epoch,
        log=log_id_of(run),
        suite=suite,
        limits={name: float(value).hex() for name, value in sorted(limits.items())},
    )
    key = hashlib.sha256(canonical(asked.as_json()).encode()).hexdigest()[:32]

    def check(rows: list[Entry], _date: datetime) -> None:
        if _is_new(run, suite, rows):
            _require_few(run, rows)

    recheck = Recheck(_FROM_THE_BEGINNING, _KINDS, check)
    run.ledger.append(Kind.JUDGED, "", ONCE_ATTEMPT, asked, draw=key, recheck=recheck)


@contextmanager
def judged_reading(run: LogRun) -> Iterator[None]:
    """Put on record that a log could not be read, before anybody is told.

    A log that can be read is judged by its gate next, and that is the verdict which counts. With
    no verdicts left nothing is read: which step refuses would be one.
    """
    rows = run.ledger.entries(*_KINDS)
    if _is_new(run, READING, rows):
        _require_few(run, rows)
    try:
        yield
    except BadInput:
        record_judgement(run, READING)
        raise


def _require_few(run: LogRun, rows: list[Entry]) -> None:
    most, epoch = current_policy(rows).max_refusals, run.request.epoch
    log = log_id_of(run)
    pots: tuple[tuple[str, Pot], ...] = (
        (f"logs of epoch {epoch} were", lambda asked: asked.epoch == epoch),
        ("this log was, under any epoch's name,", lambda asked: asked.log == log),
    )
    for whose, pot in pots:
        if count_fruitless(rows, pot) >= most:
            raise BudgetRefused(
                f"{whose} judged {most} times without a draw that followed, and every verdict "
                "tells something about people's data that no noise hides. The log was not "
                "judged. `hybriddp ledger policy --max-refusals N` allows more, on record."
            )


def count_fruitless(rows: list[Entry], is_counted: Pot) -> int:
    """Count the verdicts, on an epoch or on a log, that no draw followed.

    A release takes one verdict as soon as it has drawn, and so left a measurement behind; one that
    was reserved only takes none. Of several releases of one product, epoch and locale one does.
    """
    asked = [one for one in _questions(rows) if is_counted(one)]
    reading, judging = (
        Counter(one.release_id for one in asked if (one.suite == READING) is is_reading)
        for is_reading in (True, False)
    )
    # Who sees the gate's verdict knows that the log could be read.
    n_asked = reading | judging
    drawn = {row.release_id for row in rows if row.kind is Kind.DRAWN} & n_asked.keys()
    reserved = [row for row in rows if row.kind is Kind.RESERVED and row.release_id in drawn]
    return n_asked.total() - len({row.said(Reserved).slot for row in reserved})


def _questions(rows: list[Entry]) -> list[Judged]:
    return [row.said(Judged) for row in rows if row.kind is Kind.JUDGED]


def _is_new(run: LogRun, suite: str, rows: list[Entry]) -> bool:
    """Whether the question costs one more; the gate's does not if the log was just read for it."""
    known = [one.suite for one in _questions(rows) if one.release_id == run.release_id]
    is_judged = any(name != READING for name in known)
    if suite == READING:
        return not known
    return is_judged or not known
