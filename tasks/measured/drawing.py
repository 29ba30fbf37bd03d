"""Draw once, store, and return what was stored ever after.

The order is the promise: the ledger says that a draw starts, then a witness beside the measurements
says so too, then the noise is drawn, then the measurement is durable, then the ledger says that it
is there. Whatever dies in between, nothing
is drawn twice for one charge.

Devices have drawn by themselves; what happens once to their reports is that they are sealed, in the
same order.
"""

import hashlib
import secrets
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.accounting.event import Event, to_json
from tasks.budget.paid import after_a_burn
from tasks.budget.window import may_start
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import LedgerCorrupt, LedgerMoved
from tasks.ledger.payloads import Drawn, DrawStarted
from tasks.ledger.rules import Kind
from tasks.ledger.witnesses import verified_head, write_witness
from tasks.measured.stored import load_measurement, measurement_path
from tasks.release.refusals import BudgetRefused
from tasks.release.run import Release
from tasks.store.home import remove_unfinished, sync_directory, write_whole
from tasks.store.reading import Unreadable
from tasks.store.tables import parse_parquet

T = TypeVar("T")


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
    keep: Callable[[], str | None] = lambda: None,
) -> dict[str, pa.Table]:
    """Do the same for groups that are measured in turns: all of them or none.

    Args:
        keep: Makes durable what is carried privately to a later draw, and returns its digest, which
            stands in the last group's row: nothing is drawn before it is kept.
    """
    state = run.state
    if all(state.has(Kind.DRAWN, group) for group in events):
        return {group: load_measurement(run, group) for group in events}
    verified_head(run.home)
    for group, event in events.items():
        _require_unburnt(run, group)
        _require_reserved(run, group, event)
        _require_undrawn(run, group)
        may_start(run, group)
    counted = count()
    _require_same_people(run)
    for group, event in events.items():
        _start(run, group, event)
    _require_same_people(run)  # from now on nobody can be charged in their place
    drawn = draw(counted)
    # In the order of the events: the last one's row says that all of it is there.
    files = {group: _to_bytes(drawn[group]) for group in events}
    carried = keep()
    for group, data in files.items():
        write_whole(measurement_path(run, group), data)
    last = list(files)[-1]
    for group, data in files.items():
        _record(run, group, data, carried if group == last else None)
    return {group: load_measurement(run, group) for group in events}


def seal_once(run: Release, group: str, event: Event, reports: Callable[[], pa.Table]) -> pa.Table:
    """Return the sealed reports of a group of devices; seal them if the ledger has none.

    The devices drew them and have paid, so a sealing that a run began and did not finish is gone
    on with, for nothing. If its file was durable, that file is recorded, whatever reports are there
    now: of one list, no two sets of counts leave this program (docs/adr/0003).

    Args:
        reports: Reads the reports. It runs before the sealing starts, so that it may fail for free.
    """
    with run.home.locked("sealing"):  # who comes second finds what the first one left
        if not run.state.has(Kind.DRAWN, group):
            _seal(run, group, event, reports)
    return load_measurement(run, group)


def _seal(run: Release, group: str, event: Event, reports: Callable[[], pa.Table]) -> None:
    verified_head(run.home)
    _require_unburnt(run, group)
    _require_reserved(run, group, event)
    path, begun = measurement_path(run, group), run.state.find(Kind.DRAW_STARTED, group)
    if begun is None:
        _require_undrawn(run, group)
    remove_unfinished(path.parent, path.name)
    sealed = None if path.exists() else _to_bytes(reports())
    _require_same_people(run)
    if begun is None:
        _start(run, group, event)
    else:
        write_witness(run.folder, begun)
    _require_same_people(run)
    if sealed is not None:
        write_whole(path, sealed, keep_existing=True)
    sync_directory(path.parent)
    data = path.read_bytes()
    _require_whole(run, path, data)
    _record(run, group, data)


def _record(run: Release, group: str, data: bytes, carried: str | None = None) -> None:
    """Let the ledger say that a measurement is there, and which one it is."""
    name, digest = measurement_path(run, group).name, hashlib.sha256(data).hexdigest()
    stored = Drawn(file=name, sha256=digest)
    if carried is not None:
        stored = Drawn(file=name, sha256=digest, state=carried)
    run.ledger.append(Kind.DRAWN, run.release_id, run.attempt, stored, draw=group)


def _start(run: Release, group: str, event: Event) -> None:
    """Put on record that a draw starts: in the ledger, then in a witness beside it."""
    # The token makes this start ours alone: a second process that writes the same step has
    # another token, and is refused instead of drawing too.
    start = DrawStarted(event=to_json(event), token=secrets.token_hex(16))
    while True:
        try:
            row = run.ledger.append(
                Kind.DRAW_STARTED,
                run.release_id,
                run.attempt,
                start,
                draw=group,
                recheck=may_start(run, group),
            )
        except LedgerMoved:
            continue
        break
    write_witness(run.folder, row)


def _require_unburnt(run: Release, group: str) -> None:
    if group in run.state.burnt_draws:
        raise BudgetRefused(
            f"release {run.release_id}, attempt {run.attempt}: the draw from {group} was started "
            f"and never finished. It is spent; {after_a_burn(run.reservation)}."
        )


def _require_same_people(run: Release) -> None:
    """Refuse a reservation that is not the one whose people were counted.

    Rows never change, but a ledger can be restored while a run is at work, and be written anew.
    """
    if run.state.reserved != run.reservation:
        raise LedgerCorrupt(
            f"release {run.release_id} was reserved anew while this run was at work: the ledger "
            "was restored. This run has drawn nothing."
        )


def _require_reserved(run: Release, group: str, event: Event) -> None:
    asked = Charge.of(event.price)
    if not asked.fits(Charge.of_terms(run.reservation.groups[group])):
        raise BudgetRefused(
            f"the draw from {group} asks for {asked}, which was not reserved; nothing was drawn."
        )


def _require_undrawn(run: Release, group: str) -> None:
    """Refuse to draw on a ledger that has forgotten this very draw."""
    path = measurement_path(run, group)
    if path.exists():
        raise LedgerCorrupt(
            f"{path} was drawn, and the ledger does not know it: it was restored from a backup "
            "that has forgotten spending. Restore a newer one."
        )


def _require_whole(run: Release, path: Path, data: bytes) -> None:
    """Refuse to record what a run left that died, if it cannot be read any more."""
    try:
        parse_parquet(data, path.name)
    except Unreadable:
        raise LedgerCorrupt(
            f"{path} was sealed by a run that died, and was damaged since: restore it from a "
            f"backup, or take the collection back with `hybriddp withdraw {run.release_id}`."
        ) from None


def _to_bytes(table: pa.Table) -> bytes:
    """Return a measurement's file, with salt, so that its hash says nothing about what is in it.

    The hash stands in the manifest and in the ledger's export. Without salt, whoever knows most
    of a measurement could try what is missing, such as a blocked text, until the hash fits.
    """
    salted = table.replace_schema_metadata({"salt": secrets.token_hex(32)})
    sink = pa.BufferOutputStream()
    pq.write_table(salted, sink)
    return bytes(sink.getvalue())
