"""The clients of a release, whichever way they report: draw them, and read what they say."""

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.blender.estimation.denoise import denoise
from hybriddp.blender.evidence.sources import Fixed, Source
from hybriddp.blender.evidence.subset_reports import SubsetReports
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import require
from hybriddp.params import BlenderParams
from hybriddp.randomizers.laws import client_budget, client_response
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.two_stage import ClientMechanism

Mechanism = ClientMechanism | SubsetMechanism


def client_mechanism(head_list: HeadList, params: BlenderParams) -> Mechanism:
    """Return how each client reports on this list."""
    response = client_response(params, head_list.list_sizes.tolist())
    if isinstance(response, TwoStageResponse):
        return ClientMechanism(client_budget(params), response, params.max_records_client)
    return SubsetMechanism(client_budget(params), response)


def reports_are_sets(mechanism: Mechanism) -> bool:
    """Whether a client reports different cells at once."""
    return isinstance(mechanism, SubsetMechanism)


def reports_per_client(mechanism: Mechanism) -> int:
    """Return how many cells one client reports."""
    if isinstance(mechanism, SubsetMechanism):
        return mechanism.response.size
    return mechanism.n_reports


def count_reports(mechanism: Mechanism, reports: IntArray) -> IntArray:
    """Return how often each cell was reported, from what a mechanism's draw returned.

    Privacy claim: none; post-processing of client reports.
    """
    if isinstance(mechanism, SubsetMechanism):
        return reports
    return np.bincount(reports.reshape(-1), minlength=mechanism.response.n_cells)


def client_source(mechanism: Mechanism, report_counts: IntArray) -> Source:
    """Return what the clients say about every cell.

    Privacy claim: none; post-processing of client reports.
    """
    if isinstance(mechanism, SubsetMechanism):
        n_clients = int(report_counts.sum()) // mechanism.response.size
        return SubsetReports.of(mechanism.response, report_counts, n_clients)
    require(
        int(report_counts.sum()) >= 2 * mechanism.n_reports,
        "there must be at least 2 clients who report in two stages",
        "fewer",
        "one report says nothing about its own spread; collect more",
    )
    cells = denoise(mechanism.response, report_counts, reports_per_client=mechanism.n_reports).cells
    return Fixed(cells.values, cells.variances)
