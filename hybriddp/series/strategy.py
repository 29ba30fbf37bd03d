"""The steps of a weekly release: those of strategy `high-utility`, with all weeks of a season."""

import numpy as np

from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.estimation.high_utility import (
    bound,
    check,
    on_cells,
    project,
    query_estimate,
    source_of,
    weighed,
)
from hybriddp.blender.estimation.levels import Levels, Sides
from hybriddp.blender.headlist import HeadList
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import SeasonMeasured

__all__ = [
    "INTERVAL_METHOD", "blend", "bound", "check", "choose", "denoise", "project", "weighed",
]  # fmt: skip

INTERVAL_METHOD = (
    "the central 95 % of what all weeks' noisy weights, shares and reports, and after another "
    "season its last list, say of this week, if "
    "log p goes at random from week to week as far as the weeks themselves show, and may begin "
    "anew in a week in which all records together show that many do, and of what the list's own "
    "power law says; for queries normal, from the variances of their records and of "
    "their other urls"
)


def choose(params: BlenderParams, draws: SeasonMeasured) -> HeadList:
    """Return the known queries with the largest estimates; this week's reports are not needed.

    Privacy claim: none; post-processing of SeasonWeeks and of reports.
    """
    known = draws.now.known
    if known.n_queries <= params.max_head_size:
        return known
    cells = SeasonEvidence.of(params, draws).cells(known)
    estimates = query_estimate(known, cells).values[:-1]
    is_kept = np.zeros(known.n_queries, dtype=np.bool_)
    # A stable sort breaks ties by the list's own order, so equal inputs give equal lists.
    is_kept[np.argsort(-estimates, kind="stable")[: params.max_head_size]] = True
    return known.keep(is_kept)


def denoise(params: BlenderParams, head_list: HeadList, draws: SeasonMeasured) -> Sides:
    """Return what everybody who opted in said of records in all weeks, and this week's clients.

    Privacy claim: none; post-processing of SeasonWeeks and of reports.
    """
    clients = source_of(params, head_list, draws)
    said = Estimate(clients.values, clients.variance_at(np.clip(clients.values, 0, 1)))
    evidence = SeasonEvidence.of(params, draws, with_clients=False)
    optin = on_cells(head_list, evidence.records_of(head_list))
    return Sides(
        Levels(optin, query_estimate(head_list, optin)),
        Levels(said, query_estimate(head_list, said)),
    )


def blend(
    params: BlenderParams, head_list: HeadList, draws: SeasonMeasured, _sides: Sides
) -> Levels:
    """Return what all weeks and groups say of this week together; a query is the sum of its cells.

    Privacy claim: none; post-processing of SeasonWeeks and of reports.
    """
    cells = SeasonEvidence.of(params, draws).cells(head_list)
    return Levels(cells, query_estimate(head_list, cells))
