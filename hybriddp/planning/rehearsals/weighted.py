"""A release with Gaussian finding, rehearsed from counts: everybody has equally many records."""

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.mechanisms import measuring_mechanism
from hybriddp.blender.weighted.weights import SHARE_UNITS, concentration_of
from hybriddp.planning.prior import Prior
from hybriddp.planning.rehearsals.counted import Stage
from hybriddp.planning.rehearsals.held import Found, Held, chances_and_cdfs, multinomial
from hybriddp.planning.setting import Setting


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
        group, tail_weighed, tail_noisy = self.name_tail(rng=rng)
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
        reach = (self.mechanism.threshold + self.mechanism.noise.reach) / units
        holders = np.arange(int(reach) + 1)
        passing = self.mechanism.release_probability(units * holders)
        return chances_and_cdfs(stats.poisson.pmf(holders, means) * passing)

    def above(self, units: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Draw the noisy weight of records with so many holders, given that it is named.

        By the inverse of the continuous law: noise is thousands of units here.

        Privacy claim: none; the data comes from a public prior.
        """
        weights, scale = self._given[1] * units, self.mechanism.noise.scale
        threshold = self.mechanism.threshold
        chances = special.ndtr(-(threshold + 0.5 - weights) / scale)
        noisy = weights - scale * special.ndtri(chances * (1 - rng.random(len(units))))
        named: IntArray = np.maximum(np.round(noisy), threshold + 1).astype(np.int64)
        return named


def stage_of(prior: Prior, setting: Setting) -> Stage:
    """Make a prior and a setting ready to be rehearsed."""
    return WeightedStage(prior, setting) if setting.params.is_weighted else Stage(prior, setting)
