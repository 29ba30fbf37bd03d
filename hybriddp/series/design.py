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
_WEEKS_OF_MONTH = 4
# Of what tests may leak; the rest is for months.
_PART_SO_FAR = 0.7


@dataclass(frozen=True, slots=True)
class SeasonDesign:
    """How a season spends a budget; everything that a person could want to choose.

    Noise that falls as 1/t, week by week, finds and measures much at once, and even noise finds
    newcomers late in the season as fast as early; what falls is `falling_part` of each.
    """

    n_weeks: int = 52
    most_records: int = 3
    finding_part: Fraction = Fraction(4, 5)
    falling_part: Fraction = Fraction(7, 10)
    leaking_part: Fraction = Fraction(1, 2)  # of delta; the rest converts rho

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
        return [even + self.falling_part / harmonic / t for t in weeks]

    def _tracks(self, scales: Sequence[float], leak: float) -> tuple[Track, ...]:
        """Return everything so far, and months.

        What was there from the start is found by the sum of everything so far, tested at growing
        distances, and what is new by the sum of its month.
        """
        so_far = _tested(scales, (1,), _growing(self.n_weeks))
        starts = range(1, self.n_weeks + 1, _WEEKS_OF_MONTH)
        # The first month is everything so far.
        ends = [week - 1 for week in range(starts[0] + 2 * _WEEKS_OF_MONTH, self.n_weeks + 2,
                                           _WEEKS_OF_MONTH)]  # fmt: skip
        months = _tested(scales, tuple(starts), ends)
        weights = weights_up_to(self.most_records)
        tracks = []
        for track, part in ((so_far, _PART_SO_FAR), (months, 1 - _PART_SO_FAR)):
            tested = [week for week, t in enumerate(track.thresholds, 1) if t is not None]
            if tested:
                most = leak * part / len(tested) * (1 - 1e-9)
                tracks.append(_with_thresholds(track, tested, weights, scales, most))
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
