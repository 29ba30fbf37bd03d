"""What the members of a head list's groups pay, from its exact parameters."""

from collections.abc import Mapping
from typing import Any

from hybriddp.params import BlenderParams, Budget
from hybriddp.randomizers.laws import client_budget
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM


def groups_of(params: BlenderParams) -> tuple[str, ...]:
    """Return the groups of a head list, in the order of their draws; T may be empty by choice."""
    return (HEADLIST, HISTOGRAM, CLIENTS) if params.has_histogram else (HEADLIST, CLIENTS)


def prices_of(params: BlenderParams) -> dict[str, Budget]:
    """Return what a member of each group of a head list pays."""
    every = {
        HEADLIST: params.budget,
        HISTOGRAM: Budget(params.budget.epsilon),  # a histogram over fixed cells needs no delta
        CLIENTS: client_budget(params),
    }
    return {group: every[group] for group in groups_of(params)}


def read_params(parameters: Mapping[str, Any]) -> BlenderParams:
    """Rebuild the parameters from the exact text in a ledger's row or a manifest."""
    return BlenderParams(
        parameters["epsilon"],
        parameters["delta"],
        strategy=parameters["strategy"],
        max_head_size=parameters["max_head_size"],
        headlist_user_fraction=parameters["headlist_user_fraction"],
        query_budget_fraction=parameters["query_budget_fraction"],
        max_records_optin=parameters.get("max_records_optin"),
        max_records_client=parameters["max_records_client"],
        client_report=parameters.get("client_report"),
    )
