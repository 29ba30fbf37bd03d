"""A week of finding: noise is added to what people gave, sums grow, and tests name records.

The sums are private, and stay private: only what is named leaves. They are not themselves
differentially private, because they say which records anybody ever gave weight.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.blender.weighted.mechanism import ShareMeasuring
from hybriddp.errors import require
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.series.lumps import lumps_before
from hybriddp.series.season import Season

_AddNoise = Callable[[DiscreteGaussian, IntArray], IntArray]


@dataclass(frozen=True, slots=True)
class Carried:
    """What is carried from week to week of every record that anybody ever gave weight. Private."""

    week: int  # the last one that was drawn; 0 before a season
    sums: IntArray  # (records, tracks): noisy weights since the track's last start
    is_live: BoolArray  # (records, tracks): whether anybody gave it weight since then

    @classmethod
    def nothing(cls, season: Season) -> "Carried":
        """Return what is carried into a season's first week."""
        shape = (0, len(season.tracks))
        return cls(0, np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.bool_))

    def without(self, is_named: BoolArray) -> "Carried":
        """Forget records that were named: they are tested no more.

        Privacy claim: none; the result is private and must stay with the curator.
        """
        return Carried(self.week, self.sums[~is_named], self.is_live[~is_named])


@dataclass(frozen=True, slots=True)
class WeekFinding:
    """Finding in one week of a season.

    No week may be left out: noise alone is drawn in a week that is missing, with weights of 0, and
    nobody is charged for it. Else records that were there before it would have less noise than
    new ones, which shows, and sums would not start anew where tests rely on it.
    """

    season: Season
    week: int  # from 1

    def __post_init__(self) -> None:
        require(
            1 <= self.week <= self.season.n_weeks,
            f"week must be between 1 and {self.season.n_weeks}",
            self.week,
            "begin another season",
        )

    def draw(self, carried: Carried, weights: IntArray) -> Carried:
        """Add this week's noisy weights to what is carried.

        The weights are first those of the records that are carried, 0 where nobody gave any, and
        then those of new ones, for which the weeks before are noise alone.

        Privacy claim
          Neighbours  one person's records in all weeks of a season replaced by any others or none
          Guarantee   together with `named` and measuring in all weeks, `Season.delta`
          Assumes     each person gave d <= `most_records` records the weight `weight_of(d)`, chosen
                      by themselves and a key alone; every week is drawn once, a missing one
                      without weights; what is carried stays private and is never replaced by an
                      older state; named records leave in an order that does not depend on the
                      log's, not in the order in which they are carried
          Excludes    timing and memory, which grow with the number of records
          Charged as  events.SeasonWeek
          Reference   GGKSSY20 and CKS20; docs/proofs/season.md
          Audit       tests/series/test_law.py::test_a_small_season_keeps_its_promise
        """
        return self._grow(carried, weights, lambda noise, exact: noise.draw(exact))

    def simulate(self, carried: Carried, weights: IntArray, *, rng: np.random.Generator) -> Carried:
        """Do the same with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._grow(carried, weights, lambda noise, exact: noise.simulate(exact, rng=rng))

    @property
    def known(self) -> "KnownWeights":
        """How the weights of what is known are published in this week."""
        return KnownWeights(self._noise(self.week))

    @property
    def measuring(self) -> ShareMeasuring:
        """How the list is measured in this week."""
        return ShareMeasuring(DiscreteGaussian(self.season.share_scales[self.week - 1]))

    def named(self, carried: Carried) -> BoolArray:
        """Say which records pass a test of this week, whether or not they occurred in it.

        Privacy claim: none by itself; `draw` and this together are a week of finding.
        """
        is_named = np.zeros(len(carried.sums), dtype=np.bool_)
        for number, track in enumerate(self.season.tracks):
            threshold = track.thresholds[self.week - 1]
            if threshold is not None:
                is_named |= carried.is_live[:, number] & (carried.sums[:, number] > threshold)
        return is_named

    def _grow(self, carried: Carried, weights: IntArray, add_noise: _AddNoise) -> Carried:
        weights = as_integers(weights, "weights")
        require(
            carried.week == self.week - 1,
            f"week {self.week} must follow the week before it",
            f"a state after week {carried.week}",
            "draw a missing week with weights of 0 first",
        )
        n_carried = len(carried.sums)
        n_new = len(weights) - n_carried
        require(
            n_new >= 0 and bool(np.all(weights >= 0)) and bool(np.all(weights[n_carried:] >= 1)),
            "weights must be those of all carried records, and then of new ones that have some",
            "others",
            "keep the order of what is carried",
        )
        sums = np.concatenate([carried.sums, self._noise_of_weeks_before(n_new, add_noise)])
        is_live = np.concatenate(
            [carried.is_live, np.zeros((n_new, len(self.season.tracks)), dtype=np.bool_)]
        )
        noisy = add_noise(self._noise(self.week), weights)
        for number, track in enumerate(self.season.tracks):
            if self.week in track.starts:
                sums[:, number], is_live[:, number] = 0, False
            sums[:, number] += track.coefficients[self.week - 1] * noisy
            is_live[:, number] |= weights > 0
        return Carried(self.week, sums, is_live)

    def _noise_of_weeks_before(self, n_records: int, add_noise: _AddNoise) -> IntArray:
        sums = np.zeros((n_records, len(self.season.tracks)), dtype=np.int64)
        nothing = np.zeros(n_records, dtype=np.int64)
        for lump in lumps_before(self.season, self.week):
            noise = add_noise(lump.noise, nothing)
            for number, coefficient in enumerate(lump.coefficients):
                sums[:, number] += coefficient * noise
        return sums

    def _noise(self, week: int) -> DiscreteGaussian:
        return DiscreteGaussian(self.season.weight_scales[week - 1])


@dataclass(frozen=True, slots=True)
class KnownWeights:
    """A week's noisy weights of records that were named before it, or always known.

    They are in no sum any more, and their noisy weights are published, given or not.
    """

    noise: DiscreteGaussian

    def draw(self, weights: IntArray) -> IntArray:
        """Add the week's noise to every weight.

        Privacy claim
          Neighbours  one person's records in all weeks of a season replaced by any others or none
          Guarantee   together with `WeekFinding.draw` and measuring in all weeks, `Season.delta`
          Assumes     as `WeekFinding.draw`; which records these are follows from what was published
                      before, and those that nobody gave weight are among them, with 0
          Excludes    timing of the sampler
          Charged as  events.SeasonWeek
          Reference   GGKSSY20 and CKS20; docs/proofs/season.md
          Audit       tests/series/test_law.py::test_a_small_season_keeps_its_promise
        """
        return self.noise.draw(as_integers(weights, "weights"))

    def simulate(self, weights: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Do the same with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self.noise.simulate(as_integers(weights, "weights"), rng=rng)
