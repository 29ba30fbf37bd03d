"""What every account has spent: the ledger's charges times the sealed participation files."""

from dataclasses import dataclass
from datetime import datetime, timedelta

import pyarrow as pa

from tasks.engine import Engine
from tasks.home import Home
from tasks.ledger import LedgerCorrupt
from tasks.ledger_rules import Entry
from tasks.policy import Charge, Policy
from tasks.run import live_reservations


@dataclass(frozen=True, slots=True)
class Spent:
    """One charge of one account."""

    at: datetime
    release_id: str
    group: str
    charge: Charge


def put_spending(
    engine: Engine, home: Home, entries: list[Entry], policy: Policy, now: datetime
) -> None:
    """Fill `spending`: for every account, the sum of its charges inside the policy's window."""
    live = [
        entry
        for entry in live_reservations(entries)
        if datetime.fromisoformat(entry.at) >= policy.window_start(now)
    ]
    put_participation(engine, home, live)
    charges = [
        (entry.payload["participation"], group, terms["epsilon_nano"], terms["delta_atto"])
        for entry in live
        for group, terms in entry.payload["groups"].items()
    ]
    files, groups, epsilons, deltas = zip(*charges, strict=True) if charges else ((), (), (), ())
    engine.put(
        "charges",
        pa.table(
            {
                "file": pa.array(files, pa.string()),
                "cohort": pa.array(groups, pa.string()),
                "epsilon": pa.array(epsilons, pa.int64()),
                "delta": pa.array(deltas, pa.int64()),
            }
        ),
    )
    engine.step("spending")


def put_participation(engine: Engine, home: Home, reservations: list[Entry]) -> None:
    """Make the sealed files of these reservations visible as `participation`."""
    names = [f"{entry.payload['participation']}.parquet" for entry in reservations]
    files = tuple(home.participation / name for name in dict.fromkeys(names))
    for file in files:
        if not file.exists():
            raise LedgerCorrupt(
                f"the participation file {file.name} is missing, so nobody knows who has paid; "
                "restore the private zone from its backup."
            )
    if files:
        engine.read_sealed("participation", files)
    else:
        empty = {"account": pa.binary(), "cohort": pa.string(), "file": pa.string()}
        engine.put("participation", pa.table({n: pa.array([], t) for n, t in empty.items()}))


def history(engine: Engine, home: Home, entries: list[Entry], account: bytes) -> list[Spent]:
    """Return every charge of one account, oldest first; it is private."""
    live = live_reservations(entries)
    put_participation(engine, home, live)
    engine.step("account_groups", account=account)
    group_of = {row["file"]: row["cohort"] for row in engine.fetch("account_groups").to_pylist()}
    return [
        Spent(datetime.fromisoformat(entry.at), entry.release_id, group, _charge(entry, group))
        for entry in live
        if (group := group_of.get(entry.payload["participation"])) is not None
    ]


def _charge(entry: Entry, group: str) -> Charge:
    terms = entry.payload["groups"][group]
    return Charge(terms["epsilon_nano"], terms["delta_atto"])


def total(charges: list[Spent]) -> Charge:
    """Add charges up."""
    return Charge(
        sum(spent.charge.epsilon for spent in charges), sum(spent.charge.delta for spent in charges)
    )


def first_fit(
    charges: list[Spent], asked: Charge, policy: Policy, now: datetime
) -> datetime | None:
    """Return the first moment at which `asked` fits under the cap; None means never."""
    window = timedelta(days=policy.window_days or 0)
    moments = [now, *(spent.at + window for spent in charges)] if policy.window_days else [now]
    for moment in sorted(moment for moment in moments if moment >= now):
        # A charge leaves the window a moment after its last second in it.
        inside = [s for s in charges if s.at >= policy.window_start(moment + timedelta(seconds=1))]
        spent = total(inside)
        if (
            spent.epsilon + asked.epsilon <= policy.cap.epsilon
            and spent.delta + asked.delta <= policy.cap.delta
        ):
            return moment
    return None
