"""What one week of a season costs everybody who opted in."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.accountants import float_above
from hybriddp.accounting.event import Event, known
from hybriddp.accounting.losses import Exclusive, GaussianShift, Losses
from hybriddp.accounting.price import Price
from hybriddp.errors import require
from hybriddp.params import Budget
from hybriddp.series.season import Season


@known
@dataclass(frozen=True, slots=True)
class SeasonWeek(Event):
    """Noisy weights of one week were added to a season's sums, and the list was measured.

    The budget is what the whole season promises, and the season must keep it. What tests of all
    weeks leak is charged once, in a person's first week.
    """

    season: Season
    week: int
    is_first: bool

    def __post_init__(self) -> None:
        require(
            1 <= self.week <= self.season.n_weeks,
            f"week must be between 1 and {self.season.n_weeks}",
            self.week,
            "begin another season",
        )
        delta = self.season.delta(self.budget.epsilon)
        require(
            delta <= self.budget.delta,
            f"a season at epsilon {float(self.budget.epsilon):.6g} must keep "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta):.6g}",
            "raise the noise or the thresholds",
        )

    @property
    def price(self) -> Price:
        """Weeks add up in rho."""
        leak = Fraction(self.season.leak) if self.is_first else Fraction(0)
        return Price(delta=leak, rho=self.season.rho(self.week))

    def losses(self) -> Losses:
        """Return the Gaussian draws, and what one person alone is named for.

        In a season that depends on the noise which both logs share, so that its part is added and
        not independent (docs/proofs/season.md): twice the leak, independent, is more than that
        wherever the draws cost a delta of at most one half.
        """
        price = self.price
        alone = ((Exclusive(float_above(2 * price.delta)), 1),) if self.is_first else ()
        return ((GaussianShift(price.rho), 1), *alone)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {"season": self.season.numbers(), "week": self.week, "is_first": self.is_first}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        season = Season.of_numbers(numbers["season"])
        return cls(budget, season, numbers["week"], numbers["is_first"])
