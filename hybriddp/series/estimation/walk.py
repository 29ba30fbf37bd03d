"""Records that change: log p goes at random from week to week, and now and then jumps.

Each record has a grid of its own, even in log p. A week's evidence multiplies the weights on its
points, and time spreads them. How far records go in a week is common to all and learnt: every
candidate is followed, and what is known is their mean, weighed by how well each foretold the weeks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import fft

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.evidence.posterior import LogPrior
from hybriddp.blender.evidence.sources import Source

# Standard deviations of a week's step of log p that are tried, and what is expected of them before
# any week: about .04, and a factor of e either way, or none at all.
STEPS = np.array([0.0, 0.01, 0.014, 0.02, 0.028, 0.04, 0.057, 0.08, 0.113, 0.16, 0.32])
_LOG_PRIOR_OF_STEPS = np.append(0.0, -(np.log(STEPS[1:] / 0.04) ** 2) / 2)
# Once in so many weeks a record jumps, by a factor of about e either way: bursts, and news. With
# five times as many intervals are too wide where nothing jumps.
_JUMPS, _JUMP = 1 / 500, 1.0
# Steps that foretold the weeks so much worse than the others are not followed any further.
_LEAST_WEIGHT = 0.01
# Points of each grid, and how many standard errors of every week it reaches beyond its values.
POINTS, _REACH = 256, 4.5


@dataclass(frozen=True, slots=True)
class Moment:
    """What was learnt of some records at one time."""

    records: IntArray  # which, among all that are known now
    time: float  # in weeks
    source: Source


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of each record, (records, points), even in log p."""

    logs: FloatArray

    @classmethod
    def around(cls, moments: Sequence[Moment], centres: FloatArray, least: float) -> "Grid":
        """Return grids that hold what any moment says of its records, with its noise.

        Privacy claim: none; post-processing of what weeks published.
        """
        low, high = centres.copy(), centres.copy()
        for moment in moments:
            at, values = moment.records, moment.source.values
            for end in (centres[at], np.clip(values, least, 1)):  # noise may grow with p
                margin = _REACH * np.sqrt(moment.source.variance_at(end))
                low[at] = np.minimum(low[at], values - margin)
                high[at] = np.maximum(high[at], values + margin)
        high = np.clip(high, 4 * least, 1)
        low = np.clip(low, least, high / 2)
        steps = np.linspace(0, 1, POINTS)
        return cls(np.log(low)[:, None] + np.log(high / low)[:, None] * steps)

    @property
    def points(self) -> FloatArray:
        """The probabilities."""
        points: FloatArray = np.exp(self.logs)
        return points

    @property
    def frequencies(self) -> FloatArray:
        """Those of the cosines that are as many as points, in radians by log p."""
        spacing = self.logs[:, 1] - self.logs[:, 0]
        return np.pi * np.arange(POINTS) / POINTS / spacing[:, None]


@dataclass(frozen=True, slots=True)
class Weighed:
    """The likelihood of some records' points at one time, the largest of each record being 1."""

    records: IntArray
    time: float
    likelihood: FloatArray


def weigh(moments: Sequence[Moment], grid: Grid, centres: FloatArray) -> list[Weighed]:
    """Read every moment on the grids.

    Privacy claim: none; post-processing of what weeks published.
    """
    points = grid.points
    found = []
    for moment in moments:
        at = moment.records
        log_likelihood = moment.source.log_likelihood(points[at], centres[at])
        likelihood = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
        found.append(Weighed(at, moment.time, likelihood))
    return found


def start_of(grid: Grid, log_prior: LogPrior) -> FloatArray:
    """Return the weights of points before any evidence; points are even in log p.

    Privacy claim: none; post-processing of what weeks published.
    """
    log_density = log_prior(grid.points) + grid.logs
    weights = np.exp(log_density - log_density.max(axis=1, keepdims=True))
    normed: FloatArray = weights / weights.sum(axis=1, keepdims=True)
    return normed


class Followed:
    """Weights of all records' points, brought from moment to moment with one step."""

    def __init__(self, grid: Grid, start: FloatArray, step: float) -> None:
        self.weights = start.copy()
        self.times = np.full(len(start), np.nan)
        self.log_evidence = 0.0
        squared = grid.frequencies**2 / 2
        self.kernel = (1 - _JUMPS) * np.exp(-(step**2) * squared) + _JUMPS * np.exp(
            -(_JUMP**2) * squared
        )

    def see(self, moment: Weighed) -> None:
        """Let time pass until a moment, and take in what it says.

        Privacy claim: none; post-processing of what weeks published.
        """
        at = moment.records
        gaps = moment.time - self.times[at]
        weights = self.passed(self.weights[at], at, np.nan_to_num(gaps))
        weights = weights * moment.likelihood
        totals = weights.sum(axis=1, keepdims=True)
        self.weights[at], self.times[at] = weights / totals, moment.time
        self.log_evidence += float(np.log(totals).sum())

    def passed(self, weights: FloatArray, at: IntArray, gaps: FloatArray) -> FloatArray:
        """Return weights (records, ..., points) after so many weeks; grids' ends reflect.

        Privacy claim: none; post-processing of what weeks published.
        """
        if not gaps.any():
            return weights
        kernel = self.kernel[at]
        if np.any(gaps != 1):
            kernel = kernel ** gaps[:, None]
        kernel = kernel.reshape(len(at), *(1,) * (weights.ndim - 2), POINTS)
        spread: FloatArray = fft.idct(fft.dct(weights, axis=-1) * kernel, axis=-1)
        # A tiny part everywhere: cosines leave rounding errors of either sign.
        return np.maximum(spread, 1e-18)


def learn_steps(grid: Grid, start: FloatArray, moments: Sequence[Weighed]) -> FloatArray:
    """Return how likely each of STEPS is, after all records' moments.

    Privacy claim: none; post-processing of what weeks published.
    """
    log_weights = np.full(len(STEPS), -np.inf)
    usual = int(_LOG_PRIOR_OF_STEPS[1:].argmax()) + 1
    # Either way from the usual one until it only gets worse.
    for numbers in (range(usual, -1, -1), range(usual + 1, len(STEPS))):
        for number in numbers:
            followed = Followed(grid, start, STEPS[number])
            for moment in moments:
                followed.see(moment)
            log_weights[number] = _LOG_PRIOR_OF_STEPS[number] + followed.log_evidence
            if log_weights[number] < log_weights.max() + 2 * np.log(_LEAST_WEIGHT):
                break
    weights = np.exp(log_weights - log_weights.max())
    weights[weights < _LEAST_WEIGHT * weights.sum()] = 0
    likely: FloatArray = weights / weights.sum()
    return likely


def follow(
    grid: Grid, start: FloatArray, moments: Sequence[Weighed], likely: FloatArray
) -> FloatArray:
    """Return the weights of points after all moments, averaged over likely steps.

    Privacy claim: none; post-processing of what weeks published.
    """
    mean = np.zeros_like(start)
    for weight, step in zip(likely, STEPS, strict=True):
        if weight > 0:
            followed = Followed(grid, start, step)
            for moment in moments:
                followed.see(moment)
            mean += weight * followed.weights
    return mean


def memory_of(moments: Sequence[Moment], centres: FloatArray, step: float) -> FloatArray:
    """Return how many weeks' worth each record's estimate is an average of.

    An error that is a record's own in all weeks does not average out. Counted as noise of every
    week it must be so many times larger to weigh as much as it does: 1 over the sum of squares of
    what each moment counts, by a Kalman filter of relative errors.

    Privacy claim: none; post-processing of what weeks published.
    """
    variance, squares = np.full(len(centres), np.inf), np.ones(len(centres))
    times = np.full(len(centres), np.nan)
    for moment in moments:
        at, own = moment.records, centres[moment.records]
        before = variance[at] + np.nan_to_num(moment.time - times[at]) * step**2
        noise = moment.source.variance_at(own) / own**2
        gain = 1 / (1 + noise / before)  # 1 where nothing was known
        squares[at] = (1 - gain) ** 2 * squares[at] + gain**2
        variance[at], times[at] = gain * noise, moment.time
    return 1 / squares
