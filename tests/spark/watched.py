"""What a release decides before any noise, written down, so that two engines can be compared."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, is_dataclass
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import tasks.gates.quality
import tasks.log.ingest
import tasks.measured.drawing
import tasks.products.clusters.draws
import tasks.products.head_list.series.draws
from tasks.budget.sums.files import sealed_file
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Kind
from tasks.store.home import Home
from tests.homes import steps_of
from tests.release.support import waive_gates

_DRAWING = (
    tasks.measured.drawing,
    tasks.products.clusters.draws,
    tasks.products.head_list.series.draws,
)


@dataclass
class Watched:
    """What gates were shown and said of it, and what noise was added to, in order."""

    judged: Any = field(default_factory=list)
    counted: Any = field(default_factory=list)


@contextmanager
def watched(patch: Any, seen: Watched | None = None) -> Iterator[Watched]:
    """Watch the releases that are made meanwhile; gates are asked, and let everything pass."""
    seen = seen or Watched()
    judge, draw_together = tasks.gates.quality.judge, tasks.measured.drawing.draw_together
    with patch.context() as scope:
        waive_gates(scope.setattr)
        waived = tasks.log.ingest.judge

        def judging(suite: str, frame: pa.Table, limits: Mapping[str, float]) -> Any:
            seen.judged.append((suite, frame.to_pylist(), judge(suite, frame, limits)))
            return waived(suite, frame, limits)

        def drawing(run: Any, events: Any, count: Callable[[], Any], *rest: Any) -> Any:
            def counting() -> Any:
                counted = count()
                seen.counted.append((list(events), plain(counted)))
                return counted

            return draw_together(run, events, counting, *rest)

        scope.setattr(tasks.log.ingest, "judge", judging)
        for module in _DRAWING:
            scope.setattr(module, "draw_together", drawing)
        yield seen


def plain(value: Any) -> Any:
    """Return what can be compared: tables by their rows, in an order of their own."""
    if isinstance(value, pa.Table | pl.DataFrame):
        return sorted(map(repr, value.to_pylist() if hasattr(value, "to_pylist") else value.rows()))
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, Mapping):
        return {name: plain(one) for name, one in value.items()}
    if is_dataclass(value):
        return {name: plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def charged(home: Home) -> list[Any]:
    """Return every reservation of a home, and who was sealed into it."""
    rows = [row for row in steps_of(home) if row.kind is Kind.RESERVED]
    said = [row.said(Reserved) for row in rows]
    return [
        (row.release_id, row.attempt, one, pq.read_table(sealed_file(home, one.participation)))
        for row, one in zip(rows, said, strict=True)
    ]
