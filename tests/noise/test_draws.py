"""Does the curator's sampler obey the law whose privacy was computed?"""

import numpy as np
import pytest
from scipy import stats

from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.statistical

# Enough to tell noise from noise that is off by a tenth.
N = 50_000
SUPPORT = np.arange(-6, 7)


def noise_p_value(noise: DiscreteLaplace, draws: np.ndarray) -> float:
    """Compare draws with the law on -6..6 and both tails beyond."""
    observed = [np.sum(draws < -6), *(np.sum(draws == y) for y in SUPPORT), np.sum(draws > 6)]
    law = [noise.tail(7), *noise.pmf(SUPPORT), noise.tail(7)]
    return law_p_value(np.array(observed), np.array(law))


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
def test_draws_follow_the_discrete_laplace_law(epsilon, rng):
    """Both arms: the law is accepted, noise off by 10 % either way and half the noise are not."""
    noise = DiscreteLaplace.for_epsilon(Budget(epsilon).epsilon, 2)
    for draws in (
        noise.draw(np.zeros(N, np.int64)),
        noise.simulate(np.zeros(N, np.int64), rng=rng),
    ):
        assert noise_p_value(noise, draws) > ALPHA
        for factor in (0.5, 0.9, 1.1):
            assert noise_p_value(DiscreteLaplace(noise.scale * factor), draws) < ALPHA


def same_law_p_value(ours: np.ndarray, theirs: np.ndarray) -> float:
    """Compare two samples without any law: Fisher's exact test of every value, and of both tails.

    Given how often a value came in both, how often it came in ours is hypergeometric.
    """
    n, places = len(ours), (np.clip(draws, -7, 7) for draws in (ours, theirs))
    found, others = (np.bincount(values + 7, minlength=15) for values in places)
    law = stats.hypergeom(n + len(theirs), found + others, n)
    return float(min(1.0, 2 * np.minimum(law.cdf(found), law.sf(found - 1)).min() * len(found)))


@pytest.mark.parametrize("epsilon", ["0.5", "4"])
@pytest.mark.parametrize("records_per_user", [1, 5])
def test_opendp_judges_the_noise_of_a_head_list(epsilon, records_per_user):
    """Draws of both mechanisms against draws by OpenDP, which shares no code with them.

    Planted: noise off by 15 % either way, and numbers near zero counted twice. False alarm 1e-9 a
    comparison.
    """
    counts = np.full(N, 1_000)
    finding = HeadListMechanism.tight(Budget(epsilon, "1e-5"), records_per_user)
    measuring = HistogramMechanism.for_budget(Budget(epsilon), 2 * records_per_user)
    for mechanism, noisy in (
        (finding, finding.draw(counts).noisy_counts),
        (measuring, measuring.draw(counts)),
    ):
        scale, ours = mechanism.noise.scale, noisy - counts

        def p_value(factor: float, ours: np.ndarray, scale: float = scale) -> float:
            theirs = DiscreteLaplace(scale * factor).draw(np.zeros(N, np.int64))
            width = max(1, round(scale))  # so many values count as one
            return same_law_p_value(ours // width, theirs // width)

        assert p_value(1, ours) > ALPHA
        for factor in (0.85, 1.15):
            assert p_value(factor, ours) < ALPHA
        assert p_value(1, np.append(ours, ours[np.abs(ours) < scale / 2])) < ALPHA


def test_every_cell_of_a_histogram_gets_its_own_noise():
    """First, middle and last cell, also where nobody is: none clamped, none left out."""
    mechanism = HistogramMechanism.for_budget(Budget(4))
    counts = np.tile([0, 7, 0], N // 3)
    noise = (mechanism.draw(counts) - counts).reshape(-1, 3)
    for cell in range(3):
        assert noise_p_value(mechanism.noise, noise[:, cell]) > ALPHA
        assert noise_p_value(mechanism.noise, np.maximum(noise[:, cell], 0)) < ALPHA
    last_of_many = np.array([mechanism.draw(np.zeros(3, np.int64))[-1] for _ in range(400)])
    zeros = int((last_of_many == 0).sum())
    p_zero = float(mechanism.noise.pmf(0))
    assert law_p_value(np.array([zeros, 400 - zeros]), np.array([p_zero, 1 - p_zero])) > ALPHA


def test_noise_is_added_to_each_count_by_itself():
    counts = np.array([[5, -3], [1 << 40, 0]])
    noisy = np.stack([DiscreteLaplace(0.5).draw(counts) for _ in range(200)]) - counts
    assert noisy.shape == (200, 2, 2)
    assert np.abs(noisy).max() < 40, "tail probability below 1e-30"
    assert len({tuple(row) for row in noisy.reshape(200, 4).tolist()}) > 20


def test_single_user_records_pass_exactly_as_often_as_charged():
    """Delta 0.05 can be sampled; tests/blender/test_finding.py checks the small ones.

    The planted defect is OpenDP's own: make_laplace_threshold keeps counts that equal the
    threshold, which here is 65 % more records than charged.
    """
    mechanism = HeadListMechanism.for_budget(Budget(1, "0.05"))
    n_passed = int(mechanism.draw(np.ones(N, np.int64)).is_named.sum())
    charged = mechanism.event.singleton_probability
    assert charged <= 0.05
    assert law_p_value(np.array([n_passed, N - n_passed]), np.array([charged, 1 - charged])) > ALPHA
    noisy = mechanism.noise.draw(np.ones(N, np.int64))
    n_not_strict = int(np.sum(noisy >= mechanism.threshold))
    off_by_one = np.array([n_not_strict, N - n_not_strict])
    assert law_p_value(off_by_one, np.array([charged, 1 - charged])) < ALPHA


def test_the_library_bug_that_makes_us_threshold_ourselves_is_still_there():
    """When this fails, OpenDP has mended make_laplace_threshold: reconsider headlist.py."""
    import opendp.prelude as dp

    space = (
        dp.map_domain(dp.atom_domain(T=int), dp.atom_domain(T=int)),
        dp.l01inf_distance(dp.absolute_distance(T=int)),
    )
    keep = dp.m.make_laplace_threshold(*space, scale=0.5, threshold=4)
    stated = keep.map((1, 1, 1))[1]
    n_kept = len(keep({key: 1 for key in range(N)}))
    assert law_p_value(np.array([n_kept, N - n_kept]), np.array([stated, 1 - stated])) < ALPHA
    assert n_kept > 3 * stated * N, "7.4 times on average; fewer than 3 with probability 1e-10"
