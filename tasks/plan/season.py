"""A season of a series, planned: what it finds by which week, what it costs, how many fit."""

from dataclasses import dataclass
from fractions import Fraction

from hybriddp.accounting.price import Price
from hybriddp.planning.season import SeasonForecast, forecast_season
from hybriddp.planning.setting import Setting
from hybriddp.series.design import SeasonDesign
from tasks.ledger.charges import Charge
from tasks.plan.budget import Cap
from tasks.plan.prior import PriorSource
from tasks.products.head_list.series.form import usual_records_in_series


@dataclass(frozen=True, slots=True)
class SeasonPlan:
    """A season of weeks in which everybody who opted in takes part."""

    n_weeks: int
    n_people: int  # who opted in
    clients_a_week: int
    forecast: SeasonForecast
    promise: Charge  # of a whole season, to whoever opted in
    price: Charge  # the same as the ledger counts it
    fits: int  # seasons, for somebody who has paid nothing yet

    @property
    def table(self) -> list[tuple[str, ...]]:
        """A header and rows: what is found by which week."""
        found, header = self.forecast, ("a season finds, by week", *map(str, self.forecast.weeks))
        rows = (("queries", found.queries), ("records (query and url)", found.records))
        return [header, *((name, *(f"{value:.0f}" for value in values)) for name, values in rows)]

    @property
    def words(self) -> list[str]:
        """What it costs, and how long the cap lasts."""
        return [
            f"A season of {self.n_weeks} releases promises each of {self.n_people:,} opt-in people "
            f"{self.promise} for all of it together. The ledger counts that as {self.price}, and "
            f"{self.fits or 'not even one'} such season"
            f"{'' if self.fits == 1 else 's'} fit{'s' if self.fits == 1 else ''} under the cap. "
            f"About {self.clients_a_week:,} clients report in each of them, once in a season."
        ]


def plan_season(source: PriorSource, setting: Setting, n_weeks: int, cap: Cap) -> SeasonPlan:
    """Predict a season at the epsilon and delta of a setting; it knows the names of a last list."""
    records = usual_records_in_series(setting.distinct_clicks)
    budget = setting.params.budget
    design = SeasonDesign(n_weeks=n_weeks, most_records=records)
    season = (design.after_a_season() if source.is_of_a_season else design).season(budget)
    n_optin = round(setting.n_users * setting.optin_fraction)
    price = Charge.of(Price(delta=Fraction(season.leak), rho=season.rho_in_all))
    return SeasonPlan(
        n_weeks,
        n_optin,
        (setting.n_users - n_optin) // n_weeks,
        forecast_season(source.prior, season, n_optin, setting.distinct_clicks, source.n_known),
        Charge.of(budget),
        price,
        cap.policy.fits(price),
    )
