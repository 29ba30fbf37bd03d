"""Gaussian noise: what it costs, how much a budget needs, and the integer law."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise import gaussian
from hybriddp.noise.exact_gaussian import shift_divergence
from hybriddp.noise.gaussian import (
    DiscreteGaussian,
    analytic_sd,
    classic_sd,
    gaussian_delta,
    gaussian_epsilon,
)
from hybriddp.params import Budget


def test_delta_at_epsilon_zero_is_the_total_variation():
    """2 Phi(ratio/2) - 1, which is erf(ratio/sqrt(8))."""
    ratios = np.array([1e-6, 0.1, 1.0, 5.0, 100.0])
    expected = [math.erf(ratio / math.sqrt(8)) for ratio in ratios]
    assert gaussian_delta(0.0, ratios) == pytest.approx(expected, rel=1e-9)


def test_tiny_deltas_agree_with_sums_of_fifty_digits():
    """The discrete law of scale 10^6 is the continuous one but for 1e-9 here."""
    scale = 10**6
    for epsilon, shift in ((1, 40_000), (1, 80_000), (5, 250_000), (Fraction(1, 50), 1_000)):
        found = gaussian_delta(float(epsilon), shift / scale)
        exact = float(shift_divergence(Fraction(scale**2), Fraction(epsilon), shift))
        assert 0 < exact < 1e-5
        assert found == pytest.approx(exact, rel=2e-5)


def test_delta_falls_in_epsilon_and_rises_in_the_ratio():
    epsilons, ratios = np.linspace(0, 30, 400), np.geomspace(1e-4, 30, 400)
    assert (np.diff(gaussian_delta(epsilons, 1.3)) < 0).all()
    assert (np.diff(gaussian_delta(0.0, ratios)) >= 0).all()
    assert (np.diff(gaussian_delta(2.0, ratios)) >= 0).all()
    assert gaussian_delta(epsilons[:, None], ratios).shape == (400, 400)


@pytest.mark.parametrize("delta", [1e-12, 1e-5, 0.3])
@pytest.mark.parametrize("ratio", [0.01, 0.3, 4.0])
def test_least_epsilon_keeps_delta_and_a_little_less_does_not(delta, ratio):
    epsilon = gaussian_epsilon(delta, ratio)
    assert gaussian_delta(epsilon, ratio) <= delta
    if epsilon > 0:
        assert gaussian_delta(epsilon * (1 - 1e-9), ratio) > delta
    else:
        assert gaussian_delta(0.0, ratio) <= delta


def test_sds_of_a_budget():
    budget = Budget(1, "1e-5")
    assert classic_sd(budget, 3.0) == pytest.approx(3 * math.sqrt(2 * math.log(125_000)))
    assert analytic_sd(budget, 1.0) == pytest.approx(3.7306, abs=1e-4)
    assert analytic_sd(budget, 250.0) == pytest.approx(250 * analytic_sd(budget, 1.0))
    for epsilon in ("0.01", "1", "8"):
        sd = analytic_sd(Budget(epsilon, "1e-6"), 1.0)
        assert gaussian_delta(float(epsilon), 1 / sd) <= 1e-6
        assert gaussian_delta(float(epsilon), 1 / (sd * (1 - 1e-9))) > 1e-6


def test_classic_noise_is_refused_where_it_is_not_proved():
    with pytest.raises(InvalidParameter, match="use analytic_sd"):
        classic_sd(Budget("1.01", "1e-5"), 1.0)
    for sd in (classic_sd, analytic_sd):
        with pytest.raises(InvalidParameter, match="delta must be above 0"):
            sd(Budget(1), 1.0)


@pytest.mark.parametrize("scale", [0.0625, 0.5, 1.0, 3.75, 40.0])
def test_law_adds_up(scale):
    law, y = DiscreteGaussian(scale), np.arange(-600, 601)
    assert law.pmf(y).sum() == pytest.approx(1, abs=1e-14)
    assert law.pmf(1) / law.pmf(0) == pytest.approx(math.exp(-1 / (2 * scale**2)))
    assert law.variance == pytest.approx((y**2 * law.pmf(y)).sum(), rel=1e-12)
    upper = np.cumsum(law.pmf(y)[::-1])[::-1]
    inner = np.abs(y) < min(600, 30 * scale)
    assert law.tail(y[inner]) == pytest.approx(upper[inner], rel=1e-11)
    assert law.tail(-10_000) == 1
    assert law.tail(10_000) == 0


def test_tails_of_wide_laws_are_their_sums(monkeypatch):
    law, y = DiscreteGaussian(1_001.0), np.array([-3_000, -1, 0, 1, 2, 1_500, 9_000, 30_000])
    formula = law.tail(y)
    monkeypatch.setattr(gaussian, "_LONGEST_SUM", 10**6)
    assert formula == pytest.approx(law.tail(y), rel=1e-10)
    assert 0 < formula[-1] < 1e-190


@pytest.mark.parametrize(
    ("epsilon", "delta", "sensitivity"),
    [(1, "1e-6", 1), (4, "1e-5", 1), ("0.1", "1e-9", 20), (1, "1e-7", 1000), (50, "0.9", 1)],
)
def test_noise_of_a_budget_keeps_it_and_the_next_smaller_one_does_not(epsilon, delta, sensitivity):
    budget = Budget(epsilon, delta)
    noise = DiscreteGaussian.for_budget(budget, sensitivity)
    assert noise.delta(budget.epsilon, sensitivity) <= budget.delta
    _, exponent = math.frexp(noise.scale)
    smaller = DiscreteGaussian(noise.scale - math.ldexp(1, exponent - 13))
    assert smaller.delta(budget.epsilon, sensitivity) > budget.delta
    if sensitivity > 10:
        continuous = analytic_sd(budget, sensitivity)
        assert continuous * (1 - 1e-3) < noise.scale < continuous * (1 + 1e-3)


def test_noise_of_a_budget_is_the_least_scale_where_anything_does():
    noise = DiscreteGaussian.for_budget(Budget(50, Fraction(999_999, 1_000_000)), 1)
    assert noise.scale == pytest.approx(0.0847, abs=0.02)
    assert DiscreteGaussian.for_budget(Budget("0.5", "0.99"), 1).scale < 0.3


def test_budgets_without_delta_or_beyond_the_sampler_are_refused():
    with pytest.raises(InvalidParameter, match="delta must be above 0"):
        DiscreteGaussian.for_budget(Budget(1), 1)
    with pytest.raises(InvalidParameter, match=r"scale of at most 2\^27"):
        DiscreteGaussian.for_budget(Budget("0.001", "1e-9"), 10**6)
    with pytest.raises(InvalidParameter, match="sensitivity must be"):
        DiscreteGaussian.for_budget(Budget(1, "1e-6"), 0)


def test_simulated_noise_comes_from_the_given_generator():
    law, zeros = DiscreteGaussian(3.0), np.zeros((40, 500), int)
    first, again, other = (law.simulate(zeros, rng=np.random.default_rng(s)) for s in (1, 1, 2))
    assert first.shape == zeros.shape
    assert (first == again).all()
    assert (first != other).any()
    # The standard deviation of the variance of 20,000 draws is 1 %: six of them.
    assert first.var() == pytest.approx(law.variance, rel=0.06)
