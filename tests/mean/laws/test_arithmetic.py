"""Grids, group means, variances, weights and intervals of hybrid means."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import integrate, stats

from hybriddp.errors import InvalidParameter
from hybriddp.mean.clients import ReportSums, report_law
from hybriddp.mean.estimate import (
    ESTIMATED,
    KNOWN,
    NAIVE,
    PRIVACY,
    GroupMean,
    agreement,
    alone,
    blend,
    blend_with,
    local_mean,
    trusted_mean,
)
from hybriddp.mean.intervals import BoundedMean, chance_of_difference, half_width, tail
from hybriddp.mean.trusted import trusted_budgets
from hybriddp.mean.variance import (
    VarianceEstimate,
    is_worth_paying,
    variance_from_pairs,
    variance_from_reports,
)
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.errors import MeanSetting
from hybriddp.randomizers.numbers.grid import ValueGrid


def test_values_are_rounded_clamped_and_counted():
    placed = ValueGrid(10, 100).place(np.array([0, 10, 0.04, 0.06, -1e300, 10.01, 1e300]))
    assert placed.positions.tolist() == [0, 100, 0, 1, 0, 100, 100]
    assert placed.n_clamped == 3
    assert ValueGrid("0.3", 3).place(np.array([0.1, 0.3])).positions.tolist() == [1, 3]


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused(wrong):
    with pytest.raises(InvalidParameter, match="must be numbers, got NaN or infinity"):
        ValueGrid(10).place(np.array([1.0, wrong]))


@pytest.mark.parametrize("wrong", [(0,), (-1,), (1, 0)])
def test_a_grid_without_a_range_is_refused(wrong):
    with pytest.raises(InvalidParameter):
        ValueGrid(*wrong)


def test_a_trusted_mean_is_the_noisy_sum_in_the_units_of_the_values():
    mean = trusted_mean(500, 4, DiscreteLaplace(20.0), ValueGrid(10, 100))
    assert mean.value == pytest.approx(500 / 4 / 10)
    assert mean.noise == pytest.approx(DiscreteLaplace(20.0).variance / 40**2)
    assert mean.laplace_scale == pytest.approx(20 / 40)


def test_a_local_mean_counts_the_spread_of_values_where_it_adds_noise():
    law, grid = report_law("window", Budget(F(2)), 100), ValueGrid(100, 100)
    sums = ReportSums(np.array([3, 4]), np.array([[9.0, -20], [0, 0], [0, 0], [0, 0]]))
    mean = local_mean(sums, 1, law, grid, VarianceEstimate(200, 100))
    assert mean.value == pytest.approx(45)
    assert mean.noise == pytest.approx(law.noise.mean(45, 200) / 4)
    assert mean.noise < local_mean(sums, 1, law, grid).noise  # nothing is known: the most there is
    bits = report_law("bit", Budget(F(2)), 100)
    assert local_mean(sums, 1, bits, grid).noise > local_mean(
        sums, 1, bits, grid, VarianceEstimate(200, 100)
    ).noise  # fmt: skip


def test_bits_of_few_clients_that_are_all_alike_keep_their_noise():
    law, grid = report_law("bit", Budget(F(8)), 100), ValueGrid(100, 100)
    all_at_the_end = sums_of([float(law.estimates(np.array([0]))[0])] * 2, 100)
    mean = local_mean(all_at_the_end, 0, law, grid, VarianceEstimate(0, 100))
    assert mean.noise == pytest.approx(law.noise.mean(4 * 50 / 6, 0) / 2)
    # A thousand that are alike say that their values are.
    many = sums_of([float(law.estimates(np.array([0]))[0])] * 1000, 100)
    assert local_mean(many, 0, law, grid, VarianceEstimate(0, 100)).noise < mean.noise / 50


def sums_of(said, grid):
    centred = np.asarray(said, float) - grid / 2
    return ReportSums(np.array([len(said)]), np.array([[(centred**k).sum()] for k in range(1, 5)]))


def test_the_variance_of_values_is_that_of_reports_less_their_noise():
    law = report_law("laplace", Budget(F(1)), 10)
    said = [30.0, -20, 5, 12]
    found = variance_from_reports(sums_of(said, 10), 0, law.noise, 10)
    assert found.value == pytest.approx(np.var(said) - float(law.noise.c0))
    window = report_law("window", Budget(F(1)), 10)
    found = variance_from_reports(sums_of(said, 10), 0, window.noise, 10)
    stated = found.value + window.noise.mean(np.mean(said), found.value)
    assert stated == pytest.approx(np.var(said))


def test_bits_and_single_reports_say_nothing_of_the_variance():
    law = report_law("bit", Budget(F(1)), 10)
    assert variance_from_reports(sums_of([1.0, 2], 10), 0, law.noise, 10) is None
    laplace = report_law("laplace", Budget(F(1)), 10)
    assert variance_from_reports(sums_of([1.0], 10), 0, laplace.noise, 10) is None
    assert variance_from_pairs(5, 0, 1.0, 10) is None


def test_views_of_a_variance_stay_possible_and_on_their_sides():
    estimate = VarianceEstimate(20, 10, 1.5, 2)
    assert (estimate.cautious, estimate.generous) == (6, 22.5)
    assert VarianceEstimate(-3, 10, 1).cautious == VarianceEstimate(-3, 10, 1).generous == 0
    assert VarianceEstimate(30, 10).cautious == 25
    both = estimate.combined(VarianceEstimate(10, 10, 0.5, 0))
    assert both.value == pytest.approx((20 / 6.25 + 10 / 0.25) / (1 / 6.25 + 1 / 0.25))
    assert both.error == pytest.approx((1 / 6.25 + 1 / 0.25) ** -0.5)
    assert estimate.scaled(0.1).cautious == pytest.approx(0.06)


def test_pairs_are_paid_for_only_if_the_largest_variance_would_stand_out():
    """8 sqrt(2)/(epsilon n) below 1/4 is epsilon n above 45.3."""
    assert is_worth_paying(454, 0.1)
    assert not is_worth_paying(452, 0.1)
    assert not is_worth_paying(1, 1000.0)


TRUSTED, LOCAL = GroupMean(0.2, 100, 1e-4, math.sqrt(0.5e-4)), GroupMean(0.4, 900, 4e-4)


def test_weights_are_those_of_the_error_formulas():
    def setting(variance):
        return MeanSetting.alike(1000, 0.1, 1e-4, 900 * 4e-4, variance)

    def weight(rule, variance=None):
        return blend(TRUSTED, LOCAL, 1.0, rule, variance).weight

    assert weight(PRIVACY) == pytest.approx(0.8)
    assert weight(NAIVE) == pytest.approx(0.1)
    known = VarianceEstimate(0.05, 1)
    assert weight(KNOWN, known) == pytest.approx(setting(0.05).weight_known_variance)
    guess = VarianceEstimate(0.05, 1, 0.003, 0.006)
    assert weight(ESTIMATED, guess) == pytest.approx(setting(0.02).weight_known_variance)
    assert weight(ESTIMATED) == pytest.approx(weight(PRIVACY))
    with pytest.raises(InvalidParameter, match="known variance must be given"):
        weight(KNOWN)
    with pytest.raises(InvalidParameter, match="weight must be one of"):
        weight("best")


def test_a_blend_states_its_value_error_and_interval():
    found = blend_with(0.5, TRUSTED, LOCAL, 1.0, 0.05)
    setting = MeanSetting.alike(1000, 0.1, 1e-4, 900 * 4e-4, 0.05)
    assert found.value == pytest.approx(0.3)
    assert found.error == pytest.approx(setting.error_hybrid(0.5))
    margin = half_width(0.5 * TRUSTED.laplace_scale, found.error - 0.25e-4)
    assert (found.low, found.high) == pytest.approx((0.3 - margin, 0.3 + margin))
    outside = blend_with(1.0, GroupMean(-0.2, 100, 1e-4), LOCAL, 1.0, 0.05)
    assert (outside.value, outside.low) == (0, 0)


@pytest.mark.parametrize(("b", "s"), [(1.0, 1.0), (1.0, 0.05), (0.05, 1.0), (3.0, 2.0)])
def test_the_tail_of_laplace_plus_normal_is_the_integral(b, s):
    for x in (0.0, 0.3, 2.0, 8.0):
        expected, _ = integrate.quad(
            lambda n, x=x: math.exp(-(n**2) / (2 * s * s))
            / (s * math.sqrt(2 * math.pi))
            * (math.exp(-(x - n) / b) / 2 if x > n else 1 - math.exp((x - n) / b) / 2),
            -12 * s, 12 * s, points=[x] if abs(x) < 12 * s else None, limit=400,
        )  # fmt: skip
        assert tail(x, b, s) == pytest.approx(expected, rel=1e-7, abs=1e-12)


def test_half_widths_of_pure_noises_are_their_quantiles():
    assert half_width(2.0, 0.0) == pytest.approx(2 * math.log(20))
    assert half_width(0.0, 9.0) == pytest.approx(3 * 1.959963985)
    assert half_width(1e-12, 9.0) == pytest.approx(half_width(0.0, 9.0))
    assert half_width(1e-8, 9.0) == pytest.approx(half_width(0.0, 9.0), rel=1e-6)
    assert half_width(2.0, 1e-10) == pytest.approx(half_width(2.0, 0.0), rel=1e-6)
    assert 2 * tail(half_width(1.0, 4.0), 1.0, 2.0) == pytest.approx(0.05)


def test_a_share_of_the_budget_below_none_or_all_of_it_is_refused():
    for share in (F(-1, 10), F(1)):
        with pytest.raises(InvalidParameter, match="variance_share"):
            trusted_budgets(Budget(1), share)


@pytest.mark.parametrize(("scale", "variance"), [(2.0, 0.0), (0.0, 4.0), (1.0, 2.0), (1e-12, 1.0)])
def test_differences_by_noise_alone_are_at_most_as_likely_as_said(scale, variance):
    for level in (0.05, 1e-6, 1e-12):
        margin = half_width(scale, variance, 1 - level)
        bound = chance_of_difference(
            margin, laplace_scale=scale, normal_variance=variance, samples=()
        )
        assert level <= bound < 100 * level
        assert bound == chance_of_difference(
            -margin, laplace_scale=scale, normal_variance=variance, samples=()
        )


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize(("n_people", "share"), [(1, 0.5), (10, 0.01), (10, 0.3), (500, 0.002)])
def test_a_mean_of_people_deviates_at_most_as_often_as_said(n_people, share, unit):
    """All outcomes of people of whom a share is at the limit, the others at 0."""
    people = [BoundedMean(n_people, unit, share * (1 - share) * unit**2)]
    outcomes = np.arange(n_people + 1)
    deviations = np.abs(outcomes / n_people - share)
    chances = stats.binom.pmf(outcomes, n_people, share)
    for x in np.unique(deviations):
        bound = chance_of_difference(
            float(x) * unit, laplace_scale=0.0, normal_variance=0.0, samples=people
        )
        assert bound >= chances[deviations >= x - 1e-12].sum() * (1 - 1e-9)
    assert chance_of_difference(
        0.0, laplace_scale=0.0, normal_variance=0.0, samples=people
    ) == 1  # fmt: skip


def test_a_group_alone_has_its_own_noise_and_nothing_else():
    laplace = alone(GroupMean(4.0, 10, noise=2.0, laplace_scale=1.0), 1.0, 10.0)
    assert (laplace.value, laplace.weight, laplace.error) == (4.0, 1.0, 2.0)
    assert laplace.high - 4 == pytest.approx(math.log(20))
    normal = alone(GroupMean(4.0, 10, noise=1.0), 0.0, 10.0)
    assert normal.high - 4 == pytest.approx(1.95996, abs=1e-4)
    assert alone(GroupMean(12.0, 10, noise=1.0), 0.0, 10.0).value == 10


def test_agreement_counts_both_noises_and_both_samples():
    trusted, local = GroupMean(4.0, 50, 0.3), GroupMean(7.0, 200, 0.2)
    variance = 0.3 + 0.2 + 5 * (1 / 50 + 1 / 200)
    normal = 2 * math.exp(-(3**2) / (2 * variance))
    # Values that cannot be far away make a normal sample, but for what Bennett's bound costs.
    assert normal < agreement(trusted, local, 8.0, 5.0) < 1.5 * normal
    # Rare values that are far away, or noise with Laplace tails: a far difference is more likely.
    assert agreement(trusted, local, 500.0, 5.0) > 2 * normal
    with_tails = GroupMean(4.0, 50, 0.3, laplace_scale=math.sqrt(0.15))
    assert agreement(with_tails, local, 5.0, 5.0) > 2 * normal
