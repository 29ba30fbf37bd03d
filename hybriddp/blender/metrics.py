"""How good a published head list is, measured against the truth (JPC19 section 4.1).

The truth is private: these numbers are for studies and for the curator's own eyes.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.headlist import HeadList, RecordCounts
from hybriddp.errors import require


@dataclass(frozen=True, slots=True)
class Utility:
    """The paper's measures of one release; wildcards are left out of all of them."""

    l1_records: float
    l1_queries: float
    ndcg_queries: float
    ndcg_of_ndcgs: float


def evaluate(
    head_list: HeadList,
    cell_probabilities: FloatArray,
    query_probabilities: FloatArray,
    truth: RecordCounts,
    n_users: int,
    max_head_size: int,
) -> Utility:
    """Compare what a release says with one record of each of all users.

    `query_probabilities` has one element for each listed query (a last one, the wildcard, is
    ignored). The ideal list is the true top `max_head_size`, so a shorter list loses the gain of
    what it lacks.

    Privacy claim: none; the result is private, for it reads the truth.
    """
    shown = cell_probabilities[head_list.record_cells]
    shown_queries = query_probabilities[: head_list.n_queries]
    true_records = _look_up(head_list, truth)
    unique_queries, inverse = np.unique(truth.query_ids, return_inverse=True)
    all_queries = np.bincount(inverse, truth.counts, len(unique_queries)).astype(np.float64)
    true_queries = _counts_of(head_list.query_ids, unique_queries, all_queries)
    per_query = _url_ndcgs(head_list, shown, true_records, truth)
    ideal = np.sort(all_queries)[::-1][:max_head_size]
    return Utility(
        l1_records=float(np.abs(shown - true_records / n_users).sum()),
        l1_queries=float(np.abs(shown_queries - true_queries / n_users).sum()),
        ndcg_queries=ndcg(shown_queries, true_queries, ideal),
        ndcg_of_ndcgs=ndcg(shown_queries, true_queries, ideal, weights=per_query),
    )


def ndcg(
    scores: FloatArray, counts: FloatArray, ideal: FloatArray, weights: FloatArray | None = None
) -> float:
    """Return the normalised discounted cumulative gain of the list ordered by `scores`.

    rel_i = n_i / sum_j n_j with j over the ideal list, gain (2^rel_i - 1)/log2(i + 1). `counts`
    are the true counts of the listed items, `ideal` the counts of the best possible list in
    descending order, `weights` what each item's gain is multiplied with.

    Privacy claim: none; the result is private, for it reads the truth.
    """
    require(
        scores.shape == counts.shape and ideal.ndim == 1,
        "scores and counts must have one element for each listed item",
        f"shapes {scores.shape} and {counts.shape}",
        "look the true counts up in the order of the list",
    )
    total = ideal.sum()
    if total == 0:
        return 1.0  # nothing could have been gained, and nothing was missed
    order = np.argsort(-scores, kind="stable")[: len(ideal)]
    gains = np.exp2(counts[order] / total) - 1
    if weights is not None:
        gains = gains * weights[order]
    return _discounted(gains) / _discounted(np.exp2(ideal / total) - 1)


def _discounted(gains: FloatArray) -> float:
    return float((gains / np.log2(np.arange(len(gains)) + 2)).sum())


def _url_ndcgs(
    head_list: HeadList, shown: FloatArray, true_records: FloatArray, truth: RecordCounts
) -> FloatArray:
    """Return the NDCG of each listed query's url list, against its own best urls."""
    ends = np.cumsum(head_list.url_counts)
    result = np.ones(head_list.n_queries)
    first = np.searchsorted(truth.query_ids, head_list.query_ids, side="left")
    last = np.searchsorted(truth.query_ids, head_list.query_ids, side="right")
    for q, n_urls in enumerate(head_list.url_counts):
        own = slice(ends[q] - n_urls, ends[q])
        ideal = np.sort(truth.counts[first[q] : last[q]])[::-1][:n_urls].astype(np.float64)
        result[q] = ndcg(shown[own], true_records[own], ideal)
    return result


def _look_up(head_list: HeadList, truth: RecordCounts) -> FloatArray:
    """Return the true count of each listed record."""
    cells = head_list.cells_of(truth.query_ids, truth.url_ids)
    by_cell = np.bincount(cells, truth.counts, head_list.n_cells).astype(np.float64)
    return by_cell[head_list.record_cells]


def _counts_of(wanted: IntArray, ids: IntArray, counts: FloatArray) -> FloatArray:
    position = np.searchsorted(ids, wanted)
    is_present = np.append(ids, -1)[position] == wanted
    return np.where(is_present, np.append(counts, 0)[position], 0.0)
