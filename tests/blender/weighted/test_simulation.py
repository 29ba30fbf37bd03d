"""A whole release with weights, in memory: longer lists of the same people, and right ones."""

import numpy as np
import pytest

from hybriddp.blender.simulate import SimulatedRelease, simulate, simulate_searches
from hybriddp.blender.weighted.searches import Searches
from hybriddp.errors import InvalidParameter
from hybriddp.params import BlenderParams

N_PEOPLE, N_ROWS = 40_000, 8
RANKS = np.arange(1, 4_001)
LAW = (1 / RANKS) / (1 / RANKS).sum() * 0.5  # the other half is searched once and never again
LAPLACE = BlenderParams(2, strategy="high-utility", max_head_size=200)
GAUSSIAN = BlenderParams(
    2, strategy="high-utility", finding="gaussian", max_records_optin=16, max_head_size=200
)


def people(rng: np.random.Generator, n_rows: int = N_ROWS) -> Searches:
    shape = (N_PEOPLE, n_rows)
    queries = np.searchsorted(np.cumsum(LAW), rng.random(shape))
    unique = queries == len(LAW)
    queries[unique] = 10_000 + np.arange(int(unique.sum()))
    return Searches.of_units(queries, np.zeros(shape, dtype=np.int64))


def released(
    searches: Searches, params: BlenderParams, rng: np.random.Generator
) -> SimulatedRelease:
    is_optin = np.arange(N_PEOPLE) < N_PEOPLE // 5
    if params.is_weighted:
        return simulate_searches(searches, is_optin, params, rng=rng)
    return simulate(*searches.firsts(), is_optin, params, rng=rng)


def test_weights_list_many_more_queries_of_the_same_people(same_rng):
    searches = people(same_rng)
    weighted, counted = (released(searches, params, same_rng) for params in (GAUSSIAN, LAPLACE))
    assert weighted.head_list.n_queries > 1.6 * counted.head_list.n_queries
    assert (weighted.n_headlist_users, weighted.n_histogram_users) == (N_PEOPLE // 5, 0)


def test_what_is_estimated_is_what_is_true(same_rng):
    """About 40 records; the widest errors lie within 6 standard errors, and most intervals hold."""
    release = released(people(same_rng), GAUSSIAN, same_rng)
    head, records = release.head_list, release.records
    truth = np.append(LAW[head.query_ids], 1 - LAW[head.query_ids].sum())
    cells = np.append(head.record_cells, head.n_cells - 1)
    errors = records.projected[cells] - truth
    assert np.abs(errors / np.sqrt(records.blended.variances[cells])).max() < 6
    is_covered = (records.low[cells] <= truth) & (truth <= records.high[cells])
    assert is_covered.mean() > 0.85
    assert records.projected.sum() == pytest.approx(1)
    assert release.check.p_value > 1e-6
    assert np.abs(errors[:-1]).sum() < 0.03


def test_one_record_a_person_is_possible_too(same_rng):
    release = released(people(same_rng, n_rows=1), GAUSSIAN, same_rng)
    assert release.head_list.n_queries > 10


def test_an_empty_list_is_a_list(same_rng):
    nobody_alike = np.arange(2 * N_PEOPLE).reshape(N_PEOPLE, 2)
    searches = Searches.of_units(nobody_alike, np.zeros_like(nobody_alike))
    release = released(searches, GAUSSIAN, same_rng)
    assert release.head_list.n_queries == 0
    assert release.records.projected.tolist() == [1.0]


def test_groups_must_fit():
    searches = Searches.of_units(np.zeros(3, np.int64), np.zeros(3, np.int64))
    with pytest.raises(InvalidParameter, match="vectors of one length"):
        simulate_searches(searches, np.zeros(2, bool), GAUSSIAN, rng=np.random.default_rng(1))


def test_people_who_search_differently_much_are_no_disagreement(same_rng):
    """Half have one record, half thirty, and hardly any in common; clients are like them.

    So a record's weight says little of its share. With a deviation that did not grow with the
    share, p was 1e-19 here, and 85 % of the intervals covered.
    """
    n_optin, n_clients, n_records = 5_000, 200_000, 3_000
    base = 1 / np.arange(1, n_records + 1)
    is_even = np.arange(n_records) % 2 == 0
    light, heavy = (base * np.where(is_own, 1, 0.02) for is_own in (is_even, ~is_even))
    laws = [law / law.sum() for law in (light, heavy)]
    n = n_optin + n_clients
    is_heavy = same_rng.random(n) < 0.5
    is_optin = np.arange(n) < n_optin
    sizes = np.where(is_heavy & is_optin, 30, 1)  # a client reports one record
    owner_is_heavy = np.repeat(is_heavy, sizes)
    queries = np.empty(sizes.sum(), dtype=np.int64)
    for law, is_owner in zip(laws, (~owner_is_heavy, owner_is_heavy), strict=True):
        queries[is_owner] = same_rng.choice(n_records, is_owner.sum(), p=law)
    params = BlenderParams(4, strategy="high-utility", finding="gaussian", max_head_size=500)
    release = simulate_searches(Searches(sizes, queries, np.zeros_like(queries)), is_optin,
                                params, rng=same_rng)  # fmt: skip
    head, records = release.head_list, release.records
    truth = (laws[0] + laws[1])[head.query_ids] / 2
    cells = head.record_cells
    assert len(cells) > 100
    assert release.check.p_value > 1e-3
    is_covered = (records.low[cells] <= truth) & (truth <= records.high[cells])
    assert is_covered.mean() > 0.9
