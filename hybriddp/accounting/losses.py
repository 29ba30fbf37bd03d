"""What neighbours can tell from an event, in parts that compose: privacy-loss distributions.

Parts are compared by their numbers, so that equal ones are composed at once. dp-accounting is
imported when a part is priced: it takes seconds, and a release never asks it.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hybriddp.randomizers.pairs import LawPair

if TYPE_CHECKING:
    from dp_accounting.pld.privacy_loss_distribution import PrivacyLossDistribution

# The grid of privacy losses; dp-accounting rounds losses up to it.
LOSS_STEP = 1e-4


@dataclass(frozen=True, slots=True)
class WorstOf:
    """A mechanism of which only the promise is known: the worst of them dominates it."""

    epsilon: Fraction
    delta: Fraction = Fraction(0)

    def distribution(self) -> "PrivacyLossDistribution":
        """Return the losses of the worst mechanism that keeps the promise."""
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld

        upwards = 1 + 2**-50
        worst = common.DifferentialPrivacyParameters(
            float(self.epsilon) * upwards, float(self.delta) * upwards
        )
        return pld.from_privacy_parameters(worst, LOSS_STEP)


@dataclass(frozen=True, slots=True)
class OneCount:
    """A count that moves by one, with discrete Laplace noise."""

    scale: float

    def distribution(self) -> "PrivacyLossDistribution":
        """Return the losses of the noisy count."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        return pld.from_discrete_laplace_mechanism(
            1 / self.scale, value_discretization_interval=LOSS_STEP
        )


@dataclass(frozen=True, slots=True)
class GaussianShift:
    """A vector with noise that a continuous Gaussian of this rho dominates."""

    rho: Fraction

    def distribution(self) -> "PrivacyLossDistribution":
        """Return the losses of that Gaussian."""
        from dp_accounting.pld import privacy_loss_distribution as pld

        upwards = 1 + 2**-50
        return pld.from_gaussian_mechanism(
            1 / (math.sqrt(2 * self.rho) * upwards), value_discretization_interval=LOSS_STEP
        )


@dataclass(frozen=True, slots=True)
class Exclusive:
    """What only one neighbour can name, with at most this probability.

    docs/proofs/create_head_list.md shows that its product with the shared part dominates.
    """

    leak: float

    def distribution(self) -> "PrivacyLossDistribution":
        """Return the losses: none, or all."""
        from dp_accounting.pld import common
        from dp_accounting.pld import privacy_loss_distribution as pld

        exposed = common.DifferentialPrivacyParameters(0, self.leak)
        return pld.from_privacy_parameters(exposed, LOSS_STEP)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Any of some pairs of laws: what an adversary meets may be another one every time.

    So composing the worst single pair is not enough. The pointwise maximum of hockey-stick curves
    is such a curve itself (Zhu, Dong, Wang 2022, proposition 10); Connect-the-Dots discretises it
    pessimistically.
    """

    pairs: tuple[LawPair, ...]

    def distribution(self) -> "PrivacyLossDistribution":
        """Return a distribution that dominates every pair: the envelope of their deltas."""
        from dp_accounting.pld import pld_pmf
        from dp_accounting.pld import privacy_loss_distribution as pld

        tables = [np.array([(float(p), float(q), n) for p, q, n in pair]) for pair in self.pairs]
        most = max(float(np.max(np.log(t[:, 0] / t[:, 1]))) for t in tables)
        grid = np.arange(-np.ceil(most / LOSS_STEP) - 1, np.ceil(most / LOSS_STEP) + 2)
        scale = np.exp(grid * LOSS_STEP)[:, None]
        envelope = np.zeros(len(grid))
        for p, q, n in (table.T for table in tables):
            envelope = np.maximum(envelope, (n * np.maximum(p - scale * q, 0)).sum(axis=1))
        pmf: Any = pld_pmf.create_pmf_pessimistic_connect_dots(
            LOSS_STEP, grid.astype(np.int64), np.minimum.accumulate(envelope)
        )
        return pld.PrivacyLossDistribution(pmf)


Part = WorstOf | OneCount | GaussianShift | Exclusive | AnyOf


# The parts of an event's loss, each with how often it happened.
Losses = tuple[tuple[Part, int], ...]


def gathered(losses: Iterable[tuple[Losses, int]]) -> list[tuple[Losses, int]]:
    """Return the losses of events that happened so often, all Gaussian draws as the one they make.

    Shifts of Gaussian vectors add up in rho exactly, so a year of weeks needs one distribution on
    a grid instead of fifty.
    """
    rho, others = Fraction(0), []
    for parts, count in losses:
        rho += sum(
            (part.rho * times * count for part, times in parts if isinstance(part, GaussianShift)),
            Fraction(0),
        )
        left = tuple((part, n) for part, n in parts if not isinstance(part, GaussianShift))
        if left:
            others.append((left, count))
    return others + ([(((GaussianShift(rho), 1),), 1)] if rho else [])


def noisy_counts(scale: float, l1_sensitivity: int) -> tuple[Part, int]:
    """Return the loss of noisy counts that replacing a user moves by `l1_sensitivity` in all."""
    if l1_sensitivity == 2:  # one user's unit leaves a count and enters another
        return OneCount(scale), 2
    # The units may be spread over any number of counts.
    return WorstOf(l1_sensitivity / Fraction(scale)), 1
