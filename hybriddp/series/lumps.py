"""The noise of all weeks before a record was first given weight, in few draws.

A new record needs the noise of up to fifty weeks at once. Weeks that were drawn with the same scale
and count alike in every sum need not be told apart: the sum of n discrete Gaussians is, but for a
factor of exp(n 2e-25), a discrete Gaussian of n times the variance (docs/proofs/season.md). Its
scale is seldom a fraction, which the exact sampler needs, so n is written as a sum of squares.
"""

import math
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache

from hybriddp.noise.exact_gaussian import MAX_NUMERATOR
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.series.season import Season


@dataclass(frozen=True, slots=True)
class Lump:
    """The noise of some weeks together, and what it counts in each track's sum."""

    noise: DiscreteGaussian
    coefficients: tuple[int, ...]


def lumps_before(season: Season, week: int) -> list[Lump]:
    """Return the noise of all weeks before this one that is in any of its sums."""
    starts = [track.start_of(week) for track in season.tracks]
    alike = Counter(
        (
            season.weight_scales[earlier - 1],
            tuple(
                track.coefficients[earlier - 1] if earlier >= start else 0
                for track, start in zip(season.tracks, starts, strict=True)
            ),
        )
        for earlier in range(1, week)
    )
    return [
        Lump(DiscreteGaussian(root * scale), coefficients)
        for (scale, coefficients), n_weeks in alike.items()
        for root in roots_of(n_weeks, MAX_NUMERATOR // scale.as_integer_ratio()[0])
        if any(coefficients)
    ]


@lru_cache(maxsize=1024)
def roots_of(number: int, largest: int) -> tuple[int, ...]:
    """Return the fewest whole numbers up to the largest whose squares add up to a number."""
    best: list[tuple[int, ...]] = [()]
    for total in range(1, number + 1):
        last = range(1, min(largest, math.isqrt(total)) + 1)
        best.append(min(((*best[total - root**2], root) for root in last), key=len))
    return best[number]
