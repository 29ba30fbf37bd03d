"""Which step of a release may follow which: the ledger's state machine, without the ledger.

Draws go RESERVED -> DRAW_STARTED -> DRAWN. With real devices LISTED follows the first draw: which
of the texts it named are left out. A release ends PUBLISHED or WITHHELD, and a published
one may be REVISED (other post-processing of the same draws) and WITHDRAWN later. It can be VOIDED
only before its first draw has started: what was started is spent, whether or not it was finished.
Reports of devices were drawn before they came, so their "draw" only seals them: one that was
started and not finished is spent by nobody, and gone on with under the same start.

Other rows are about people or everybody instead of a release: OPTED_OUT, OPTED_IN and ERASED name
an account, POLICY sets the caps, FOUNDED says once with which keys the ledger is written, JUDGED
that somebody learnt what a gate says of a log, SUMMED that charges were added up and sealed,
ENDED that a season has no more weeks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from tasks.ledger.payloads import Ended, Reserved, Row, SeasonPlace

R = TypeVar("R", bound=Row)
# Product, locale, series, number.
SeasonKey = tuple[str, str, str, int]

# Digits of a release's id that are shown, and that are enough to name it.
SHOWN_DIGITS = 8


class Kind(StrEnum):
    """What a row says happened."""

    RESERVED = "RESERVED"
    VOIDED = "VOIDED"
    DRAW_STARTED = "DRAW_STARTED"
    DRAWN = "DRAWN"
    LISTED = "LISTED"
    PUBLISHED = "PUBLISHED"
    WITHHELD = "WITHHELD"
    REVISED = "REVISED"
    WITHDRAWN = "WITHDRAWN"
    POLICY = "POLICY"
    OPTED_OUT = "OPTED_OUT"
    OPTED_IN = "OPTED_IN"
    ERASED = "ERASED"
    FOUNDED = "FOUNDED"
    JUDGED = "JUDGED"
    SUMMED = "SUMMED"
    ENDED = "ENDED"


# Rows that put something on the public shelf.
PUBLICATIONS = (Kind.PUBLISHED, Kind.REVISED)
# Rows that stand for themselves; each is its own "attempt" of no release.
NOTES = (Kind.POLICY, Kind.OPTED_OUT, Kind.OPTED_IN, Kind.ERASED, Kind.SUMMED, Kind.ENDED)
# Rows that are written once for all, however often somebody tries: they share one "attempt".
ONCE = (Kind.FOUNDED, Kind.JUDGED)
ONCE_ATTEMPT = 0
# Rows that name somebody's account.
ABOUT_ACCOUNTS = (Kind.RESERVED, Kind.OPTED_OUT, Kind.OPTED_IN, Kind.ERASED)


@dataclass(frozen=True, slots=True)
class Entry:
    """One row."""

    seq: int
    at: str
    kind: Kind
    release_id: str
    attempt: int
    draw: str  # the group drawn from, a revision's number, an account; else empty
    payload: Row
    previous: str
    hash: str

    def said(self, form: type[R]) -> R:
        """Return what the row says, which its kind has in this form."""
        if not isinstance(self.payload, form):
            raise TypeError(f"a row of kind {self.kind} is no {form.__name__}")
        return self.payload

    @property
    def key(self) -> tuple[str, int]:
        """Which attempt of which release it is about."""
        return self.release_id, self.attempt


@dataclass(frozen=True, slots=True)
class Attempt:
    """What the ledger knows of one attempt at a release."""

    entries: tuple[Entry, ...]

    def find(self, kind: Kind, draw: str = "") -> Entry | None:
        """Return the row of this kind, if there is one."""
        return next((e for e in self.entries if (e.kind, e.draw) == (kind, draw)), None)

    def has(self, kind: Kind, draw: str = "") -> bool:
        """Whether there is a row of this kind."""
        return self.find(kind, draw) is not None

    @property
    def reserved(self) -> Reserved | None:
        """What was reserved, if anything was."""
        row = self.find(Kind.RESERVED)
        return None if row is None else row.said(Reserved)

    @property
    def unfinished_draws(self) -> list[str]:
        """Draws that started and have not finished, in their order."""
        started = [e.draw for e in self.entries if e.kind is Kind.DRAW_STARTED]
        return [draw for draw in started if not self.has(Kind.DRAWN, draw)]

    @property
    def burnt_draws(self) -> list[str]:
        """Those of them that are spent, with nothing to show for it."""
        return [draw for draw in self.unfinished_draws if not self._is_sealing(draw)]

    @property
    def unfinished_sealings(self) -> list[str]:
        """Those of them that may be done again: devices had drawn their reports (docs/adr/0003)."""
        return [draw for draw in self.unfinished_draws if self._is_sealing(draw)]

    def _is_sealing(self, draw: str) -> bool:
        terms = None if self.reserved is None else self.reserved.groups.get(draw)
        return terms is not None and terms.are_devices


_CLOSED = (Kind.VOIDED, Kind.PUBLISHED, Kind.WITHHELD, Kind.WITHDRAWN)


def _is_closed(attempt: Attempt) -> bool:
    return any(entry.kind in _CLOSED for entry in attempt.entries)


def _is_reserved_for(attempt: Attempt, draw: str) -> bool:
    return attempt.reserved is not None and draw in attempt.reserved.groups


def _is_complete(attempt: Attempt) -> bool:
    reserved = attempt.reserved
    return reserved is not None and all(attempt.has(Kind.DRAWN, draw) for draw in reserved.groups)


def _n_started(attempt: Attempt) -> int:
    return sum(entry.kind is Kind.DRAW_STARTED for entry in attempt.entries)


def _n_finding(attempt: Attempt) -> int:
    """How many draws are one with that which finds the list: in a season whoever joins has one."""
    return 1 if attempt.reserved is None or attempt.reserved.place is None else 2


def _has_started(attempt: Attempt) -> bool:
    return _n_started(attempt) > 0


# For each kind, what must be true of the attempt before it may be written, in words and in code.
RULES: Mapping[Kind, tuple[str, Callable[[Attempt, str], bool]]] = {
    Kind.RESERVED: ("an attempt without any row", lambda a, _: not a.entries),
    Kind.VOIDED: (
        "an open reservation of which no draw has started",
        lambda a, _: a.has(Kind.RESERVED) and not _has_started(a) and not _is_closed(a),
    ),
    Kind.DRAW_STARTED: (
        "an open reservation of a draw that has not started",
        lambda a, draw: (
            _is_reserved_for(a, draw) and not a.has(Kind.DRAW_STARTED, draw) and not _is_closed(a)
        ),
    ),
    Kind.DRAWN: (
        "an open reservation of a draw that has started and not finished",
        lambda a, draw: draw in a.unfinished_draws and not _is_closed(a),
    ),
    Kind.PUBLISHED: (
        "an open reservation with every draw drawn",
        lambda a, _: _is_complete(a) and not _is_closed(a),
    ),
    Kind.LISTED: (
        "an open reservation of which what finds the list is drawn and nothing else has started",
        lambda a, _: (
            _n_started(a) == _n_finding(a)
            and not a.unfinished_draws
            and not a.has(Kind.LISTED)
            and not _is_closed(a)
        ),
    ),
    # Whatever was drawn may be kept back; what was not is never drawn then, and stays charged.
    Kind.WITHHELD: (
        "an open reservation of which something is drawn",
        lambda a, _: any(e.kind is Kind.DRAWN for e in a.entries) and not _is_closed(a),
    ),
    Kind.REVISED: (
        "a published release that was not withdrawn, and a new revision of it",
        lambda a, revision: (
            a.has(Kind.PUBLISHED)
            and not a.has(Kind.WITHDRAWN)
            and not a.has(Kind.REVISED, revision)
        ),
    ),
    **{kind: ("a row of its own", lambda a, _: not a.entries) for kind in NOTES},
    Kind.FOUNDED: ("a ledger that was not founded before", lambda a, _: not a.has(Kind.FOUNDED)),
    Kind.JUDGED: ("a judgement that is new", lambda a, key: not a.has(Kind.JUDGED, key)),
    Kind.WITHDRAWN: (
        "a published release that was not withdrawn before",
        lambda a, _: a.has(Kind.PUBLISHED) and not a.has(Kind.WITHDRAWN),
    ),
}


def live_reservations(entries: list[Entry]) -> list[Entry]:
    """Return the reservations that count: all but the voided ones."""
    voided = {e.key for e in entries if e.kind is Kind.VOIDED}
    return [e for e in entries if e.kind is Kind.RESERVED and e.key not in voided]


def season_key(product: str, locale: str, place: SeasonPlace) -> SeasonKey:
    """Return which season a place is in, of all that a ledger has."""
    return product, locale, place.series, place.season


def ended_seasons(entries: list[Entry]) -> set[SeasonKey]:
    """Return the seasons that somebody has ended before their last week."""
    rows = (entry.said(Ended) for entry in entries if entry.kind is Kind.ENDED)
    return {(row.product, row.locale, row.series, row.season) for row in rows}


def full_release_id(entries: list[Entry], typed: str) -> str:
    """Complete the first digits of a release's id, as `ledger show` prints them, if one fits."""
    fitting = {entry.release_id for entry in entries if entry.release_id.startswith(typed)}
    return fitting.pop() if len(typed) >= SHOWN_DIGITS and len(fitting) == 1 else typed
