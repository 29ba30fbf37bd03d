"""Draw once, store, and return what was stored ever after.

The order is the promise: the ledger says that a draw starts, then the noise is drawn, then the
measurement is durable, then the ledger says that it is there. Whatever dies in between, nothing
is drawn twice for one charge.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.events import Event
from tasks.events import to_json
from tasks.groups import (
    ANSWERS,
    CLIENTS,
    HEADLIST,
    HISTOGRAM,
    ITEM_GROUPS,
    NUMBERS,
    POINTS,
    SQUARES,
    SUMS,
)
from tasks.home import write_whole
from tasks.ledger import LedgerCorrupt
from tasks.ledger_rules import Kind
from tasks.policy import Charge, current_policy
from tasks.refusals import BudgetRefused
from tasks.run import Release
from tasks.shelf import published_heads

T = TypeVar("T")

FILES = {
    HEADLIST: "head_list_draw.parquet",
    HISTOGRAM: "optin_histogram.parquet",
    CLIENTS: "client_reports.parquet",
    **{kind: f"{kind}_histogram.parquet" for kind in ITEM_GROUPS},
    SUMS: "value_sums.parquet",
    SQUARES: "squared_differences.parquet",
    NUMBERS: "value_reports.parquet",
    POINTS: "cluster_sums.parquet",
    ANSWERS: "cluster_reports.parquet",
}


def draw_once(
    run: Release, group: str, event: Event, count: Callable[[], T], draw: Callable[[T], pa.Table]
) -> pa.Table:
    """Return the stored measurement of a group; make and store it if the ledger has none.

    Args:
        count: Reads private data. It runs before the draw starts, so that it may fail for free.
        draw: Adds the noise to what `count` returned.
    """
    drawn = draw_together(run, {group: event}, count, lambda counted: {group: draw(counted)})
    return drawn[group]


def draw_together(
    run: Release,
    events: Mapping[str, Event],
    count: Callable[[], T],
    draw: Callable[[T], Mapping[str, pa.Table]],
) -> dict[str, pa.Table]:
    """Do the same for groups that are measured in turns: all of them or none."""
    state = run.state
    if all(state.has(Kind.DRAWN, group) for group in events):
        return {group: load_measurement(run, group) for group in events}
    for group, event in events.items():
        _require_unburnt(run, group)
        _require_reserved(run, group, event)
        _require_counted(run, group)
        _require_undrawn(run, group)
    counted = count()
    for group, event in events.items():
        # The token makes this start ours alone: a second process that writes the same step has
        # another token, and is refused instead of drawing too.
        start = {"event": to_json(event), "token": secrets.token_hex(16)}
        run.ledger.append(Kind.DRAW_STARTED, run.release_id, run.attempt, start, draw=group)
    files = {group: _to_bytes(table) for group, table in draw(counted).items()}
    for group, data in files.items():
        write_whole(measurement_path(run, group), data)
    for group, data in files.items():
        name, digest = measurement_path(run, group).name, hashlib.sha256(data).hexdigest()
        stored = {"file": name, "sha256": digest}
        run.ledger.append(Kind.DRAWN, run.release_id, run.attempt, stored, draw=group)
    return {group: load_measurement(run, group) for group in events}


def load_measurement(run: Release, group: str) -> pa.Table:
    """Read a stored measurement, if it is what the ledger says it is."""
    drawn = run.state.find(Kind.DRAWN, group)
    path = measurement_path(run, group)
    data = path.read_bytes() if path.exists() else b""
    if drawn is None or hashlib.sha256(data).hexdigest() != drawn.payload["sha256"]:
        raise LedgerCorrupt(
            f"{path} is not the measurement that the ledger recorded; restore it from a backup. "
            "It cannot be drawn again."
        )
    return pq.read_table(pa.BufferReader(data))


def measurement_path(run: Release, group: str) -> Path:
    """Return where a group's measurement lies."""
    return run.folder / FILES[group]


def _require_unburnt(run: Release, group: str) -> None:
    if group in run.state.burnt_draws:
        raise BudgetRefused(
            f"release {run.release_id}, attempt {run.attempt}: the draw from {group} was started "
            "and never finished. It is spent; pay for a new attempt with --new-attempt."
        )


def _require_reserved(run: Release, group: str, event: Event) -> None:
    terms, asked = run.reservation["groups"][group], Charge.of(event.budget)
    if asked.epsilon > terms["epsilon_nano"] or asked.delta > terms["delta_atto"]:
        raise BudgetRefused(
            f"the draw from {group} asks for {asked}, which was not reserved; nothing was drawn."
        )


def _require_counted(run: Release, group: str) -> None:
    """Refuse to draw on a charge so old that the cap's window has forgotten it."""
    ledger, reserved = run.ledger, run.state.find(Kind.RESERVED)
    window_start = current_policy(ledger.entries()).window_start(ledger.now())
    if reserved is None or datetime.fromisoformat(reserved.at) >= window_start:
        return
    # Devices keep their own accounts: a group without members was not charged here.
    if reserved.payload["groups"][group]["members"] is not None:
        raise BudgetRefused(
            f"release {run.release_id} was reserved on {reserved.at}, before the cap's window "
            "began: its people may have spent that budget since. Nothing was drawn; make another "
            "epoch's release."
        )


def _require_undrawn(run: Release, group: str) -> None:
    """Refuse to draw on a ledger that has forgotten draws or publications."""
    run.ledger.verify(published_heads(run.home))
    path = measurement_path(run, group)
    if path.exists():
        raise LedgerCorrupt(
            f"{path} was drawn, and the ledger does not know it: it was restored from a backup "
            "that has forgotten spending. Restore a newer one."
        )


def _to_bytes(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return bytes(sink.getvalue())
