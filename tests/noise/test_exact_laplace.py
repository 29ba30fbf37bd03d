"""The vectorised sampler on all of its randomness: coins, uniform numbers, and the whole law."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.noise import exact_laplace
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.laplace import DiscreteLaplace
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.exact


class Tape:
    """All ways in which draws can fall, one a row; draws are read for those who still run."""

    def __init__(self, bounds: list[int]) -> None:
        self.bounds = bounds
        self.rows = np.array(list(itertools.product(*map(range, bounds))))
        self.running, self.position = np.arange(len(self.rows)), 0

    def is_below(self, limit: int, bound: int, n: int) -> np.ndarray:
        """Read the next draw; those go on for whom it is below the limit."""
        if self.position == len(self.bounds):
            return np.zeros(n, bool)  # nobody runs on: this draw always fails
        assert self.bounds[self.position] == bound, "another uniform number than expected"
        is_below = self.rows[self.running, self.position] < limit
        assert len(is_below) == n
        self.position += 1
        self.running = self.running[is_below]
        return is_below


def use_tape(tape: Tape, monkeypatch) -> None:
    def uniform_below(bound, n, _):
        return np.where(tape.is_below(1, bound, n), 0, 1)

    def is_below(numerators, _digits, denominator, _):
        limit = int(numerators.max(initial=0))
        return tape.is_below(limit, denominator, len(numerators))

    monkeypatch.setattr(exact_laplace, "_uniform_below", uniform_below)
    monkeypatch.setattr(exact_laplace, "_is_below", is_below)


def odd_share(ratio: Fraction, depth: int) -> Fraction:
    """P(odd) sums (r^(k-1)/(k-1)! - r^k/k!) over odd k: e^-r. The coin after the last one fails."""
    series = [ratio**k / math.factorial(k) for k in range(depth + 1)]
    return sum(series[k - 1] - series[k] for k in range(1, depth + 1, 2)) + series[depth]


@pytest.mark.parametrize(("numerator", "denominator"), [(0, 2), (1, 1), (1, 2), (2, 3), (3, 3)])
def test_coin_falls_with_the_exponential_series(numerator, denominator, monkeypatch):
    tape = Tape([denominator, 2, denominator, 3, denominator, 4, denominator])
    use_tape(tape, monkeypatch)
    is_odd = exact_laplace.is_exp(np.full(len(tape.rows), numerator), denominator, bytes)
    expected = odd_share(Fraction(numerator, denominator), 4)
    assert Fraction(int(is_odd.sum()), len(is_odd)) == expected


def test_one_in_e_is_that_series_at_one(monkeypatch):
    tape = Tape([2, 3, 4, 5, 6])
    use_tape(tape, monkeypatch)
    is_odd = exact_laplace._is_one_in_e(len(tape.rows), bytes)
    # After six coins, of which the first always comes up, the seventh fails and is odd.
    assert Fraction(int(is_odd.sum()), len(is_odd)) == odd_share(Fraction(1), 6)


@pytest.mark.parametrize(
    "ratio",
    [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(2, 3), Fraction(63, 64), Fraction(1, 64),
     Fraction(5, 4096), Fraction(306_623, 306_624), Fraction(2**54 - 1, 2**54),
     Fraction((2**28 - 1)**2, 2**57), Fraction(2**56 - 3, 2**57 - 1)],
)  # fmt: skip
def test_a_uniform_number_is_below_a_ratio_as_often_as_it_must(ratio):
    """All pairs of bytes, that is of digits; those who are tied after both draw any others."""
    first, second = np.divmod(np.arange(1 << 16), 256)
    numerators = np.full(1 << 16, ratio.numerator)
    digits = exact_laplace._first_digits(numerators, ratio.denominator)
    tied = first >> 2 == digits
    tapes = iter([first.astype(np.uint8).tobytes(), second[tied].astype(np.uint8).tobytes()])
    others = np.random.default_rng(1)

    def random_bytes(n):
        tape = next(tapes, None) or others.bytes(n)
        assert len(tape) == n
        return tape

    is_below = exact_laplace._is_below(numerators, digits, ratio.denominator, random_bytes)
    assert 0 <= int(is_below.sum()) - 16 * math.floor(4096 * ratio) <= 16
    if 4096 % ratio.denominator == 0:
        assert Fraction(int(is_below.sum()), 1 << 16) == ratio


def test_digits_are_compared_until_they_differ():
    """Each row has its own ratio, and is tied with it for another number of digits."""
    denominator, n_rows = 2**57 - 1, 8
    numerators = np.array([denominator * (row + 9) // 37 for row in range(n_rows)])
    ratios = [Fraction(int(numerator), denominator) for numerator in numerators]
    # Row by row, the number of the first n digits that is next above or below the ratio's.
    for is_above in (False, True):
        drawn = [
            [math.floor(ratio * 64**place) % 64 for place in range(1, row + 2)]
            for row, ratio in enumerate(ratios)
        ]
        for row in drawn:
            row[-1] += 1 if is_above else -1
            assert 0 <= row[-1] < 64
        tapes = iter(
            bytes(4 * row[place] for row in drawn if len(row) > place) for place in range(n_rows)
        )
        is_below = exact_laplace._is_below(
            numerators, exact_laplace._first_digits(numerators, denominator), denominator,
            lambda _, tapes=tapes: next(tapes),
        )  # fmt: skip
        assert is_below.tolist() == [not is_above] * n_rows


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
