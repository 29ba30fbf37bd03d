"""The sampler of the discrete Gaussian coin by coin and as a whole; its divergence term by term."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise import exact_gaussian, exact_laplace
from hybriddp.noise.exact_gaussian import add_gaussian_noise, normaliser_below, shift_divergence
from hybriddp.noise.exponentials import exp
from hybriddp.noise.gaussian import DiscreteGaussian, gaussian_delta, gaussian_epsilon
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.exact


@pytest.mark.parametrize("a", [1, 2, 3, 7])
def test_coins_of_the_acceptance_have_exactly_its_exponent(a, monkeypatch):
    """All coins up has probability exp(-sum of ratios), by test_exact_laplace; the sum is exact."""
    thrown: list[Fraction] = []

    def always_up(numerators, denominator, _random_bytes):
        thrown.extend(Fraction(int(u), denominator) for u in numerators)
        return np.ones(len(numerators), dtype=bool)

    monkeypatch.setattr(exact_gaussian, "is_exp", always_up)
    for distance in range(6 * a):
        thrown.clear()
        assert exact_gaussian._is_gaussian(np.array([distance]), a, bytes).all()
        assert sum(thrown) == Fraction(distance**2, 2 * a**2)
        assert max(thrown) <= 1, "the coin is right up to ratios of 1 only"


@pytest.mark.parametrize("failing", range(9))
def test_one_coin_that_fails_rejects_its_own_number_only(failing, monkeypatch):
    """Distances 0, a+1 and 2a+1 throw 1, 3 and 7 coins; the failing one is counted by number."""
    a, distances = 5, np.array([11, 0, 6])
    alone = []
    for distance in distances:
        n_coins = 0

        def coin(numerators, _denominator, _random_bytes):
            nonlocal n_coins
            n_coins += 1
            return np.full(len(numerators), n_coins - 1 != failing)

        monkeypatch.setattr(exact_gaussian, "is_exp", coin)
        alone.append(bool(exact_gaussian._is_gaussian(np.array([distance]), a, bytes)[0]))
    assert alone == [failing >= 7, failing >= 1, failing >= 3]

    # Together: coins of ratio r^2/(2a^2), 1/2 and r/a are told apart, and one kind fails.
    def coin_of_kind(numerators, denominator, _random_bytes):
        kind = (2 * a * a, 2, a).index(denominator)
        return ~((failing == kind) & (numerators == numerators.max()))

    monkeypatch.setattr(exact_gaussian, "is_exp", coin_of_kind)
    kept = exact_gaussian._is_gaussian(distances, a, bytes).tolist()
    expected = {0: [False, True, False], 1: [False, True, False], 2: [False, True, False]}
    assert kept == expected.get(failing, [True] * 3)


def p_value_of(law: DiscreteGaussian, draws: np.ndarray, edges: np.ndarray) -> float:
    """Test how many draws fall below, between and above the edges (lower ends, included)."""
    tails = law.tail(edges)
    counts = np.searchsorted(np.sort(draws), edges)
    return law_p_value(
        np.diff(np.concatenate([[0], counts, [len(draws)]])),
        -np.diff(np.concatenate([[1.0], tails, [0.0]])),
    )


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.5, 2.5, 6.25])
def test_sampler_has_exactly_the_law(scale):
    """Every integer within 4 scales. False alarm 1e-9 a comparison.

    Power: a scale that is off by 1/16 either way is rejected, and so is a zero counted twice.
    """
    n, reach = 400_000, math.ceil(4 * scale)
    draws = DiscreteGaussian(scale).draw(np.full(n, 7)) - 7
    edges = np.arange(-reach, reach + 2)
    assert p_value_of(DiscreteGaussian(scale), draws, edges) > ALPHA
    for factor in (15 / 16, 17 / 16):
        assert p_value_of(DiscreteGaussian(scale * factor), draws, edges) < ALPHA
    twice = np.append(draws, draws[draws == 0])
    assert p_value_of(DiscreteGaussian(scale), twice, edges) < ALPHA


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [5000.5, 2.0**24 - 1, 2.0**28])
def test_wide_laws_fit_64_bits_and_have_the_law(scale):
    """Eighths of a scale up to 4 scales, where b|y| - a is above a. False alarm 1e-9.

    Power: a scale that is smaller by 1/16 is rejected.
    """
    draws = add_gaussian_noise(np.zeros(200_000, int), scale, np.random.default_rng(3).bytes)
    edges = np.round(np.arange(-4, 4.01, 0.125) * scale)
    assert p_value_of(DiscreteGaussian(scale), draws, edges) > ALPHA
    assert p_value_of(DiscreteGaussian(scale - scale // 16), draws, edges) < ALPHA
    assert np.abs(draws).max() < 8 * scale, "tail probability below 1e-9"


def test_noise_is_added_to_each_number_by_itself_over_chunks(monkeypatch):
    monkeypatch.setattr(exact_gaussian, "_CHUNK", 64)
    counts = np.arange(1_000).reshape(10, 100) * 1_000_000
    noise = DiscreteGaussian(2.0).draw(counts) - counts
    assert noise.shape == (10, 100)
    assert np.abs(noise).max() < 40, "tail probability below 1e-80"
    assert len(np.unique(noise)) > 8
    first, second = (DiscreteGaussian(2.0).draw(np.zeros(300, int)).tolist() for _ in range(2))
    assert first != second
    assert DiscreteGaussian(2.0).draw(np.zeros(0, int)).shape == (0,)


def test_the_largest_coins_fit_their_words():
    """No ratio is larger than (a-1)^2/(2 a^2), whose digits must be those of the fraction."""
    a = exact_gaussian.MAX_NUMERATOR
    digits = exact_laplace._first_digits(np.array([(a - 1) ** 2]), 2 * a * a)
    assert digits.tolist() == [64 * (a - 1) ** 2 // (2 * a * a)]
    assert (2 * a * a << exact_laplace._DIGIT_BITS) <= 2**63, "what is left is below the bound"


def test_scales_that_would_overflow_or_be_rounded_are_refused():
    for scale in (0.0, -1.0, 0.05, 10 / 3, 2.0**29, math.inf, math.nan):
        with pytest.raises(InvalidParameter, match="scale must be at least"):
            add_gaussian_noise(np.zeros(3, int), scale, bytes)


# ---- divergence ----


def weights(variance: Fraction, reach: int) -> dict[int, Decimal]:
    """exp(-y^2/(2 variance)), each by itself."""
    return {
        y: (-Decimal(y**2 * variance.denominator) / (2 * variance.numerator)).exp()
        for y in range(-reach, reach + 1)
    }


def divergence_term_by_term(variance: Fraction, epsilon: Fraction, shift: int) -> Decimal:
    """Sum max(0, p(y) - e^epsilon p(y + shift)) over all y; no edge is computed."""
    reach = 60 * (1 + math.isqrt(int(variance))) + shift
    with localcontext(prec=60):
        g = weights(variance, reach)
        factor = (Decimal(epsilon.numerator) / epsilon.denominator).exp()
        terms = (g[y] - factor * g[y + shift] for y in range(-reach, reach - shift + 1))
        return sum(t for t in terms if t > 0) / sum(g.values())


@pytest.mark.parametrize("variance", [Fraction(1, 16), Fraction(2, 3), Fraction(1), Fraction(30)])
def test_divergence_is_the_sum_term_by_term(variance):
    # At variance 1, epsilon 1/2 and shift 1 the edge is an integer: the tie counts nothing.
    for epsilon, shift in itertools.product((Fraction(0), Fraction(1, 2), Fraction(3)), (1, 2, 5)):
        exact = divergence_term_by_term(variance, epsilon, shift)
        found = shift_divergence(variance, epsilon, shift)
        assert exact <= found <= exact * (1 + Decimal("1e-15")) + Decimal("1e-300")


def test_smaller_shifts_cost_no_more():
    variance = Fraction(49, 4)
    for epsilon in (Fraction(0), Fraction(1, 3), Fraction(2)):
        costs = [shift_divergence(variance, epsilon, shift) for shift in range(12)]
        assert costs[0] == 0
        assert all(low < high for low, high in itertools.pairwise(costs))


@pytest.mark.parametrize("target", [1e-3, 1e-6, 1e-12])
@pytest.mark.parametrize("relative_shift", [0.003, 0.1, 2.0])
def test_blocks_are_above_the_sum_and_within_a_millionth(target, relative_shift):
    variance = Fraction(8300**2)  # blocks of two
    shift = max(1, round(relative_shift * 8300))
    epsilon = Fraction(gaussian_epsilon(target, shift / 8300))
    one_by_one = shift_divergence(variance, epsilon, shift, blocks_per_sd=10**9)
    assert float(one_by_one) == pytest.approx(target, rel=1e-3)
    in_blocks = shift_divergence(variance, epsilon, shift)
    assert one_by_one < in_blocks < one_by_one * (1 + Decimal("1e-6"))
    in_long_blocks = shift_divergence(variance, epsilon, shift, blocks_per_sd=512)
    assert in_blocks < in_long_blocks < one_by_one * (1 + Decimal("4e-5"))


def excess_term_by_term(edge: Fraction, terms: range, shift: int) -> Decimal:
    """Sum g(y) - e^epsilon g(y + shift) at variance 64^2."""
    return sum(
        exp(-Fraction(y**2, 2 * 64**2)) * (1 - exp(-(y - edge) * shift / 64**2)) for y in terms
    )


@pytest.mark.parametrize("shift", [1, 40, 300])
@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 5), Fraction(2)])
def test_no_block_is_below_its_own_sum(shift, epsilon):
    """Blocks of 16 at scale 64, where convex ones are above 16 times their centre by 10 %."""
    edge = epsilon * 64**2 / shift - Fraction(shift, 2)
    for first in (math.floor(edge) + 1 + away for away in (0, 5, 64, 200, 256)):
        exact = excess_term_by_term(edge, range(first, first + 16), shift)
        found = exact_gaussian._excess_above(Fraction(64**2), edge, first, first + 15, shift, 16)
        assert exact < found
        if first - edge > 60 and first < 300:
            assert found < exact * Decimal("1.15"), "only slightly above"


def test_many_blocks_get_the_factor_of_the_farthest():
    """From 1 to 7 scales all blocks are convex; the first one's factor would not do."""
    exact = excess_term_by_term(Fraction(-122), range(64, 448), 300)
    found = exact_gaussian._excess_above(Fraction(64**2), Fraction(-122), 64, 447, 300, 16)
    assert exact < found < exact * Decimal("1.3")


@pytest.mark.parametrize("scale", [10**5, 10**7])
@pytest.mark.parametrize(("target", "ratio"), [(1e-3, 0.01), (1e-6, 0.2), (1e-12, 1.5)])
def test_wide_laws_cost_what_the_continuous_one_does(scale, target, ratio):
    """They differ by 50/scale^2, and gaussian_delta by 1e-12, so the bound's millionth shows."""
    shift = round(scale * ratio)
    epsilon = Fraction(gaussian_epsilon(target, shift / scale))
    found = float(shift_divergence(Fraction(scale**2), epsilon, shift))
    continuous = float(gaussian_delta(float(epsilon), shift / scale))
    assert 1 - 1e-8 < found / continuous < 1 + 1e-6


def test_extreme_settings_get_bounds_and_not_zeros():
    variance = Fraction(100)
    assert shift_divergence(variance, Fraction(0), 10**6) == 1
    unlikely = shift_divergence(variance, Fraction(50), 1)
    assert 0 < unlikely < Decimal("1e-800")
    with pytest.raises(InvalidParameter, match="epsilon must be at least 0"):
        shift_divergence(variance, Fraction(-1), 1)


@pytest.mark.parametrize("variance", [Fraction(1, 256), Fraction(1, 3), Fraction(1), Fraction(40)])
def test_normaliser_is_the_sum_and_not_above_it(variance):
    with localcontext(prec=60):
        total = sum(weights(variance, 120).values())
        assert total * (1 - Decimal("1e-44")) < normaliser_below(variance) <= total
