"""What decides the measurements of a head list, exactly, and what its groups pay for them."""

from functools import cached_property
from typing import Annotated, Any, Literal

from hybriddp.params import LAPLACE, BlenderParams, Budget
from hybriddp.randomizers.laws import client_budget
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM
from tasks.products.parameters import Exact, MeasurementParameters, Short
from tasks.verify.form import fitting, whole

ClientReport = Literal["one-stage", "two-stage", "two-stage-exact"]
Clients = Literal["simulate", "reports"]
MechanismVersion = Literal[
    "blender-paper-1", "blender-high-utility-1", "blender-weighted-1", "blender-series-1"
]


class HeadListParameters(MeasurementParameters):
    """What a head list is asked for.

    Strategy `paper` leaves no choice of records of opt-in people and of client reports, and its
    releases do not state them. Finding is with Laplace noise where nothing else is stated. Epsilon
    and delta of a series are those of a whole season.
    """

    strategy: Literal["high-utility", "paper"]
    mechanism_version: MechanismVersion
    normalisation: Short | None = None
    finding: Literal["gaussian"] | None = None
    max_head_size: Annotated[int, fitting(whole(1, 10_000))]
    headlist_user_fraction: Exact
    query_budget_fraction: Exact
    max_records_optin: Annotated[int, fitting(whole(1, 1_000))] | None = None
    max_records_client: Annotated[int, fitting(whole(1, 1_000))]
    client_report: ClientReport | None = None
    clients: Clients
    series: Short | None = None
    season: Annotated[int, fitting(whole(1, 10_000))] | None = None
    week: Annotated[int, fitting(whole(1, 10_000))] | None = None
    season_weeks: Annotated[int, fitting(whole(1, 10_000))] | None = None

    @cached_property
    def params(self) -> BlenderParams:
        """The parameters of the mechanisms, as the library knows them."""
        return params_asked(self)

    @property
    def is_simulated(self) -> bool:
        """Whether the curator ran the clients' program for them."""
        return self.clients == "simulate"


def params_asked(asked: Any) -> BlenderParams:
    """Return what a form or a release asks of the mechanisms; both call it the same."""
    return BlenderParams(
        asked.epsilon,
        asked.delta,
        strategy=asked.strategy,
        finding=asked.finding or LAPLACE,
        max_head_size=asked.max_head_size,
        headlist_user_fraction=asked.headlist_user_fraction,
        query_budget_fraction=asked.query_budget_fraction,
        max_records_optin=asked.max_records_optin,
        max_records_client=asked.max_records_client,
        client_report=asked.client_report,
    )


def groups_of(params: BlenderParams) -> tuple[str, ...]:
    """Return the groups of a single list, in the order of their draws; T may be empty by choice."""
    return (HEADLIST, HISTOGRAM, CLIENTS) if params.has_histogram else (HEADLIST, CLIENTS)


def prices_of(params: BlenderParams) -> dict[str, Budget]:
    """Return what a member of each group of a single list pays."""
    every = {
        HEADLIST: params.budget,
        HISTOGRAM: Budget(params.budget.epsilon),  # a histogram over fixed cells needs no delta
        CLIENTS: client_budget(params),
    }
    return {group: every[group] for group in groups_of(params)}
