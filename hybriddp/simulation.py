"""A whole BLENDER release on integer arrays, in memory: for studies and tests.

The steps are those of the product's release flow; only the randomness is a study's generator.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blend import blend
from hybriddp.denoise import ClientEstimate, denoise
from hybriddp.errors import require
from hybriddp.estimate import Estimate
from hybriddp.headlist import HeadList, HeadListMechanism, count_records, one_record_each
from hybriddp.local import ClientMechanism
from hybriddp.optin import (
    HistogramMechanism,
    count_listed_records,
    estimate_optin,
    estimate_queries,
    on_client_cells,
    trim,
)
from hybriddp.params import BlenderParams
from hybriddp.simplex import project


@dataclass(frozen=True, slots=True)
class Level:
    """One product's estimates: of both groups, blended, and projected on the simplex."""

    optin: Estimate
    clients: Estimate
    blended: Estimate
    projected: FloatArray


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


def simulate(
    query_ids: IntArray,
    url_ids: IntArray,
    is_optin: BoolArray,
    params: BlenderParams,
    *,
    rng: np.random.Generator,
) -> SimulatedRelease:
    """Run one release with one record a user (JPC19 figure 2).

    Element i of the three vectors is user i: a record <query_ids[i], url_ids[i]>, negative for
    a user without a usable one, and the group.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    query_ids, url_ids = one_record_each(query_ids, url_ids)
    optin, clients = np.flatnonzero(is_optin), np.flatnonzero(~np.asarray(is_optin, np.bool_))
    _check(query_ids, np.asarray(is_optin), len(clients), params)
    finders, measurers = _split(optin, params, rng)

    mechanism = HeadListMechanism.for_budget(params.budget)
    occurring = count_records(query_ids[finders], url_ids[finders])
    is_named = mechanism.simulate(occurring.counts, rng=rng)
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
    client_estimate = denoise(channel.response, report_counts)

    records, queries = combine(head_list, optin_records, client_estimate, n, noise_variance)
    return SimulatedRelease(head_list, records, queries, len(finders), len(measurers), len(clients))


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
    return Level(optin, clients, blended, project(blended.values))


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
        "strategy `paper` blends two groups; leave some users out of is_optin",
    )
    require(
        params.max_records_client == 1,
        "max_records_client must be 1 in a simulation",
        params.max_records_client,
        "the arrays hold one record for each user",
    )
