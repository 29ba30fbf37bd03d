"""MEAN20's error formulas: against enumeration, against each other, and what they must show."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.randomizers.numbers.errors import MeanSetting, critical_users_laplace, laplace_noise

pytestmark = pytest.mark.exact

N_RANDOM = 10_000


def moments(points):
    mean = sum(F(x) for x in points) / len(points)
    return mean, sum((x - mean) ** 2 for x in points) / len(points)


def expected_square(trusted_points, local_points, n_trusted, n_local, steps, combine):
    """Return E[(estimate - empirical mean)^2] over all data and two-point noises, exactly.

    `steps` are the sizes of the two noises, whose variances are their squares.
    """
    total, n_cases = F(0), 0
    for t, r, signs in itertools.product(
        itertools.product(trusted_points, repeat=n_trusted),
        itertools.product(local_points, repeat=n_local),
        itertools.product((-1, 1), repeat=1 + n_trusted + n_local),
    ):
        noise_of_mean, noises = signs[0] * steps[0], [sign * steps[1] for sign in signs[1:]]
        reports = [x + y for x, y in zip((*t, *r), noises, strict=True)]
        empirical = F(sum(t) + sum(r)) / (n_trusted + n_local)
        total += (combine(F(sum(t)) / n_trusted + noise_of_mean, reports) - empirical) ** 2
        n_cases += 1
    return total / n_cases


@pytest.mark.parametrize("local_points", [(F(0), F(1)), (F(1, 2), F(2))])
def test_formulas_are_the_errors_by_enumeration(local_points):
    """Two trusted users of one distribution, two local ones of the same or of another."""
    trusted_points, n_trusted, n_local, steps = (F(0), F(1)), 2, 2, (F(1, 3), F(3, 2))
    (mean_t, var_t), (mean_l, var_l) = moments(trusted_points), moments(local_points)
    setting = MeanSetting(
        n_trusted + n_local, F(n_trusted, n_trusted + n_local), steps[0] ** 2, steps[1] ** 2,
        var_t, var_l, mean_l - mean_t,
    )  # fmt: skip

    def error(combine):
        return expected_square(trusted_points, local_points, n_trusted, n_local, steps, combine)

    def mean(values):
        return sum(values) / len(values)

    assert setting.error_trusted_only == error(lambda trusted, reports: trusted)
    assert setting.error_full_local == error(lambda trusted, reports: mean(reports))
    assert setting.error_local_only == error(lambda _, reports: mean(reports[n_trusted:]))
    for w in (F(0), F(1, 3), F(1, 2), F(1)):
        assert setting.error_hybrid(w) == error(
            lambda trusted, reports, w=w: w * trusted + (1 - w) * mean(reports[n_trusted:])
        )


def random_settings(seed):
    """Return settings spread over many orders of magnitude, as one setting of arrays."""
    rng = np.random.default_rng(seed)
    n_users = np.floor(10 ** rng.uniform(0.5, 8, N_RANDOM))
    n_trusted = np.clip(np.floor(n_users * 10 ** rng.uniform(-4, 0, N_RANDOM)), 1, n_users - 1)
    upper, epsilon = 10 ** rng.uniform(-3, 3, N_RANDOM), 10 ** rng.uniform(-3, 1, N_RANDOM)
    variance = rng.uniform(0, 1, N_RANDOM) ** 4 * upper**2 / 4  # Popoviciu's bound
    return n_users, n_trusted, upper, epsilon, variance


def test_the_known_variance_weight_beats_both_baselines_in_ten_thousand_random_settings():
    n, n_trusted, upper, epsilon, variance = random_settings(1)
    setting = MeanSetting.alike(
        n, n_trusted / n, *laplace_noise(n_trusted, upper, epsilon), variance
    )
    improvement = setting.improvement_over_best(setting.error_hybrid(setting.weight_known_variance))
    # With one trusted user both noises are alike and nothing is to be gained.
    assert np.all(improvement[n_trusted > 1] > 1)
    assert np.all(improvement > 1 - 1e-12)
    assert np.all((setting.weight_known_variance > 0) & (setting.weight_known_variance < 1))


def test_the_privacy_weight_beats_the_worse_baseline_in_ten_thousand_random_settings():
    """Where the trusted users are not more than the noises' ratio: always, with Laplace noise."""
    n, n_trusted, upper, epsilon, variance = random_settings(2)
    noises = laplace_noise(n_trusted, upper, epsilon)
    assert np.all(n_trusted <= noises[1] / noises[0] * (1 + 1e-12))
    setting = MeanSetting.alike(n, n_trusted / n, *noises, variance)
    improvement = setting.improvement_over_worst(setting.error_hybrid(setting.weight_privacy))
    assert np.all(improvement[n_trusted > 1] > 1)


def test_the_privacy_weight_loses_to_both_baselines_where_the_condition_fails():
    """MEAN20 prints "unconditionally"."""
    setting = MeanSetting.alike(100, F(9, 10), F(1, 1000), F(1, 10_000), F(1))
    assert setting.local_noise / setting.trusted_noise < 90
    error = setting.error_hybrid(setting.weight_privacy)
    assert f"{float(setting.improvement_over_worst(error)):.3f}" == "0.024"


def test_no_other_weight_has_a_smaller_error():
    for difference in (F(0), F(1, 7)):
        setting = MeanSetting(50, F(1, 5), F(1, 90), F(3), F(1, 4), F(1, 9), difference)
        best = setting.error_hybrid(setting.weight_known_variance)
        for step in range(-10, 31):
            assert setting.error_hybrid(F(step, 20)) >= best
    without_spread = MeanSetting.alike(50, F(1, 5), F(1, 90), F(3), F(0))
    assert without_spread.weight_known_variance == without_spread.weight_privacy


def test_corollary_4_4_holds_on_a_dense_grid():
    """The largest improvement at epsilon <= 1 lies above 2.12 and at most at 16/7."""
    c = np.linspace(1e-3, 0.999, 400)[:, None, None]
    y = np.linspace(0, 0.25, 60)[None, :, None]  # epsilon^2 variance/m^2 is all that matters
    n = np.logspace(0.4, 9, 120)[None, None, :]
    c, y, n = np.broadcast_arrays(c, y, n)
    is_group = c * n > 1
    c, y, n = c[is_group], y[is_group], n[is_group]
    setting = MeanSetting.alike(n, c, *laplace_noise(c * n, 1, 1), y)
    improvement = setting.improvement_over_best(setting.error_hybrid(setting.weight_known_variance))
    assert improvement.min() > 1
    assert 2.12 < improvement.max() <= 16 / 7


def test_the_instance_of_corollary_4_4_tends_to_17_8_from_below():
    values = []
    for n in 10.0 ** np.arange(3, 13):
        c = (1 + math.sqrt((288 + n) / n)) / 18
        setting = MeanSetting.alike(n, c, *laplace_noise(c * n, 1, 1), 1 / 4)
        error = setting.error_hybrid(setting.weight_known_variance)
        values.append(setting.improvement_over_best(error))
    assert np.all(np.diff(values) > 0)
    assert 17 / 8 - 1e-9 < values[-1] < 17 / 8


def test_a_constant_weight_loses_to_both_baselines_from_10_057_users_on():
    """MEAN20 section 5 says 10,058."""
    n = np.arange(9_000, 11_000)
    setting = MeanSetting.alike(n, 0.01, *laplace_noise(0.01 * n, 1, 0.1), 1 / 36)
    loses = setting.improvement_over_worst(setting.error_hybrid(0.001)) < 1
    assert n[loses].min() == 10_057
    assert np.all(np.diff(loses.astype(int)) >= 0)


def test_critical_values_separate_the_baselines():
    """Lemma 3.6 with fixed noise, and lemma 3.8 with Laplace noise, where more users help."""
    for c, var_t, var_l, difference in itertools.product(
        (0.05, 0.3, 0.9), (0.05, 0.25), (0.05, 0.2), (0.0, 0.1)
    ):
        n = np.arange(1, 2_000)
        setting = MeanSetting(n, c, 0.004, 2.0, var_t, var_l, difference)
        trusted_wins = setting.error_trusted_only <= setting.error_full_local
        may_win = c > setting.critical_fraction
        assert np.array_equal(trusted_wins, may_win & (n <= setting.critical_users))
    for c, epsilon in itertools.product((0.001, 0.05, 0.3), (0.1, 1.0)):
        n = np.arange(10, 5_000)
        setting = MeanSetting.alike(n, c, *laplace_noise(c * n, 1, epsilon), 0.2)
        trusted_wins = setting.error_trusted_only <= setting.error_full_local
        assert np.array_equal(trusted_wins, n >= critical_users_laplace(c, 1, epsilon, 0.2))


@pytest.mark.parametrize("wrong", [(0, 1, 1), (5, -1, 1), (5, 1, 0)])
def test_noise_of_nobody_or_nothing_is_refused(wrong):
    with pytest.raises(InvalidParameter, match="above 0"):
        laplace_noise(*wrong)
