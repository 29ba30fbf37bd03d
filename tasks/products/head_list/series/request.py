"""A request whose place in a season is known: what it measures, and what that costs."""

from collections.abc import Mapping
from typing import Any

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from hybriddp.randomizers.laws import client_budget
from hybriddp.series.events import SeasonTests, SeasonWeek
from tasks.ledger.payloads import SeasonPlace
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.series.season.place import budget_of, clients_rotation, season_of

SERIES_VERSION = "blender-series-1"


class WeekRequest(ReleaseRequest):
    """A release that is a week of a season."""

    place: SeasonPlace

    @classmethod
    def at_place(cls, request: ReleaseRequest, place: SeasonPlace) -> "WeekRequest":
        """Give a request its place; its clients serve once in a season."""
        fields = {name: getattr(request, name) for name in type(request).model_fields}
        fields["rotation"] = clients_rotation(request)
        return cls(**{**fields, "place": place})

    def parameters(self) -> HeadListParameters:
        """Return everything that decides what is measured, exactly."""
        said = super().parameters().model_dump(exclude_unset=True)
        return HeadListParameters(
            **said
            | {
                "mechanism_version": SERIES_VERSION,
                "series": self.place.series,
                "season": self.place.season,
                "week": self.place.week,
                "season_weeks": self.season_weeks,
            }
        )

    def prices(self) -> Mapping[str, Budget | Price]:
        """Return what a member of each group pays: weeks add up in rho."""
        return week_prices(self.place, client_budget(self.params()))


def events_of(place: SeasonPlace) -> dict[str, Any]:
    """Return what a week charges whoever opted in; the last event says that all is drawn."""
    budget, season = budget_of(place), season_of(place)
    return {
        JOINING: SeasonTests(budget, season),
        HEADLIST: SeasonWeek(budget, season, place.week),
    }


def week_prices(place: SeasonPlace, of_clients: Budget) -> dict[str, Budget | Price]:
    """Return what a member of each group of a week pays."""
    opted_in = {group: event.price for group, event in events_of(place).items()}
    return {**opted_in, CLIENTS: of_clients}
