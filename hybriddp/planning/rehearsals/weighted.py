"""A release with Gaussian finding, rehearsed from counts: everybody has equally many records."""

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.mechanisms import measuring_mechanism
from hybriddp.blender.weighted.weights import SHARE_UNITS, concentration_of
from hybriddp.planning.prior import Prior
from hybriddp.planning.rehearsals.counted import Found, Held, Stage, multinomial
from hybriddp.planning.setting import Setting

# Standard deviations of noise and of counts that a record of the far tail never exceeds.
_REACH = 10


@dataclass(frozen=True, slots=True)
class WeightedFound(Found):
    """One rehearsal's records, with everything that S searched."""

    searched: IntArray  # how many people of S have each record


class WeightedStage(Stage):
    """A prior and a setting whose people find with weights, and measure what they found."""

    @property
    def _n_records(self) -> int:
        return max(round(self.setting.distinct_clicks), 1)

    @property
    def _given(self) -> tuple[int, int]:
        return self.mechanism.given(self._n_records)

    def find(self, *, rng: np.random.Generator) -> WeightedFound:
        """Draw what S finds, and what else they searched.

        Privacy claim: none; the data comes from a public prior.
        """
        prior, n = self.prior, self.setting.n_finders
        n_given, units = self._given
        weighed = multinomial(n * n_given, prior.probabilities, rng=rng)
        others = multinomial(n * (self._n_records - n_given), prior.probabilities, rng=rng)
        occurs = np.flatnonzero((weighed > 0) & prior.is_nameable)
        drawn = self.mechanism.simulate(units * weighed[occurs], rng=rng)
        group, tail_weighed, tail_noisy = self._name_tail_weighted(rng)
        of_tail = n * (self._n_records - n_given) * prior.group_probabilities[group]
        searched = np.append(weighed + others, tail_weighed + rng.poisson(of_tail))
        n_known, n_tail = len(prior.query_ids), len(group)
        return WeightedFound(
            np.append(prior.query_ids, prior.n_queries + np.arange(n_tail)),
            np.append(prior.url_ids, np.zeros(n_tail, dtype=np.int64)),
            np.append(prior.probabilities, prior.group_probabilities[group]),
            rng.binomial(searched, 1 / self._n_records),
            np.append(occurs[drawn.is_named], n_known + np.arange(n_tail)),
            np.append(drawn.noisy_counts, tail_noisy),
            searched,
        )

    def measure(
        self, draws: Draws, found: Found, held: Held, *, rng: np.random.Generator
    ) -> IntArray:
        """Draw the shares of everything that was named, and their concentration.

        Privacy claim: none; the data comes from a public prior.
        """
        assert isinstance(found, WeightedFound)
        share = SHARE_UNITS // self._n_records
        on_cells = found.on_cells(draws.candidates, found.searched, 0)[:-1]
        # The records of a person are hardly ever the same.
        n_named = int(on_cells[draws.candidates.record_cells].sum())
        concentration = n_named * concentration_of(share)
        exact = np.append(share * on_cells, concentration)
        return measuring_mechanism(self.params).simulate(exact, rng=rng)

    def far_tail(self) -> tuple[FloatArray, FloatArray]:
        """Return each group's chance that a record is named, and the cdf of its holders then.

        Privacy claim: none; the data comes from a public prior.
        """
        n_given, units = self._given
        means = self.setting.n_finders * n_given * self.prior.group_probabilities[:, None]
        reach = (self.mechanism.threshold + _REACH * self.mechanism.noise.scale) / units
        holders = np.arange(int(reach) + 1)
        law = stats.poisson.pmf(holders, means) * self.mechanism.release_probability(
            units * holders
        )
        law[:, 0] = 0  # only records that occur are looked at
        chance = law.sum(axis=1)
        return chance, np.cumsum(law, axis=1) / np.maximum(chance, 1e-300)[:, None]

    def _name_tail_weighted(self, rng: np.random.Generator) -> tuple[IntArray, IntArray, IntArray]:
        """Draw the tail's named records: their groups, holders and noisy weights."""
        n_named = rng.binomial(self.prior.group_sizes, np.minimum(self._named_chance, 1))
        group = np.repeat(np.arange(len(n_named)), n_named)
        holders = (self._named_units[group] < rng.random(len(group))[:, None]).sum(axis=1)
        weights, scale = self._given[1] * holders, self.mechanism.noise.scale
        threshold = self.mechanism.threshold
        # What exceeds the threshold, by the inverse of the continuous law: noise is thousands here.
        above = special.ndtr(-(threshold + 0.5 - weights) / scale)
        noisy = weights - scale * special.ndtri(above * (1 - rng.random(len(group))))
        noisy = np.maximum(np.round(noisy), threshold + 1)
        return group, holders.astype(np.int64), noisy.astype(np.int64)


def stage_of(prior: Prior, setting: Setting) -> Stage:
    """Make a prior and a setting ready to be rehearsed."""
    return WeightedStage(prior, setting) if setting.params.is_weighted else Stage(prior, setting)
