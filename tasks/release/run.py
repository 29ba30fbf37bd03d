"""A release, and one run of it: what was asked for, which release that is, where its things are."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from hybriddp.device.package import canonical_json
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Reserved, SeasonPlace
from tasks.ledger.rules import Attempt, Entry, Kind, live_reservations
from tasks.log.epochs import Epoch
from tasks.log.raw.files import BadInput, Source, inspect
from tasks.products.product import Product
from tasks.products.registry import product_of, product_with
from tasks.products.request import LogRequest, SearchRequest
from tasks.release.refusals import BudgetRefused
from tasks.store.home import Home
from tasks.store.keys import Keyring, open_for_writing

_ID_DIGITS = 32
# The keyed digest of the log behind every id that this process has made.
_LOG_IDS: dict[str, str] = {}


@dataclass(frozen=True)
class Release:
    """One attempt at a release, as the ledger and the measurements know it."""

    home: Home
    release_id: str
    attempt: int

    @property
    def ledger(self) -> Ledger:
        """The ledger, opened anew."""
        return Ledger(self.home.ledger)

    @property
    def state(self) -> Attempt:
        """What the ledger knows of this attempt now."""
        return self.ledger.attempt(self.release_id, self.attempt)

    @cached_property
    def reservation(self) -> Reserved:
        """What was reserved: parameters, groups, participation; it never changes."""
        reserved = self.state.reserved
        if reserved is None:
            raise BudgetRefused(f"release {self.release_id} was never reserved.")
        return reserved

    @property
    def product(self) -> Product:
        """What kind of release it is."""
        return product_of(self.reservation.parameters)

    @property
    def groups(self) -> tuple[str, ...]:
        """The groups that take part, in the order of their draws."""
        return self.product.in_order(self.reservation.groups)

    def group_size(self, group: str) -> int:
        """Return how many people were sealed into a group; it is public."""
        return self.reservation.groups[group].n_people

    @property
    def folder(self) -> Path:
        """Where the measurements of this attempt lie."""
        return self.home.measurement(self.release_id, self.attempt)

    @property
    def is_collecting(self) -> bool:
        """Whether reports of devices are awaited."""
        return False


@dataclass(frozen=True)
class LogRun(Release):
    """One run of a release from a log, with what the operator asked for."""

    request: LogRequest
    active_people: ClassVar[str] = "log/active_people"  # the step that finds whom rows name

    @property
    def product(self) -> Product:
        """What kind of release it is."""
        return product_with(self.request.parameters().strategy)

    @property
    def epoch(self) -> Epoch:
        """The period of the release."""
        return Epoch.parse(self.request.epoch)

    @property
    def needs_the_log(self) -> bool:
        """Whether a draw that reads the log is still to be made."""
        state = self.state
        if state.has(Kind.WITHHELD):  # nothing is drawn any more
            return False
        return not all(state.has(Kind.DRAWN, group) for group in self.request.groups_in_the_log)

    def place_among(self, entries: list[Entry]) -> SeasonPlace | None:
        """Return its place in a season, as these rows have it; most releases have none."""


@dataclass(frozen=True)
class SearchRun(LogRun):
    """One run of a release from a log of searches."""

    request: SearchRequest


def log_source(request: LogRequest) -> Source:
    """Inspect the log's files."""
    return inspect(request.log, request.text_columns, "log", numbers=request.number_columns)


def roster_source(request: LogRequest) -> Source | None:
    """Inspect the roster, if there is one."""
    path = request.roster
    return None if path is None else inspect(path, request.roster_columns, "roster")


def find_attempt(request: LogRequest, home: Home) -> tuple[str, int]:
    """Return the release's id and attempt; refuse what would pay twice unasked, or too early."""
    home.sweep()
    ledger, epoch = open_for_writing(home), Epoch.parse(request.epoch)
    if not _has_reservation(request, ledger.entries()):
        epoch.require_over(ledger.now())  # before anything is read
    release_id = _known_id(request, home, ledger)
    attempt = _attempt_of(ledger, release_id, request)
    if not ledger.attempt(release_id, attempt).entries:
        epoch.require_over(ledger.now())  # a replay may be of any epoch, a new draw may not
    return release_id, attempt


def _has_reservation(request: LogRequest, entries: list[Entry]) -> bool:
    reserved = (entry.said(Reserved) for entry in entries if entry.kind is Kind.RESERVED)
    return any(reservation.slot == request.slot for reservation in reserved)


def _known_id(request: LogRequest, home: Home, ledger: Ledger) -> str:
    """Return the id that the ledger knows the release by, else the one that it gets."""
    current, first = release_ids_of(request, home)
    if ledger.attempts(first) and not ledger.attempts(current):
        return first
    log_source(request)  # which may lack columns that version 0.1.0 did not ask for
    return current


def release_id_of(request: LogRequest, home: Home) -> str:
    """Return the id of the release that these parameters and this very log make."""
    log_source(request)
    return release_ids_of(request, home)[0]


def release_ids_of(request: LogRequest, home: Home) -> tuple[str, str]:
    """Return the id of a release, and the one that version 0.1.0 gave it, which knew no times.

    The digest of the log goes in, so ids are keyed: nobody outside can test a guessed log.
    """
    roster, texts = roster_source(request), [c for c in request.first_columns.values() if c]
    log = inspect(request.log, texts, "log", numbers=request.number_columns)
    digest, parameters = log.digest().hex(), request.measurement_parameters()
    identity: dict[str, Any] = {
        "product": request.product,
        "epoch": request.epoch,
        "locale": request.locale,
        "parameters": parameters,
        "columns": request.columns.model_dump(),
        "log": digest,
        "roster": roster.digest().hex() if roster else None,
    }
    first = identity | {
        "parameters": {name: parameters[name] for name in parameters if name != "times"},
        "columns": request.first_columns,
    }
    key = Keyring.open(home).release
    current_id, first_id = (key.digest(canonical_json(i))[:_ID_DIGITS] for i in (identity, first))
    log_id = key.digest(canonical_json({"log": digest}))[:_ID_DIGITS]
    _LOG_IDS.update({current_id: log_id, first_id: log_id})
    return current_id, first_id


def log_id_of(run: LogRun) -> str:
    """Return the keyed digest of the log's content, whatever is asked of it; it is in the ledger.

    An id holds its log's digest, so what was read once for an id is not read again.
    """
    if run.release_id not in _LOG_IDS:
        require_unchanged(run)
    return _LOG_IDS[run.release_id]


def require_unchanged(run: LogRun) -> None:
    """Refuse a log that is not any more what the release was named after."""
    if run.release_id not in release_ids_of(run.request, run.home):
        raise BadInput(
            f"{run.request.log} or its roster changed while it was read; run again when it is "
            "complete. Nobody was charged."
        )


def _attempt_of(ledger: Ledger, release_id: str, request: LogRequest) -> int:
    attempts = ledger.attempts(release_id)
    if not attempts:
        require_free_epoch(request, release_id, ledger.entries())
        return 1
    latest = attempts[-1]
    state = ledger.attempt(release_id, latest)
    if state.burnt_draws:
        if not (request.new_attempt and request.may_be_tried_again):
            remedy = (
                "or pay for a new attempt with --new-attempt"
                if request.may_be_tried_again
                else "or go on with the next epoch: this one is missing from its series"
            )
            raise BudgetRefused(
                f"release {release_id}, attempt {latest}: the draw from {state.burnt_draws[0]} was "
                "started and never finished, by a crash or by a run that is still at work. It is "
                f"spent and is not drawn again. Wait for that run, {remedy}."
            )
        return latest + 1
    if state.has(Kind.VOIDED):
        return latest + 1
    for kind in (Kind.WITHHELD, Kind.WITHDRAWN):
        if state.has(kind):
            raise BudgetRefused(
                f"release {release_id} was {kind.lower()}; it is not published again. "
                "Make another epoch's release."
            )
    return latest


def require_free_epoch(request: LogRequest, release_id: str, entries: list[Entry]) -> None:
    """Refuse to pay unasked for an epoch that another release was paid for."""
    for entry in live_reservations(entries):
        is_same = entry.said(Reserved).slot == request.slot
        if is_same and entry.release_id != release_id and not request.pay_again:
            raise BudgetRefused(
                f"epoch {request.epoch} of {request.product}/{request.locale} has release "
                f"{entry.release_id} already, with other parameters or another log, and people "
                f"have paid for it. Release {release_id} would cost its full price: give "
                "--pay-again if that is what you want, but in a series. Nobody was charged."
            )


def collection_id(release: Release) -> str:
    """Return the id that reports name: a new attempt has a new list, and so a new id."""
    return release.release_id + (f"{release.attempt:04x}" if release.attempt > 1 else "")
