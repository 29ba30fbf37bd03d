"""The ledger's chain of rows: what a row's hash covers, and whether rows continue one another."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

from hybriddp.errors import HybridDPError
from tasks.ledger import payloads
from tasks.ledger.payloads import NOTHING, Nothing, Row
from tasks.ledger.rules import NOTES, RULES, Attempt, Entry, Kind

GENESIS = "0" * 64
# A row as SQLite holds it: the columns of `entries` in their order.
RawRow = tuple[int, str, str, str, int, str, str, str, str]
# In which form each kind of row says what it says.
FORMS: Mapping[Kind, type[Row]] = {
    Kind.RESERVED: payloads.Reserved,
    Kind.DRAW_STARTED: payloads.DrawStarted,
    Kind.DRAWN: payloads.Drawn,
    Kind.LISTED: payloads.Listed,
    Kind.PUBLISHED: payloads.Publication,
    Kind.REVISED: payloads.Publication,
    Kind.WITHHELD: payloads.Withheld,
    Kind.WITHDRAWN: payloads.Withdrawn,
    Kind.POLICY: payloads.PolicySet,
    Kind.FOUNDED: payloads.Founded,
    Kind.JUDGED: payloads.Judged,
    Kind.SUMMED: payloads.Summed,
    Kind.ENDED: payloads.Ended,
    **dict.fromkeys((Kind.VOIDED, Kind.OPTED_OUT, Kind.OPTED_IN, Kind.ERASED), Nothing),
}


class LedgerError(HybridDPError):
    """The ledger refuses a step, or is not what it was."""


class LedgerCorrupt(LedgerError):
    """A row was changed, removed or forged."""


class IllegalStep(LedgerError):
    """The step does not follow from the release's state."""


class LedgerMoved(LedgerError):
    """Somebody wrote in between: decide again on the ledger as it is now."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain ends; a published manifest carries it."""

    seq: int
    hash: str


def canonical(value: Any) -> str:
    """Return the one spelling of a value as JSON."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def row_hash(row: RawRow | tuple[Any, ...]) -> str:
    """Return the hash over all other columns, as the canonical JSON of an object of them."""
    seq, at, kind, release_id, attempt, draw, payload, previous = row[:8]
    text = json.dumps
    # Written by hand, because a ledger of years has half a million rows to check.
    try:
        spelt = (
            f'{{"at":{text(at)},"attempt":{text(attempt)},"draw":{text(draw)},"kind":{text(kind)},'
            f'"payload":{payload},"previous":{text(previous)},"release_id":{text(release_id)},'
            f'"seq":{text(seq)}}}'
        )
    except TypeError:  # a text that became bytes
        raise LedgerCorrupt(
            f"row {seq} of the ledger holds a value of another type; restore the newest backup."
        ) from None
    return hashlib.sha256(spelt.encode()).hexdigest()


# A release looks at its few rows some hundred times. Rows never change, so what one says does not.
@lru_cache(maxsize=4096)
def entry_of(row: RawRow) -> Entry:
    """Read a row."""
    seq, at, kind, release_id, attempt, draw, payload, previous, own = row
    try:
        known = Kind(kind)
        said = _said(FORMS[known], payload)
        return Entry(seq, at, known, release_id, attempt, draw, said, previous, own)
    except (ValueError, TypeError, RecursionError):  # what a form refuses is a ValueError
        raise LedgerCorrupt(
            "the ledger holds a row that this version cannot read; update hybriddp, or restore "
            "the ledger from its newest backup."
        ) from None


def _said(form: type[Row], payload: str) -> Row:
    """Read what a row says; rows have one spelling, without a key that is given twice."""
    if form is Nothing and payload == "{}":  # years of people who came and went
        return NOTHING
    content = json.loads(payload, parse_constant=_no_number)
    if canonical(content) != payload:
        raise ValueError("a row that is spelt as none is")
    return form.model_validate(content)


def _no_number(_name: str) -> None:
    raise ValueError("a number that is none")


def as_stored(entry: Entry) -> dict[str, Any]:
    """Return what a row says in the order in which it is stored."""
    content: dict[str, Any] = json.loads(canonical(entry.payload.as_json()))
    return content


def moment_of(at: str) -> datetime:
    """Return when a row was written, in UTC."""
    try:
        moment = datetime.fromisoformat(at)
    except (ValueError, TypeError):
        raise LedgerCorrupt("the ledger holds a row without a date; restore a backup.") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def require_allowed(known: Attempt, kind: Kind, release_id: str, attempt: int, draw: str) -> None:
    """Refuse a step that does not follow from what is known of an attempt."""
    rule, is_met = RULES[kind]
    if not is_met(known, draw):
        last = known.entries[-1].kind if known.entries else "no row"
        raise IllegalStep(
            f"{kind}{f' of draw {draw}' if draw else ''} needs {rule}; release {release_id}, "
            f"attempt {attempt}, is at {last}."
        )


class Chain:
    """The rows that were checked so far: they continue one another, and so must the next."""

    def __init__(self) -> None:
        self.head = Head(0, GENESIS)
        self._attempts: dict[tuple[str, int], Attempt] = {}
        self._newest_date: datetime | None = None  # from the founding on

    def extend(self, rows: Iterable[RawRow]) -> None:
        """Check the rows behind those that were checked; raise LedgerCorrupt."""
        for row in rows:
            expected = self.head.seq + 1
            if (row[0], row[7], row[8]) != (expected, self.head.hash, row_hash(row)):
                raise LedgerCorrupt(
                    f"row {expected} of the ledger does not continue the chain; restore the "
                    "ledger from a backup that contains the newest published head."
                )
            entry = entry_of(row)
            self._require_step(entry)
            self._require_date(entry)
            self.head = Head(entry.seq, entry.hash)

    def _require_step(self, entry: Entry) -> None:
        key = (entry.release_id, entry.attempt)
        known = self._attempts.get(key, Attempt(()))
        if not RULES[entry.kind][1](known, entry.draw):
            raise LedgerCorrupt(
                f"row {entry.seq} is a step that its release could not take; the ledger "
                "was not written by this program."
            )
        if entry.kind not in NOTES:  # each of which is alone
            self._attempts[key] = Attempt((*known.entries, entry))

    def _require_date(self, entry: Entry) -> None:
        """See that no row is older than the one in front of it; 0.1.0 did not promise that."""
        if self._newest_date is None and entry.kind is not Kind.FOUNDED:
            return
        date = moment_of(entry.at)
        if self._newest_date is not None and date < self._newest_date:
            raise LedgerCorrupt(
                f"row {entry.seq} is dated before the row in front of it; the ledger was not "
                "written by this program."
            )
        self._newest_date = date


def running_dates(entries: Iterable[Entry]) -> Mapping[int, datetime]:
    """Return for every row the newest date up to it.

    Rows of 0.1.0 may lie behind those in front of them, where the clock was set back. Such a row
    was written later all the same, and must not leave a window earlier.
    """
    dates, newest = dict[int, datetime](), datetime.min.replace(tzinfo=UTC)
    for entry in entries:
        newest = dates[entry.seq] = max(newest, moment_of(entry.at))
    return dates
