"""How a season spends a budget: which noise in which week, and which tests."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hybriddp.accounting.accountants import Cost
from hybriddp.accounting.filters import CapFilter
from hybriddp.blender.weighted.weights import (
    squared_shift_of_shares,
    squared_shift_of_weights,
    weights_up_to,
)
from hybriddp.errors import require
from hybriddp.noise.dominated import SPREAD
from hybriddp.params import Budget
from hybriddp.series.season import Season, Track

# Whole numbers in proportion to 1/scale^2: the most exact week counts so much.
_COEFFICIENT_UNITS = 1_000
# Which part of what tests may leak is for the sum of everything so far, and for sums that start
# anew after so many weeks; and in which of their weeks those are tested.
_PART_SO_FAR = 0.5
_SPANS = ((4, 0.25, (1, 2, 3, 4)), (13, 0.25, (3, 6, 9, 13)))
# What the first week is spent of a season that knows the names of one before it.
_FIRST_PART_AFTER = Fraction(1, 5)


@dataclass(frozen=True, slots=True)
class SeasonDesign:
    """How a season spends a budget; everything that a person could want to choose.

    Of the noise of finding and of measuring, `first_part` is spent in the first week, which finds
    most names at once; they stay known. Of the rest `falling_part` falls as 1/t, and what is left
    is even, so that newcomers are found late in the season as fast as early (docs/utility.md).
    """

    n_weeks: int = 52
    most_records: int = 5
    finding_part: Fraction = Fraction(9, 10)
    first_part: Fraction = Fraction(2, 5)
    falling_part: Fraction = Fraction(0)
    leaking_part: Fraction = Fraction(1, 2)  # of delta; the rest converts rho

    def after_a_season(self) -> "SeasonDesign":
        """Return how to spend it where the names that another season found are known."""
        return replace(self, first_part=_FIRST_PART_AFTER)

    def season(self, budget: Budget) -> Season:
        """Return the season with the least noise and the smallest thresholds that keep a budget."""
        cap = Cost(budget.epsilon, budget.delta)
        rho = CapFilter.with_gaussian(cap, share_of_delta=1 - self.leaking_part).rho
        require(
            rho > 0,
            "a season's budget must leave some loss to Gaussian noise",
            f"epsilon {float(budget.epsilon):.6g} and delta {float(budget.delta):.6g}",
            "raise either",
        )
        parts = self._parts()
        weight_scales = [
            _scale(squared_shift_of_weights(), rho * self.finding_part * part) for part in parts
        ]
        share_scales = [
            _scale(squared_shift_of_shares(), rho * (1 - self.finding_part) * part)
            for part in parts
        ]
        leak = float(budget.delta * self.leaking_part)
        return Season(
            self.most_records,
            tuple(weight_scales),
            tuple(share_scales),
            self._tracks(weight_scales, leak),
        )

    def _parts(self) -> list[Fraction]:
        weeks = range(1, self.n_weeks + 1)
        harmonic = sum(Fraction(1, t) for t in weeks)
        even = (1 - self.falling_part) / self.n_weeks
        parts = [even + self.falling_part / harmonic / t for t in weeks]
        return [(1 - self.first_part) * part + self.first_part * (t == 1)
                for t, part in zip(weeks, parts, strict=True)]  # fmt: skip

    def _tracks(self, scales: Sequence[float], leak: float) -> tuple[Track, ...]:
        """Return everything so far, months and quarters.

        What was there from the start is found by the sum of everything so far, tested at growing
        distances. What is new is found by a month, in any of its weeks, if it is frequent, and else
        by a quarter. The first month and quarter are everything so far.
        """
        planned: list[tuple[tuple[int, ...], list[int], float]]
        planned = [((1,), _growing(self.n_weeks), _PART_SO_FAR)]
        for length, part, tested in _SPANS:
            starts = tuple(range(1, self.n_weeks + 1, length))
            weeks = [start + week - 1 for start in starts[1:] for week in tested]
            planned.append((starts, [week for week in weeks if week <= self.n_weeks], part))
        planned = [track for track in planned if track[1]]
        parts = sum(part for _, _, part in planned)
        weights = weights_up_to(self.most_records)
        tracks = []
        for starts, weeks, part in planned:
            most = leak * part / parts / len(weeks) * (1 - 1e-9)
            track = _tested(scales, starts, weeks)
            tracks.append(_with_thresholds(track, weeks, weights, scales, most))
        return tuple(tracks)


def _tested(scales: Sequence[float], starts: tuple[int, ...], weeks: Sequence[int]) -> Track:
    """Return a track that weighs each week by how exact it is, with thresholds yet to be found."""
    least = min(scales)
    coefficients = [max(1, round(_COEFFICIENT_UNITS * (least / scale) ** 2)) for scale in scales]
    thresholds = [1 if week in weeks else None for week in range(1, len(scales) + 1)]
    return Track(starts, tuple(coefficients), tuple(thresholds))


def _with_thresholds(
    track: Track,
    tested: Sequence[int],
    weights: Sequence[int],
    scales: Sequence[float],
    most: float,
) -> Track:
    """Return the track with the smallest thresholds that each leak at most so much."""
    thresholds = list(track.thresholds)
    for week in tested:
        window = track.window(week)
        assert window is not None
        thresholds[week - 1] = window.lowered(weights, scales, most).threshold
    return replace(track, thresholds=tuple(thresholds))


def _scale(squared_shift: int, rho: Fraction) -> float:
    """Return the least whole scale whose noise costs at most rho."""
    squared = squared_shift / (2 * rho) + SPREAD
    return float(math.isqrt(math.ceil(squared) - 1) + 1)


def _growing(n_weeks: int) -> list[int]:
    """Return weeks 1, 2, 3, ...: each about a fifth after the one before, and the last."""
    weeks, last = [], 1
    while last * 1.1 < n_weeks:
        weeks.append(last)
        last = max(last + 1, round(last * 1.2))
    return [*weeks, n_weeks]
