"""How good the list of a week is, against the law of that very week."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.metrics import evaluate
from hybriddp.series.changes import FELL, ROSE, Changes
from hybriddp.studies.blender.checks import covered
from hybriddp.studies.series.laws import SCALE, Newcomer, WeekLaw

Row = dict[str, float | str | None]
# The longest list that is looked at, and the top that it should hold.
N_TOP = 50
# Newcomers as frequent as the first queries are counted apart.
N_FREQUENT = 10
# A smaller part of a query's probability is no change but rounding.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What is published of cells or queries, the wildcard last."""

    values: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What a method publishes in a week; estimates are made when they are looked at."""

    head_list: HeadList
    show: Callable[[], tuple[Shown, Shown]]  # cells, and queries
    changes: Callable[[], Changes | None] = lambda: None  # since the list before, if that is said


def week_row(published: Published, laws: Sequence[WeekLaw]) -> Row:
    """Compare a week's list with its law, the last one of all laws until then.

    Privacy claim: none; synthetic data.
    """
    head, law = published.head_list, laws[-1]
    records, queries = published.show()
    utility = evaluate(head, records.values, queries.values, law.counts, SCALE, N_TOP)
    row: Row = {
        "part": str(len(laws)),
        "n_queries": float(head.n_queries),
        "n_records": float(head.n_records),
        "top_queries": float(np.isin(law.top_queries(N_TOP), head.query_ids).sum()),
        "ndcg_queries": utility.ndcg_queries,
        "l1_records": utility.l1_records if head.n_records else None,
        "l1_top_queries": _l1_of_top(head, queries, law),
        "coverage_records": None,
        "coverage_queries": None,
    }
    if head.n_records:
        truth, cells = law.of_cells(head), head.record_cells
        of_queries = np.add.reduceat(truth, head.cell_starts)[:-1]
        row["coverage_records"] = covered(records.low[cells], records.high[cells], truth[cells])
        row["coverage_queries"] = covered(queries.low[:-1], queries.high[:-1], of_queries)
    return {**row, **_changes(published, laws)}


def _changes(published: Published, laws: Sequence[WeekLaw]) -> Row:
    """Return how many queries are said to have risen or fallen, and how many of them did not."""
    changes = published.changes()
    if changes is None:
        return {"changes": None, "false_changes": None}
    then, now = (law.of_queries(changes.query_ids) for law in (laws[changes.since - 1], laws[-1]))
    rose, fell = changes.kinds == ROSE, changes.kinds == FELL
    moved, nothing = now - then, _NOTHING * np.maximum(now, then)
    is_false = (rose & (moved < nothing)) | (fell & (moved > -nothing))
    return {"changes": float((rose | fell).sum()), "false_changes": float(is_false.sum())}


def _l1_of_top(head: HeadList, queries: Shown, law: WeekLaw) -> float:
    """Return the L1 error of queries over the true top and the list; what is missing is 0."""
    asked = np.union1d(law.top_queries(N_TOP), head.query_ids)
    shown = np.zeros(len(asked))
    shown[np.searchsorted(asked, head.query_ids)] = queries.values[:-1]
    return float(np.abs(shown - law.of_queries(asked)).sum())


def year_row(
    last: Row, newcomers: Sequence[Newcomer], first_listed: Mapping[int, int], n_weeks: int
) -> Row:
    """Add to the last week's row how long newcomers waited until they were listed.

    One that is listed in its first week waited for one; one that never is, until after the year.

    Privacy claim: none; synthetic data.
    """
    row: Row = {**last, "part": "year"}
    for name, some in (
        ("", newcomers),
        ("frequent_", [newcomer for newcomer in newcomers if newcomer.rank <= N_FREQUENT]),
    ):
        waits = [
            max(first_listed.get(newcomer.query_id, n_weeks + 1), newcomer.week) - newcomer.week + 1
            for newcomer in some
        ]
        is_listed = [newcomer.query_id in first_listed for newcomer in some]
        row[f"{name}newcomers_listed"] = float(np.mean(is_listed)) if some else None
        row[f"{name}newcomer_weeks"] = float(np.mean(waits)) if some else None
    return row
