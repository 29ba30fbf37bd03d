"""Local reports of a bounded number with less noise than Laplace's, as whole words out of 2^64.

- `BitReport`: one bit, more often 1 for larger values (Duchi, Jordan, Wainwright 2018). The least
  noise for small epsilons.
- `WindowReport`: a number near the value with most of the chance, any number with the rest (the
  piecewise mechanism of Wang et al. 2019, on integers). The least noise for large epsilons.

`mixed_reports` has both.

Proofs: docs/proofs/bounded_reports.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from decimal import ROUND_CEILING, ROUND_FLOOR
from fractions import Fraction
from typing import Any, Self

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require, require_count
from hybriddp.noise.exponentials import DOWNWARDS, EXACT, UPWARDS, exp
from hybriddp.noise.words import RandomBytes, uniform_below, words_of
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.reports import Quadratic, check_grid, checked_values
from hybriddp.randomizers.response import N_WORDS


def _is_within(likelihood_ratio: Fraction, epsilon: Fraction) -> bool:
    """Whether a ratio is at most e^epsilon, for certain."""
    return likelihood_ratio <= Fraction(EXACT.multiply(exp(epsilon), DOWNWARDS))


@dataclass(frozen=True, slots=True)
class KeptAsWords:
    """A report whose fields are whole words, on a grid."""

    grid: int

    def numbers(self) -> dict[str, Any]:
        """Return what it draws with, exactly, as a ledger keeps it."""
        return {"words": [getattr(self, field.name) for field in fields(self)[1:]]}

    @classmethod
    def of_numbers(cls, grid: int, numbers: Mapping[str, Any]) -> Self:
        """Build it again from what a ledger kept."""
        return cls(grid, *numbers["words"])


@dataclass(frozen=True, slots=True)
class BitReport(KeptAsWords):
    """A 1 with (`low_words` + value * `step_words`)/2^64, else a 0."""

    low_words: int
    step_words: int

    def __post_init__(self) -> None:
        check_grid(self.grid)
        for name in ("low_words", "step_words"):
            require_count(getattr(self, name), name)
        require(
            2 * self.low_words + self.grid * self.step_words <= N_WORDS,
            "a 0 must be at least as likely for the largest value as a 1 for the smallest",
            "less likely",
            "build the report from a budget",
        )

    @classmethod
    def for_budget(cls, budget: Budget, grid: int) -> "BitReport":
        """Return the most telling bit within epsilon: chances from 1/(e^eps+1) to 1 minus that."""
        check_grid(grid)
        low = EXACT.divide(N_WORDS, EXACT.add(exp(budget.epsilon), 1))
        low_words = int(EXACT.multiply(low, UPWARDS).to_integral_value(ROUND_CEILING))
        return cls(grid, low_words, (N_WORDS - 2 * low_words) // grid)

    def keeps(self, budget: Budget) -> bool:
        """Whether no bit is more than e^epsilon times likelier for one value than another."""
        return _is_within(self.likelihood_ratio, budget.epsilon)

    @property
    def likelihood_ratio(self) -> Fraction:
        """How much likelier a bit is for one value than for another, at most."""
        top = self.low_words + self.grid * self.step_words
        return max(Fraction(top, self.low_words), Fraction(N_WORDS - self.low_words, N_WORDS - top))

    def pmf(self, value: int) -> list[Fraction]:
        """Return the exact law of the bit."""
        one = Fraction(self.low_words + value * self.step_words, N_WORDS)
        return [1 - one, one]

    def randomize(self, values: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Return one bit for each value.

        Privacy claim: none by itself; `mean_clients.ClientMeanMechanism.draw` is the release's.
        """
        values = checked_values(values, self.grid).astype(np.uint64)
        limits = np.uint64(self.low_words) + values * np.uint64(self.step_words)
        return (words_of(len(values), random_bytes) < limits).astype(np.int64)

    def estimates(self, reports: IntArray) -> FloatArray:
        """Return (2^64 bit - low)/step.

        Privacy claim: none; post-processing of reports.
        """
        zero, one = (
            float(Fraction(bit * N_WORDS - self.low_words, self.step_words)) for bit in (0, 1)
        )
        return np.where(reports == 1, one, zero)

    @property
    def noise(self) -> Quadratic:
        """(A + x)(B - A - x) with A = low/step and B = 2^64/step: a bit's p (1-p), scaled."""
        a = Fraction(self.low_words, self.step_words)
        b = Fraction(N_WORDS, self.step_words)
        return Quadratic(a * (b - a), b - 2 * a, Fraction(-1))


@dataclass(frozen=True, slots=True)
class WindowReport(KeptAsWords):
    """With `inside_words`/2^64 one of the `width` numbers from the value on, else any number.

    Numbers are 0 to grid + width - 1.
    """

    width: int
    inside_words: int

    def __post_init__(self) -> None:
        check_grid(self.grid)
        for name in ("width", "inside_words"):
            require_count(getattr(self, name), name)
        require(
            self.inside_words < N_WORDS,
            "a number outside of the window must be possible",
            "impossible",
            "build the report from a budget",
        )

    @classmethod
    def for_budget(cls, budget: Budget, grid: int) -> "WindowReport":
        """Return the report whose variance is least at its worst value, within epsilon.

        A window of e^(-eps/2) times the grid is best (Wang et al. 2019, equation 5). A number
        inside is at most e^eps times as likely as one outside: 1 + k n/(w (2^64 - k)).
        """
        check_grid(grid)
        epsilon = budget.epsilon
        width = max(1, round(grid * float(exp(-epsilon / 2))))
        odds = EXACT.divide(
            EXACT.multiply(EXACT.subtract(exp(epsilon), 1), width), grid + width
        )  # of being told from the window
        inside = EXACT.divide(EXACT.multiply(odds, N_WORDS), EXACT.add(odds, 1))
        words = int(EXACT.multiply(inside, DOWNWARDS).to_integral_value(ROUND_FLOOR))
        return cls(grid, width, min(words, N_WORDS - 1))

    @property
    def n_numbers(self) -> int:
        """How many numbers a report can be."""
        return self.grid + self.width

    def keeps(self, budget: Budget) -> bool:
        """Whether no number is more than e^epsilon times likelier for one value than another."""
        return _is_within(self.likelihood_ratio, budget.epsilon)

    @property
    def likelihood_ratio(self) -> Fraction:
        """How much likelier a number is for one value than for another, at most."""
        odds = Fraction(self.inside_words, N_WORDS - self.inside_words)
        return 1 + odds * self.n_numbers / self.width

    def pmf(self, value: int) -> list[Fraction]:
        """Return the exact law of the report."""
        inside = Fraction(self.inside_words, N_WORDS)
        law = [(1 - inside) / self.n_numbers] * self.n_numbers
        for number in range(value, value + self.width):
            law[number] += inside / self.width
        return law

    def randomize(self, values: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Return one number for each value.

        Privacy claim: none by itself; `mean_clients.ClientMeanMechanism.draw` is the release's.
        """
        values = checked_values(values, self.grid)
        is_inside = words_of(len(values), random_bytes) < np.uint64(self.inside_words)
        numbers = uniform_below(np.where(is_inside, self.width, self.n_numbers), random_bytes)
        return numbers + np.where(is_inside, values, 0)

    def estimates(self, reports: IntArray) -> FloatArray:
        """Return (y - (1-b) (n-1)/2)/b - (w-1)/2, with b the chance of the window.

        Privacy claim: none; post-processing of reports.
        """
        inside = Fraction(self.inside_words, N_WORDS)
        offset = (1 - inside) * (self.n_numbers - 1) / 2 / inside + Fraction(self.width - 1, 2)
        estimates: FloatArray = reports.astype(np.float64) * float(1 / inside) - float(offset)
        return estimates

    @property
    def noise(self) -> Quadratic:
        """(b Var(window) + (1-b) Var(all) + b (1-b) (their means' distance)^2)/b^2."""
        b, w, n = Fraction(self.inside_words, N_WORDS), self.width, self.n_numbers
        within = (b * (w * w - 1) + (1 - b) * (n * n - 1)) / 12
        shift, between = Fraction(w - n, 2), (1 - b) / b
        return Quadratic(within / b**2 + between * shift**2, 2 * between * shift, between)
