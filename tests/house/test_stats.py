"""Test the tester: each check accepts the law and rejects a small, stated defect."""

import numpy as np
import pytest

from tests.stats import ALPHA, law_p_value, mean_p_value, replicates_for, variance_ratio

LAW = np.array([0.5, 0.3, 0.15, 0.05])


def test_law_check_accepts_samples_of_the_law(rng):
    assert law_p_value(rng.multinomial(100_000, LAW), LAW) > ALPHA


@pytest.mark.parametrize("cell", range(4))
def test_law_check_rejects_a_shift_of_two_percentage_points_in_any_cell(rng, cell):
    shifted = LAW + 0.02 / 3
    shifted[cell] = LAW[cell] - 0.02
    assert law_p_value(rng.multinomial(100_000, shifted), LAW) < ALPHA


def test_law_check_rejects_an_outcome_that_cannot_happen():
    assert law_p_value(np.array([999_999, 1]), np.array([1.0, 0.0])) < ALPHA


def test_law_check_keeps_its_false_alarm_rate(rng):
    """At level 0.05 at most 5 % of 2,000 true samples may be rejected (false alarm 1e-9)."""
    rejected = sum(law_p_value(rng.multinomial(500, LAW), LAW) < 0.05 for _ in range(2_000))
    assert rejected <= 165


def test_mean_check_rejects_a_bias_of_a_tenth_standard_deviation(rng):
    samples = rng.normal(size=(10_000, 3))
    assert mean_p_value(samples, np.zeros(3)) > ALPHA
    assert mean_p_value(samples + np.array([0, 0, 0.1]), np.zeros(3)) < ALPHA


def test_variance_check_sees_a_six_percent_error(rng):
    n = replicates_for(0.03)
    samples = rng.normal(size=(n, 1))
    assert abs(variance_ratio(samples, np.full((n, 1), 1.0)) - 1) < 0.03
    assert abs(variance_ratio(samples, np.full((n, 1), 1.07)) - 1) > 0.03
