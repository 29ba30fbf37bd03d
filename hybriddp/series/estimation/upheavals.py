"""Weeks in which much changes at once: news, a new version, a holiday.

A single record that begins anew is hardly ever seen in one week's noise, and expected so rarely
that what it was before is believed for months. Many that do so in the same week are seen together:
for every week, what all weeks before and after say of each record is weighed with and without a
new beginning in it. Records that are well known and went on as before speak against it.
"""

from collections.abc import Sequence

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.series.estimation.walk import Followed, Grid, Weighed

# How often a week is one, before any evidence, and which part of all records begins anew in it.
_UPHEAVALS = 1 / 50
_PARTS = np.array([0.05, 0.15, 0.3])
# A week that is less likely one than that is none: intervals of quiet weeks stay as they are.
_LEAST_CHANCE = 0.1
# So many are looked for at most, one after the other.
_MOST = 4


def find_upheavals(
    grid: Grid, start: FloatArray, moments: Sequence[Weighed], step: float
) -> FloatArray:
    """Return the chance, by the number of a week, that a record begins anew in it.

    Privacy claim: none; post-processing of what weeks published.
    """
    shaken = np.zeros(max((moment.first for moment in moments), default=0) + 1)
    is_found = np.zeros(len(shaken), dtype=np.bool_)
    for _ in range(_MOST):
        factors = _log_factors(grid, start, moments, step, shaken)
        log_odds = np.log(_UPHEAVALS / len(_PARTS)) + factors
        log_odds[:, is_found] = -np.inf
        chances = np.exp(log_odds - np.logaddexp.reduce(np.append(log_odds, 0.0)))
        is_new = chances.sum(axis=0) > _LEAST_CHANCE
        if not is_new.any():
            break
        shaken[is_new] = 1 - (1 - shaken[is_new]) * (1 - _PARTS @ chances[:, is_new])
        is_found |= is_new
    return shaken


def _log_factors(
    grid: Grid,
    start: FloatArray,
    moments: Sequence[Weighed],
    step: float,
    shaken: FloatArray,
) -> FloatArray:
    """Return log Bayes factors of one more upheaval, by _PARTS and weeks.

    Forward, each moment is foretold by those before it; backward, each point is weighed by what it
    and all after it say. Only weeks after a record was named count: that it rose before is why it
    was named, and those that did not rise are not seen.
    """
    followed = Followed(grid, start, step, shaken)
    foretold = [(followed.seen[moment.records], followed.see(moment)) for moment in moments]
    factors = np.zeros((len(_PARTS), len(shaken)))
    after = np.ones_like(start)
    for moment, (seen, before) in zip(reversed(moments), reversed(foretold), strict=True):
        rows = np.flatnonzero(seen[:, 2] == 0)
        at, seen, before = moment.records[rows], seen[rows], before[rows]
        said = after[at] * moment.likelihood[rows]
        passed = followed.passed(said, at, seen, moment)
        after[at] = passed / passed.max(axis=1, keepdims=True)
        anew = said.mean(axis=1) * before.sum(axis=1) / (before * said).sum(axis=1)
        gains = np.log1p(_PARTS[:, None] * (anew - 1))
        for first in np.unique(seen[:, 1]).astype(np.int64):
            gain = gains[:, seen[:, 1] == first].sum(axis=1, keepdims=True)
            factors[:, first + 1 : moment.first + 1] += gain
    # In the first week of all that are known nothing can be seen to begin anew.
    is_after_a_list = any(moment.first == 0 for moment in moments)
    factors[:, : 1 if is_after_a_list else 2] = -np.inf
    return factors
