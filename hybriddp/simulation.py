"""A whole BLENDER release on integer arrays, in memory: for studies and tests.

The steps are those of the product's release flow; only the randomness is a study's generator.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hybriddp import high_utility
from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blend import blend
from hybriddp.clients import client_mechanism, client_source, count_reports
from hybriddp.crosscheck import CrossCheck, cross_check
from hybriddp.denoise import ClientEstimate, denoise
from hybriddp.errors import require
from hybriddp.estimate import Estimate
from hybriddp.evidence import Fixed, Source
from hybriddp.headlist import HeadList, HeadListMechanism, count_records, one_record_each
from hybriddp.high_utility import Combined, FoundCounts
from hybriddp.intervals import normal_interval
from hybriddp.local import ClientMechanism
from hybriddp.optin import (
    HistogramMechanism,
    count_listed_records,
    estimate_optin,
    estimate_queries,
    on_client_cells,
    trim,
)
from hybriddp.params import HIGH_UTILITY, BlenderParams
from hybriddp.simplex import project


@dataclass(frozen=True, slots=True)
class Level:
    """One product's estimates: of both groups, blended, and projected on the simplex."""

    optin: Estimate
    clients: Estimate
    blended: Estimate
    projected: FloatArray
    low: FloatArray  # of the 95 % interval around `projected`
    high: FloatArray


@dataclass(frozen=True, slots=True)
class SimulatedRelease:
    """What a release publishes, and what it was made of.

    `records` (local search) has one element for each client cell of `head_list`; `queries`
    (trends) one for each query, the wildcard last.
    """

    head_list: HeadList
    records: Level
    queries: Level
    n_headlist_users: int
    n_histogram_users: int
    n_clients: int
    check: CrossCheck


# Changes how often each cell of the list was reported, as somebody who sends false reports would.
Tamper = Callable[[HeadList, IntArray], IntArray]


def simulate(
    query_ids: IntArray,
    url_ids: IntArray,
    is_optin: BoolArray,
    params: BlenderParams,
    *,
    rng: np.random.Generator,
    tamper: Tamper | None = None,
) -> SimulatedRelease:
    """Run one release of either strategy (JPC19 figure 2).

    Element i of the three vectors is user i: a record <query_ids[i], url_ids[i]>, negative for
    a user without a usable one, and the group. For strategy `high-utility` with m records a
    user, the ids have shape (n_users, m), in random order; clients report the first. With
    shape (n_users,) a user has one record, m times. `tamper` changes the clients' reports.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    first_query, first_url = one_record_each(
        *(ids[:, 0] if np.ndim(ids) == 2 else ids for ids in (query_ids, url_ids))
    )
    optin, clients = np.flatnonzero(is_optin), np.flatnonzero(~np.asarray(is_optin, np.bool_))
    _check(first_query, np.asarray(is_optin), len(clients), params)
    groups = Groups(*_split(optin, params, rng), clients)
    if params.strategy == HIGH_UTILITY:
        return _high_utility(query_ids, url_ids, groups, params, rng, tamper)
    return _paper(first_query, first_url, groups, params, rng, tamper)


@dataclass(frozen=True, slots=True)
class Groups:
    """Who finds the list, who measures it, and who reports on it."""

    finders: IntArray
    measurers: IntArray
    clients: IntArray


def _paper(
    query_ids: IntArray,
    url_ids: IntArray,
    groups: Groups,
    params: BlenderParams,
    rng: np.random.Generator,
    tamper: Tamper | None,
) -> SimulatedRelease:
    finders, measurers, clients = groups.finders, groups.measurers, groups.clients
    mechanism = HeadListMechanism.for_budget(params.budget)
    occurring = count_records(query_ids[finders], url_ids[finders])
    is_named = mechanism.simulate(occurring.counts, rng=rng).is_named
    candidates = HeadList.from_records(occurring.query_ids[is_named], occurring.url_ids[is_named])

    histogram = HistogramMechanism.for_budget(params.budget)
    counts = count_listed_records(candidates, query_ids[measurers], url_ids[measurers])
    noisy_counts = histogram.simulate(counts, rng=rng)
    n, noise_variance = len(measurers), histogram.noise.variance
    head_list, optin_records = trim(
        candidates,
        estimate_optin(noisy_counts, n, noise_variance),
        params.max_head_size,
        n,
        noise_variance,
    )

    channel = ClientMechanism.for_head_list(head_list, params)
    cells = head_list.cells_of(query_ids[clients], url_ids[clients])
    reports = channel.simulate(cells, rng=rng)
    report_counts = np.bincount(reports, minlength=head_list.n_cells)
    if tamper is not None:
        report_counts = tamper(head_list, report_counts)
    client_estimate = denoise(channel.response, report_counts)

    records, queries = combine(head_list, optin_records, client_estimate, n, noise_variance)
    reported = Fixed(client_estimate.cells.values, client_estimate.cells.variances)
    check = _check_groups(head_list, records, reported)
    sizes = len(finders), len(measurers), len(clients)
    return SimulatedRelease(head_list, records, queries, *sizes, check)


def _check_groups(head_list: HeadList, records: Level, clients: Source) -> CrossCheck:
    cells = head_list.record_cells
    optin = Estimate(records.optin.values[cells], records.optin.variances[cells])
    return cross_check(optin, clients.at(cells), records.blended.values[cells])


def _high_utility(
    query_ids: IntArray,
    url_ids: IntArray,
    groups: Groups,
    params: BlenderParams,
    rng: np.random.Generator,
    tamper: Tamper | None,
) -> SimulatedRelease:
    finders, measurers, clients = groups.finders, groups.measurers, groups.clients
    m = params.max_records_optin
    queries, urls = (_units(ids, m) for ids in (query_ids, url_ids))
    occurring = count_records(queries[finders].reshape(-1), urls[finders].reshape(-1))
    named = high_utility.finding_mechanism(params).simulate(occurring.counts, rng=rng)
    candidates = HeadList.from_records(
        occurring.query_ids[named.is_named], occurring.url_ids[named.is_named]
    )
    is_kept = high_utility.likeliest_queries(candidates, named.noisy_counts, params.max_head_size)
    head_list = candidates.keep(is_kept)
    found = FoundCounts.of(
        named.noisy_counts, is_kept[candidates.query_of_record], params, len(finders)
    )

    measured = None
    if len(measurers):
        exact = high_utility.count_units(head_list, queries[measurers], urls[measurers])
        noisy = high_utility.measuring_mechanism(params).simulate(
            high_utility.measured_vector(params, *exact), rng=rng
        )
        measured = high_utility.read_measured(params, noisy, len(measurers))

    channel = client_mechanism(head_list, params)
    cells = head_list.cells_of(queries[clients, 0], urls[clients, 0])
    report_counts = count_reports(channel, channel.simulate(cells, rng=rng))
    if tamper is not None:
        report_counts = tamper(head_list, report_counts)
    source = client_source(channel, report_counts)

    combined = high_utility.combine(head_list, params, found, measured, source)
    records, trends = high_utility_levels(head_list, combined, source)
    check = _check_groups(head_list, records, source)
    sizes = len(finders), len(measurers), len(clients)
    return SimulatedRelease(head_list, records, trends, *sizes, check)


def _units(ids: IntArray, records_per_user: int) -> IntArray:
    ids = np.asarray(ids)
    if ids.ndim == 1:
        return np.repeat(ids[:, None], records_per_user, axis=1)
    require(
        ids.shape[1] == records_per_user,
        f"ids must hold {records_per_user} records for each user",
        f"shape {ids.shape}",
        "draw as many as max_records_optin",
    )
    return ids


def high_utility_levels(
    head_list: HeadList, combined: Combined, clients: Source
) -> tuple[Level, Level]:
    """Make a distribution of what is known, for records and for queries.

    Privacy claim: none; post-processing of all groups' estimates.
    """
    known = combined.cells
    blended = Estimate(known.values, known.variances)
    projected = high_utility.project(blended)
    reports = Estimate(clients.values, clients.variance_at(np.clip(known.values, 0, 1)))
    optin = high_utility.optin_estimate(head_list, combined)
    bounded = high_utility.around(projected, known)
    records = Level(optin, reports, blended, projected, bounded.low, bounded.high)
    sums = high_utility.query_estimate(head_list, Estimate(projected, blended.variances))
    return records, Level(
        high_utility.query_estimate(head_list, optin),
        high_utility.query_estimate(head_list, reports),
        sums,
        sums.values,
        *normal_interval(sums.values, sums.variances),
    )


def combine(
    head_list: HeadList,
    optin_records: Estimate,
    clients: ClientEstimate,
    n_histogram_users: int,
    noise_variance: float,
) -> tuple[Level, Level]:
    """Blend and project the two products, records (local search) and queries (trends).

    Privacy claim: none; post-processing of both groups' estimates.
    """
    records = _level(on_client_cells(head_list, optin_records), clients.cells)
    optin_queries = estimate_queries(head_list, optin_records, n_histogram_users, noise_variance)
    return records, _level(optin_queries, clients.queries)


def _level(optin: Estimate, clients: Estimate) -> Level:
    blended = blend(optin, clients)
    projected = project(blended.values)
    return Level(optin, clients, blended, projected, *normal_interval(projected, blended.variances))


def _split(
    optin: IntArray, params: BlenderParams, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split the opt-in users at random into those who find the list and those who measure it."""
    shuffled = rng.permutation(optin)
    n_finders = round(params.headlist_user_fraction * len(optin))
    return shuffled[:n_finders], shuffled[n_finders:]


def _check(query_ids: IntArray, is_optin: BoolArray, n_clients: int, params: BlenderParams) -> None:
    require(
        is_optin.shape == query_ids.shape,
        "query_ids, url_ids and is_optin must be vectors of one length",
        f"shapes {query_ids.shape}, {query_ids.shape} and {is_optin.shape}",
        "give one record and one group for each user",
    )
    require(
        n_clients >= 1,
        "there must be at least 1 client",
        n_clients,
        "both strategies blend two groups; leave some users out of is_optin",
    )
    require(
        params.max_records_client == 1,
        "max_records_client must be 1 in a simulation",
        params.max_records_client,
        "the arrays hold one record for each user",
    )
