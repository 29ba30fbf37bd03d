"""The groups that people serve in: the names of the draws of a release."""

from collections.abc import Iterable, Mapping
from typing import Any

from hybriddp.client_law import client_budget
from hybriddp.item_kinds import CLICKS, ITEM_KINDS, KEYWORDS, PAIRS, QUERIES
from hybriddp.params import BlenderParams, Budget

# A head list's groups, in the order in which they are drawn; nobody is in two of them.
HEADLIST, HISTOGRAM, CLIENTS = "S", "T", "C"
GROUPS = (HEADLIST, HISTOGRAM, CLIENTS)

# Histograms of items: whoever takes part is in every group that the release publishes.
ITEM_GROUPS = ITEM_KINDS
# What the two columns of an item mean, and what its file calls them.
ITEM_COLUMNS = {
    KEYWORDS: ("keyword",),
    QUERIES: ("query",),
    PAIRS: ("query", "next_query"),
    CLICKS: ("query", "url"),
}

# A mean's groups: opt-in people are in the sums and, if these are asked for, in the squares.
SUMS, SQUARES, NUMBERS = "sums", "squares", "numbers"
# Clusters: opt-in people's points, and what clients answer about theirs.
POINTS, ANSWERS = "points", "answers"
# Those of people who did not opt in.
CLIENT_GROUPS = (CLIENTS, NUMBERS, ANSWERS)

# All groups in the order of their draws. Those of one tuple share their people, who pay for each;
# nobody is in groups of two tuples of a release.
_SHARING = (
    (HEADLIST,), (HISTOGRAM,), (CLIENTS,), ITEM_GROUPS, (SUMS, SQUARES), (NUMBERS,), (POINTS,),
    (ANSWERS,),
)  # fmt: skip
ALL_GROUPS = tuple(group for together in _SHARING for group in together)

# What the measurement of each group is called.
MEASUREMENT_FILES = {
    HEADLIST: "head_list_draw.parquet",
    HISTOGRAM: "optin_histogram.parquet",
    CLIENTS: "client_reports.parquet",
    **{kind: f"{kind}_histogram.parquet" for kind in ITEM_GROUPS},
    SUMS: "value_sums.parquet",
    SQUARES: "squared_differences.parquet",
    NUMBERS: "value_reports.parquet",
    POINTS: "cluster_sums.parquet",
    ANSWERS: "cluster_reports.parquet",
}


def people_of(groups: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the groups of a release, those that have the same people together."""
    there = frozenset(groups)
    found = (tuple(group for group in together if group in there) for together in _SHARING)
    return [together for together in found if together]


def groups_of(params: BlenderParams) -> tuple[str, ...]:
    """Return the groups of a head list, in the order of their draws; T may be empty by choice."""
    return GROUPS if params.has_histogram else (HEADLIST, CLIENTS)


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
