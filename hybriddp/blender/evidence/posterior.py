"""What is known about each probability after all evidence: a curve, its mean, and its quantiles.

Only counts above a threshold are seen, so a listed record's noisy count is, on average, too high:
it is more often a rare record with lucky noise than a frequent one with unlucky noise, because
there are many more rare records. A prior that says how many more corrects exactly that. Given
the prior, that a record was *selected* by its count adds nothing: the count itself is known.
"""

from collections.abc import Callable, Sequence

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.evidence.sources import Source, pool
from hybriddp.blender.headlist import HeadList

LogPrior = Callable[[FloatArray], FloatArray]

# Points of each curve, and how many standard errors they reach to either side.
_POINTS = 257
_REACH = 7.0

# Of the tail of probabilities until a list teaches otherwise: Zipf's law, 1/p^2.
_USUAL_EXPONENT = 2.0
# Above it nearly every listed record would be taken for a rare one with lucky noise.
_LARGEST_EXPONENT = 3.0
# How many listed records weigh as much as that expectation.
_PSEUDO_RECORDS = 4.0


def posterior(
    sources: Sequence[Source], log_prior: LogPrior, *, least: float = 0.0
) -> IntervalEstimate:
    """Combine independent sources about the same cells with a prior, cell by cell.

    `least` is the smallest probability that is considered.

    Privacy claim: none; post-processing of estimates.
    """
    centres = pool(sources).values
    grid = _grid(centres, sources, least)
    log_density = log_prior(grid) + np.log(grid) / 2  # points are even in the root of p
    for source in sources:
        log_density = log_density + source.log_likelihood(grid, centres)
    log_density -= log_density.max(axis=1, keepdims=True)
    return summarised(np.exp(log_density), grid)


def summarised(weight: FloatArray, grid: FloatArray) -> IntervalEstimate:
    """Return mean, variance and the central 95 % of each row's weights on its points.

    Privacy claim: none; post-processing of estimates.
    """
    weight = weight / weight.sum(axis=1, keepdims=True)
    mean = (weight * grid).sum(axis=1)
    variance = (weight * (grid - mean[:, None]) ** 2).sum(axis=1)
    below = np.cumsum(weight, axis=1) - weight / 2
    low, high = (_quantile(below, grid, share) for share in (0.025, 0.975))
    return IntervalEstimate(mean, variance, low, high)


def _grid(centres: FloatArray, sources: Sequence[Source], least: float) -> FloatArray:
    """Return points around each centre, even in the square root, where spread is even too."""
    centres = np.clip(centres, 0, 1)
    upper, reach = centres, np.zeros_like(centres)
    for _ in range(2):  # the spread at the upper end may be the larger one
        precision = np.sum([1 / source.variance_at(upper) for source in sources], axis=0)
        reach = np.maximum(reach, _REACH / np.sqrt(precision))
        upper = np.minimum(centres + reach, 1)
    upper = np.maximum(upper, 2 * least)
    lower = np.maximum(centres - reach, np.maximum(upper * 1e-6, least))
    steps = np.linspace(0, 1, _POINTS)
    roots = np.sqrt(lower)[:, None] + (np.sqrt(upper) - np.sqrt(lower))[:, None] * steps
    points: FloatArray = roots**2
    return points


def _quantile(below: FloatArray, grid: FloatArray, share: float) -> FloatArray:
    """Interpolate where each row's cumulated weight passes `share`."""
    after = np.clip((below < share).sum(axis=1), 1, grid.shape[1] - 1)
    rows = np.arange(len(grid))
    first, second = below[rows, after - 1], below[rows, after]
    step = np.clip((share - first) / np.maximum(second - first, 1e-300), 0, 1)
    value: FloatArray = grid[rows, after - 1] + step * (grid[rows, after] - grid[rows, after - 1])
    return value


def tail_exponent(noisy_counts: IntArray | FloatArray, threshold: float) -> float:
    """Return how steeply records thin out towards the frequent ones: density p^-exponent.

    Hill's estimator on the counts above the threshold, drawn towards Zipf's law while there are
    few of them.

    Privacy claim: none; post-processing of a HeadListDraw.
    """
    excess = float(np.log(np.maximum(noisy_counts, threshold) / threshold).sum())
    n_records = len(noisy_counts)
    exponent = 1 + (n_records + _PSEUDO_RECORDS) / (
        excess + _PSEUDO_RECORDS / (_USUAL_EXPONENT - 1)
    )
    return min(exponent, _LARGEST_EXPONENT)


def power_law(exponent: float) -> LogPrior:
    """Return the prior with density p^-exponent."""
    return lambda p: -exponent * np.log(p)


def gamma(means: FloatArray, shape: float) -> LogPrior:
    """Return the gamma prior of cells with these means; below shape 1 it has a long tail.

    Privacy claim: none; post-processing of estimates.
    """
    return lambda p: (shape - 1) * np.log(p) - p * shape / means[:, None]


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
