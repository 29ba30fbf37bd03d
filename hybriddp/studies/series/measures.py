"""How good the list of a week is, against the law of that very week."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.metrics import evaluate
from hybriddp.studies.blender.checks import covered
from hybriddp.studies.series.laws import SCALE, Newcomer, WeekLaw

Row = dict[str, float | str | None]
# The longest list that is looked at, and the top that it should hold.
N_TOP = 50


@dataclass(frozen=True, slots=True, eq=False)
class Shown:
    """What is published of cells or queries, the wildcard last."""

    values: FloatArray
    low: FloatArray
    high: FloatArray


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """What a method publishes in a week."""

    head_list: HeadList
    records: Shown
    queries: Shown
    n_changes: int | None = None  # which rose or fell since the week before, if that is said
    n_false_changes: int | None = None


def week_row(week: int, published: Published, law: WeekLaw) -> Row:
    """Compare a week's list with its law.

    Privacy claim: none; synthetic data.
    """
    head, records, queries = published.head_list, published.records, published.queries
    utility = evaluate(head, records.values, queries.values, law.counts, SCALE, N_TOP)
    row: Row = {
        "part": str(week),
        "n_queries": float(head.n_queries),
        "n_records": float(head.n_records),
        "top_queries": float(np.isin(law.top_queries(N_TOP), head.query_ids).sum()),
        "ndcg_queries": utility.ndcg_queries,
        "l1_records": utility.l1_records if head.n_records else None,
        "l1_top_queries": _l1_of_top(published, law),
        "coverage_records": None,
        "coverage_queries": None,
    }
    if head.n_records:
        truth, cells = law.of_cells(head), head.record_cells
        of_queries = np.add.reduceat(truth, head.cell_starts)[:-1]
        row["coverage_records"] = covered(records.low[cells], records.high[cells], truth[cells])
        row["coverage_queries"] = covered(queries.low[:-1], queries.high[:-1], of_queries)
    return row


def _l1_of_top(published: Published, law: WeekLaw) -> float:
    """Return the L1 error of queries over the true top and the list; what is missing is 0."""
    truth = np.bincount(law.query_ids, law.probabilities)
    shown = np.zeros(max(len(truth), int(published.head_list.query_ids.max(initial=0)) + 1))
    shown[published.head_list.query_ids] = published.queries.values[:-1]
    truth = np.pad(truth, (0, len(shown) - len(truth)))
    asked = np.union1d(law.top_queries(N_TOP), published.head_list.query_ids)
    return float(np.abs(shown - truth)[asked].sum())


def year_row(
    newcomers: Sequence[Newcomer], first_listed: Mapping[int, int], n_weeks: int
) -> Row | None:
    """Say how long newcomers wait until they are listed; if never, as long as the year goes on.

    Privacy claim: none; synthetic data.
    """
    if not newcomers:
        return None
    row: Row = {"part": "year"}
    waits = {}
    for newcomer in newcomers:
        week = first_listed.get(newcomer.query_id)
        waits[newcomer] = (n_weeks + 1 if week is None else max(week, newcomer.week)) - (
            newcomer.week - 1
        )
    is_listed = [newcomer.query_id in first_listed for newcomer in newcomers]
    row["newcomers_listed"] = float(np.mean(is_listed))
    row["newcomer_weeks"] = float(np.mean(list(waits.values())))
    frequent = [newcomer for newcomer in newcomers if newcomer.rank <= N_FREQUENT]
    rest = [newcomer for newcomer in newcomers if newcomer.rank > N_FREQUENT]
    for name, some in (("frequent", frequent), ("rare", rest)):
        listed = [newcomer.query_id in first_listed for newcomer in some]
        row[f"{name}_newcomers_listed"] = float(np.mean(listed)) if some else None
        row[f"{name}_newcomer_weeks"] = (
            float(np.mean([waits[newcomer] for newcomer in some])) if some else None
        )
    return row


# Newcomers as frequent as the first queries are counted apart.
N_FREQUENT = 10
