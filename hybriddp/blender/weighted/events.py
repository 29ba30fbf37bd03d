"""What one draw of a weighted list costs: finding and measuring by the same people, together."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from hybriddp.accounting.event import Event, known
from hybriddp.accounting.losses import Exclusive, GaussianShift, Losses
from hybriddp.arrays import FloatArray
from hybriddp.blender.weighted.weights import (
    squared_shift_of_shares,
    squared_shift_of_weights,
    weights_up_to,
)
from hybriddp.errors import require, require_count
from hybriddp.noise.dominated import LEAST_CHANCE, UPWARDS, delta_of, rho_of
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import MAX_RECORDS_OPTIN, Budget


@known
@dataclass(frozen=True, slots=True)
class WeightedListDraw(Event):
    """Records were named whose noisy weight exceeded a threshold, and the list was then measured.

    The same people did both. Each gave at most `most_records` records of their own equal weights,
    whose squares sum up to `weight_units`^2 at most, and then their shares of the listed cells, in
    `share_units`, with their concentration. All noise is discrete Gaussian. The noisy weights of
    what was named may have been published with it: that costs no more.
    """

    most_records: int
    weight_units: int
    weight_scale: float
    threshold: int
    share_units: int
    share_scale: float

    def __post_init__(self) -> None:
        for name in ("most_records", "weight_units", "threshold", "share_units"):
            require_count(getattr(self, name), name)
        require(
            self.most_records <= MAX_RECORDS_OPTIN,
            f"most_records must be at most {MAX_RECORDS_OPTIN}",
            self.most_records,
            "5 to 20 are good choices",
        )
        require(
            self.threshold >= self.weight_units,
            f"threshold must be at least the {self.weight_units} units of one person",
            self.threshold,
            "raise the threshold",
        )
        delta = self.delta(self.budget.epsilon)
        require(
            delta <= self.budget.delta,
            f"finding and measuring at epsilon {float(self.budget.epsilon):.6g} must keep "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta):.6g}",
            "raise the noise or the threshold",
        )

    @property
    def rho_of_finding(self) -> Fraction:
        """The zero-concentrated loss of the weights that both neighbours give."""
        noise = DiscreteGaussian(self.weight_scale)
        return rho_of(noise, squared_shift_of_weights(self.weight_units))

    @property
    def rho_of_measuring(self) -> Fraction:
        """The zero-concentrated loss of the shares."""
        return rho_of(DiscreteGaussian(self.share_scale), squared_shift_of_shares(self.share_units))

    @property
    def leak(self) -> float:
        """The chance that any record is named that one person alone gave weight, rounded up."""
        _, none_named = _worst_people(
            self.most_records, self.weight_units, self.weight_scale, self.threshold
        )
        return float(-np.expm1(none_named.min())) * UPWARDS

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return what both draws together cost at epsilon, rounded up."""
        named = self.most_records, self.weight_units, self.weight_scale, self.threshold
        return Fraction(joint_delta(*named, self.rho_of_measuring, epsilon))

    def losses(self) -> Losses:
        """Return what both neighbours may name and measure, and what only one may name."""
        rho = self.rho_of_finding + self.rho_of_measuring
        return ((GaussianShift(rho), 1), (Exclusive(self.leak), 1))

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {
            "most_records": self.most_records,
            "weight_units": self.weight_units,
            "weight_scale": self.weight_scale.hex(),
            "threshold": self.threshold,
            "share_units": self.share_units,
            "share_scale": self.share_scale.hex(),
        }

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(
            budget,
            numbers["most_records"],
            numbers["weight_units"],
            float.fromhex(numbers["weight_scale"]),
            numbers["threshold"],
            numbers["share_units"],
            float.fromhex(numbers["share_scale"]),
        )


@lru_cache(maxsize=256)
def _worst_people(
    most_records: int, units: int, scale: float, threshold: int
) -> tuple[FloatArray, FloatArray]:
    """Return what a person can be to a log, without those who are less than another in all.

    A person has d records, of which t are nobody else's. The first array has the squared length of
    the weights on the others, and the second the logarithm of the chance that none of the t is
    named, rounded down. Both move the divergence in one direction.
    """
    weights = weights_up_to(most_records, units)
    tails = DiscreteGaussian(scale).tail(threshold + 1 - np.array(weights))
    named = np.maximum(tails * UPWARDS, LEAST_CHANCE)
    people = [(units**2, 0.0)]  # of those without a record of their own, whoever moves others most
    for d, (weight, chance) in enumerate(zip(weights, named.tolist(), strict=True), 1):
        people += [((d - t) * weight**2, t * math.log1p(-chance)) for t in range(1, d + 1)]
    worst: list[tuple[int, float]] = []
    for shared, none_named in sorted(people, reverse=True):
        if not worst or none_named < worst[-1][1]:
            worst.append((shared, none_named))
    shared_lengths, none = np.array(worst).T
    return shared_lengths, none


@lru_cache(maxsize=256)
def joint_delta(
    most_records: int,
    units: int,
    scale: float,
    threshold: int,
    rho_of_measuring: Fraction,
    epsilon: Fraction,
) -> float:
    """Return the largest divergence over whom a person can be replaced by, rounded up.

    With n and n' the chances that nothing exclusive is named under either log, and rho of what both
    share, it is 1 - n + n delta(epsilon + ln(n'/n), rho) (docs/proofs/weighted_list.md).
    """
    shared, none_named = _worst_people(most_records, units, scale, threshold)
    squared = shared[:, None] + shared[None, :]
    of_a_unit = float(rho_of(DiscreteGaussian(scale), 1))
    rho = (squared * of_a_unit + float(rho_of_measuring)) * UPWARDS
    n, other = none_named[:, None], none_named[None, :]
    delta = -np.expm1(n) + np.exp(n) * delta_of(float(epsilon) + other - n, rho)
    return float(min(1.0, delta.max() * UPWARDS))
