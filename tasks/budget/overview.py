"""What the ledger adds up to: totals, the most charged person, the runway, one person's balance."""

import hashlib
import json
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tasks.budget.accounts import account_of, stopped_accounts
from tasks.budget.policy import Policy, current_policy
from tasks.budget.spending import Spent, history, put_spending, total
from tasks.ledger.chain import as_stored, canonical
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import GENESIS, Head, Ledger
from tasks.ledger.payloads import DrawStarted, Reserved
from tasks.ledger.rules import Entry, Kind, live_reservations
from tasks.ledger.witnesses import verified_head
from tasks.log.engine import Engine, open_memory
from tasks.log.ids import id_form_of
from tasks.products.registry import product_of
from tasks.store.home import Home, write_whole
from tasks.store.keys import Keyring, open_for_writing

# What an export says of Gaussian losses, where there are such.
_BESIDE = "for whoever has a Gaussian loss, in place of the whole cap: the most"
_MEANING = {
    "rho_pico": "a Gaussian loss, in units of 1e-12: it adds up over releases, beside epsilon and "
    "delta, and all of it together is one epsilon at one delta",
    "gaussian_epsilon_nano": f"{_BESIDE} epsilon of all other losses",
    "gaussian_delta_atto": f"{_BESIDE} delta; the rest of the cap's delta converts rho",
    "gaussian_rho_pico": f"{_BESIDE} rho; it is the rest of the cap's epsilon at the rest of its "
    "delta, so that all together stay inside the cap",
}


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
    fits_largest: int | None
    fits_newcomer: int | None
    worst: Worst | None  # by PLD accounting, if that was asked for or is known

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
    entries, now = _checked(home)
    policy = current_policy(entries)
    with open_memory(home.spill) as engine:
        put_spending(engine, home, entries, policy, now)
        engine.step("ledger/largest_sums")
        rows = engine.fetch("largest_sums").to_pylist()
        worst = _composed_before(home, entries)
        if with_pld and worst is None:
            worst = _compose(engine, home, entries, policy)
    spent = tuple(Charge(int(row["epsilon"]), int(row["delta"]), int(row["rho"])) for row in rows)
    reservations = live_reservations(entries)
    prices = _prices(reservations[-1]) if reservations else ()
    return Runway(
        policy,
        sum(row["n_accounts"] for row in rows),
        spent,
        prices,
        min((fits_everybody(policy, price, spent) for price in prices), default=None),
        min((policy.fits(price) for price in prices), default=None),
        worst,
    )


def fits_everybody(policy: Policy, asked: Charge, spent: tuple[Charge, ...]) -> int:
    """Return how many more such charges fit whoever has least left, or a newcomer if nobody has."""
    return min((policy.fits(asked, one) for one in spent), default=policy.fits(asked))


def _compose(engine: Engine, home: Home, entries: list[Entry], policy: Policy) -> Worst:
    """Compose everybody's draws, which takes seconds, and remember what comes out."""
    from tasks.budget.worst_account import worst_account  # importing accountants takes seconds, too

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
    entries, now = _checked(home)
    account = account_of(Keyring.open(home), person, id_form_of(entries))
    policy = current_policy(entries)
    with open_memory(home.spill) as engine:
        charges = history(engine, home, entries, account)
    from tasks.budget.worst_account import (
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


def _checked(home: Home) -> tuple[list[Entry], datetime]:
    """Return the rows of a ledger that is whole, and its time: a sum over less would mislead."""
    verified_head(home)
    ledger = Ledger(home.ledger)
    return ledger.entries(), ledger.moment()


def policy_of(home: Home) -> tuple[Policy, Head]:
    """Return the policy that holds, if the ledger is whole, and the head that it was read at."""
    entries, _ = _checked(home)
    head = Head(entries[-1].seq, entries[-1].hash) if entries else Head(0, GENESIS)
    return current_policy(entries), head


def is_known(home: Home, person: str) -> bool:
    """Whether a person ever took part in a reservation; it is private."""
    entries, _ = _checked(home)
    account = account_of(Keyring.open(home), person, id_form_of(entries))
    with open_memory(home.spill) as engine:
        return bool(history(engine, home, entries, account))


def set_membership(home: Home, person: str, kind: Kind) -> Entry:
    """Put on record that a person opts out, comes back, or is erased; the balance stays."""
    ledger = open_for_writing(home)
    account = account_of(Keyring.open(home), person, id_form_of(ledger.entries()))
    return ledger.note(kind, subject=account.hex())


def public_export(home: Home) -> dict[str, Any]:
    """Return what may leave the private zone: group totals and the chain, nothing about people."""
    entries, _ = _checked(home)
    shown = (Kind.RESERVED, Kind.VOIDED, Kind.PUBLISHED, Kind.REVISED, Kind.WITHHELD)
    rows = []
    for entry in entries:
        row: dict[str, Any] = {"seq": entry.seq, "previous": entry.previous, "hash": entry.hash}
        if entry.kind in (*shown, Kind.WITHDRAWN, Kind.DRAW_STARTED, Kind.DRAWN):
            row |= {
                "kind": str(entry.kind),
                "at": entry.at,
                "release_id": entry.release_id,
                "attempt": entry.attempt,
                "draw": entry.draw,
            }
        if entry.kind is Kind.RESERVED:
            said = as_stored(entry)
            row |= {name: said[name] for name in ("product", "epoch", "locale", "groups", "policy")}
        if entry.kind is Kind.DRAW_STARTED:
            row |= {"event": entry.said(DrawStarted).event}
        if entry.kind is Kind.POLICY:
            row |= {"kind": str(entry.kind), "at": entry.at, "policy": as_stored(entry)}
        rows.append(row)
    head = {"seq": entries[-1].seq, "hash": entries[-1].hash} if entries else None
    exported: dict[str, Any] = {"schema_version": 1, "head": head, "entries": rows}
    # Exports without any of it are what they always were.
    meant = {name: words for name, words in _MEANING.items() if any(_says(r, name) for r in rows)}
    return exported | ({"meaning": meant} if meant else {})


def _says(row: dict[str, Any], name: str) -> bool:
    """Whether an exported row states this of a group or of the cap."""
    return any(
        name in stated for stated in (row.get("policy", {}), *row.get("groups", {}).values())
    )


def dearest(reservation: Entry) -> Charge:
    """Return the most of each part that anybody of a release paid."""
    return Charge.largest(_prices(reservation))


def _prices(reservation: Entry) -> tuple[Charge, ...]:
    """Return what a person paid, for every choice of groups that one can be in at once."""
    reserved = reservation.said(Reserved)
    return tuple(
        Charge.sum(Charge.of_terms(reserved.groups[group]) for group in together)
        for together in product_of(reserved.parameters).people_of(reserved.groups)
    )
