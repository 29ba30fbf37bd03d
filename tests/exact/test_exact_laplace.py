"""The vectorised sampler on all of its randomness: coins, uniform numbers, and the whole law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp import exact_laplace
from hybriddp.errors import InvalidParameter
from hybriddp.exact_laplace import ExactLaplace
from hybriddp.noise import DiscreteLaplace
from tests.stats import ALPHA, law_p_value


class Tape:
    """Stands for `_uniform_below`: every row is one way in which all draws can fall."""

    def __init__(self, bounds: list[int]) -> None:
        self.bounds = bounds
        self.rows = np.array(list(itertools.product(*map(range, bounds))))
        self.position = 0

    def column(self, bound: int) -> np.ndarray:
        assert self.bounds[self.position] == bound, "another uniform number than expected"
        self.position += 1
        return self.rows[:, self.position - 1]


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 2), (1, 1), (1, 2), (2, 3), (3, 3)])
def test_coin_falls_with_the_exponential_series(numerator, denominator, monkeypatch):
    """P(odd) sums (r^(k-1)/(k-1)! - r^k/k!) over odd k: e^-r. Four coins cover most of it."""
    depth = 4
    tape = Tape([denominator * k for k in range(1, depth + 1)])
    running = np.arange(len(tape.rows))

    def uniform_below(bound, n, _random_bytes):
        nonlocal running
        if tape.position == depth:
            return np.full(n, bound)  # nobody runs on: this coin always fails
        values = tape.column(bound)[running]
        assert len(values) == n
        running = running[values < numerator]
        return values

    monkeypatch.setattr(exact_laplace, "_uniform_below", uniform_below)
    ratio = Fraction(numerator, denominator)
    is_odd = exact_laplace.is_exp(np.full(len(tape.rows), numerator), denominator, bytes)
    series = [ratio**k / math.factorial(k) for k in range(depth + 1)]
    expected = sum(series[k - 1] - series[k] for k in (1, 3)) + series[depth]  # coin 5 is odd
    assert Fraction(int(is_odd.sum()), len(is_odd)) == expected


@pytest.mark.parametrize("bound", [1, 2, 3, 5, 200, 256])
def test_uniform_numbers_are_uniform_over_all_bytes(bound):
    """Every byte once; those that are rejected are replaced by a byte that is not."""
    tapes = iter([bytes(range(256)), *[b"\x00" * 256] * 3])

    def random_bytes(n):
        return next(tapes)[:n]

    drawn = exact_laplace._uniform_below(bound, 256, random_bytes)
    if bound == 1:
        assert not drawn.any()
        return
    unit = 256 >> (bound - 1).bit_length()  # bytes that give each number
    counts = np.bincount(drawn, minlength=bound)
    assert len(counts) == bound
    assert counts[1:].tolist() == [unit] * (bound - 1)
    assert counts[0] == unit + 256 - unit * bound  # the replacements were all zero


def test_large_bounds_use_words_that_hold_them():
    for bound in (257, 1 << 16, (1 << 32) + 1, (1 << 57) - 3):
        drawn = exact_laplace._uniform_below(bound, 4_000, np.random.default_rng(1).bytes)
        assert 0 <= drawn.min() < bound / 100
        assert 0.99 * bound < drawn.max() < bound


@pytest.mark.statistical
@pytest.mark.parametrize("scale", [0.5, 2.5, 10 / 3])
def test_sampler_has_exactly_the_law(scale):
    """Its parts were enumerated above; here their sum. False alarm 1e-9 a comparison.

    Power: a scale that is off by 3 % either way is rejected, and so is a zero counted twice.
    """
    n = 400_000
    draws = ExactLaplace(scale).draw(np.full(n, 7)) - 7
    support = np.arange(-8, 9)

    def p_value(law: DiscreteLaplace, found: np.ndarray) -> float:
        observed = [np.sum(found < -8), *(np.sum(found == y) for y in support), np.sum(found > 8)]
        return law_p_value(
            np.array(observed), np.array([law.tail(9), *law.pmf(support), law.tail(9)])
        )

    assert p_value(DiscreteLaplace(scale), draws) > ALPHA
    for factor in (0.97, 1.03):
        assert p_value(DiscreteLaplace(scale * factor), draws) < ALPHA
    zeros = draws[draws == 0]
    assert p_value(DiscreteLaplace(scale), np.append(draws, zeros)) < ALPHA


def test_noise_is_added_to_each_count_by_itself_over_chunks(monkeypatch):
    monkeypatch.setattr(exact_laplace, "_CHUNK", 64)
    counts = np.arange(1_000).reshape(10, 100) * 1_000_000
    noise = ExactLaplace(2.0).draw(counts) - counts
    assert noise.shape == (10, 100)
    assert np.abs(noise).max() < 200, "tail probability below 1e-40"
    assert len(np.unique(noise)) > 8
    first, second = (ExactLaplace(2.0).draw(np.zeros(300, int)).tolist() for _ in range(2))
    assert first != second


def test_scales_that_would_overflow_are_refused():
    for scale in (0.0, -1.0, 1e-300, 2.0**60):
        with pytest.raises(InvalidParameter, match="scale must be above 0"):
            ExactLaplace(scale)
