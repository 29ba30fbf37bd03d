"""A whole release in memory: its shape, its edge cases, and that it is reproducible."""

import numpy as np
import pytest

import hybriddp
from hybriddp import BlenderParams, InvalidParameter
from hybriddp.arrays import NamedCounts
from hybriddp.blender import mechanisms
from hybriddp.blender import simulate as simulation
from hybriddp.blender.estimation.estimates import project
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.headlist import HeadList
from hybriddp.params import CLIENT_REPORTS


def log_of(rng, n_users=20_000, n_queries=30):
    """Users with Zipf-like queries, two urls each, and a twentieth of them opted in."""
    weights = 1 / np.arange(1, n_queries + 1)
    query_ids = rng.choice(n_queries, n_users, p=weights / weights.sum())
    url_ids = (rng.random(n_users) < 0.3).astype(np.int64)
    return query_ids, url_ids, rng.random(n_users) < 0.05


def assert_is_distribution(level):
    assert level.projected.sum() == pytest.approx(1, abs=1e-12)
    assert level.projected.min() >= 0


def test_release_has_every_part_in_one_shape(rng):
    query_ids, url_ids, is_optin = log_of(rng)
    release = hybriddp.simulate(query_ids, url_ids, is_optin, BlenderParams(), rng=rng)
    head_list = release.head_list
    assert 5 < head_list.n_queries <= 30
    for level, size in (
        (release.records, head_list.n_cells),
        (release.queries, head_list.n_queries + 1),
    ):
        for part in (level.optin, level.clients, level.blended):
            assert part.values.shape == part.variances.shape == (size,)
            assert (part.variances >= 0).all()
        assert_is_distribution(level)
        assert level.projected.tolist() == project(level.blended.values).tolist()
        worst = np.minimum(level.optin.variances, level.clients.variances)
        assert (level.blended.variances <= worst * (1 + 1e-12)).all()
    assert release.n_headlist_users + release.n_histogram_users == is_optin.sum()
    assert release.n_headlist_users == round(0.95 * is_optin.sum())
    assert release.n_clients == (~is_optin).sum()


def test_optin_group_knows_nothing_about_unlisted_urls(rng):
    release = hybriddp.simulate(*log_of(rng), BlenderParams(), rng=rng)
    wildcards = np.setdiff1d(
        np.arange(release.head_list.n_cells - 1), release.head_list.record_cells
    )
    assert np.isinf(release.records.optin.variances[wildcards]).all()
    assert (
        release.records.blended.values[wildcards] == release.records.clients.values[wildcards]
    ).all()


def test_optin_users_are_split_at_random(rng):
    """The first half searched for one thing, the second for another: the finders see both."""
    query_ids = (np.arange(20_000) >= 10_000).astype(np.int64)
    params = BlenderParams(4, headlist_user_fraction=0.5)
    release = hybriddp.simulate(query_ids, query_ids * 0, rng.random(20_000) < 0.5, params, rng=rng)
    assert release.head_list.query_ids.tolist() == [0, 1]
    # Within ten standard errors of a group of 5,000.
    assert release.queries.optin.values == pytest.approx([0.5, 0.5, 0], abs=0.08)


def test_list_is_what_the_mechanism_names(rng, monkeypatch):
    """Were the noisy decision skipped, naming everything would change nothing."""
    monkeypatch.setattr(
        HeadListMechanism,
        "simulate",
        lambda self, counts, *, rng: NamedCounts(counts >= 1, counts),
    )
    n = 1_000
    release = hybriddp.simulate(
        np.arange(n), np.zeros(n, int), np.arange(n) < 40, BlenderParams(max_head_size=n), rng=rng
    )
    assert release.head_list.n_queries == 38


def test_same_seed_gives_the_same_release_and_another_seed_another(rng):
    log = log_of(rng)
    first, same, other = (
        hybriddp.simulate(*log, BlenderParams(), rng=np.random.default_rng(seed))
        for seed in (1, 1, 2)
    )
    assert (first.records.projected == same.records.projected).all()
    assert first.records.projected.tolist() != other.records.projected.tolist()


def test_a_generator_must_be_given(rng):
    with pytest.raises(TypeError, match="rng"):
        hybriddp.simulate(*log_of(rng), BlenderParams())


def test_empty_head_list_publishes_the_wildcard_alone(rng):
    n = 1_000
    release = hybriddp.simulate(
        np.arange(n), np.zeros(n, int), np.arange(n) < 100, BlenderParams(delta=1e-9), rng=rng
    )
    assert (release.head_list.n_queries, release.head_list.n_cells) == (0, 1)
    assert release.records.projected.tolist() == [1.0]
    assert release.queries.projected.tolist() == [1.0]
    assert release.records.clients.variances.tolist() == [0.0]


def test_group_of_one_has_no_say(rng):
    """|T| = 1: its variance is infinite, so the blend is the clients' estimate."""
    query_ids = np.zeros(1_000, np.int64)
    is_optin = np.arange(1_000) < 20  # 19 find the list, 1 measures it
    release = hybriddp.simulate(query_ids, query_ids, is_optin, BlenderParams(8), rng=rng)
    assert release.n_histogram_users == 1
    assert release.head_list.n_queries == 1
    assert (release.records.blended.values == release.records.clients.values).all()


def test_single_client_has_no_say_either(rng):
    query_ids = np.zeros(1_000, np.int64)
    release = hybriddp.simulate(
        query_ids, query_ids, np.arange(1_000) > 0, BlenderParams(8), rng=rng
    )
    assert release.n_clients == 1
    assert release.queries.blended.values.tolist() == release.queries.optin.values.tolist()


def test_head_size_beyond_the_list_keeps_the_whole_list(rng):
    log = log_of(rng)
    some, all_of_it = (
        hybriddp.simulate(*log, BlenderParams(max_head_size=m), rng=np.random.default_rng(5))
        for m in (3, 10_000)
    )
    assert some.head_list.n_queries == 3
    assert 3 < all_of_it.head_list.n_queries <= 30


def test_users_without_a_usable_record_count_as_wildcards(rng):
    query_ids = np.where(np.arange(20_000) % 2 == 0, 7, -1)
    is_optin = rng.random(20_000) < 0.2
    release = hybriddp.simulate(query_ids, query_ids, is_optin, BlenderParams(8), rng=rng)
    assert release.head_list.query_ids.tolist() == [7]
    # Half of the users: within ten standard errors of the larger group.
    assert release.queries.projected == pytest.approx([0.5, 0.5], abs=0.05)


def test_negative_estimates_keep_positive_variances(rng):
    """Noise pushes rare records below zero; weights stay in [0, 1] all the same."""
    from hybriddp.blender.estimation.paper import estimate_optin

    estimate = estimate_optin(np.array([-3, 0, 250]), 200, 0.36)
    assert estimate.values.min() < 0
    assert estimate.values.max() > 1
    assert (estimate.variances > 0).all()


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 0.69])
def test_epsilon_of_at_most_ln_2_works(epsilon, rng):
    release = hybriddp.simulate(*log_of(rng), BlenderParams(epsilon), rng=rng)
    assert_is_distribution(release.records)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"is_optin": np.ones(10, bool)}, "at least 1 client"),
        ({"is_optin": np.arange(10) < 1}, "at least 1 user"),
        ({"url_ids": np.zeros(9, int)}, "vectors of one length"),
        ({"params": BlenderParams(max_records_client=2)}, "one record for each user"),
    ],
)
def test_impossible_inputs_are_refused(change, message, rng):
    arguments = {
        "query_ids": np.zeros(10, int),
        "url_ids": np.zeros(10, int),
        "is_optin": np.arange(10) < 5,
        "params": BlenderParams(),
    }
    with pytest.raises(InvalidParameter, match=message):
        hybriddp.simulate(**arguments | change, rng=rng)


def test_cell_look_up_works_on_views_and_other_integer_types():
    head_list = HeadList.from_records(np.array([2, 5]), np.array([1, 1]))
    wide = np.array([2, 9, 5, 9], dtype=np.int64)
    for query_ids in (wide[::2], wide[::2].astype(np.int32), wide[::2].astype(np.uint8)):
        assert head_list.cells_of(query_ids, np.ones(2, np.int16)).tolist() == [0, 2]


def high_utility(**arguments) -> BlenderParams:
    return BlenderParams(strategy="high-utility", **{"max_records_optin": 5} | arguments)


def units_of(rng, n_users=20_000, m=5, n_queries=30):
    """Users with m searches each, a twentieth of them opted in."""
    weights = 1 / np.arange(1, n_queries + 1)
    query_ids = rng.choice(n_queries, (n_users, m), p=weights / weights.sum())
    url_ids = (rng.random((n_users, m)) < 0.3).astype(np.int64)
    return query_ids, url_ids, rng.random(n_users) < 0.05


@pytest.mark.parametrize("client_report", CLIENT_REPORTS)
@pytest.mark.parametrize("fraction", ["0.95", 1])
def test_release_of_high_utility_has_every_part_in_one_shape(client_report, fraction, rng):
    """With T and without, for every kind of report."""
    params = high_utility(client_report=client_report, headlist_user_fraction=fraction)
    query_ids, url_ids, is_optin = units_of(rng)
    release = hybriddp.simulate(query_ids, url_ids, is_optin, params, rng=rng)
    head_list = release.head_list
    assert 5 < head_list.n_queries <= 30
    for level, size in (
        (release.records, head_list.n_cells),
        (release.queries, head_list.n_queries + 1),
    ):
        for part in (level.optin, level.clients, level.blended):
            assert part.values.shape == part.variances.shape == (size,)
            assert (part.variances > 0).all()
        assert_is_distribution(level)
        assert ((level.low >= 0) & (level.low <= level.projected)).all()
        assert ((level.projected <= level.high) & (level.high <= 1)).all()
    starts = head_list.cell_starts
    by_query = np.add.reduceat(release.records.projected, starts)
    assert release.queries.projected == pytest.approx(by_query, abs=1e-12)
    # Evidence adds up: records are surer than the clients alone are of them.
    cells = head_list.record_cells
    surer = release.records.blended.variances[cells] < release.records.clients.variances[cells]
    assert surer.all()


@pytest.mark.parametrize(("fraction", "n_measurers"), [("0.95", 5), ("0.5", 50), (1, 0)])
def test_nobody_is_in_two_groups_of_a_release(fraction, n_measurers, rng, monkeypatch):
    """Every user has a query of their own, so that who was looked at can be seen."""
    seen = {}

    def spy(name, owner, attribute):
        inner = getattr(owner, attribute)

        def looked_at(*arguments):
            # Of a head list's methods the first argument is the list.
            ids = arguments[1] if isinstance(arguments[0], HeadList) else arguments[0]
            seen[name] = np.unique(ids)
            return inner(*arguments)

        monkeypatch.setattr(owner, attribute, looked_at)

    spy("finders", simulation, "count_records")
    spy("measurers", mechanisms, "count_units")
    spy("clients", HeadList, "cells_of")  # the last look of all
    n = 1_000
    is_optin = rng.permutation(n) < 100
    params = high_utility(headlist_user_fraction=fraction, max_records_optin=2)
    release = hybriddp.simulate(np.arange(n), np.zeros(n, int), is_optin, params, rng=rng)
    measurers = seen.get("measurers", np.zeros(0, int))
    assert sorted([*seen["finders"], *measurers, *seen["clients"]]) == list(range(n))
    assert seen["clients"].tolist() == np.flatnonzero(~is_optin).tolist()
    assert len(measurers) == n_measurers
    sizes = release.n_headlist_users, release.n_histogram_users, release.n_clients
    assert sizes == (100 - n_measurers, n_measurers, 900)


def test_noisy_counts_stay_with_their_records(rng):
    """Ten queries of different sizes, each with two urls, the second of which is the larger."""
    shares = np.repeat(np.arange(1, 11), 2) * np.tile([1, 3], 10)
    record = rng.choice(20, 40_000, p=shares / shares.sum())
    # No clients to speak of: what is estimated comes from the noisy counts.
    is_optin = np.arange(40_000) >= 10
    params = high_utility(epsilon=8, max_records_optin=1, headlist_user_fraction=1)
    release = hybriddp.simulate(record // 2, record % 2, is_optin, params, rng=rng)
    cells = release.head_list.record_cells
    assert release.head_list.n_records == 20
    # Within ten standard errors of the largest.
    truth = shares / shares.sum()
    assert release.records.blended.values[cells] == pytest.approx(truth, abs=0.02)
    assert np.argsort(release.records.projected[cells][1::2]).tolist() == list(range(10))


def test_one_record_a_user_is_the_same_as_that_record_several_times(rng):
    query_ids, url_ids, is_optin = log_of(rng)
    params = high_utility(max_records_optin=3)
    once, thrice = (
        hybriddp.simulate(*ids, is_optin, params, rng=np.random.default_rng(4))
        for ids in (
            (query_ids, url_ids),
            (np.repeat(query_ids[:, None], 3, axis=1), np.repeat(url_ids[:, None], 3, axis=1)),
        )
    )
    assert once.records.projected.tolist() == thrice.records.projected.tolist()


def test_clients_report_the_first_of_their_records(rng):
    """The first is query 0, the others query 1: only the opt-in users tell of query 1."""
    n = 20_000
    query_ids = np.tile([0, 1, 1], (n, 1))
    release = hybriddp.simulate(
        query_ids, query_ids * 0, rng.random(n) < 0.05, high_utility(max_records_optin=3), rng=rng
    )
    assert release.head_list.query_ids.tolist() == [0, 1]
    # Within twelve standard errors of 19,000 reports.
    assert release.queries.clients.values == pytest.approx([1, 0, 0], abs=0.1)
    assert release.records.optin.values[release.head_list.record_cells] == pytest.approx(
        [1 / 3, 2 / 3], abs=0.1
    )


def test_head_of_high_utility_is_as_long_as_asked_and_reproducible(rng):
    log = units_of(rng)
    params = high_utility(max_head_size=3)
    first, same, other = (
        hybriddp.simulate(*log, params, rng=np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.head_list.query_ids.tolist() == [0, 1, 2]
    assert first.records.projected.tolist() == same.records.projected.tolist()
    assert first.records.projected.tolist() != other.records.projected.tolist()


@pytest.mark.parametrize("client_report", CLIENT_REPORTS)
@pytest.mark.parametrize("fraction", ["0.95", 1])
def test_empty_head_list_of_high_utility_publishes_the_wildcard_alone(client_report, fraction, rng):
    n = 1_000
    params = high_utility(delta=1e-9, client_report=client_report, headlist_user_fraction=fraction)
    release = hybriddp.simulate(np.arange(n), np.zeros(n, int), np.arange(n) < 100, params, rng=rng)
    assert (release.head_list.n_queries, release.head_list.n_cells) == (0, 1)
    assert release.records.projected.tolist() == [1.0]
    assert release.queries.projected.tolist() == [1.0]
    assert (release.queries.low.tolist(), release.queries.high.tolist()) == ([1.0], [1.0])


def test_users_without_a_usable_record_count_as_wildcards_in_high_utility(rng):
    query_ids = np.where(np.arange(20_000) % 2 == 0, 7, -1)
    is_optin = rng.random(20_000) < 0.2
    release = hybriddp.simulate(query_ids, query_ids, is_optin, high_utility(epsilon=8), rng=rng)
    assert release.head_list.query_ids.tolist() == [7]
    assert release.queries.projected == pytest.approx([0.5, 0.5], abs=0.05)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 8])
def test_high_utility_works_for_small_and_large_epsilons(epsilon, rng):
    release = hybriddp.simulate(*units_of(rng), high_utility(epsilon=epsilon), rng=rng)
    assert_is_distribution(release.records)
    assert np.isfinite(release.records.high).all()


def test_one_stage_reports_of_a_single_client_are_enough(rng):
    query_ids = np.zeros(1_000, np.int64)
    params = high_utility(max_records_optin=1)
    release = hybriddp.simulate(query_ids, query_ids, np.arange(1_000) > 0, params, rng=rng)
    assert release.n_clients == 1
    assert release.records.projected[0] > 0.9


@pytest.mark.parametrize("client_report", ["two-stage", "two-stage-exact"])
def test_two_stage_report_of_a_single_client_is_refused(client_report, rng):
    query_ids = np.zeros(1_000, np.int64)
    params = high_utility(max_records_optin=1, client_report=client_report)
    with pytest.raises(InvalidParameter, match="at least 2 clients who report in two stages"):
        hybriddp.simulate(query_ids, query_ids, np.arange(1_000) > 0, params, rng=rng)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"is_optin": np.ones(10, bool)}, "at least 1 client"),
        ({"is_optin": np.zeros(10, bool)}, "at least 1 user"),
        ({"url_ids": np.zeros((9, 5), int)}, "vectors of one length"),
        (
            {"query_ids": np.zeros((10, 4), int), "url_ids": np.zeros((10, 4), int)},
            "hold 5 records",
        ),
        ({"is_optin": np.ones(9, bool)}, "vectors of one length"),
    ],
)
def test_impossible_inputs_of_high_utility_are_refused(change, message, rng):
    arguments = {
        "query_ids": np.zeros((10, 5), int),
        "url_ids": np.zeros((10, 5), int),
        "is_optin": np.arange(10) < 5,
        "params": high_utility(),
    }
    with pytest.raises(InvalidParameter, match=message):
        hybriddp.simulate(**arguments | change, rng=rng)
