"""Composition: exact for the ledger, PLD beside it."""

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.accounting.accountants import Cost, compose_basic, compose_parallel, compose_pld
from hybriddp.accounting.event import Neighbours
from hybriddp.accounting.losses import GaussianShift, gathered
from hybriddp.blender.events import HeadListDraw, OptinHistogram
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.errors import InvalidParameter, UnknownEvent
from hybriddp.noise.gaussian import gaussian_epsilon
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.randomizers.events import ClientReport, SubsetReport
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.response import RandomizedResponse
from hybriddp.randomizers.stages import TwoStageResponse
from hybriddp.randomizers.subset import SubsetResponse
from hybriddp.series.design import SeasonDesign
from hybriddp.series.events import SeasonTests, SeasonWeek
from tests.blender.test_finding import worst_with_counts

pytestmark = pytest.mark.exact

ALONE = RandomizedResponse(1, 0)


def k_ary_report(k: int, epsilon: int = 4) -> ClientReport:
    """A report over k queries that have no urls to lie about: plain k-ary randomized response."""
    budget = Budget(epsilon)
    return ClientReport(budget, RandomizedResponse.for_budget(budget, k), (ALONE,))


def histogram(epsilon: object = 4) -> OptinHistogram:
    return HistogramMechanism.for_budget(Budget(epsilon)).event


def head_list(epsilon: object = 4, delta: object = "1e-5") -> HeadListDraw:
    return HeadListMechanism.for_budget(Budget(epsilon, delta)).event


def test_ten_tenths_are_one():
    assert compose_basic([histogram("0.1")] * 10) == Cost(Fraction(1), Fraction(0))
    assert compose_basic([head_list(0.1, 1e-5)] * 10) == Cost(Fraction(1), Fraction(1, 10_000))


def test_weeks_of_a_season_compose_as_the_one_gaussian_that_they_are():
    """Gaussian shifts add up in rho exactly; a distribution a week had cost minutes a year."""
    budget = Budget(4, "1e-5")
    season = SeasonDesign(n_weeks=6).season(budget)
    weeks = [SeasonWeek(budget, season, week) for week in range(1, 7)]
    rho = sum(season.rho(week) for week in range(1, 7))
    assert gathered((week.losses(), 1) for week in weeks) == [(((GaussianShift(rho), 1),), 1)]
    exact = gaussian_epsilon(1e-6, math.sqrt(2 * rho))
    assert 0 <= compose_pld(weeks, 1e-6) - exact < 1e-3
    joined = SeasonTests(budget, season)
    assert gathered([(joined.losses(), 1), (weeks[0].losses(), 2)]) == [
        (joined.losses(), 1), (((GaussianShift(2 * season.rho(1)), 1),), 1),
    ]  # fmt: skip


def test_disjoint_groups_pay_the_largest_cost():
    costs = [compose_basic([head_list(4)]), compose_basic([histogram(4), histogram(1)])]
    assert compose_parallel(costs) == Cost(Fraction(5), Fraction(1, 100_000))
    assert compose_parallel([]) == Cost(Fraction(0), Fraction(0))


@pytest.mark.parametrize(
    ("k", "epsilons"),
    [(51, (4, 16.0, 52.0, 171.9)), (501, (4, 16.0, 31.9, 69.9)), (2001, (4, 12.0, 20.0, 36.0))],
)
def test_reports_compose_as_computed_independently(k, epsilons):
    """The table of shared measurements; a library bug that ignores the count would say 4.0."""
    for n, expected in zip((1, 4, 13, 52), epsilons, strict=True):
        assert compose_pld([k_ary_report(k)] * n, 1e-6) == pytest.approx(expected, abs=0.06)


def test_histograms_compose_as_computed_independently():
    for n, expected in ((1, 4.0), (4, 16.0), (13, 52.0), (52, 207.2)):
        assert compose_pld([histogram()] * n, 1e-6) == pytest.approx(expected, abs=0.06)


def test_pld_is_never_above_basic_composition():
    two_stage = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), [4, 3, 3, 2, 1])
    report = ClientReport(Budget(4), two_stage.query, two_stage.urls)
    for events in ([histogram()] * 3, [report] * 5, [head_list(), histogram(1), report]):
        basic = compose_basic(events)
        assert compose_pld(events, float(basic.delta) + 1e-9) <= float(basic.epsilon) + 1e-3
    # One report alone costs its exact worst loss, below the sum of its stages.
    assert compose_pld([report], 1e-12) == pytest.approx(3.813, abs=2e-3)


def test_head_list_leak_is_part_of_its_price():
    """Below the leak of a single user's record no epsilon is enough."""
    event = head_list(4, "1e-5")
    assert 3.5 <= compose_pld([event], event.singleton_probability * 1.01) <= 4.001
    assert compose_pld([event], event.singleton_probability * 0.99) == float("inf")


@pytest.mark.parametrize("records_per_user", [1, 2, 3])
def test_price_of_a_head_list_with_counts_covers_every_pair_of_logs(records_per_user):
    """At any epsilon, not only at the budget's: ledgers may compose draws."""
    event = HeadListMechanism.tight(Budget(1, "0.02"), records_per_user).event
    mechanism = HeadListMechanism(
        event.budget, DiscreteLaplace(event.noise_scale), event.threshold, records_per_user
    )
    for epsilon in (0.2, 0.5, 0.9):
        worst = worst_with_counts(mechanism, epsilon)
        assert worst > event.singleton_probability
        assert compose_pld([event], worst) >= epsilon - 1e-9
    assert compose_pld([event], event.singleton_probability * (1 + 1e-6)) <= 1.001
    assert compose_pld([event], event.singleton_probability * 0.99) == float("inf")


@pytest.mark.parametrize("moves", [(3,), (2, 1), (1, 1, 1)])
def test_price_of_a_histogram_covers_every_spread_of_what_moves(moves):
    """One count may move by all of the sensitivity, or several by parts of it; twice over."""
    mechanism = HistogramMechanism.for_budget(Budget(1), 3)
    reach = np.arange(-120, 120)
    p = q = np.ones(1)
    for move in moves:
        law, moved = mechanism.noise.pmf(reach), mechanism.noise.pmf(reach - move)
        ratio = np.round(np.log(law / moved) * mechanism.noise.scale).astype(int)
        _, same = np.unique(ratio, return_inverse=True)  # outcomes of one ratio are one outcome
        p = np.outer(p, np.bincount(same, law)).reshape(-1)
        q = np.outer(q, np.bincount(same, moved)).reshape(-1)
    p, q = np.outer(p, p).reshape(-1), np.outer(q, q).reshape(-1)
    for epsilon in (0.5, 1.0, 1.9):
        delta = float(np.maximum(p - np.exp(epsilon) * q, 0).sum())
        assert delta > 1e-4
        assert compose_pld([mechanism.event] * 2, delta) >= epsilon - 1e-9
    assert compose_pld([mechanism.event] * 2, 1e-9) == pytest.approx(2, abs=1e-3)


def test_subset_reports_compose_as_enumerated():
    """Two reports over six cells: the laws of pairs of sets, ratio by ratio."""
    mechanism = SubsetMechanism(Budget(1), SubsetResponse.of_size(Budget(1), 6, 2))
    (pair,) = mechanism.response.neighbour_laws()
    p, q, n = np.array([(float(p), float(q), n) for p, q, n in pair]).T
    assert (n == 1).all()
    p, q = np.outer(p, p).reshape(-1), np.outer(q, q).reshape(-1)
    for epsilon in (0.5, 1.0, 1.5):
        delta = float(np.maximum(p - np.exp(epsilon) * q, 0).sum())
        # Pessimistic, and by less than the grid's step for each report.
        assert 0 <= compose_pld([mechanism.event] * 2, delta) - epsilon + 1e-9 <= 1e-3
    assert compose_basic([mechanism.event] * 2) == Cost(Fraction(2), Fraction(0))


def test_sets_of_one_cell_cost_what_k_ary_randomized_response_costs():
    single = SubsetReport(Budget(4), SubsetResponse.of_size(Budget(4), 51, 1))
    for n in (1, 4):
        expected = compose_pld([k_ary_report(51)] * n, 1e-6)
        assert compose_pld([single] * n, 1e-6) == pytest.approx(expected, abs=1e-6)


def test_subset_report_over_an_empty_head_list_costs_nothing():
    event = SubsetMechanism.for_cells(Budget(1), 1).event
    assert compose_pld([event] * 1_000, 1e-9) == 0.0


def test_mixed_pairs_are_dominated():
    """Two releases may meet different kinds of pairs; the envelope must cover the mixture."""
    stages = TwoStageResponse.for_budgets(Budget(1), Budget(1), [2, 9, 1])
    event = ClientReport(Budget(2), stages.query, stages.urls)
    pairs = [
        np.array([(float(p), float(q), n) for p, q, n in pair]).T
        for pair in stages.neighbour_laws()
    ]
    for epsilon in (0.5, 1.5, 2.5):
        worst = max(
            np.sum(np.outer(n1, n2) * np.maximum(np.outer(p1, p2) - e * np.outer(q1, q2), 0))
            for e in [np.exp(epsilon)]
            for p1, q1, n1 in pairs
            for p2, q2, n2 in pairs
        )
        assert worst > 1e-6
        assert compose_pld([event] * 2, worst) >= epsilon - 1e-9


def test_several_reports_share_the_budget():
    params_budget, m = Budget(4, "1e-5"), 2
    part = TwoStageResponse.for_budgets(Budget("1.7", "4e-6"), Budget("0.3", "1e-6"), [3, 1])
    event = ClientReport(params_budget, part.query, part.urls, n_reports=m)
    assert compose_basic([event]) == Cost(Fraction(4), Fraction(1, 100_000))
    assert compose_pld([event], 1e-5) <= 4.001
    with pytest.raises(InvalidParameter, match="must keep delta"):
        ClientReport(Budget(2), part.query, part.urls, n_reports=m)


def test_reports_of_a_client_compose_like_those_of_several_releases():
    query = RandomizedResponse.for_budget(Budget(1), 21)
    single, double = (ClientReport(Budget(m), query, (ALONE,), n_reports=m) for m in (1, 2))
    for delta in (1e-6, 1e-2):
        assert compose_pld([double], delta) == pytest.approx(compose_pld([single] * 2, delta))
    assert compose_pld([double], 1e-6) > 1.5 * compose_pld([single], 1e-6)


def test_reports_of_a_client_share_the_delta():
    """Each of two reports leaks d/2 = 0.5 d; promised are 0.8 d in all, hence 0.4 d for each."""
    leaky = RandomizedResponse.for_budget(Budget(1, "1e-3"), 2)
    ClientReport(Budget(2, "1.01e-3"), leaky, (ALONE,), n_reports=2)
    with pytest.raises(InvalidParameter, match="must keep delta"):
        ClientReport(Budget(2, "0.8e-3"), leaky, (ALONE,), n_reports=2)


@pytest.mark.parametrize("n_reports", [0, -1, Fraction(1, 2), True, np.int64(2)])
def test_report_counts_that_are_none_are_refused(n_reports):
    with pytest.raises(InvalidParameter, match="n_reports must be a whole number of at least 1"):
        ClientReport(Budget(4), ALONE, (ALONE,), n_reports=n_reports)


@pytest.mark.parametrize("urls", [(), [ALONE], iter([ALONE])])
def test_report_without_its_url_lists_is_refused(urls):
    """Without lists there would be no pair of records to compare, and nothing to pay."""
    with pytest.raises(InvalidParameter, match="at least one list"):
        ClientReport(Budget("1e-9"), RandomizedResponse(2, 1), urls)


def test_subclass_that_lifts_the_checks_is_refused():
    class Cheap(OptinHistogram):
        def __post_init__(self):
            pass

    with pytest.raises(UnknownEvent, match="Cheap"):
        compose_basic([Cheap(Budget("1e-9"), 1e-3)])


def test_numpy_integers_do_not_overflow_in_a_sum():
    large = Budget(Fraction(9 * 10**18 + 1, 10**18))
    total = compose_basic(
        [OptinHistogram(Budget(np.int64(1)), 2.0), *[OptinHistogram(large, 2.0)] * 9]
    )
    assert total.epsilon == 1 + 9 * large.epsilon
    assert type(total.epsilon.numerator) is int


def test_unknown_events_are_refused():
    @dataclass(frozen=True)
    class Rumour:
        budget: Budget
        neighbours: Neighbours = Neighbours.REPLACE_ONE_USER

    for compose in (compose_basic, lambda events: compose_pld(events, 1e-6)):
        with pytest.raises(UnknownEvent, match="Rumour"):
            compose([histogram(), Rumour(Budget(1))])


def test_events_of_different_neighbours_do_not_compose(monkeypatch):
    monkeypatch.setattr(HeadListDraw, "neighbours", Neighbours.ADD_OR_REMOVE_ONE_USER)
    with pytest.raises(InvalidParameter, match="one neighbouring relation"):
        compose_basic([histogram(), head_list()])


def test_events_cannot_promise_less_than_they_cost():
    with pytest.raises(InvalidParameter, match="raise the scale"):
        OptinHistogram(Budget("3.99"), histogram(4).noise_scale)
    with pytest.raises(InvalidParameter, match="raise the threshold"):
        HeadListDraw(Budget(4, "1e-6"), 0.5, 6)
    with pytest.raises(InvalidParameter, match="budget that is charged"):
        ClientReport(Budget("3.99"), k_ary_report(51).query, (ALONE,))
    with pytest.raises(InvalidParameter, match="budget that is charged"):
        SubsetReport(Budget("3.99"), SubsetResponse.for_budget(Budget(4), 500))


def test_no_events_cost_nothing():
    assert compose_basic([]) == Cost(Fraction(0), Fraction(0))
    assert compose_pld([], 1e-6) == 0.0


@pytest.mark.parametrize("delta", [0, 1, -1])
def test_pld_needs_a_delta_inside_the_unit_interval(delta):
    with pytest.raises(InvalidParameter, match="strictly between 0 and 1"):
        compose_pld([histogram()], delta)


def test_report_over_an_empty_head_list_costs_nothing():
    event = ClientReport(Budget(1), ALONE, (ALONE,))
    assert compose_pld([event] * 1_000, 1e-9) == 0.0
    with_histogram = compose_pld([histogram(), *[event] * 1_000], 1e-6)
    assert with_histogram == pytest.approx(compose_pld([histogram()], 1e-6), abs=1e-9)
