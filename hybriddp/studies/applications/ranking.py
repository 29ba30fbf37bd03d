"""How good ranked substitutes are, measured against those of the raw log (ZEAL section 8.3)."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.studies.applications.substitution import Rankings


@dataclass(frozen=True, slots=True)
class RankingQuality:
    """Averages over queries.

    The first four are over queries for which the sanitised log has substitutes, and nan if there
    is none; the last two over those for which the raw log has some.
    """

    precision: float
    recall: float
    average_precision: float  # MAP
    ndcg: float
    coverage: float
    answered: float


@dataclass(frozen=True, slots=True, eq=False)
class RankingMeasures:
    """The measures of each query, (n_queries,) each.

    precision: the share of what is shown that is in the truth. recall: the share of the truth
    that is shown. A share of nothing is 0: whatever is shown where the raw log shows nothing
    is wrong.

    average_precision: the sum of i/(rank of the i-th substitute of the truth that is shown, in
    the order shown) over the number of substitutes in the truth. Differs from ZEAL's MAP, which
    adds up true rank/assigned rank with assigned rank 0 + 1 for what is missing. As printed, a
    list without a single hit has the sum 1 + 2 + ... + j, a perfect one only j, and [b, a] for
    [a, b] has 2.5. With the substitutes counted in the order shown, nothing for what is missing,
    and the mean, the same ratio is average precision, which MAP is the mean of; it is in [0, 1].

    ndcg: gain 2^r - 1, r = 1 for the last substitute of the truth up to its length for the first,
    discount 1/log2(rank + 1), over that of the truth itself. ZEAL leaves the gains to a reference.

    coverage: the length of the list shown over the length of the true one, at most 1. ZEAL does
    not define it, but draws it for j = 2 and j = 5 apart. `RankingQuality.answered` counts any
    list as 1.
    """

    is_in_truth: BoolArray  # the raw log has substitutes
    is_shown: BoolArray  # the sanitised log has substitutes
    precision: FloatArray
    recall: FloatArray
    average_precision: FloatArray
    ndcg: FloatArray
    coverage: FloatArray

    def averaged(self) -> RankingQuality:
        """Average over queries, as ZEAL section 8.3 does."""
        return RankingQuality(
            precision=_mean(self.precision[self.is_shown]),
            recall=_mean(self.recall[self.is_shown]),
            average_precision=_mean(self.average_precision[self.is_shown]),
            ndcg=_mean(self.ndcg[self.is_shown]),
            coverage=_mean(self.coverage[self.is_in_truth]),
            answered=_mean(self.is_shown[self.is_in_truth].astype(np.float64)),
        )


def compare_rankings(truth: Rankings, shown: Rankings) -> RankingMeasures:
    """Compare two top lists of each query: the raw log's and the sanitised log's.

    Privacy claim: none; the result is private, for it reads the truth.
    """
    require(
        np.array_equal(truth.queries, shown.queries)
        and truth.substitutes.shape == shown.substitutes.shape,
        "both rankings must be top lists of one length for the same queries",
        f"shapes {truth.substitutes.shape} and {shown.substitutes.shape}",
        "give both the same targets, and cut the longer lists with Rankings.top",
    )
    ranks = np.arange(1, truth.substitutes.shape[1] + 1)
    n_truth, n_shown = ((r.substitutes >= 0).sum(axis=1) for r in (truth, shown))
    true_relevance = np.maximum(n_truth[:, None] + 1 - ranks, 0)
    relevance = _look_up(truth.substitutes, true_relevance, shown.substitutes)
    is_hit = relevance > 0
    n_hits = is_hit.sum(axis=1)
    hit_precisions = np.where(is_hit, np.cumsum(is_hit, axis=1) / ranks, 0)
    return RankingMeasures(
        is_in_truth=n_truth > 0,
        is_shown=n_shown > 0,
        precision=_share(n_hits, n_shown),
        recall=_share(n_hits, n_truth),
        average_precision=_share(hit_precisions.sum(axis=1), n_truth),
        ndcg=_share(_discounted(relevance), _discounted(true_relevance)),
        coverage=_share(np.minimum(n_shown, n_truth), n_truth),
    )


def _look_up(substitutes: IntArray, relevance: IntArray, wanted: IntArray) -> IntArray:
    """Return the relevance of each wanted substitute in its own row, 0 if it is not there."""
    result = np.zeros_like(wanted)
    for rank in range(substitutes.shape[1]):  # a top list is short
        is_same = wanted == substitutes[:, rank, None]
        # Where both lists have ended, the two are the same -1, and its relevance is 0.
        result += is_same * relevance[:, rank, None]
    return result


def _discounted(relevance: IntArray) -> FloatArray:
    ranks = np.arange(1, relevance.shape[1] + 1)
    total: FloatArray = ((np.exp2(relevance) - 1) / np.log2(ranks + 1)).sum(axis=1)
    return total


def _share(part: FloatArray | IntArray, whole: FloatArray | IntArray) -> FloatArray:
    """Return part/whole, 0 where the whole is 0."""
    return np.divide(part, whole, out=np.zeros(len(whole)), where=whole > 0)


def _mean(values: FloatArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
