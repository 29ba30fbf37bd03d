"""Tests of a record's noisy weights over several weeks, and how often one person passes alone.

A record is named when a weighted sum of its noisy weights, over the weeks of some window, is above
that window's threshold. The test of a record is made if somebody gave it weight in the window; for
weeks in which nobody did there is noise alone. docs/proofs/season.md shows what that costs.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from scipy import special

from hybriddp.errors import require, require_count
from hybriddp.noise.dominated import LEAST_CHANCE, SPREAD, UPWARDS

# A threshold so many standard deviations up is passed by nobody.
_MOST_SDS = 40


def tail_of_sum(value: float, coefficients: Sequence[int], scales: Sequence[float]) -> float:
    """Return P(sum c_t Y_t >= value) of discrete Gaussians at most, rounded up.

    It is convex from one standard deviation on. Each Y is, but for a hair, a Gaussian of variance
    scale^2 - SPREAD that was rounded, and rounding has tails no heavier than those of a Gaussian of
    variance SPREAD. The second term is what that adds (docs/proofs/season.md).
    """
    rounding, variance = SPREAD * _squares(coefficients), _variance(coefficients, scales)
    smooth = float(special.ndtr(-value / math.sqrt(variance - rounding)))
    rounded = math.sqrt(rounding / variance) * math.exp(-(value**2) / (2 * variance))
    return min(1.0, max((smooth + rounded) * UPWARDS, LEAST_CHANCE))


def _squares(coefficients: Sequence[int]) -> float:
    return math.fsum(c**2 for c in coefficients)


def _variance(coefficients: Sequence[int], scales: Sequence[float]) -> float:
    return math.fsum((c * scale) ** 2 for c, scale in zip(coefficients, scales, strict=True))


@dataclass(frozen=True, slots=True)
class Window:
    """One test: the weeks, what each counts, and what the sum must exceed, in units."""

    weeks: tuple[int, ...]  # ascending, from 1
    coefficients: tuple[int, ...]
    threshold: int

    def __post_init__(self) -> None:
        require(
            len(self.weeks) == len(self.coefficients) > 0
            and self.weeks[0] >= 1
            and all(before < after for before, after in pairwise(self.weeks)),
            "a window must have ascending weeks and a coefficient for each",
            f"{len(self.weeks)} weeks and {len(self.coefficients)} coefficients",
            "give as many of both",
        )
        for coefficient in self.coefficients:
            require_count(coefficient, "coefficient")
        require_count(self.threshold, "threshold")

    @property
    def last(self) -> int:
        """The week at whose end the test is made."""
        return self.weeks[-1]

    def leak(self, weights: Sequence[int], scales: Sequence[float]) -> float:
        """Return how often a person passes this test with records that nobody else has, at most.

        Args:
            weights: Of people with 1, 2, ... records, in units.
            scales: Of the noise in each week of the season.
        """
        own = [scales[week - 1] for week in self.weeks]
        total, most_records = sum(self.coefficients), len(weights)
        require(
            self.threshold >= self._least_threshold(weights, own),
            "a threshold must be a standard deviation above what one person reaches without noise",
            self.threshold,
            "raise it",
        )

        def passes(reached: int) -> float:
            return tail_of_sum(self.threshold + 1 - reached, self.coefficients, own)

        alone = max(d * passes(total * weight) for d, weight in enumerate(weights, 1))
        # Weeks in which somebody gave a record nothing, and records that only the other log tests.
        by_noise_alone = 2 * most_records * len(self.weeks) * passes(0)
        return (alone + by_noise_alone) * UPWARDS

    def lowered(self, weights: Sequence[int], scales: Sequence[float], most: float) -> "Window":
        """Return the same test with the smallest threshold that leaks at most so much."""
        own = [scales[week - 1] for week in self.weeks]
        low = self._least_threshold(weights, own)
        high = low + math.ceil(_MOST_SDS * math.sqrt(_variance(self.coefficients, own)))

        def is_enough(threshold: int) -> bool:
            return replace(self, threshold=threshold).leak(weights, scales) <= most

        require(is_enough(high), "a test must be allowed to leak more", most, "raise delta")
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
        return replace(self, threshold=low)

    def _least_threshold(self, weights: Sequence[int], own: Sequence[float]) -> int:
        reached = sum(self.coefficients) * weights[0]
        return reached + math.ceil(math.sqrt(_variance(self.coefficients, own)))
