"""The opt-in histogram's law, enumerated on small logs."""

import math
from itertools import combinations_with_replacement, product

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.headlist import HeadList
from hybriddp.noise import DiscreteLaplace
from hybriddp.optin import HistogramMechanism, count_listed_records, estimate_optin
from hybriddp.params import Budget

# <0,0> is listed, <0,1> is a known query with an unknown url, <1,0> is unknown, <-1,-1> nothing.
RECORDS = ((0, 0), (0, 1), (1, 0), (-1, -1))
HEAD_LIST = HeadList.from_records(np.array([0, 2]), np.array([0, 0]))


def counts_of(log: tuple[tuple[int, int], ...]) -> np.ndarray:
    queries, urls = np.array(log).T
    return count_listed_records(HEAD_LIST, queries, urls)


def worst_log_ratio(noise: DiscreteLaplace) -> float:
    """Return the largest log-ratio of the histogram's law over neighbouring logs of three users.

    Cells are independent, so the worst output is the worst of each cell; a window of 12 around
    the counts contains it, since the discrete Laplace's log-ratio is constant outside.
    """
    window = np.arange(-12, 16)
    worst = 0.0
    for rest in combinations_with_replacement(RECORDS, 2):
        histograms = [counts_of((*rest, record)) for record in RECORDS]
        for n, m in product(histograms, histograms):
            ratios = np.log(noise.pmf(window - n[:, None]) / noise.pmf(window - m[:, None]))
            worst = max(worst, float(ratios.max(axis=1).sum()))
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "1", "4"])
def test_histogram_keeps_its_budget_on_small_logs(epsilon):
    mechanism = HistogramMechanism.for_budget(Budget(epsilon))
    loss = worst_log_ratio(mechanism.noise)
    assert loss <= float(epsilon) + 1e-12
    assert loss == pytest.approx(float(epsilon), rel=1e-9), "the bound is reached"
    assert worst_log_ratio(DiscreteLaplace(mechanism.noise.scale / 2)) > float(epsilon)


def test_variance_of_two_users_by_hand():
    """p(1-p)/(n-1) + Var(Y)/(n(n-1)): where n is 2, a forgotten Bessel factor is one of two."""
    estimate = estimate_optin(np.array([1, 1]), 2, noise_variance=0.36)
    assert estimate.values.tolist() == [0.5, 0.5]
    assert estimate.variances == pytest.approx([0.25 / 1 + 0.36 / 2] * 2)


def test_every_user_is_counted_once_and_wildcards_take_the_rest():
    assert counts_of(RECORDS).tolist() == [1, 0, 3]


def test_law_of_the_noise_sums_to_one_and_matches_its_tail_and_variance():
    for scale in (0.2, 0.5, 2.0, 20.0):
        noise = DiscreteLaplace(scale)
        reach = math.ceil(50 * scale)
        support = np.arange(-reach, reach + 1)
        pmf = noise.pmf(support)
        assert pmf.sum() == pytest.approx(1, abs=1e-12)
        assert (pmf * support**2).sum() == pytest.approx(noise.variance, rel=1e-9)
        assert np.cumsum(pmf[::-1])[::-1] == pytest.approx(noise.tail(support), rel=1e-6, abs=1e-18)


def test_histogram_refuses_noise_beyond_its_budget():
    with pytest.raises(InvalidParameter, match="noise must cost at most epsilon = 4"):
        HistogramMechanism(Budget(4), DiscreteLaplace(0.49))
