"""Events of clients' reports on a list: in two stages, or by subset selection."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.event import Event, known
from hybriddp.accounting.losses import AnyOf, Losses
from hybriddp.errors import require, require_count
from hybriddp.params import Budget
from hybriddp.randomizers.pairs import LawPair, two_stage_neighbour_laws, worst_delta
from hybriddp.randomizers.response import RandomizedResponse
from hybriddp.randomizers.subset import SubsetResponse


@known
@dataclass(frozen=True, slots=True)
class ClientReport(Event):
    """A client sent `n_reports` reports through a two-stage randomized response.

    `urls` holds the different url responses, one for each length of list.
    """

    query: RandomizedResponse
    urls: tuple[RandomizedResponse, ...]
    n_reports: int = 1

    def __post_init__(self) -> None:
        require_count(self.n_reports, "n_reports")
        require(
            isinstance(self.urls, tuple) and len(self.urls) >= 1,
            "urls must be a tuple with the response of at least one list",
            f"{type(self.urls).__name__}",
            "take them from a TwoStageResponse",
        )
        share = Fraction(1, self.n_reports)
        delta = worst_delta(self.neighbour_laws(), self.budget.epsilon * share)
        require(
            delta <= self.budget.delta * share,
            f"a report at epsilon {float(self.budget.epsilon * share):.6g} must keep "
            f"delta <= {float(self.budget.delta * share):.6g}",
            f"{float(delta):.6g}",
            "build the response from the budget that is charged",
        )

    def neighbour_laws(self) -> list[LawPair]:
        """Return the laws of one report under every kind of pair of records."""
        return two_stage_neighbour_laws(self.query, self.urls)

    def losses(self) -> Losses:
        """Return every report, under whichever pair of records."""
        return ((AnyOf(tuple(self.neighbour_laws())), self.n_reports),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {
            "query": self.query.numbers,
            "urls": [url.numbers for url in self.urls],
            "n_reports": self.n_reports,
        }

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        urls = tuple(RandomizedResponse(*url) for url in numbers["urls"])
        return cls(budget, RandomizedResponse(*numbers["query"]), urls, numbers["n_reports"])


@known
@dataclass(frozen=True, slots=True)
class SubsetReport(Event):
    """A client sent one report by subset selection, over all cells of a list at once."""

    response: SubsetResponse

    def __post_init__(self) -> None:
        delta = worst_delta(self.neighbour_laws(), self.budget.epsilon)
        require(
            delta <= self.budget.delta,
            f"a report at epsilon {float(self.budget.epsilon):.6g} must keep "
            f"delta <= {float(self.budget.delta):.6g}",
            f"{float(delta):.6g}",
            "build the response from the budget that is charged",
        )

    def neighbour_laws(self) -> list[LawPair]:
        """Return the laws of one report under two different cells."""
        return self.response.neighbour_laws()

    def losses(self) -> Losses:
        """Return the report, under whichever pair of cells."""
        return ((AnyOf(tuple(self.neighbour_laws())), 1),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        response = self.response
        return {"response": [response.n_values, response.size, response.truth_words]}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(budget, SubsetResponse(*numbers["response"]))
