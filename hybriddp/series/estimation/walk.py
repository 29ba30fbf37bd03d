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
# A grid also has room for how far log p went since a list before the season, in the root of weeks:
# in one that just holds what was said, steps that fill all of it would seem to have foretold it.
_DRIFT, _MOST_DRIFT = 0.3, 2.0


@dataclass(frozen=True, slots=True)
class Moment:
    """What was learnt of some records at one time."""

    records: IntArray  # which, among all that are known now
    time: float  # in weeks
    first: int  # the first week that it is of; of a mean of weeks, long before its time
    source: Source
    is_before: bool = False  # a record was named: the mean of weeks before that
    is_list: bool = False  # what the last list before the season said


@dataclass(frozen=True, slots=True)
class Grid:
    """The points of each record, (records, points), even in log p."""

    logs: FloatArray

    @classmethod
    def around(cls, moments: Sequence[Moment], centres: FloatArray, least: FloatArray) -> "Grid":
        """Return grids that hold what any moment says of its records, with its noise.

        `least` is the least probability of each record that is looked at.

        Privacy claim: none; post-processing of what weeks published.
        """
        low, high = centres.copy(), centres.copy()
        for moment in moments:
            at, values = moment.records, moment.source.values
            drift = np.exp(min(_DRIFT * np.sqrt(max(1 - moment.time, 0)), _MOST_DRIFT))
            for end in (centres[at], np.clip(values, least[at], 1)):  # noise may grow with p
                margin = _REACH * np.sqrt(moment.source.variance_at(end))
                low[at] = np.minimum(low[at], (values - margin) / drift)
                high[at] = np.maximum(high[at], (values + margin) * drift)
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
    first: int
    likelihood: FloatArray
    is_before: bool = False

    @property
    def mark(self) -> tuple[float, int, bool]:
        """What is remembered of it when the next one is seen."""
        return self.time, self.first, self.is_before


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
        found.append(Weighed(at, moment.time, moment.first, likelihood, moment.is_before))
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
    """Weights of all records' points, brought from moment to moment with one step.

    `shaken` is each week's chance, by its number, that a record begins anew at any point: in most
    weeks none (hybriddp/series/estimation/upheavals.py).
    """

    def __init__(
        self, grid: Grid, start: FloatArray, step: float, shaken: FloatArray | None = None
    ) -> None:
        self.weights = start.copy()
        self.start = start
        self.seen = np.full((len(start), 3), np.nan)  # the mark of each record's last moment
        self.log_evidence = 0.0
        squared = grid.frequencies**2 / 2
        self.kernel = (1 - _JUMPS) * np.exp(-(step**2) * squared) + _JUMPS * np.exp(
            -(_JUMP**2) * squared
        )
        self.log_stays: FloatArray | None = None
        if shaken is not None and shaken.any():
            self.log_stays = np.cumsum(np.log1p(-shaken))

    def see(self, moment: Weighed) -> FloatArray:
        """Let time pass until a moment, and take in what it says; return what was foretold.

        Privacy claim: none; post-processing of what weeks published.
        """
        at = moment.records
        foretold = self.passed(self.weights[at], at, self.seen[at], moment)
        weights = foretold * moment.likelihood
        totals = weights.sum(axis=1, keepdims=True)
        self.weights[at], self.seen[at] = weights / totals, moment.mark
        self.log_evidence += float(np.log(totals).sum())
        return foretold

    def passed(
        self, weights: FloatArray, at: IntArray, seen: FloatArray, moment: Weighed
    ) -> FloatArray:
        """Return weights (records, ..., points) from what was seen last until a moment.

        Grids' ends reflect.

        Privacy claim: none; post-processing of what weeks published.
        """
        gaps = np.nan_to_num(moment.time - seen[:, 0])
        if gaps.any():
            kernel = self.kernel[at]
            if np.any(gaps != 1):
                kernel = kernel ** gaps[:, None]
            spread = fft.idct(fft.dct(weights, axis=-1) * _beside(kernel, weights), axis=-1)
            # A tiny part everywhere: cosines leave rounding errors of either sign.
            weights = np.maximum(spread, 1e-18)
        return weights if self.log_stays is None else self._shaken(weights, at, seen, moment)

    def _shaken(
        self, weights: FloatArray, at: IntArray, seen: FloatArray, moment: Weighed
    ) -> FloatArray:
        """Let records begin anew, at any point of their grids.

        Before a record was named, it does so as any other does that may be named; else as many
        would be taken for frequent ones as were named by lucky noise.
        """
        assert self.log_stays is not None
        firsts = np.where(np.isnan(seen[:, 1]), moment.first, seen[:, 1]).astype(np.int64)
        log_stays = self.log_stays[moment.first] - self.log_stays[firsts]
        if not log_stays.any():
            return weights
        stays = _beside(np.exp(log_stays)[:, None], weights)
        anew = _beside(np.where(seen[:, 2:] == 1, self.start[at], 1 / POINTS), weights)
        totals = weights.sum(axis=-1, keepdims=True)
        mixed: FloatArray = stays * weights + (1 - stays) * anew * totals
        return mixed


def _beside(of_records: FloatArray, weights: FloatArray) -> FloatArray:
    """Bring (records, points) beside weights of (records, ..., points)."""
    first, last = of_records.shape
    return of_records.reshape(first, *(1,) * (weights.ndim - 2), last)


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
    grid: Grid,
    start: FloatArray,
    moments: Sequence[Weighed],
    likely: FloatArray,
    shaken: FloatArray,
) -> FloatArray:
    """Return the weights of points after all moments, averaged over likely steps.

    Privacy claim: none; post-processing of what weeks published.
    """
    mean = np.zeros_like(start)
    for weight, step in zip(likely, STEPS, strict=True):
        if weight > 0:
            followed = Followed(grid, start, step, shaken)
            for moment in moments:
                followed.see(moment)
            mean += weight * followed.weights
    return mean
