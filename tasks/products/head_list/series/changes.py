"""What changed since the list of the week before, as a table: entered, left, rose and fell."""

import math
from collections.abc import Collection, Container
from typing import Any

import polars as pl
import pyarrow as pa

from hybriddp.params import BlenderParams
from hybriddp.series.changes import ENTERED, FELL, LEFT, ROSE, UNCLEAR, find_changes
from tasks.ledger.rules import PUBLICATIONS, Kind, left_out_before
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.products.files import rounded
from tasks.products.head_list.estimation.columns import CHANGES
from tasks.products.head_list.estimation.processing import measured_of
from tasks.products.head_list.run import params_of
from tasks.products.head_list.series.measured import MeasuredSeason
from tasks.release.run import Release

_ORDER = {kind: place for place, kind in enumerate((ENTERED, ROSE, FELL, LEFT))}
_NUMBERS = ("probability", "previous", "ratio_low", "ratio_high")


def compared(params: BlenderParams, measured: MeasuredSeason) -> pl.DataFrame:
    """Return every query that is listed now or was then; none in the first week of a season."""
    found = find_changes(params, measured.draws)
    rows: list[dict[str, Any]] = []
    if found is not None:
        numbers = (found.now, found.before, found.ratio_low, found.ratio_high)
        columns = (column.tolist() for column in (found.query_ids, found.kinds, *numbers))
        for query_id, kind, *values in zip(*columns, strict=True):
            texts = {"change": kind, "query": measured.candidates.queries[query_id]}
            rows.append(texts | dict(zip(_NUMBERS, values, strict=True)))
    schema = {"change": pl.String, "query": pl.String, **dict.fromkeys(_NUMBERS, pl.Float64)}
    return pl.DataFrame(rows, schema=schema)


def changes_of(frame: pl.DataFrame, left_out: Collection[str] = ()) -> pl.DataFrame:
    """Return what changed of what readers see: the list of then did not show some of its queries.

    Those that are listed now have entered, and nobody saw that the others left. What rose or fell
    is decided beside all that was listed, shown or not: so nobody needs to know what was not.
    """
    was_hidden = pl.col("query").is_in(sorted(left_out))
    change = pl.when(was_hidden & (pl.col("change") != LEFT)).then(pl.lit(ENTERED))
    kept = frame.filter(~(was_hidden & (pl.col("change") == LEFT)))
    return kept.with_columns(change=change.otherwise("change")).filter(
        pl.col("change").is_in(list(_ORDER))
    )


def left_out_then(frame: pl.DataFrame, shown: pa.Table) -> frozenset[str]:
    """Return what the list of then did not show, if what is published of changes is true.

    That is what entered although it was listed, and maybe what left without a word.
    """
    said = dict(zip(shown["query"].to_pylist(), shown["change"].to_pylist(), strict=True))
    return frozenset(
        query
        for query, kind in frame.select("query", "change").rows()
        if kind != ENTERED and said.get(query) == (None if kind == LEFT else ENTERED)
    )


def n_maybe_hidden(frame: pl.DataFrame, then: Collection[str], now: Collection[str]) -> int:
    """Return how many changes a blocklist may have hidden that need not have been any.

    What left, if it was shown then; and what is not shown now, if it was not shown then.
    """
    kinds = frame.select("query", "change").rows()
    return sum(
        (kind == LEFT and query in then) or (kind == UNCLEAR and query in now)
        for query, kind in kinds
    )


def find_and_write(release: Release) -> pl.DataFrame:
    """Write what changed since the week before."""
    frame = _computed(release)
    write_derived(release, "changes", frame)
    return frame


def written_changes(release: Release) -> pl.DataFrame:
    """Return what the step wrote; compute it where it has not."""
    return written_or(lambda: read_derived(release, "changes"), lambda: _computed(release))


def _computed(release: Release) -> pl.DataFrame:
    measured = measured_of(release)
    assert isinstance(measured, MeasuredSeason)
    reserved = release.state.find(Kind.RESERVED)
    assert reserved is not None
    left_out = left_out_before(reserved, release.ledger.entries(*PUBLICATIONS))
    return changes_of(compared(params_of(release), measured), left_out)


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
