"""A whole BLENDER release on integer arrays, in memory: for studies and tests.

The steps are those of the product's release flow; only the randomness is a study's generator.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, count_reports
from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.estimation.pipeline import (
    Estimates,
    check_groups,
    estimate,
    strategy_of,
)
from hybriddp.blender.headlist import HeadList, RecordCounts, count_records, one_record_each
from hybriddp.blender.mechanisms import finding_mechanism, measuring_mechanism, to_measure
from hybriddp.blender.weighted.searches import Searches
from hybriddp.errors import require
from hybriddp.params import PAPER, BlenderParams


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
    if params.is_weighted:
        searches = Searches.of_units(query_ids, url_ids)
        return simulate_searches(searches, is_optin, params, rng=rng, tamper=tamper)
    first_query, first_url = one_record_each(
        *(ids[:, 0] if np.ndim(ids) == 2 else ids for ids in (query_ids, url_ids))
    )
    optin, clients = _groups(first_query.shape, is_optin, params)
    finders, measurers = _split(optin, params, rng)
    if params.strategy == PAPER:
        queries, urls = first_query[:, None], first_url[:, None]
    else:
        queries, urls = (_units(ids, params.max_records_optin) for ids in (query_ids, url_ids))

    occurring = count_records(queries[finders].reshape(-1), urls[finders].reshape(-1))
    draws = _found(params, occurring, len(finders), len(measurers), rng)
    strategy, is_paper = strategy_of(params), params.strategy == PAPER
    if is_paper or len(measurers):
        measured_on = draws.candidates if is_paper else strategy.choose(params, draws)
        counts = to_measure(params, measured_on, queries[measurers], urls[measurers])
        noisy = measuring_mechanism(params).simulate(counts, rng=rng)
        draws = replace(draws, measured=noisy)
    return _reported(params, draws, queries[clients, 0], urls[clients, 0], rng, tamper)


def simulate_searches(
    searches: Searches,
    is_optin: BoolArray,
    params: BlenderParams,
    *,
    rng: np.random.Generator,
    tamper: Tamper | None = None,
) -> SimulatedRelease:
    """Run one release with Gaussian finding, of people with any number of records.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    optin, clients = _groups(searches.n_records.shape, is_optin, params)
    own = searches.of(optin)
    weights = own.weights(params.max_records_optin, rng=rng)
    draws = _found(params, weights, len(optin), 0, rng)
    noisy = measuring_mechanism(params).simulate(own.shares(draws.candidates), rng=rng)
    draws = replace(draws, measured=noisy)
    return _reported(params, draws, *searches.of(clients).firsts(), rng, tamper)


def _found(
    params: BlenderParams,
    occurring: RecordCounts,
    n_finders: int,
    n_measurers: int,
    rng: np.random.Generator,
) -> Draws:
    named = finding_mechanism(params).simulate(occurring.counts, rng=rng)
    candidates = HeadList.from_records(
        occurring.query_ids[named.is_named], occurring.url_ids[named.is_named]
    )
    noisy_counts = None if params.strategy == PAPER else named.noisy_counts
    return Draws(candidates, noisy_counts, n_finders, None, n_measurers, None)


def _reported(
    params: BlenderParams,
    draws: Draws,
    query_ids: IntArray,
    url_ids: IntArray,
    rng: np.random.Generator,
    tamper: Tamper | None,
) -> SimulatedRelease:
    """Let clients with these records report, and estimate."""
    head_list = strategy_of(params).choose(params, draws)
    channel = client_mechanism(head_list, params)
    cells = head_list.cells_of(query_ids, url_ids)
    reports = count_reports(channel, channel.simulate(cells, rng=rng))
    if tamper is not None:
        reports = tamper(head_list, reports)
    draws = replace(draws, reports=reports)
    estimates = estimate(params, draws)
    sizes = draws.n_finders, draws.n_measurers, len(query_ids)
    check = check_groups(params, draws, estimates)
    return SimulatedRelease(head_list, *levels_of(params, draws, estimates), *sizes, check)


def levels_of(params: BlenderParams, draws: Draws, estimates: Estimates) -> tuple[Level, Level]:
    """Return both products, records (local search) and queries (trends), as studies see them.

    Privacy claim: none; post-processing of all groups' estimates.
    """
    sides, blended, bounded = estimates.sides, estimates.blended, estimates.bounded
    clients = strategy_of(params).weighed(params, estimates.head_list, draws, sides, blended)
    # A query of ours is the sum of its cells, which are made a distribution first.
    of_queries = blended if params.strategy == PAPER else estimates.projected
    records = Level(
        sides.optin.records,
        clients.records,
        blended.records,
        bounded.records.values,
        bounded.records.low,
        bounded.records.high,
    )
    return records, Level(
        sides.optin.queries,
        clients.queries,
        of_queries.queries,
        bounded.queries.values,
        bounded.queries.low,
        bounded.queries.high,
    )


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


def _split(
    optin: IntArray, params: BlenderParams, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Split the opt-in users at random into those who find the list and those who measure it."""
    shuffled = rng.permutation(optin)
    n_finders = round(params.headlist_user_fraction * len(optin))
    return shuffled[:n_finders], shuffled[n_finders:]


def _groups(
    shape: tuple[int, ...], is_optin: BoolArray, params: BlenderParams
) -> tuple[IntArray, IntArray]:
    """Return who opted in and who is a client."""
    is_optin = np.asarray(is_optin, np.bool_)
    clients = np.flatnonzero(~is_optin)
    require(
        is_optin.shape == shape,
        "query_ids, url_ids and is_optin must be vectors of one length",
        f"shapes {shape}, {shape} and {is_optin.shape}",
        "give one record and one group for each user",
    )
    require(
        len(clients) >= 1,
        "there must be at least 1 client",
        len(clients),
        "both strategies blend two groups; leave some users out of is_optin",
    )
    require(
        params.max_records_client == 1,
        "max_records_client must be 1 in a simulation",
        params.max_records_client,
        "the arrays hold one record for each user",
    )
    return np.flatnonzero(is_optin), clients
