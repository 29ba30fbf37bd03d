"""Homes with many drawn releases, what they add up to, and a second opinion in plain Python."""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from unittest.mock import patch

import pyarrow.parquet as pq

from hybriddp.accounting.price import Price
from hybriddp.blender.finding import HeadListMechanism
from tasks.budget.policy import Policy, current_policy
from tasks.budget.spending import put_spending
from tasks.budget.sums import sealing
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind, live_reservations
from tasks.log.engine import open_memory
from tasks.measured.drawing import _start
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, params_of
from tasks.store.home import Home
from tests.release.support import reserve_groups

ANNE, BOB, CARL = (bytes([number]) * 16 for number in range(3))
ALL = {ANNE: "S", BOB: "S", CARL: "C"}
TERMS = {"min_group_size": 1, "strategy": "high-utility", "headlist_user_fraction": 1}
SMALL = {"S": Price(rho=Fraction(1, 1000), delta=Fraction(1, 10**9)), "C": Price(Fraction(1, 7))}
Spending = dict[bytes, tuple[int, int, int]]


def reserve(
    home: Home,
    name: str,
    groups: Mapping[bytes, str] = ALL,
    prices: Mapping[str, Price] = SMALL,
    attempt: int = 1,
) -> HeadListRun:
    """Charge these people these prices, in a release of its own."""
    in_the_log = property(lambda _: tuple(prices))
    with (
        patch.object(ReleaseRequest, "prices", lambda _: dict(prices)),
        patch.object(ReleaseRequest, "groups_in_the_log", in_the_log),
    ):
        return reserve_groups(home, name, groups, attempt, **TERMS)


def start(run: HeadListRun, *groups: str) -> None:
    """Begin draws of a release, which is what spends; none of them is ever finished."""
    event = HeadListMechanism.for_budget(params_of(run).budget).event
    for group in groups or ("S", "C"):
        _start(run, group, event)


def drawn(home: Home, n_releases: int, first: int = 0) -> None:
    """Make releases of different people, so that each has a participation file of its own."""
    for number in range(first, first + n_releases):
        extra = {bytes([100 + number]) * 16: "C"}
        start(reserve(home, f"r{number}", ALL | extra))


def entries_of(home: Home) -> list[Entry]:
    """Return the rows of the ledger."""
    return Ledger(home.ledger).entries()


def rows_of_sums(home: Home) -> list[Entry]:
    """Return the rows that name sealed sums."""
    return Ledger(home.ledger).entries(Kind.SUMMED)


def spending_of(home: Home, entries: list[Entry] | None = None) -> Spending:
    """Return what the tasks add up."""
    rows = entries_of(home) if entries is None else entries
    moment = Ledger(home.ledger).moment()
    with open_memory(home.spill) as engine:
        put_spending(engine, home, rows, current_policy(rows), moment)
        found = engine.fetch("spending").to_pylist()
    return {r["account"]: tuple(int(r[p]) for p in ("epsilon", "delta", "rho")) for r in found}


def plain_spending(home: Home) -> Spending:
    """Add everybody's charges up one by one, from participation files alone."""
    entries, now = entries_of(home), Ledger(home.ledger).moment()
    policy = current_policy(entries)
    started = {(*e.key, e.draw): e.at for e in entries if e.kind is Kind.DRAW_STARTED}
    found: dict[bytes, list[int]] = {}
    for entry in live_reservations(entries):
        table = pq.read_table(home.participation / f"{entry.payload.participation}.parquet")
        for row in table.to_pylist():
            at = datetime.fromisoformat(started.get((*entry.key, row["cohort"]), entry.at))
            if _is_inside(policy, at, now):
                terms = entry.payload.groups[row["cohort"]]
                parts = terms.epsilon_nano, terms.delta_atto, terms.rho_pico
                spent = found.setdefault(row["account"], [0, 0, 0])
                spent[:] = [a + b for a, b in zip(spent, parts, strict=True)]
    return {account: tuple(parts) for account, parts in found.items()}


def _is_inside(policy: Policy, at: datetime, now: datetime) -> bool:
    return policy.window_days is None or (now - at).total_seconds() <= policy.window_days * 86_400


def seal_now(home: Home, least: int = 1) -> None:
    """Seal sums even if it does not pay yet."""
    with (
        patch.object(sealing, "LEAST_FILES", least),
        patch.object(sealing, "_pays", lambda *_: True),
    ):
        sealing.seal_sums(home)
