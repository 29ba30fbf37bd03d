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
