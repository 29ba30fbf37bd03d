"""What one week of a season costs everybody who opted in."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.accountants import float_above
from hybriddp.accounting.event import Event, known
from hybriddp.accounting.losses import Exclusive, GaussianShift, Losses
from hybriddp.accounting.price import Price
from hybriddp.blender.weighted.weights import squared_shift_of_shares, squared_shift_of_weights
from hybriddp.errors import require, require_count
from hybriddp.noise.dominated import delta_of, rho_of
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget


@known
@dataclass(frozen=True, slots=True)
class SeasonWeek(Event):
    """Noisy weights of one week were added to a season's sums, and the list was measured.

    The budget is what the whole season promises. `leak` is the chance that any test of the season
    names what one person alone gave it: it is charged once, in a person's first week, and is 0 in
    all others.
    """

    weight_units: int
    weight_scale: float
    share_units: int
    share_scale: float
    leak: Fraction

    def __post_init__(self) -> None:
        for name in ("weight_units", "share_units"):
            require_count(getattr(self, name), name)
        require(0 <= self.leak < 1, "leak must be at least 0 and below 1", "another", "check it")
        delta = Fraction(float(delta_of(float(self.budget.epsilon), float(self.price.rho))))
        require(
            delta + self.leak <= self.budget.delta,
            f"one week at epsilon {float(self.budget.epsilon):.6g} must keep the season's "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta + self.leak):.6g}",
            "raise the noise or the thresholds",
        )

    @property
    def price(self) -> Price:
        """Weeks add up in rho."""
        weights, shares = (
            rho_of(DiscreteGaussian(scale), squared_shift)
            for scale, squared_shift in (
                (self.weight_scale, squared_shift_of_weights(self.weight_units)),
                (self.share_scale, squared_shift_of_shares(self.share_units)),
            )
        )
        return Price(delta=self.leak, rho=weights + shares)

    def losses(self) -> Losses:
        """Return the Gaussian draws, and what one person alone is named for."""
        alone = ((Exclusive(float_above(self.leak)), 1),) if self.leak else ()
        return ((GaussianShift(self.price.rho), 1), *alone)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {
            "weight_units": self.weight_units,
            "weight_scale": self.weight_scale.hex(),
            "share_units": self.share_units,
            "share_scale": self.share_scale.hex(),
            "leak": str(self.leak),
        }

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(
            budget,
            numbers["weight_units"],
            float.fromhex(numbers["weight_scale"]),
            numbers["share_units"],
            float.fromhex(numbers["share_scale"]),
            Fraction(numbers["leak"]),
        )
