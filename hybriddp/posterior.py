"""What is known about each probability after all evidence: a curve, its mean, and its quantiles.

Only counts above a threshold are seen, so a listed record's noisy count is, on average, too high:
it is more often a rare record with lucky noise than a frequent one with unlucky noise, because
there are many more rare records. A prior that says how many more corrects exactly that. Given
the prior, that a record was *selected* by its count adds nothing: the count itself is known.
"""

from collections.abc import Callable, Sequence

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.estimate import IntervalEstimate
from hybriddp.evidence import Source, pool

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
    weight = np.exp(log_density)
    weight /= weight.sum(axis=1, keepdims=True)
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


def tail_exponent(noisy_counts: IntArray, threshold: float) -> float:
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
