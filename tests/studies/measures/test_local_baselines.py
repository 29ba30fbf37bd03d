"""Do the local baselines of the studies have the laws and variances that are published for them?"""

import itertools
import math

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.studies.blender.local_baselines import K_RR, OLH, ORACLES, OUE, FrequencyOracle
from hybriddp.studies.blender.prefixes import (
    ID_BITS,
    find_queries,
    prefix_lengths,
    scramble,
    unscramble,
)
from tests.stats import ALPHA, law_p_value, mean_p_value, replicates_for

pytestmark = pytest.mark.statistical

COUNTS = np.array([600, 250, 100, 40, 10, 0])
N_USERS = int(COUNTS.sum())
TOLERANCE = 0.1
N_REPLICATES = max(replicates_for(TOLERANCE, alpha=ALPHA / len(COUNTS)), 10_000)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_rare_variances_are_the_published_ones(epsilon):
    """Wang et al. 2017, table 1; OLH reaches OUE's up to the rounding of its hash range."""
    e, k = math.exp(epsilon), 40
    expected = {K_RR: (k - 2 + e) / (e - 1) ** 2, OUE: 4 * e / (e - 1) ** 2}
    for name, value in expected.items():
        assert FrequencyOracle.for_epsilon(name, epsilon, k).rare_variance == pytest.approx(value)
    olh = FrequencyOracle.for_epsilon(OLH, epsilon, k).rare_variance
    assert olh == pytest.approx(expected[OUE], rel=0.01)


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 4.0])
def test_every_oracle_keeps_its_epsilon(epsilon):
    """Worst likelihood ratio of two reports: of k-RR values, of OUE bit vectors, of OLH hashes."""
    k_rr, oue, olh = (FrequencyOracle.for_epsilon(name, epsilon, 9) for name in ORACLES)
    assert math.log(k_rr.p_truth / k_rr.p_lie) == pytest.approx(epsilon)
    odds = oue.p_truth / (1 - oue.p_truth) * (1 - oue.p_lie) / oue.p_lie
    assert math.log(odds) == pytest.approx(epsilon)
    g = round(1 / olh.p_lie)
    assert math.log(olh.p_truth / ((1 - olh.p_truth) / (g - 1))) == pytest.approx(epsilon)


def replicate(oracle: FrequencyOracle, rng) -> np.ndarray:
    return np.array([oracle.simulate(COUNTS, rng=rng) for _ in range(N_REPLICATES)])


@pytest.mark.parametrize("name", ORACLES)
def test_estimates_are_unbiased_with_the_known_variance(name, rng):
    """Variances within 10 %; the mean of every value by a z-test."""
    oracle = FrequencyOracle.for_epsilon(name, 1.0, len(COUNTS))
    supports = replicate(oracle, rng)
    estimates = oracle.estimate(supports, N_USERS)
    assert mean_p_value(estimates, COUNTS / N_USERS) > ALPHA
    p, q = oracle.p_truth, oracle.p_lie
    expected = COUNTS * p * (1 - p) + (N_USERS - COUNTS) * q * (1 - q)
    assert supports.var(axis=0, ddof=1) == pytest.approx(expected, rel=TOLERANCE)
    # Half of the noise, or truth and lie exchanged, would be seen.
    assert supports.var(axis=0, ddof=1) != pytest.approx(expected / 2, rel=TOLERANCE)
    swapped = FrequencyOracle(name, len(COUNTS), q, p)
    assert mean_p_value(swapped.estimate(supports, N_USERS), COUNTS / N_USERS) < ALPHA


def test_k_rr_reports_one_value_each(rng):
    oracle = FrequencyOracle.for_epsilon(K_RR, 1.0, len(COUNTS))
    assert oracle.simulate(COUNTS, rng=rng).sum() == N_USERS


def olh_supports(n_users: int, n_values: int, epsilon: float, rng) -> np.ndarray:
    """Real local hashing of value 0: a random function for each user, k-RR on the hash."""
    oracle = FrequencyOracle.for_epsilon(OLH, epsilon, n_values)
    g = round(1 / oracle.p_lie)
    hashes = rng.integers(g, size=(n_users, n_values))
    is_kept = rng.random(n_users) < oracle.p_truth
    lie = rng.integers(g - 1, size=n_users)
    lie += lie >= hashes[:, 0]
    reported = np.where(is_kept, hashes[:, 0], lie)
    return hashes == reported[:, None]


def pattern_law(probabilities: list[float]) -> np.ndarray:
    patterns = (np.arange(8)[:, None] >> np.arange(3)) & 1
    p = np.array(probabilities)
    return np.where(patterns == 1, p, 1 - p).prod(axis=1)


def test_supports_of_local_hashing_are_independent_as_simulated(rng):
    """400,000 users who hash for real: every pattern of three supports has the product's law."""
    oracle = FrequencyOracle.for_epsilon(OLH, 1.0, 3)
    supports = olh_supports(400_000, 3, 1.0, rng)
    observed = np.bincount(supports @ np.array([1, 2, 4]), minlength=8)
    law = pattern_law([oracle.p_truth, oracle.p_lie, oracle.p_lie])
    assert law_p_value(observed, law) > ALPHA
    # Planted: a second value that always shares the first one's hash.
    supports[:, 1] = supports[:, 0]
    tied = np.bincount(supports @ np.array([1, 2, 4]), minlength=8)
    assert law_p_value(tied, law) < ALPHA


def test_oracles_refuse_what_they_cannot_do(rng):
    for arguments in (("unknown", 1.0, 5), (OUE, 0.0, 5), (OUE, 1.0, 1)):
        with pytest.raises(InvalidParameter):
            FrequencyOracle.for_epsilon(*arguments)
    with pytest.raises(InvalidParameter, match="each of the 6 values"):
        FrequencyOracle.for_epsilon(OUE, 1.0, 6).simulate(COUNTS[:-1], rng=rng)


def test_ids_are_scrambled_one_to_one_and_look_random(rng):
    queries = np.arange(100_000)
    ids = scramble(queries)
    assert len(np.unique(ids)) == len(queries)
    assert (unscramble(ids) == queries).all()
    first_bits = np.bincount((ids >> np.uint64(ID_BITS - 4)).astype(np.int64), minlength=16)
    assert first_bits.min() > 0.8 * len(queries) / 16


def test_every_round_of_the_search_extends_up_to_the_whole_id():
    for size in (1, 10, 50, 500):
        lengths = prefix_lengths(size)
        assert lengths[-1] == ID_BITS
        assert all(a < b for a, b in itertools.pairwise(lengths))


def test_search_finds_the_queries_that_stand_out_and_estimates_them(rng):
    """At epsilon 4 a share of 5 % is 60 standard errors of a group away from nothing."""
    shares = [0.2, 0.1, 0.05]
    rare = 1_000 + rng.integers(3_000_000, size=200_000)
    popular = rng.choice(3, 200_000, p=[4 / 7, 2 / 7, 1 / 7])
    query_ids = np.where(rng.random(200_000) < 0.35, popular, rare)
    found = find_queries(query_ids, 4.0, 10, rng=rng)
    assert found.query_ids[:3].tolist() == [0, 1, 2]
    assert found.probabilities[:3] == pytest.approx(shares, abs=0.01)
    assert len(found.query_ids) <= 10


def test_search_names_next_to_nothing_where_nothing_stands_out(rng):
    """Noise exceeds the threshold once on average; ten times has probability 1e-7."""
    query_ids = rng.integers(3_000_000, size=50_000)
    assert len(find_queries(query_ids, 1.0, 50, rng=rng).query_ids) < 11
