"""What every account has spent: the ledger's charges times the sealed participation files.

Of old charges sealed sums are read in place of their files (`tasks.budget.sums`).
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial

import pyarrow as pa

from tasks.budget.policy import Policy
from tasks.budget.sums.covers import Counted, Reading, reading_of
from tasks.budget.sums.files import has_sums, put_participation
from tasks.budget.sums.files import put_sums as put_sealed
from tasks.ledger.chain import running_dates
from tasks.ledger.charges import Charge
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Entry, Kind, live_reservations
from tasks.log.engine import Engine
from tasks.store.home import Home


@dataclass(frozen=True, slots=True)
class Spent:
    """One charge of one account."""

    at: datetime
    release_id: str
    group: str
    charge: Charge
    attempt: int = 1


def put_spending(
    engine: Engine, home: Home, entries: list[Entry], policy: Policy, now: datetime
) -> None:
    """Fill `spending`: for every account, the sum of its charges inside the policy's window."""
    put_sums(engine, home, entries, counted_in(entries, policy, now))


def counted_in(entries: list[Entry], policy: Policy, now: datetime) -> Counted:
    """Return the charges inside the policy's window."""
    return [
        (entry, group)
        for entry, group, at in dated_charges(entries)
        if at >= policy.window_start(now)
    ]


def put_sums(engine: Engine, home: Home, entries: Collection[Entry], counted: Counted) -> None:
    """Fill `spending` with the sums of these charges: groups of reservations."""
    put_read(engine, home, reading_of(entries, counted, partial(has_sums, home)))


def put_read(engine: Engine, home: Home, reading: Reading) -> None:
    """Fill `spending` with the sums of what is read."""
    put_sealed(engine, home, reading.sums)
    put_participation(engine, home, [entry for entry, _ in reading.charges])
    charges = [
        (entry.said(Reserved).participation, group, charge_of(entry, group))
        for entry, group in reading.charges
    ]
    engine.put(
        "charges",
        pa.table(
            {
                "file": pa.array([file for file, _, _ in charges], pa.string()),
                "cohort": pa.array([group for _, group, _ in charges], pa.string()),
                **columns_of([charge for _, _, charge in charges]),
            }
        ),
    )
    engine.step("ledger/spending")


def columns_of(charges: Sequence[Charge]) -> dict[str, pa.Array]:
    """Return charges as SQL reads them."""
    return {
        part: pa.array([getattr(charge, part) for charge in charges], pa.int64())
        for part in ("epsilon", "delta", "rho")
    }


def dated_charges(entries: list[Entry]) -> list[tuple[Entry, str, datetime]]:
    """Return every reservation that counts, group by group, and when it is spent.

    A charge is as old as its draw, not as its reservation: a release that was reserved long ago
    and drawn today must not leave the window tomorrow.
    """
    dates = running_dates(entries)
    started = started_draws(entries)
    return [
        (e, group, dates[started.get((e.release_id, e.attempt, group), e.seq)])
        for e in live_reservations(entries)
        for group in e.said(Reserved).groups
    ]


def started_draws(entries: list[Entry]) -> dict[tuple[str, int, str], int]:
    """Return the draws that were started, and the row of each start."""
    return {
        (e.release_id, e.attempt, e.draw): e.seq for e in entries if e.kind is Kind.DRAW_STARTED
    }


def history(engine: Engine, home: Home, entries: list[Entry], account: bytes) -> list[Spent]:
    """Return every charge of one account, oldest first; it is private."""
    put_participation(engine, home, live_reservations(entries))
    engine.step("ledger/account_groups", account=account)
    served = {(row["file"], row["cohort"]) for row in engine.fetch("account_groups").to_pylist()}
    return [
        Spent(at, entry.release_id, group, charge_of(entry, group), entry.attempt)
        for entry, group, at in dated_charges(entries)
        if (entry.said(Reserved).participation, group) in served
    ]


def charge_of(entry: Entry, group: str) -> Charge:
    """Return what a reservation charges each member of a group."""
    return Charge.of_terms(entry.said(Reserved).groups[group])


def total(charges: list[Spent]) -> Charge:
    """Add charges up."""
    return Charge.sum(spent.charge for spent in charges)


def first_fit(
    charges: list[Spent], asked: Charge, policy: Policy, now: datetime
) -> datetime | None:
    """Return the first moment at which `asked` fits under the cap; None means never."""
    window = timedelta(days=policy.window_days or 0)
    moments = [now, *(spent.at + window for spent in charges)] if policy.window_days else [now]
    for moment in sorted(moment for moment in moments if moment >= now):
        # A charge leaves the window a moment after its last second in it.
        inside = [s for s in charges if s.at >= policy.window_start(moment + timedelta(seconds=1))]
        if policy.admits(Charge.sum((total(inside), asked))):
            return moment
    return None
