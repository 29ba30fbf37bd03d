"""The groups that people serve in: the names of the draws of a release."""

from hybriddp.client_law import client_budget
from hybriddp.params import BlenderParams, Budget
from hybriddp.search_log import ITEM_KINDS

# A head list's groups, in the order in which they are drawn; nobody is in two of them.
HEADLIST, HISTOGRAM, CLIENTS = "S", "T", "C"
GROUPS = (HEADLIST, HISTOGRAM, CLIENTS)

# Histograms of items: whoever takes part is in every group that the release publishes.
ITEM_GROUPS = ITEM_KINDS


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
