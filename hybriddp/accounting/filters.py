"""A cap on what one person may ever lose, as a rule that decides charge by charge.

Pure losses add up. Gaussian ones add up in rho, which promises far less epsilon than the sum of
what each alone would promise. But a rule that trades the one for the other freely is broken: who
draws small Gaussians, stops when lucky and spends all that is left as one pure loss gets more than
the cap (docs/proofs/cap.md). So the part of each kind is fixed when the cap is set.
"""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.accounting.accountants import Cost
from hybriddp.accounting.price import Price
from hybriddp.errors import require
from hybriddp.noise.dominated import delta_of

# The largest rho is found in steps of this; it is far below what any draw costs.
_RHO_STEP = Fraction(1, 10**9)
_EPSILON_STEPS = 10**9
# Above it an epsilon of 50 would not do.
_LARGEST_RHO = 100


@dataclass(frozen=True, slots=True)
class CapFilter:
    """A cap with the part of each kind of loss.

    Whoever has no Gaussian loss may lose all of the cap's epsilon and delta. Whoever has one may
    have pure losses up to `pure`, Gaussian ones up to `rho`, and all of delta but
    `gaussian_delta`, which converts rho.
    """

    cap: Cost
    pure: Fraction
    rho: Fraction
    gaussian_delta: Fraction

    def __post_init__(self) -> None:
        require(
            0 <= self.pure <= self.cap.epsilon and 0 <= self.gaussian_delta <= self.cap.delta,
            "the parts of a cap must not exceed it",
            f"epsilon {float(self.pure):.6g} and delta {float(self.gaussian_delta):.6g}",
            "lower them",
        )
        require(
            0 <= self.rho <= _LARGEST_RHO,
            f"rho must be between 0 and {_LARGEST_RHO}",
            f"{float(self.rho):.6g}",
            "take the largest that fits",
        )
        if self.rho:
            delta = _converted(self.cap.epsilon - self.pure, self.rho)
            require(
                delta <= self.gaussian_delta,
                f"rho {float(self.rho):.6g} must cost at most delta "
                f"{float(self.gaussian_delta):.6g} at what the cap leaves of epsilon",
                f"{float(delta):.6g}",
                "lower rho, or leave it more",
            )

    @classmethod
    def pure_only(cls, cap: Cost) -> "CapFilter":
        """Return the cap that no Gaussian loss fits: what all caps were at first."""
        return cls(cap, cap.epsilon, Fraction(0), Fraction(0))

    @classmethod
    def with_gaussian(
        cls, cap: Cost, pure: Fraction = Fraction(0), share_of_delta: Fraction = Fraction(1, 2)
    ) -> "CapFilter":
        """Return the cap with the largest rho that this much of it allows."""
        left, delta = cap.epsilon - pure, cap.delta * share_of_delta
        low, high = 0, int(_LARGEST_RHO / _RHO_STEP)
        while high - low > 1:
            middle = (low + high) // 2
            fits = _converted(left, middle * _RHO_STEP) <= delta
            low, high = (middle, high) if fits else (low, middle)
        return cls(cap, pure, low * _RHO_STEP, delta)

    def admits(self, total: Price) -> bool:
        """Whether a person may have lost this in all."""
        if total.rho == 0:
            return total.epsilon <= self.cap.epsilon and total.delta <= self.cap.delta
        return (
            total.epsilon <= self.pure
            and total.rho <= self.rho
            and total.delta <= self.cap.delta - self.gaussian_delta
        )


def least_epsilon(rho: Fraction, delta: Fraction) -> Fraction:
    """Return an epsilon at which rho costs at most delta, the least in steps of 1e-9."""
    low, high = 0, _EPSILON_STEPS
    while _converted(Fraction(high, _EPSILON_STEPS), rho) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        fits = _converted(Fraction(middle, _EPSILON_STEPS), rho) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return Fraction(high, _EPSILON_STEPS)


def _converted(epsilon: Fraction, rho: Fraction) -> Fraction:
    return Fraction(float(delta_of(float(epsilon), float(rho))))
