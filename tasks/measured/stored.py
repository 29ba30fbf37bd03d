"""Measurements as they lie in the home: what was drawn is read, and never drawn, here."""

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from tasks.ledger.ledger import LedgerCorrupt
from tasks.ledger.payloads import Drawn
from tasks.ledger.rules import Kind
from tasks.store.tables import read_parquet

if TYPE_CHECKING:
    from tasks.release.run import Release


def load_measurement(run: "Release", group: str) -> pa.Table:
    """Read a stored measurement, if it is what the ledger says it is."""
    drawn = run.state.find(Kind.DRAWN, group)
    path = measurement_path(run, group)
    data = path.read_bytes() if path.exists() else b""
    if drawn is None or hashlib.sha256(data).hexdigest() != drawn.said(Drawn).sha256:
        raise LedgerCorrupt(
            f"{path} is not the measurement that the ledger recorded; restore it from a backup. "
            "It cannot be drawn again."
        )
    return read_parquet(data)


def measurement_path(run: "Release", group: str) -> Path:
    """Return where a group's measurement lies."""
    return run.folder / run.product.groups[group].file
