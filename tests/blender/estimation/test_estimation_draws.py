"""Are the estimates unbiased, and are their variances what they claim?

Reports and counts are drawn as multinomials of the exact law, which makes enough replicates
cheap to know a variance to 3 % with a false-alarm rate of 1e-9 (tests/stats.py). The samplers
themselves are tied to the law in test_noise.py and test_local.py.
"""

import numpy as np
import pytest

from hybriddp.blender.estimation.denoise import denoise
from hybriddp.blender.estimation.paper import estimate_optin
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.randomizers.stages import TwoStageResponse
from tests.stats import ALPHA, mean_p_value, replicates_for, variance_ratio

pytestmark = pytest.mark.statistical

TOLERANCE = 0.03
N_CLIENTS = 20_000
SIZES = (3, 2, 4, 1)
TRUTH = np.array([0.10, 0.05, 0.01, 0.08, 0.02, 0.03, 0.02, 0.005, 0.005, 0.68])


def response_for(epsilon: float, share: float) -> TwoStageResponse:
    return TwoStageResponse.for_budgets(
        Budget(epsilon * share, "8e-6"), Budget(epsilon * (1 - share), "2e-6"), SIZES
    )


def law_matrix(response: TwoStageResponse) -> np.ndarray:
    """Row x is the law of the report of true cell x."""
    return np.array(
        [
            [float(p) for p in response.pmf(query, url)]
            for query, size in enumerate(SIZES)
            for url in range(size)
        ]
    )


def replicate_reports(law: np.ndarray, rng: np.random.Generator, n: int) -> np.ndarray:
    """The number of reports of each cell is multinomial with the mixture of the laws."""
    return rng.multinomial(N_CLIENTS, TRUTH @ law, size=n)


@pytest.mark.parametrize(("epsilon", "share"), [(1, 0.85), (4, 0.85), (2, 0.5)])
def test_client_estimates_are_unbiased_with_the_claimed_variance(epsilon, share, rng):
    response = response_for(epsilon, share)
    reports = replicate_reports(law_matrix(response), rng, replicates_for(TOLERANCE))
    estimate = denoise(response, reports)
    true_queries = np.add.reduceat(TRUTH, np.cumsum(SIZES) - SIZES)
    for level, truth in ((estimate.cells, TRUTH), (estimate.queries, true_queries)):
        assert mean_p_value(level.values, truth) > ALPHA
        assert variance_ratio(level.values, level.variances) == pytest.approx(1, abs=TOLERANCE)
        assert level.variances.min() > 0


def test_client_check_rejects_planted_defects(rng):
    response = response_for(4, 0.85)
    law = law_matrix(response)
    swapped = law.copy()  # query 0 kept as rarely as lied about
    swapped[0, :3] *= float(response.query.p_lie / response.query.p_truth)
    swapped[0, 3:] *= (1 - swapped[0, :3].sum()) / swapped[0, 3:].sum()
    frank = law.copy()  # the last url of query 2 is never randomized
    frank[7, 5:9] = [0, 0, law[7, 5:9].sum(), 0]
    for defect in (swapped, frank):
        estimate = denoise(response, replicate_reports(defect, rng, 10_000))
        assert mean_p_value(estimate.cells.values, TRUTH) < ALPHA
    # Half the noise: clients use twice the epsilon that the server believes.
    loud = law_matrix(response_for(8, 0.85))
    assert (
        mean_p_value(denoise(response, replicate_reports(loud, rng, 10_000)).cells.values, TRUTH)
        < ALPHA
    )


def replicate_optin(
    scale: float, rng: np.random.Generator, n_users: int, weight: int = 1
) -> np.ndarray:
    counts = rng.multinomial(n_users // weight, TRUTH, size=N_OPTIN_REPLICATES) * weight
    return DiscreteLaplace(scale).simulate(counts, rng=rng)


# Noise and sampling are of one order here; pure Laplace noise would have kurtosis 6.
N_OPTIN_REPLICATES = replicates_for(TOLERANCE, kurtosis=6)
N_OPTIN_USERS = 1_000


def test_optin_estimates_are_unbiased_with_the_claimed_variance(rng):
    noise = DiscreteLaplace(2.0)
    counts = replicate_optin(noise.scale, rng, N_OPTIN_USERS)
    estimate = estimate_optin(counts, N_OPTIN_USERS, noise.variance)
    assert mean_p_value(estimate.values, TRUTH) > ALPHA
    ratio = variance_ratio(estimate.values, estimate.variances)
    assert ratio == pytest.approx(1, abs=TOLERANCE)


def test_optin_check_rejects_planted_defects(rng):
    noise = DiscreteLaplace(2.0)
    half = estimate_optin(replicate_optin(1.0, rng, N_OPTIN_USERS), N_OPTIN_USERS, noise.variance)
    assert np.abs(variance_ratio(half.values, half.variances) - 1).max() > 2 * TOLERANCE
    # Every user counted twice: the mean is right, the variance is not.
    twice = replicate_optin(noise.scale, rng, N_OPTIN_USERS, weight=2)
    doubled = estimate_optin(twice, N_OPTIN_USERS, noise.variance)
    assert np.abs(variance_ratio(doubled.values, doubled.variances) - 1).max() > 2 * TOLERANCE


def test_several_reports_of_a_client_never_claim_too_little_variance(rng):
    """The worst case: a client's three records are all the same, and hardly any is randomized."""
    response = response_for(16, 0.5)
    law = law_matrix(response)
    n_clients, m = 3_000, 3
    holders = rng.multinomial(n_clients, TRUTH, size=10_000)
    reports = sum(rng.multinomial(holders[:, cell] * m, law[cell]) for cell in range(len(TRUTH)))
    estimate = denoise(response, reports, reports_per_client=m)
    assert mean_p_value(estimate.cells.values, TRUTH) > ALPHA
    ratio = variance_ratio(estimate.cells.values, estimate.cells.variances)
    assert ratio == pytest.approx(1, abs=0.1)
    forgotten = denoise(response, reports)
    assert variance_ratio(forgotten.cells.values, forgotten.cells.variances).max() < 0.5
