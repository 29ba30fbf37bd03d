"""What changed since the list of the week before, as a table: entered, left, rose and fell."""

import math
from collections.abc import Container
from typing import Any

import polars as pl
import pyarrow as pa

from hybriddp.params import BlenderParams
from hybriddp.series.changes import ENTERED, FELL, LEFT, ROSE, find_changes
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.products.files import rounded
from tasks.products.head_list.estimation.columns import CHANGES
from tasks.products.head_list.estimation.processing import measured_of
from tasks.products.head_list.run import params_of
from tasks.products.head_list.series.measured import MeasuredSeason
from tasks.release.run import Release

_ORDER = {kind: place for place, kind in enumerate((ENTERED, ROSE, FELL, LEFT))}
_NUMBERS = ("probability", "previous", "ratio_low", "ratio_high")


def changes_of(params: BlenderParams, measured: MeasuredSeason) -> pl.DataFrame:
    """Return every query that changed, with its numbers; none in the first week of a season."""
    found = find_changes(params, measured.draws)
    rows: list[dict[str, Any]] = []
    if found is not None:
        numbers = (found.now, found.before, found.ratio_low, found.ratio_high)
        columns = (column.tolist() for column in (found.query_ids, found.kinds, *numbers))
        for query_id, kind, *values in zip(*columns, strict=True):
            if kind in _ORDER:
                texts = {"change": kind, "query": measured.candidates.queries[query_id]}
                rows.append(texts | dict(zip(_NUMBERS, values, strict=True)))
    schema = {"change": pl.String, "query": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema)


def find_and_write(release: Release) -> pl.DataFrame:
    """Write what changed since the week before."""
    measured = measured_of(release)
    assert isinstance(measured, MeasuredSeason)
    frame = changes_of(params_of(release), measured)
    write_derived(release, "changes", frame)
    return frame


def written_changes(release: Release) -> pl.DataFrame:
    """Return what the step wrote; compute it where it has not."""
    return written_or(lambda: read_derived(release, "changes"), lambda: _computed(release))


def _computed(release: Release) -> pl.DataFrame:
    measured = measured_of(release)
    assert isinstance(measured, MeasuredSeason)
    return changes_of(params_of(release), measured)


def changes_table(frame: pl.DataFrame, decimals: int, hidden: Container[str]) -> pa.Table:
    """Round and order; leave out what is not to be published."""
    rows: list[dict[str, Any]] = [
        {name: _shown(value, decimals) for name, value in row.items()}
        for row in frame.to_dicts()
        if row["query"] not in hidden
    ]
    rows.sort(key=lambda row: (_ORDER[row["change"]], -(row["probability"] or 0), row["query"]))
    return pa.Table.from_pylist(rows, schema=CHANGES)


def _shown(value: str | float, decimals: int) -> str | float | None:
    """Round a number; what is not known has none."""
    if isinstance(value, str):
        return value
    return rounded(value, decimals) if math.isfinite(value) else None
