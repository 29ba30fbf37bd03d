"""One number of two groups: its weight, its interval, and what it depends on."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hybriddp.errors import InvalidParameter
from hybriddp.mean.estimate import KNOWN, NAIVE, PRIVACY
from hybriddp.mean.votes import Ballot
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.grid import ValueGrid
from tests.stats import ALPHA

NOISE = DiscreteGaussian.for_budget(Budget(Fraction(1), Fraction(1, 10**5)), 1024)


def ballot(rule=PRIVACY, n_trusted=40, n_local=400, **settings):
    return Ballot(ValueGrid(10, 1024), NOISE, NOISE, n_trusted, n_local, rule, **settings)


def test_votes_are_those_of_the_rule_s_weight():
    # PWH: the trusted mean's noise is s^2/40^2, the clients' s^2/400, so w = 1/(1 + 400/1600).
    weight = 1 / (1 + 400 / 1600)
    assert ballot().votes == round(weight * 400 / ((1 - weight) * 40)) == 40
    assert ballot(NAIVE).votes == 1
    # A known variance pulls the weight from PWH's towards the naive one.
    assert 1 < ballot(KNOWN, known_variance=25.0).votes <= 40
    assert ballot(KNOWN, known_variance=1e9).votes == 1


def test_estimate_is_the_votes_mean_and_without_noise_exact():
    votes = ballot()
    trusted, local = [512] * 40, [256] * 400
    counted = votes.count(sum(trusted), sum(local))
    exact = Fraction(votes.votes * sum(trusted) + sum(local), votes.votes * 40 + 400)
    assert votes.estimate(counted).value == pytest.approx(float(exact) * 10 / 1024)
    assert votes.estimate(counted).weight == votes.votes * 40 / (votes.votes * 40 + 400)
    assert votes.estimate(-(10**9)).value == 0
    assert votes.estimate(10**9).value == 10


def test_interval_covers_the_mean_of_everybody():
    """95 % are promised; values spread less than the interval assumes, so more are covered.

    False alarm: ALPHA. Power: intervals of half the width would cover below 80 %.
    """
    rng, votes, n_runs, n_inside = np.random.default_rng(1), ballot(), 150, 0
    for _ in range(n_runs):
        values = rng.integers(0, 1025, 440)
        noisy = NOISE.simulate(np.array([values[:40].sum()]), rng=rng)[0]
        reports = NOISE.simulate(values[40:], rng=rng).sum()
        estimate = votes.estimate(votes.count(int(noisy), int(reports)))
        n_inside += estimate.low <= values.mean() * 10 / 1024 <= estimate.high
    assert stats.binom.cdf(n_inside, n_runs, 0.95) > ALPHA


def test_coalition_learns_more_and_nobody_more_than_the_budget():
    budget = Budget(Fraction(1), Fraction(1, 10**5))
    proved = [ballot().certified(budget, n) for n in (0, 200, 399)]
    assert proved[0].epsilon_local < proved[1].epsilon_local < proved[2].epsilon_local
    assert proved[0].epsilon_trusted < proved[1].epsilon_trusted <= 1
    assert all(found.epsilon <= 1 for found in proved)


@pytest.mark.parametrize("sizes", [(0, 5), (5, 0)])
def test_one_group_alone_has_no_votes(sizes):
    with pytest.raises(InvalidParameter, match="people in both"):
        ballot(n_trusted=sizes[0], n_local=sizes[1])


def test_error_is_that_of_both_noises_and_the_weights():
    votes = ballot()
    w = votes.estimate(0).weight
    step = 10 / 1024
    noise = NOISE.variance * step**2 * ((w / 40) ** 2 + (1 - w) ** 2 / 400)
    sampling = (w - 40 / 440) ** 2 / 440 * 25 * (440 / 40 + 440 / 400)
    assert votes.estimate(0).error == pytest.approx(noise + sampling)
    assert math.isfinite(votes.estimate(0).error)
