"""What a season costs everybody who opted in: tests once, when they join, and then every week."""

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


def _require_kept(season: Season, budget: Budget) -> None:
    """Refuse a season that costs more than it promises, all of its weeks and tests together."""
    delta = season.delta(budget.epsilon)
    require(
        delta <= budget.delta,
        f"a season at epsilon {float(budget.epsilon):.6g} must keep "
        f"delta <= {float(budget.delta):.6g}",
        f"{float(delta):.6g}",
        "raise the noise or the thresholds",
    )


@known
@dataclass(frozen=True, slots=True)
class SeasonWeek(Event):
    """Noisy weights of one week were added to a season's sums, and the list was measured.

    The budget is what the whole season promises, and the season must keep it.
    """

    season: Season
    week: int

    def __post_init__(self) -> None:
        require(
            1 <= self.week <= self.season.n_weeks,
            f"week must be between 1 and {self.season.n_weeks}",
            self.week,
            "begin another season",
        )
        _require_kept(self.season, self.budget)

    @property
    def price(self) -> Price:
        """Weeks add up in rho."""
        return Price(rho=self.season.rho(self.week))

    def losses(self) -> Losses:
        """Return the Gaussian draws of the week."""
        return ((GaussianShift(self.price.rho), 1),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {"season": self.season.numbers(), "week": self.week}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(budget, Season.of_numbers(numbers["season"]), numbers["week"])


@known
@dataclass(frozen=True, slots=True)
class SeasonTests(Event):
    """Somebody joined a season: its tests may name what they alone gave, in any later week.

    Charged once and in full, whenever they join and however long they stay.
    """

    season: Season

    def __post_init__(self) -> None:
        _require_kept(self.season, self.budget)

    @property
    def price(self) -> Price:
        """The chance that any test names something."""
        return Price(delta=Fraction(self.season.leak))

    def losses(self) -> Losses:
        """Return what one person alone is named for.

        In a season that depends on the noise which both logs share, so that its part is added and
        not independent (docs/proofs/season.md): twice the leak, independent, is more than that
        wherever the draws cost a delta of at most one half.
        """
        return ((Exclusive(float_above(2 * self.price.delta)), 1),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {"season": self.season.numbers()}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(budget, Season.of_numbers(numbers["season"]))
