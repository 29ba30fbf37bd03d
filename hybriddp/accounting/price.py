"""What one access to a person's data costs, in the parts that add up."""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple


class Price(NamedTuple):
    """What one access to a person's data costs: a pure part, a chance to fail, and a Gaussian part.

    A Gaussian part is the rho of noise that a continuous Gaussian dominates
    (`noise.dominated.rho_of`), and of nothing else.
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    rho: Fraction = Fraction(0)

    @classmethod
    def sum(cls, prices: Iterable["Price"]) -> "Price":
        """Add up what touched the same person."""
        known = list(prices)
        return (
            cls(*(sum(parts, Fraction(0)) for parts in zip(*known, strict=True)))
            if known
            else cls()
        )
