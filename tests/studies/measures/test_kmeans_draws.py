"""Does the simulated noise of k-means have its laws, and do the centres err as theory says?

Clusters stand far apart here and the first centres in them, so that an iteration estimates means.
"""

from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.kmeans.noise import SimulatedNoise, response_law
from hybriddp.kmeans.points import within_cluster_squares
from hybriddp.kmeans.setting import PRINTED, KMeansSetting
from hybriddp.params import Budget
from hybriddp.randomizers.response import RandomizedResponse
from hybriddp.studies.means.kmeans import hybrid_kmeans, local_kmeans, trusted_kmeans
from hybriddp.studies.means.kmeans_figure import four_gaussians
from tests.stats import ALPHA, law_p_value, replicates_for

pytestmark = pytest.mark.statistical

N_RESPONSES = 200_000
TOLERANCE = 0.1
CORNERS = np.array([[0.375, 0.375], [0.375, 0.625], [0.625, 0.375], [0.625, 0.625]])


@pytest.mark.parametrize("truth", [0, 3])
def test_responses_follow_the_exact_law_of_a_release(truth, rng):
    """200,000 responses of 4 values show a probability that is 0.01 off, by 9 standard errors."""
    epsilon = F(7, 6)
    labels = np.full(N_RESPONSES, truth)
    counts = np.bincount(SimulatedNoise(rng).respond(labels, 4, epsilon), minlength=4)
    law = np.array([float(p) for p in RandomizedResponse.for_budget(Budget(epsilon), 4).pmf(truth)])
    assert law_p_value(counts, law) > ALPHA
    assert law_p_value(counts, np.roll(law, 1)) < ALPHA  # the next value is told instead
    p_kept = law[truth] - law.min()  # a lie that never happens to be the truth
    without_own = np.where(np.arange(4) == truth, p_kept, (1 - p_kept) / 3)
    assert law_p_value(counts, without_own) < ALPHA


def test_laplace_noise_has_its_scale(rng):
    """Variance 2 b^2 within 10 %; half the noise, or twice, is far outside."""
    n = replicates_for(TOLERANCE, kurtosis=6.0)
    noise = SimulatedNoise(rng).laplace((3, n), F(5, 2))
    assert noise.shape == (3, n)
    assert noise.var(axis=1) == pytest.approx(np.full(3, 2 * 2.5**2), rel=TOLERANCE)
    assert np.mean(np.abs(noise)) == pytest.approx(2.5, rel=0.03)  # not a normal of that variance


def replicate(algorithm, points, *, setting, n_replicates, rng):
    """Return the centres (n_replicates, K, d) of the iterations of as many runs as it takes.

    All start in the right clusters, whatever came before, so the iterations have one law.
    """
    n_runs = n_replicates // setting.n_iterations
    runs = [algorithm(points, CORNERS, setting, rng=rng).trace[1:] for _ in range(n_runs)]
    return np.concatenate(runs)


def clouds(n_per_cluster):
    """Points that stand on the corners exactly: a cluster's mean is its corner."""
    return np.repeat(CORNERS, n_per_cluster, axis=0)


def test_trusted_centres_are_unbiased_with_the_noise_of_sum_and_count(rng):
    """Var = 2 b_T^2 (1 + mu^2)/N^2 to first order, within 20 % in all eight coordinates.

    Noise on the sums only would be 28 % too little where mu is 0.625; half the scale, 75 %.
    """
    n_replicates = replicates_for(0.2, kurtosis=6.0, alpha=ALPHA / 8)
    setting, n = KMeansSetting(4, 4, 7), 800
    centres = replicate(
        trusted_kmeans, clouds(n), setting=setting, n_replicates=n_replicates, rng=rng
    )
    expected = 2 * float(setting.curator_scale(2)) ** 2 * (1 + CORNERS**2) / n**2
    assert centres.var(axis=0) == pytest.approx(expected, rel=0.2)
    # ALPHA/8 is 6.5 standard errors; the ratio's own bias, mu Var(Y_1)/N^2, a fifth of one.
    assert (np.abs(centres.mean(axis=0) - CORNERS) < 7 * np.sqrt(expected / n_replicates)).all()


def test_lies_pull_local_centres_to_the_middle_and_debiasing_pulls_them_back(rng):
    """The paper's estimator goes to (p - q) corner + 4q middle, whatever the number of users."""
    n, n_replicates = 2_000, 400
    p, q = response_law(4, F(7, 2))
    pulled = (p - q) * CORNERS + 4 * q * 0.5
    noise_sd = np.sqrt(2) * float(KMeansSetting(4, 1, 7).report_scale(2)) / np.sqrt(n)
    # ALPHA is 6.1 standard errors of a mean over 400 runs, and debiased ones are 10 % wider than
    # this; the pull, 0.0139, is 15 of them.
    slack = 8 * noise_sd / np.sqrt(n_replicates)
    for debias, expected, other in ((False, pulled, CORNERS), (True, CORNERS, pulled)):
        setting = KMeansSetting(4, 1, 7, debias=debias)
        centres = replicate(
            local_kmeans, clouds(n), setting=setting, n_replicates=n_replicates, rng=rng
        )
        assert np.abs(centres.mean(axis=0) - expected).max() < slack
        assert np.abs(centres.mean(axis=0) - other).min() > slack


def test_lies_alone_keep_the_hybrid_from_the_better_baseline_where_one_percent_is_trusted(rng):
    """MEAN20 figure 6c at tau = 5 and the paper's noise, from the true centres.

    PWH gives L the weight 0.28, as if its centres were unbiased; they are pulled by 4q of 0.177,
    the distance to the middle, which adds n (0.28 x 4q x 0.177)^2 = 161 to about 270. Without the
    pull the hybrid is within 10 % of TCM. Standard deviations of a trial are 46, 11 and 10, so
    that 14 of them are 6.5 standard errors from either bound.
    """
    points = four_gaussians(rng=rng)
    order = rng.permutation(len(points))
    trusted, local = points[order[:1_600]], points[order[1_600:]]
    paper, debiased = (KMeansSetting(4, 5, 7, noise=PRINTED, debias=b) for b in (False, True))
    squares = np.zeros(3)
    for _ in range(14):
        runs = (
            trusted_kmeans(trusted, CORNERS, paper, rng=rng),
            hybrid_kmeans(trusted, local, CORNERS, paper, rng=rng),
            hybrid_kmeans(trusted, local, CORNERS, debiased, rng=rng),
        )
        squares += [within_cluster_squares(points, run.centres) for run in runs]
    alone, with_lies, without = squares
    assert with_lies > 1.25 * alone
    assert without < 1.1 * alone
