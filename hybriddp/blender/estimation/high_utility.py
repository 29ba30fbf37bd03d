"""Strategy `high-utility`: everything that all three groups say, combined (ours).

S's noisy counts are kept, T counts the clients' own cells, clients report cells in one stage, and
each record is estimated from all of it at once. Same people, same epsilon and delta as `paper`.
"""

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, client_source
from hybriddp.blender.estimation.crosscheck import CrossCheck, cross_check
from hybriddp.blender.estimation.estimates import Estimate, IntervalEstimate, project_weighted
from hybriddp.blender.estimation.intervals import normal_interval
from hybriddp.blender.estimation.levels import Bounded, Draws, Levels, Reported, Sides
from hybriddp.blender.evidence.combining import Evidence
from hybriddp.blender.evidence.counted import counted_evidence
from hybriddp.blender.evidence.sources import Source
from hybriddp.blender.evidence.subset_reports import SubsetReports
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.evidence import weighted_evidence
from hybriddp.params import BlenderParams

# Variances of a projection: smaller parts of the largest would be lost in rounding, and a division
# must be possible where nothing is uncertain, such as an empty list.
_LEAST_PART, _LEAST_VARIANCE = 1e-12, 1e-30


INTERVAL_METHOD = (
    "the central 95 % of what all noisy counts and the list's own power law say together; for "
    "queries normal, from the variances of their records and of their other urls"
)


def choose(params: BlenderParams, draws: Draws) -> HeadList:
    """Return the queries of S's list with the largest noisy counts.

    Privacy claim: none; post-processing of a HeadListDraw.
    """
    assert draws.noisy_counts is not None
    is_kept = likeliest_queries(draws.candidates, draws.noisy_counts, params.max_head_size)
    return draws.candidates.keep(is_kept)


def denoise(params: BlenderParams, head_list: HeadList, draws: Draws) -> Sides:
    """Return what S and T say of the records, and what the reports say of every cell.

    Privacy claim: none; post-processing of the three draws.
    """
    clients = source_of(params, head_list, draws)
    said = Estimate(clients.values, clients.variance_at(np.clip(clients.values, 0, 1)))
    optin = on_cells(head_list, evidence_of(params, head_list, draws, clients).optin())
    return Sides(
        Levels(optin, query_estimate(head_list, optin)),
        Levels(said, query_estimate(head_list, said)),
    )


def blend(params: BlenderParams, head_list: HeadList, draws: Draws, _sides: Sides) -> Levels:
    """Return what all groups say together; a query is the sum of its cells.

    Privacy claim: none; post-processing of the three draws.
    """
    clients = source_of(params, head_list, draws)
    cells = evidence_of(params, head_list, draws, clients).cells()
    return Levels(cells, query_estimate(head_list, cells))


def weighed(
    params: BlenderParams, head_list: HeadList, draws: Reported, _sides: Sides, blended: Levels
) -> Levels:
    """Return what the clients say, as sure as they are if the blend is the truth."""
    clients = source_of(params, head_list, draws)
    variances = clients.variance_at(np.clip(blended.records.values, 0, 1))
    said = Estimate(clients.values, variances)
    return Levels(said, query_estimate(head_list, said))


def project(head_list: HeadList, blended: Levels) -> Levels:
    """Make the cells a distribution, and the queries their sums.

    Privacy claim: none; post-processing of estimates.
    """
    cells = Estimate(projected_cells(blended.records), blended.records.variances)
    return Levels(cells, query_estimate(head_list, cells))


def bound(blended: Levels, projected: Levels) -> Bounded:
    """Take the intervals from the whole evidence."""
    known, queries = blended.records, projected.queries
    assert isinstance(known, IntervalEstimate)
    return Bounded(
        around(projected.records.values, known),
        IntervalEstimate(
            queries.values, queries.variances, *normal_interval(queries.values, queries.variances)
        ),
    )


def check(
    params: BlenderParams, head_list: HeadList, draws: Reported, sides: Sides, blended: Levels
) -> CrossCheck:
    """Compare S and T, which know that only high counts were seen, with the clients.

    In a series few clients may serve in a week, so what they say is not taken for normal. Lists
    that counts found keep the check that they were published with, to the last byte.
    """
    records, optin = head_list.record_cells, sides.optin.records
    clients = source_of(params, head_list, draws).at(records)
    known = blended.records.values[records]
    excess = None
    if params.is_weighted and isinstance(clients, SubsetReports):
        excess = clients.excess_kurtosis_at(np.clip(known, 0, 1))
    return cross_check(
        Estimate(optin.values[records], optin.variances[records]), clients, known, excess
    )


def evidence_of(
    params: BlenderParams, head_list: HeadList, draws: Draws, clients: Source
) -> Evidence:
    """Put the draws of a release together.

    Privacy claim: none; post-processing of all draws.
    """
    read = weighted_evidence if params.is_weighted else counted_evidence
    return read(params, head_list, draws, clients)


def source_of(params: BlenderParams, head_list: HeadList, draws: Reported) -> Source:
    """Return what the clients say about every cell.

    Privacy claim: none; post-processing of client reports.
    """
    assert draws.reports is not None
    return client_source(client_mechanism(head_list, params), draws.reports)


def likeliest_queries(
    candidates: HeadList, noisy_counts: IntArray, max_head_size: int
) -> BoolArray:
    """Say which of the named queries stay: those with the largest sums of noisy counts.

    Privacy claim: none; post-processing of a HeadListDraw.
    """
    sums = np.bincount(candidates.query_of_record, noisy_counts, candidates.n_queries)
    is_kept = np.zeros(candidates.n_queries, dtype=np.bool_)
    # A stable sort breaks ties by the list's own order, so equal inputs give equal lists.
    is_kept[np.argsort(-sums, kind="stable")[:max_head_size]] = True
    return is_kept


def query_estimate(head_list: HeadList, cells: Estimate) -> Estimate:
    """Return queries (* last) as the sums of their cells, <q,*> included.

    Privacy claim: none; post-processing of estimates.
    """
    starts = head_list.cell_starts
    return Estimate(np.add.reduceat(cells.values, starts), np.add.reduceat(cells.variances, starts))


def projected_cells(blended: Estimate) -> FloatArray:
    """Make cells a distribution; they are one already unless <*,*> came out below 0.

    Privacy claim: none; post-processing of estimates.
    """
    least = max(_LEAST_PART * float(blended.variances.max()), _LEAST_VARIANCE)
    return project_weighted(blended.values, np.maximum(blended.variances, least))


def around(projected: FloatArray, known: IntervalEstimate) -> IntervalEstimate:
    """Return the distribution with the intervals of what is known, which must hold it.

    Privacy claim: none; post-processing of estimates.
    """
    return IntervalEstimate(
        projected,
        known.variances,
        np.minimum(known.low, projected),
        np.maximum(known.high, projected),
    )


def on_cells(head_list: HeadList, records: Estimate) -> Estimate:
    """Bring what is known of records alone to the cells.

    Privacy claim: none; post-processing of estimates.
    """
    values, variances = np.zeros(head_list.n_cells), np.full(head_list.n_cells, np.inf)
    values[head_list.record_cells] = records.values
    variances[head_list.record_cells] = records.variances
    return Estimate(values, variances)
