"""What people are charged: whole numbers, so that sums are exact in any engine, for ever."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from hybriddp.rounding import rounded_down, rounded_up
from tasks.ledger.payloads import Terms

# Charges are whole numbers of these units, rounded up: sums over years stay exact in any engine.
EPSILON_UNITS = 10**9
DELTA_UNITS = 10**18
RHO_UNITS = 10**12
_PARTS = ("epsilon", "delta", "rho")


@dataclass(frozen=True, slots=True)
class Charge:
    """A cost in whole units; it is never below the budget that it stands for."""

    epsilon: int
    delta: int
    rho: int = 0

    @classmethod
    def of(cls, price: Budget | Price) -> "Charge":
        """Round a price up to whole units."""
        rho = price.rho if isinstance(price, Price) else Fraction(0)
        parts = (price.epsilon, EPSILON_UNITS), (price.delta, DELTA_UNITS), (rho, RHO_UNITS)
        return cls(*(math.ceil(part * units) for part, units in parts))

    @property
    def price(self) -> Price:
        """This as exact numbers."""
        units = zip(_PARTS, (EPSILON_UNITS, DELTA_UNITS, RHO_UNITS), strict=True)
        return Price(*(Fraction(getattr(self, part), unit) for part, unit in units))

    @classmethod
    def of_terms(cls, terms: Terms) -> "Charge":
        """Return what a row says that each member of a group pays."""
        return cls(terms.epsilon_nano, terms.delta_atto, terms.rho_pico)

    def terms(self, members: int | None) -> Terms:
        """Return what a row says of so many members; rows without Gaussian losses name none."""
        rho = {"rho_pico": self.rho} if self.rho else {}
        return Terms(epsilon_nano=self.epsilon, delta_atto=self.delta, members=members, **rho)

    @classmethod
    def sum(cls, charges: Iterable["Charge"]) -> "Charge":
        """Add charges up."""
        known = list(charges)
        return cls(*(sum(getattr(one, part) for one in known) for part in _PARTS))

    @classmethod
    def largest(cls, charges: Iterable["Charge"]) -> "Charge":
        """Return the largest of each part."""
        known = list(charges)
        return cls(*(max((getattr(one, part) for one in known), default=0) for part in _PARTS))

    def less(self, other: "Charge") -> "Charge":
        """Return what is left of this."""
        return Charge(*(getattr(self, part) - getattr(other, part) for part in _PARTS))

    def fits(self, other: "Charge") -> bool:
        """Whether this is at most another charge, in every part."""
        return all(getattr(self, part) <= getattr(other, part) for part in _PARTS)

    def __str__(self) -> str:
        return self._shown(rounded_up)

    @property
    def as_left(self) -> str:
        """This as something that may still be spent: rounded down, not up."""
        return self._shown(rounded_down)

    def _shown(self, rounded: Callable[[Fraction], str]) -> str:
        epsilon, delta = Fraction(self.epsilon, EPSILON_UNITS), Fraction(self.delta, DELTA_UNITS)
        rho = rounded(Fraction(self.rho, RHO_UNITS))
        gaussian = f", Gaussian loss rho {rho}" if self.rho else ""
        return f"(epsilon {rounded(epsilon)}, delta {rounded(delta)}{gaussian})"

    def as_json(self, rounded: Callable[[Fraction], str] = rounded_up) -> dict[str, float | int]:
        """Return the numbers for people, rounded, and the exact ones in the ledger's units."""
        numbers: dict[str, float | int] = {
            "epsilon": float(rounded(Fraction(self.epsilon, EPSILON_UNITS))),
            "delta": float(rounded(Fraction(self.delta, DELTA_UNITS))),
            "epsilon_nano": self.epsilon,
            "delta_atto": self.delta,
        }
        if self.rho:
            numbers |= {
                "rho": float(rounded(Fraction(self.rho, RHO_UNITS))),
                "rho_pico": self.rho,
            }
        return numbers
