"""Everybody who opted in finds the list with their records, and measures it with their shares."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import FloatArray, IntArray, NamedCounts, as_integers
from hybriddp.blender.weighted.events import WeightedListDraw, joint_delta
from hybriddp.blender.weighted.weights import (
    SHARE_UNITS,
    WEIGHT_UNITS,
    squared_shift_of_shares,
    squared_shift_of_weights,
    weight_of,
)
from hybriddp.errors import InvalidParameter, require
from hybriddp.noise.dominated import rho_of
from hybriddp.noise.exact_gaussian import MAX_NUMERATOR
from hybriddp.noise.gaussian import DiscreteGaussian, analytic_sd
from hybriddp.params import Budget

# Of the loss. With less, frequent records are less exact than counts would be at epsilon 1; with
# more, the list is shorter, and clients know these records anyway.
MEASURING_PART = Fraction(1, 5)
_STEP = 1.005
# The least threshold lies near the least noise; so much more of it was never needed.
_MOST_NOISE = 4
# Noise of shares is a larger number, for they have more units and a smaller part of the loss.
_SHARES_NOISE = 100
# Noise exceeds this many standard deviations with a chance of e^-200.
_MOST_SDS = 20


@dataclass(frozen=True, slots=True)
class WeightedListMechanism:
    """Name records by noisy weights, then measure shares on the list, with one budget for both."""

    event: WeightedListDraw

    @classmethod
    def for_budget(
        cls, budget: Budget, most_records: int, measuring_part: Fraction = MEASURING_PART
    ) -> "WeightedListMechanism":
        """Return the one with the smallest threshold that keeps the budget."""
        return cls(_smallest_threshold(budget, most_records, measuring_part))

    @property
    def finding(self) -> "WeightedFinding":
        """How the list is found."""
        event = self.event
        return WeightedFinding(event, DiscreteGaussian(event.weight_scale))

    @property
    def measuring(self) -> "ShareMeasuring":
        """How it is measured."""
        return ShareMeasuring(DiscreteGaussian(self.event.share_scale))


@dataclass(frozen=True, slots=True)
class WeightedFinding:
    """Name every record whose noisy weight is strictly above the threshold (GGKSSY20)."""

    event: WeightedListDraw
    noise: DiscreteGaussian

    @property
    def threshold(self) -> int:
        """What a noisy weight must exceed, in units."""
        return self.event.threshold

    @property
    def people_needed(self) -> float:
        """How many people's noisy worth a record needs to be named, if it is all they searched."""
        return (self.threshold + 1) / self.event.weight_units

    def given(self, records_per_user: float) -> tuple[int, int]:
        """Return to how many records somebody with so many gives weight, and how much to each."""
        n_records = min(max(round(records_per_user), 1), self.event.most_records)
        return n_records, weight_of(n_records, self.event.weight_units)

    def release_probability(self, weights: npt.ArrayLike) -> FloatArray:
        """Return P(weight + Y > threshold)."""
        return self.noise.tail(self.threshold + 1 - np.asarray(weights))

    def draw(self, weights: IntArray) -> NamedCounts:
        """Decide which of the records that somebody gave weight are named, with noisy weights.

        Privacy claim
          Neighbours  one person's records replaced by any others or none
          Guarantee   the event's budget, together with `ShareMeasuring.draw` on the same people
          Assumes     each person gave d <= `most_records` records the weight `weight_of(d)`, chosen
                      by themselves and a key alone; records without weight are absent; only the
                      named leave, in an order that does not depend on the log's
          Excludes    timing and memory, which grow with the number of records
          Charged as  events.WeightedListDraw
          Reference   GGKSSY20 and CKS20; docs/proofs/weighted_list.md
          Audit       tests/blender/weighted/test_law.py::test_draws_keep_their_budget_on_small_logs
        """
        return self._select(weights, self.noise.draw)

    def simulate(self, weights: IntArray, *, rng: np.random.Generator) -> NamedCounts:
        """Decide with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._select(weights, lambda exact: self.noise.simulate(exact, rng=rng))

    def _select(self, weights: IntArray, add_noise: Callable[[IntArray], IntArray]) -> NamedCounts:
        weights = as_integers(weights, "weights")
        require(
            bool(np.all(weights >= 1)),
            "every weight must be at least 1",
            "a smaller one",
            "pass only the records that somebody gave weight",
        )
        return NamedCounts.above(self.threshold, add_noise(weights))


@dataclass(frozen=True, slots=True)
class ShareMeasuring:
    """Noisy sums of people's shares on cells that were found before, and of their concentration."""

    noise: DiscreteGaussian

    def draw(self, sums: IntArray) -> IntArray:
        """Add noise to the sum of every cell, empty ones included, and to the concentration.

        Privacy claim
          Neighbours  one person's records replaced by any others or none
          Guarantee   the event's budget, together with `WeightedFinding.draw` on the same people,
                      or with `WeekFinding.draw` in all weeks of a season
          Assumes     the cells follow from what finding released; each person's shares are not
                      negative and sum up to at most `share_units`, without <*,*>, and one entry
                      is the sum of `concentration_of` their shares of named records. A cell may
                      be for whoever is not in the log: they have all of their share there
          Excludes    timing of the sampler
          Charged as  events.WeightedListDraw, events.SeasonWeek
          Reference   CKS20 and DRS22; docs/proofs/weighted_list.md and season.md
          Audit       tests/blender/weighted/test_law.py::test_draws_keep_their_budget_on_small_logs
        """
        return self.noise.draw(sums)

    def simulate(self, sums: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Add noise from a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self.noise.simulate(sums, rng=rng)


@lru_cache(maxsize=64)
def _smallest_threshold(
    budget: Budget, most_records: int, measuring_part: Fraction
) -> WeightedListDraw:
    """Search the noise whose smallest threshold is the smallest, in steps of half a percent.

    Little noise leaves nothing of delta for what only one person names, and much noise needs a high
    threshold by itself; in between the threshold falls and then rises.
    """
    require(
        0 < measuring_part < 1,
        "measuring_part must be strictly between 0 and 1",
        float(measuring_part),
        "a fifth is a good choice",
    )
    # Less noise would cost more than the budget, whatever is named.
    scale = analytic_sd(budget, WEIGHT_UNITS * (2 / float(1 - measuring_part)) ** 0.5)
    best: WeightedListDraw | None = None
    largest = min(scale * _MOST_NOISE, MAX_NUMERATOR / _SHARES_NOISE)
    while scale < largest:
        found = _with_noise(budget, most_records, math.ceil(scale), measuring_part)
        if found is not None and best is not None and found.threshold >= best.threshold:
            return best
        best, scale = found, scale * _STEP
    raise InvalidParameter(
        f"epsilon and delta must be larger for Gaussian finding, got {float(budget.epsilon):g} and "
        f"{float(budget.delta):g}; use Laplace noise (finding laplace), or raise one of them."
    )


def _with_noise(
    budget: Budget, most_records: int, weight_scale: int, measuring_part: Fraction
) -> WeightedListDraw | None:
    """Return the draw with this noise and the smallest threshold; None if there is none."""
    ratio = (1 - measuring_part) / measuring_part
    squared = weight_scale**2 * ratio * squared_shift_of_shares() / squared_shift_of_weights()
    noise = DiscreteGaussian(float(math.isqrt(math.ceil(squared)) + 1))
    rho = rho_of(noise, squared_shift_of_shares())
    thresholds = range(WEIGHT_UNITS, WEIGHT_UNITS + _MOST_SDS * weight_scale)
    setting = most_records, WEIGHT_UNITS, float(weight_scale)
    first = bisect_left(
        thresholds,
        1,
        key=lambda t: int(Fraction(joint_delta(*setting, t, rho, budget.epsilon)) <= budget.delta),
    )
    if first == len(thresholds):
        return None
    threshold = thresholds[first]
    return WeightedListDraw(budget, *setting, threshold, SHARE_UNITS, noise.scale)
