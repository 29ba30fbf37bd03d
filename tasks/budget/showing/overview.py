"""What the ledger adds up to: totals, the most charged person, the runway, one person's balance."""

import hashlib
import json
from collections.abc import Container
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path

from tasks.budget.accounts import account_of, stopped_accounts
from tasks.budget.policy import Policy, current_policy
from tasks.budget.showing.seasons import SeasonRunway, season_of, sums_of, unserved_by
from tasks.budget.spending import Spent, history, put_spending, total
from tasks.ledger.chain import canonical
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import GENESIS, Head, Ledger
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Entry, Kind, ended_seasons, live_reservations
from tasks.ledger.witnesses import verified_head
from tasks.log.engine import Engine, open_memory
from tasks.log.ids import id_form_of
from tasks.products.registry import product_of
from tasks.store.home import Home, write_whole
from tasks.store.keys import Keyring, open_for_writing


@dataclass(frozen=True, slots=True)
class Worst:
    """The largest epsilon that anybody's draws compose to, or a bound on it."""

    epsilon: float
    is_bound: bool  # there were more histories than were composed


@dataclass(frozen=True, slots=True)
class Runway:
    """How far the budget reaches; sums over people, so it stays with the operator."""

    policy: Policy
    n_accounts: int
    spent: tuple[Charge, ...]  # the most of each part, without and with a Gaussian loss
    prices: tuple[Charge, ...]  # what the newest release charged a person, by the groups one is in
    fits_largest: int | None  # more releases like it; of a series, more seasons after this one
    fits_newcomer: int | None
    worst: Worst | None  # by PLD accounting, if that was asked for or is known
    season: SeasonRunway | None = None  # if the newest release is a week of a series

    @property
    def words(self) -> str:
        """Say how many more fit; where kinds of losses differ, nobody pays the most of each."""
        if self.season is not None:
            return self.season.words
        several = " or ".join(dict.fromkeys(map(str, self.prices)))
        return (
            f"Runway at {several if self.has_gaussian else self.asked} a release: "
            f"{self.fits_largest} more for the most charged, {self.fits_newcomer} for a newcomer."
        )

    @property
    def largest(self) -> Charge:
        """The most that anybody has spent of each part; it may be of different people."""
        return Charge.largest(self.spent)

    @property
    def has_gaussian(self) -> bool:
        """Whether anybody has a Gaussian loss, or the newest release costs one."""
        return any(charge.rho for charge in (*self.spent, *self.prices))

    @property
    def asked(self) -> Charge | None:
        """The most of each part that the newest release charged; it may be of different people."""
        return Charge.largest(self.prices) if self.prices else None


@dataclass(frozen=True, slots=True)
class Balance:
    """One person's account."""

    policy: Policy
    charges: list[Spent]
    spent: Charge
    remaining: Charge
    is_stopped: bool
    pld_epsilon: float


def runway(home: Home, *, with_pld: bool = False) -> Runway:
    """Add up what everybody has spent, and how many more releases like the newest one fit."""
    entries, now = checked_rows(home)
    policy, reservations = current_policy(entries), live_reservations(entries)
    with open_memory(home.spill) as engine:
        put_spending(engine, home, entries, policy, now)
        engine.step("ledger/largest_sums")
        rows = engine.fetch("largest_sums").to_pylist()
        unserved = unserved_by(engine, home, reservations)
        worst = _composed_before(home, entries)
        if with_pld and worst is None:
            worst = _compose(engine, home, entries, policy)
    spent = tuple(map(sums_of, rows))
    prices = _prices(reservations[-1]) if reservations else ()
    season = _season_ahead(entries, reservations[-1], spent, unserved) if reservations else None
    if season is None:
        fits_largest = min((fits_everybody(policy, one, spent) for one in prices), default=None)
        fits_newcomer = min((policy.fits(one) for one in prices), default=None)
    else:
        fits_largest, fits_newcomer = season.fits_largest, season.fits_newcomer
    n_accounts = sum(row["n_accounts"] for row in rows)
    return Runway(policy, n_accounts, spent, prices, fits_largest, fits_newcomer, worst, season)


def _season_ahead(
    entries: list[Entry], newest: Entry, spent: tuple[Charge, ...], unserved: tuple[Charge, ...]
) -> SeasonRunway | None:
    reserved, policy = newest.said(Reserved), current_policy(entries)
    if reserved.place is None:
        return None
    is_ended = season_of(newest) in ended_seasons(entries)
    prices = _prices(newest)
    return SeasonRunway.of(policy, reserved.place, prices, spent, unserved, is_ended=is_ended)


def fits_everybody(policy: Policy, asked: Charge, spent: tuple[Charge, ...]) -> int:
    """Return how many more such charges fit whoever has least left, or a newcomer if nobody has."""
    return min((policy.fits(asked, one) for one in spent), default=policy.fits(asked))


def _compose(engine: Engine, home: Home, entries: list[Entry], policy: Policy) -> Worst:
    """Compose everybody's draws, which takes seconds, and remember what comes out."""
    from tasks.budget.showing.worst_account import (
        worst_account,  # importing accountants takes seconds, too
    )

    worst = worst_account(engine, home, entries, policy)
    if entries:
        with suppress(OSError):  # a home that can only be read
            write_whole(_composed_file(home), _remembered(entries[-1], worst), mode=0o600)
    return worst


def _composed_before(home: Home, entries: list[Entry]) -> Worst | None:
    """Return what was composed on this very ledger, if it was."""
    try:
        data = _composed_file(home).read_bytes()
        known = json.loads(data)
        worst = Worst(float(known["epsilon"]), bool(known["is_bound"]))
        return worst if entries and data == _remembered(entries[-1], worst) else None
    except (OSError, ValueError, LookupError, TypeError):
        return None


def _remembered(newest: Entry, worst: Worst) -> bytes:
    """Return what is kept of a composition: of which rows, by which version, and whether whole."""
    known = {"epsilon": worst.epsilon, "is_bound": worst.is_bound}
    told = canonical({"head": newest.hash, "code_version": version("hybriddp"), **known})
    return canonical({**known, "sha256": hashlib.sha256(told.encode()).hexdigest()}).encode()


def _composed_file(home: Home) -> Path:
    return home.private / "composed.json"


def balance(home: Home, person: str) -> Balance:
    """Return one person's account."""
    entries, now = checked_rows(home)
    account = account_of(Keyring.open(home), person, id_form_of(entries))
    policy = current_policy(entries)
    with open_memory(home.spill) as engine:
        charges = history(engine, home, entries, account)
    from tasks.budget.showing.worst_account import (
        composed,
        drawn_events,
    )  # importing accountants takes seconds

    events = drawn_events(entries)
    places = [(spent.release_id, spent.attempt, spent.group) for spent in charges]
    pld = composed([events[place] for place in places if place in events], policy)
    spent = total([charge for charge in charges if charge.at >= policy.window_start(now)])
    remaining = policy.limit(has_gaussian=spent.rho > 0).less(spent)
    is_stopped = account in stopped_accounts(entries)
    return Balance(policy, charges, spent, remaining, is_stopped, pld)


def checked_rows(home: Home) -> tuple[list[Entry], datetime]:
    """Return the rows of a ledger that is whole, and its time: a sum over less would mislead."""
    verified_head(home)
    ledger = Ledger(home.ledger)
    return ledger.entries(), ledger.moment()


def policy_of(home: Home) -> tuple[Policy, Head]:
    """Return the policy that holds, if the ledger is whole, and the head that it was read at."""
    entries, _ = checked_rows(home)
    head = Head(entries[-1].seq, entries[-1].hash) if entries else Head(0, GENESIS)
    return current_policy(entries), head


def is_known(home: Home, person: str) -> bool:
    """Whether a person ever took part in a reservation; it is private."""
    entries, _ = checked_rows(home)
    account = account_of(Keyring.open(home), person, id_form_of(entries))
    with open_memory(home.spill) as engine:
        return bool(history(engine, home, entries, account))


def set_membership(home: Home, person: str, kind: Kind) -> Entry:
    """Put on record that a person opts out, comes back, or is erased; the balance stays."""
    ledger = open_for_writing(home)
    account = account_of(Keyring.open(home), person, id_form_of(ledger.entries()))
    return ledger.note(kind, subject=account.hex())


def dearest(reservation: Entry) -> Charge:
    """Return the most of each part that anybody of a release paid."""
    groups = reservation.said(Reserved).groups
    return Charge.largest(
        _prices(reservation, {name for name in groups if groups[name].members != 0})
    )


def _prices(reservation: Entry, among: Container[str] | None = None) -> tuple[Charge, ...]:
    """Return what a person paid, for every choice of groups that one can be in at once."""
    reserved = reservation.said(Reserved)
    names = [name for name in reserved.groups if among is None or name in among]
    return tuple(
        Charge.sum(Charge.of_terms(reserved.groups[group]) for group in together)
        for together in product_of(reserved.parameters).people_of(names)
    )
