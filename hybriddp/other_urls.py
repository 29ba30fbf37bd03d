"""What people click for a listed query beside its listed urls: the cells <q,*>.

They are many, rare, and measured by clients only, so all of them together say what one alone
cannot.
"""

from collections.abc import Sequence

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.estimate import IntervalEstimate
from hybriddp.evidence import Source, pool
from hybriddp.headlist import HeadList
from hybriddp.posterior import gamma, posterior

# Of so many thresholds a query must be for the mass of its unlisted urls to level off.
_UNLISTED_THRESHOLDS = 3
# How far the cells <q,*> are scaled down at most, to fit what is known of their sum.
_LEAST_FACTOR = 0.1
# The longest tail that the masses of <q,*> are assumed to have.
_LEAST_SHAPE = 0.25


def estimate_other_urls(
    head_list: HeadList, sources: Sequence[Source], records: IntervalEstimate, threshold: float
) -> IntervalEstimate:
    """Estimate the cells <q,*> of a list whose records are known.

    `threshold` is the share of S that a record needed to be named.

    Clients say too little of each. But they know well how much falls outside the list
    altogether, and the records are known, so the total of these cells is what remains. It sets
    the mean of the gamma prior; how much single cells differ sets its spread.

    Privacy claim: none; post-processing of the three draws.
    """
    if head_list.n_queries == 0:
        nothing = np.zeros(0)
        return IntervalEstimate(nothing, nothing, nothing, nothing)
    outside = pool([source.at(np.array([head_list.n_cells - 1])) for source in sources])
    total = float(1 - outside.values[0] - records.values.sum())
    total_variance = float(outside.variances[0] + records.variances.sum())
    own = [source.at(other_cells(head_list)) for source in sources]
    sizes = _expected_sizes(head_list, records.values, threshold)
    pooled = pool(own)
    # One standard error more than estimated: the common ratio is not known better than that.
    ratio = (max(total, 0.0) + total_variance**0.5) / float(sizes.sum())
    weights, ratios = sizes**2 / pooled.variances, pooled.values / sizes
    excess = (ratios - ratio) ** 2 - 1 / weights
    spread = max(float((excess * weights**2).sum() / (weights**2).sum()), ratio**2)
    known = posterior(own, gamma(ratio * sizes, max(ratio**2 / spread, _LEAST_SHAPE)))
    return _with_total(known, total, total_variance)


def _with_total(known: IntervalEstimate, total: float, variance: float) -> IntervalEstimate:
    """Scale cells so that their sum is the best blend of itself and what is known of the total.

    Each cell alone cannot be below 0, so where they are noisy their sum comes out too high.
    """
    own, own_variance = float(known.values.sum()), float(known.variances.sum())
    weight = own_variance / (own_variance + variance)
    factor = max((1 - weight) + weight * total / own, _LEAST_FACTOR)
    return IntervalEstimate(
        known.values * factor, known.variances * factor**2, known.low * factor, known.high * factor
    )


def other_cells(head_list: HeadList) -> IntArray:
    """Return the cells <q,*>."""
    return head_list.cell_starts[:-1] + head_list.url_counts


def _expected_sizes(head_list: HeadList, records: FloatArray, threshold: float) -> FloatArray:
    """Return what the mass of <q,*> should be proportional to.

    Urls that are not listed are below the threshold: a rare query has few of its clicks on
    them, and no query can have much more than a few times the threshold there.
    """
    listed = np.bincount(head_list.query_of_record, records, head_list.n_queries)
    return listed / (listed + _UNLISTED_THRESHOLDS * threshold)
