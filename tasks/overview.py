"""What the ledger adds up to: totals, the most charged person, the runway, one person's balance."""

from dataclasses import dataclass
from typing import Any

import pyarrow.compute as pc

from hybriddp.accounting import compose_pld
from hybriddp.events import Event
from tasks.cohorts import account_of, stopped_accounts
from tasks.engine import DuckDBEngine, open_memory
from tasks.events import from_json
from tasks.groups import people_of
from tasks.home import Home
from tasks.ids import id_form_of
from tasks.keys import Keyring
from tasks.ledger import Ledger
from tasks.ledger_rules import Entry, Kind
from tasks.policy import DELTA_UNITS, Charge, Policy, current_policy
from tasks.run import live_reservations
from tasks.spending import Spent, history, put_spending, total


@dataclass(frozen=True, slots=True)
class Runway:
    """How far the budget reaches; sums over people, so it stays with the operator."""

    policy: Policy
    n_accounts: int
    largest: Charge
    asked: Charge | None  # what the newest release charged its most charged group
    fits_largest: int | None
    fits_newcomer: int | None
    pld_epsilon: float | None


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
    entries, now = Ledger(home.ledger).entries(), Ledger.now()
    policy = current_policy(entries)
    with open_memory() as engine:
        put_spending(engine, home, entries, policy, now)
        spending = engine.fetch("spending")
        largest, pld = Charge(0, 0), None
        if spending.num_rows:
            largest = Charge(
                int(pc.max(spending["epsilon"]).as_py()), int(pc.max(spending["delta"]).as_py())
            )
            if with_pld:
                most = pc.index(spending["epsilon"], pc.max(spending["epsilon"])).as_py()
                pld = _pld(engine, home, entries, spending["account"][most].as_py(), policy)
    reservations = live_reservations(entries)
    asked = dearest(reservations[-1]) if reservations else None
    return Runway(
        policy,
        spending.num_rows,
        largest,
        asked,
        _fits(policy, largest, asked) if asked else None,
        _fits(policy, Charge(0, 0), asked) if asked else None,
        pld,
    )


def balance(home: Home, person: str) -> Balance:
    """Return one person's account."""
    entries, now = Ledger(home.ledger).entries(), Ledger.now()
    account = account_of(Keyring.open(home), person, id_form_of(entries))
    policy = current_policy(entries)
    with open_memory() as engine:
        charges = history(engine, home, entries, account)
        pld = _pld(engine, home, entries, account, policy)
    spent = total([charge for charge in charges if charge.at >= policy.window_start(now)])
    remaining = Charge(policy.cap.epsilon - spent.epsilon, policy.cap.delta - spent.delta)
    is_stopped = account in stopped_accounts(entries)
    return Balance(policy, charges, spent, remaining, is_stopped, pld)


def set_membership(home: Home, person: str, kind: Kind) -> Entry:
    """Put on record that a person opts out, comes back, or is erased; the balance stays."""
    ledger = Ledger(home.ledger)
    account = account_of(Keyring.open(home), person, id_form_of(ledger.entries()))
    return ledger.note(kind, {}, subject=account.hex())


def public_export(home: Home) -> dict[str, Any]:
    """Return what may leave the private zone: group totals and the chain, nothing about people."""
    ledger = Ledger(home.ledger)
    shown = (Kind.RESERVED, Kind.VOIDED, Kind.PUBLISHED, Kind.REVISED, Kind.WITHHELD)
    rows = []
    for entry in ledger.entries():
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
            payload = entry.payload
            row |= {key: payload[key] for key in ("product", "epoch", "locale", "groups", "policy")}
        if entry.kind is Kind.DRAW_STARTED:
            row |= {"event": entry.payload["event"]}
        if entry.kind is Kind.POLICY:
            row |= {"kind": str(entry.kind), "at": entry.at, "policy": entry.payload}
        rows.append(row)
    head = ledger.head()
    return {"schema_version": 1, "head": {"seq": head.seq, "hash": head.hash}, "entries": rows}


def _pld(
    engine: DuckDBEngine, home: Home, entries: list[Entry], account: bytes, policy: Policy
) -> float:
    """Return the tighter epsilon of one account's draws, at the cap's delta."""
    events = {
        (e.release_id, e.draw): from_json(e.payload["event"])
        for e in entries
        if e.kind is Kind.DRAW_STARTED
    }
    drawn: list[Event] = [
        events[spent.release_id, spent.group]
        for spent in history(engine, home, entries, account)
        if (spent.release_id, spent.group) in events
    ]
    return compose_pld(drawn, policy.cap.delta / DELTA_UNITS) if drawn else 0.0


def dearest(reservation: Entry) -> Charge:
    """Return what the most charged person of a release paid."""
    groups = reservation.payload["groups"]
    paid = [
        Charge(
            sum(groups[group]["epsilon_nano"] for group in together),
            sum(groups[group]["delta_atto"] for group in together),
        )
        for together in people_of(groups)
    ]
    return Charge(max(charge.epsilon for charge in paid), max(charge.delta for charge in paid))


def _fits(policy: Policy, spent: Charge, asked: Charge) -> int:
    by_epsilon = (policy.cap.epsilon - spent.epsilon) // asked.epsilon
    if asked.delta == 0:
        return max(by_epsilon, 0)
    return max(min(by_epsilon, (policy.cap.delta - spent.delta) // asked.delta), 0)
