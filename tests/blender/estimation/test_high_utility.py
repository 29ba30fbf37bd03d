"""Laws of pooling, posteriors, intervals and ranks that hold for any input."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats

from hybriddp.blender.clients import (
    client_mechanism,
    client_source,
    count_reports,
    reports_per_client,
)
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.estimation.high_utility import likeliest_queries, query_estimate
from hybriddp.blender.estimation.intervals import normal_interval, rank_intervals
from hybriddp.blender.evidence.counted import FoundCounts, around
from hybriddp.blender.evidence.posterior import LogPrior, gamma, posterior, power_law, tail_exponent
from hybriddp.blender.evidence.sources import CentralCounts, Fixed, Source, pool
from hybriddp.blender.evidence.subset_reports import SubsetReports
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import finding_mechanism
from hybriddp.errors import InvalidParameter
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import BlenderParams, Budget
from hybriddp.randomizers.subset import SubsetResponse

pytestmark = pytest.mark.property

N_S, N_CLIENTS = 2_000, 40_000
NOISE = DiscreteLaplace(0.5)
RESPONSE = SubsetResponse.for_budget(Budget(2), 100)

probabilities = st.floats(0, 1, allow_subnormal=False)
shares = st.floats(-0.2, 1.2, allow_subnormal=False)


@given(st.lists(shares, min_size=1, max_size=4), st.floats(1, 1e6))
def test_pooled_estimate_lies_between_its_sources(values, n):
    """Sources of different kinds and sizes, about one cell."""
    sources: list[Source] = [
        CentralCounts(np.array([value]), int(n) + i, 0.3) for i, value in enumerate(values)
    ]
    sources.append(SubsetReports(np.array([values[0]]), N_CLIENTS, RESPONSE))
    pooled = pool(sources)
    assert min(values) - 1e-9 <= pooled.values[0] <= max(values) + 1e-9
    assert pool(sources[-1:]).values == pytest.approx(sources[-1].values, rel=1e-12)


@given(probabilities, st.lists(st.integers(1, 10**6), min_size=1, max_size=4))
def test_precisions_of_sources_that_agree_add_up(p, sizes):
    sources = [CentralCounts(np.array([p]), n, 0.3) for n in sizes]
    pooled = pool(sources)
    precision = sum(1 / source.variance_at(np.array([p]))[0] for source in sources)
    assert pooled.values == pytest.approx([p], rel=1e-9)
    assert 1 / pooled.variances[0] == pytest.approx(precision, rel=1e-9)


def test_pooling_is_the_weighted_mean_where_variances_are_known():
    first, second = Fixed(np.array([0.1]), np.array([1.0])), Fixed(np.array([0.4]), np.array([2.0]))
    pooled = pool([first, second])
    assert pooled.values == pytest.approx([0.2])
    assert pooled.variances == pytest.approx([2 / 3])


def brute_force(
    sources: list[Source], prior: LogPrior, least: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Mean, variance and quantiles on 100,000 points, even in the logarithm, from `least` to 1."""
    grid = np.exp(np.linspace(np.log(least), 0, 100_001))[None, :]
    centres = pool(sources).values
    rows = []
    for i in range(len(centres)):
        cell = np.array([i])
        log_density = prior(grid) + np.log(grid)
        for source in sources:
            log_density = log_density + source.at(cell).log_likelihood(grid, centres[cell])
        weight = np.exp(log_density - log_density.max())[0]
        weight[[0, -1]] /= 2
        weight /= weight.sum()
        mean = weight @ grid[0]
        below = np.cumsum(weight) - weight / 2
        low, high = np.interp([0.025, 0.975], below, grid[0])
        rows.append((mean, weight @ (grid[0] - mean) ** 2, low, high))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize("exponent", [0.0, 1.5, 2.0, 3.0])
def test_posterior_is_that_of_numerical_integration(exponent):
    """Counts from just above a threshold to frequent ones, S alone and with the clients."""
    counts = np.array([7, 9, 15, 40, 200, 1_000])
    found = CentralCounts.of(counts, N_S, NOISE.variance, only_occurring=True)
    off = np.array([1.0, -1.0, 2.0, -2.0, 0.5, 0.0])  # standard errors
    exact = SubsetReports(counts / N_S, N_CLIENTS, RESPONSE)
    errors = np.sqrt(exact.variance_at(counts / N_S))
    clients = SubsetReports(counts / N_S + off * errors, N_CLIENTS, RESPONSE)
    least = 0.05 / N_S
    for sources in ([found], [found, clients]):
        known = posterior(sources, power_law(exponent), least=least)
        mean, variance, low, high = brute_force(sources, power_law(exponent), least)
        assert known.values == pytest.approx(mean, rel=2e-4)
        assert known.variances == pytest.approx(variance, rel=1e-3)
        assert known.low == pytest.approx(low, rel=3e-3)
        assert known.high == pytest.approx(high, rel=2e-3)


@pytest.mark.parametrize("epsilon", [20, 40, 50])
def test_reports_that_all_hold_a_cell_say_as_much_as_so_many_can(epsilon):
    """From 37 on a double takes p* for 1. Exactly, p^n with an even prior: 1 - p is about 3.7/n."""
    n = 200
    response = SubsetResponse.for_budget(Budget(epsilon), 3)
    clients = SubsetReports.of(response, np.array([n, 0, 0]), n).at(np.array([0]))
    assert pool([clients]).values == pytest.approx([1])
    known = posterior([clients], lambda p: np.zeros_like(p))
    exact = 1 - 0.025 ** (1 / (n + 1))
    assert exact / 2 < 1 - known.low[0] < 2 * exact
    assert known.variances[0] > 0
    assert np.isfinite(clients.excess_kurtosis_at(np.ones(1))).all()


@pytest.mark.parametrize("shape", [0.25, 0.5, 1.0, 4.0])
def test_posterior_of_rare_cells_is_that_of_numerical_integration(shape):
    """Estimates on both sides of 0 with a gamma prior; the edge at 0 costs up to 3 % of the mean.

    The lower quantile is next to 0 then: only its distance to it counts, in standard errors.
    """
    clients = SubsetReports(np.array([-8e-3, -1e-3, 0, 1e-3, 8e-3]), N_CLIENTS, RESPONSE)
    error = float(np.sqrt(clients.variance_at(np.zeros(1)))[0])
    known = posterior([clients], gamma(np.full(5, 1e-3), shape))
    mean, variance, low, high = brute_force([clients], gamma(np.full(1, 1e-3), shape), 1e-13)
    assert known.values == pytest.approx(mean, rel=0.03)
    assert known.variances == pytest.approx(variance, rel=0.03)
    assert known.low == pytest.approx(low, abs=1e-3 * error)
    assert known.high == pytest.approx(high, rel=0.015)


@given(
    hnp.arrays(np.int64, st.integers(1, 6), elements=st.integers(2, 1_700)),
    st.floats(1, 3),
    st.floats(0.2, 1),
)
def test_posterior_stays_inside_the_unit_interval_and_in_order(counts, exponent, spread):
    source = CentralCounts.of(counts, N_S, NOISE.variance, spread=spread, only_occurring=True)
    known = posterior([source], power_law(exponent), least=0.05 / N_S)
    assert (known.low >= 0.05 / N_S).all()
    assert (known.low < known.values).all()
    assert (known.values < known.high).all()
    assert (known.high <= 1).all()
    assert (known.variances > 0).all()
    # A steeper prior never raises an estimate.
    flatter = posterior([source], power_law(exponent - 0.5), least=0.05 / N_S)
    assert (known.values <= flatter.values * (1 + 1e-9)).all()


@pytest.mark.parametrize("count", [1_960, 1_990, 2_000])
def test_posterior_of_nearly_everybody_is_as_uncertain_as_its_source(count):
    """98 % and more of 2,000 users: the curve ends at 1 and still reaches far below."""
    source = CentralCounts.of(np.array([count]), N_S, NOISE.variance, only_occurring=True)
    known = posterior([source], power_law(2.0), least=0.05 / N_S)
    _, variance, *_ = brute_force([source], power_law(2.0), 0.05 / N_S)
    assert known.variances == pytest.approx(variance, rel=0.15)


def test_likelihood_of_a_count_without_noise_is_poissons():
    counts = np.array([3, 20])
    source = CentralCounts.of(counts, 10_000_000, 1e-12)
    grid = np.array([1.0, 2.0, 5.0, 30.0]) / 10_000_000 * np.ones((2, 1))
    found = source.log_likelihood(grid, np.zeros(2))
    expected = stats.poisson.logpmf(counts[:, None], grid * 10_000_000)
    assert np.diff(found, axis=1) == pytest.approx(np.diff(expected, axis=1), rel=1e-6)
    # Records that nobody holds are never looked at: the law of a count given that it is not 0.
    seen = CentralCounts.of(counts, 10_000_000, 1e-12, only_occurring=True)
    given_seen = seen.log_likelihood(grid, np.zeros(2)) - found
    assert given_seen == pytest.approx(np.log1p(-np.exp(-grid * 10_000_000)))


def test_likelihood_of_client_reports_is_normal_with_the_variance_of_each_point():
    grid = np.array([[1e-3, 5e-3, 2e-2, 0.5]])
    reports = SubsetReports(np.array([4e-3]), N_CLIENTS, RESPONSE)
    known = Fixed(np.array([4e-3]), np.array([1e-5]))
    for source in (reports, known):
        expected = stats.norm.logpdf(source.values[0], grid, np.sqrt(source.variance_at(grid)))
        found = source.log_likelihood(grid, source.values)
        assert np.diff(found) == pytest.approx(np.diff(expected), rel=1e-9)


def test_optin_side_alone_is_the_posterior_of_its_noisy_counts():
    """At a threshold of 1, where it matters that somebody held the record, and how few may have."""
    params = BlenderParams(
        8, "0.4", strategy="high-utility", max_records_optin=1, headlist_user_fraction=1
    )
    mechanism, n = finding_mechanism(params), 1_000
    assert mechanism.threshold == 1
    found = FoundCounts(np.array([2, 3, 50]), 2.0, n)
    clients = SubsetReports(np.zeros(LIST.n_cells), N_CLIENTS, RESPONSE)
    known = around(params, LIST, found, None, clients).optin()
    source = CentralCounts.of(found.noisy_units, n, mechanism.noise.variance, only_occurring=True)
    mean, variance, low, high = brute_force([source], power_law(2.0), 0.05 / n)
    assert known.values == pytest.approx(mean, rel=0.02)
    assert known.variances == pytest.approx(variance, rel=0.02)
    assert known.low == pytest.approx(low, rel=0.05)
    assert known.high == pytest.approx(high, rel=0.02)


@given(hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(7, 100_000)))
def test_learned_exponent_is_one_that_a_tail_can_have(counts):
    exponent = tail_exponent(counts, 6.5)
    assert 1 < exponent <= 3
    assert tail_exponent(np.zeros(0, np.int64), 6.5) == 2


@pytest.mark.parametrize("exponent", [1.3, 1.6, 2.0, 2.5])
def test_learned_exponent_is_that_of_a_power_law(exponent):
    """A thousand counts at the quantiles of the law, far above the grid of whole numbers."""
    quantiles = (np.arange(1_000) + 0.5) / 1_000
    counts = np.round(1e6 * quantiles ** (-1 / (exponent - 1))).astype(np.int64)
    assert tail_exponent(counts, 1e6) == pytest.approx(exponent, rel=0.01)
    assert tail_exponent(counts[:2], 1e6) < exponent + 0.5, "two records teach little"


def test_gamma_prior_is_the_gamma_law_of_each_cell():
    means, grid = np.array([1e-3, 2e-2]), np.array([[1e-4, 1e-3, 5e-3]] * 2)
    found = gamma(means, 0.7)(grid)
    expected = stats.gamma.logpdf(grid, 0.7, scale=means[:, None] / 0.7)
    assert np.diff(found, axis=1) == pytest.approx(np.diff(expected, axis=1))


@given(shares, st.floats(0, 1))
def test_normal_interval_is_the_usual_one_inside_the_unit_interval(value, error):
    low, high = normal_interval(np.array([value]), np.array([error**2]))
    expected = np.clip(stats.norm.interval(0.95, value, max(error, 1e-12)), 0, 1)
    assert [low[0], high[0]] == pytest.approx(expected, abs=1e-9)


rows = st.integers(1, 25).flatmap(
    lambda n: st.tuples(
        hnp.arrays(np.float64, n, elements=probabilities),
        hnp.arrays(np.float64, n, elements=st.floats(0, 0.1)),
    )
)


@given(rows)
def test_rank_interval_holds_the_rows_own_rank_and_stays_on_the_list(both):
    values, errors = both
    low, high = rank_intervals(values, errors**2)
    own = stats.rankdata(-values, method="ordinal")
    assert ((low >= 1) & (low <= own) & (own <= high) & (high <= len(values))).all()


def test_rank_intervals_of_certain_rows_are_their_ranks():
    values = np.array([0.2, 0.5, 0.1])
    for errors in (np.zeros(3), np.full(3, 1e-6)):
        low, high = rank_intervals(values, errors**2)
        assert low.tolist() == high.tolist() == [2, 1, 3]
    low, high = rank_intervals(np.zeros(0), np.zeros(0))
    assert low.size == high.size == 0
    # One row is uncertain enough to be anywhere, the others know their order.
    low, high = rank_intervals(values, np.array([1.0, 1e-12, 1e-12]))
    assert (low[0], high[0]) == (1, 3)
    assert (low[1:] <= [1, 2]).all()
    assert (high[1:] >= [2, 3]).all()


def test_rank_intervals_are_those_of_drawn_ranks():
    """The 2.5 % and 97.5 % ranks of 20,000 draws, up to one rank in either direction."""
    rng = np.random.default_rng(1)
    values = (rng.pareto(1.2, 40) + 0.1) / 1e3
    errors = 0.01 * np.sqrt(values)
    low, high = rank_intervals(values, errors**2)
    drawn = values + errors * rng.standard_normal((20_000, 40))
    ranks = stats.rankdata(-drawn, axis=1)
    for found, share in ((low, 0.025), (high, 0.975)):
        assert np.abs(found - np.quantile(ranks, share, axis=0)).max() <= 2.5


lists = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=1, max_size=12).map(
    lambda records: HeadList.from_records(*np.array(sorted(set(records))).T)
)


@given(lists, st.integers(1, 6), st.data())
def test_kept_queries_are_those_with_the_largest_noisy_counts(candidates, max_head_size, data):
    n = candidates.n_records
    counts = np.array(data.draw(st.lists(st.integers(7, 12), min_size=n, max_size=n)))
    is_kept = likeliest_queries(candidates, counts, max_head_size)
    sums = [counts[candidates.query_of_record == q].sum() for q in range(candidates.n_queries)]
    best = sorted(range(candidates.n_queries), key=lambda q: -sums[q])[:max_head_size]
    assert np.flatnonzero(is_kept).tolist() == sorted(best)


@given(lists, st.data())
def test_queries_are_the_sums_of_their_cells(head_list, data):
    n = head_list.n_cells
    cells = np.array(data.draw(st.lists(st.integers(0, 9), min_size=n, max_size=n)), dtype=float)
    queries = query_estimate(head_list, Estimate(cells, cells + 1))
    parts = np.split(cells, head_list.cell_starts[1:])
    assert queries.values.tolist() == [part.sum() for part in parts]
    assert queries.variances.tolist() == [(part + 1).sum() for part in parts]


def test_found_counts_keep_what_stays_and_learn_from_all():
    params = BlenderParams(4, strategy="high-utility", max_records_optin=1)
    counts = np.array([7, 7, 7, 500, 9])
    is_kept = np.array([False, False, False, True, True])
    found = FoundCounts.of(counts, is_kept, params, 100)
    assert found.noisy_units.tolist() == [500, 9]
    assert finding_mechanism(params).threshold == 6
    assert found.tail_exponent == tail_exponent(counts, 6.5) != tail_exponent(counts[3:], 6.5)


LIST = HeadList.from_records(np.array([0, 0, 1]), np.array([0, 1, 0]))


@pytest.mark.parametrize("client_report", ["one-stage", "two-stage", "two-stage-exact"])
def test_clients_are_read_as_they_reported(client_report, rng):
    """Without noise to speak of, every kind of report gives the shares of the cells back."""
    params = BlenderParams(40, strategy="high-utility", client_report=client_report)
    mechanism = client_mechanism(LIST, params)
    cells = np.repeat(np.arange(LIST.n_cells), [300, 200, 100, 50, 0, 350])
    counts = count_reports(mechanism, mechanism.simulate(cells, rng=rng))
    assert counts.sum() == reports_per_client(mechanism) * len(cells)
    source = client_source(mechanism, counts)
    assert source.values == pytest.approx([0.3, 0.2, 0.1, 0.05, 0, 0.35], abs=0.02)
    some = source.at(np.array([5, 0]))
    assert some.values.tolist() == source.values[[5, 0]].tolist()
    assert some.variance_at(np.array([0.35, 0.3])).shape == (2,)
    # One-stage and exact reports need no delta, and promise none.
    has_delta = client_report == "two-stage"
    assert (mechanism.event.budget.delta > 0) == has_delta
    assert mechanism.event.budget.epsilon == 40


def test_sets_are_counted_by_clients_and_not_by_cells(rng):
    mechanism = client_mechanism(LIST, BlenderParams("0.5", strategy="high-utility"))
    assert mechanism.response.size == reports_per_client(mechanism) == 2
    counts = count_reports(mechanism, mechanism.simulate(np.full(70, 5), rng=rng))
    source = client_source(mechanism, counts)
    assert source.n_clients == 70
    assert source.values.sum() == pytest.approx(1)


def test_sources_without_people_are_refused():
    with pytest.raises(InvalidParameter, match="at least 1 user"):
        CentralCounts.of(np.array([3]), 0, 0.3)
    with pytest.raises(InvalidParameter, match="at least 1 client report"):
        SubsetReports.of(RESPONSE, np.zeros(100, np.int64), 0)
    mechanism = client_mechanism(LIST, BlenderParams(strategy="high-utility"))
    with pytest.raises(InvalidParameter, match="at least 1 client report"):
        client_source(mechanism, np.zeros(LIST.n_cells, np.int64))


def test_units_are_shares_of_users():
    source = CentralCounts.of(np.array([50, 10]), 100, 5.0, records_per_user=5, spread=0.4)
    assert source.values.tolist() == [0.1, 0.02]
    expected = 0.4 * 0.1 * 0.9 / 100 + 5.0 / 25 / 100**2
    assert source.variance_at(np.array([0.1, 0.1])) == pytest.approx([expected] * 2)
    assert source.at(np.array([1])).values.tolist() == [0.02]
