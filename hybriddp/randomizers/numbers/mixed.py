"""Local reports of a bounded number that a coin chooses: a bit, or a number in a window.

The hybrid mechanism of Wang et al. 2019, section III-C. Bits are noisier in the middle of the range
and windows at its ends; mixed, all values have the same noise, less than either's worst.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.noise.words import RandomBytes, words_of
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.bounded import BitReport, WindowReport
from hybriddp.randomizers.numbers.reports import Quadratic, checked_values
from hybriddp.randomizers.response import N_WORDS

# Bits are told apart from the numbers of a window by their sign.
_BIT_CODES = -2


@dataclass(frozen=True, slots=True)
class MixedReport:
    """With `window_words`/2^64 a report of the window, else a bit, as -2 or -1."""

    bit: BitReport
    window: WindowReport
    window_words: int

    def __post_init__(self) -> None:
        require(
            self.bit.grid == self.window.grid and 0 <= self.window_words < N_WORDS,
            "both reports must be of one grid, and bits possible",
            "others",
            "build the report from a budget",
        )

    @classmethod
    def for_budget(cls, budget: Budget, grid: int) -> "MixedReport":
        """Return the mixture whose worst value has the least noise.

        The squared terms of both noises are -1 and some c > 0; with c/(1+c) bits they cancel
        (Wang et al. 2019, section III-C). If the window only adds noise, bits alone are better.
        """
        bit = BitReport.for_budget(budget, grid)
        window = WindowReport.for_budget(budget, grid)
        mixed = cls(bit, window, int(N_WORDS / (1 + window.noise.c2)))
        alone = cls(bit, window, 0)
        return min(mixed, alone, key=lambda law: law.noise.largest(grid))

    @property
    def grid(self) -> int:
        """The largest value."""
        return self.bit.grid

    def numbers(self) -> dict[str, Any]:
        """Return what it draws with, exactly, as a ledger keeps it."""
        return {
            "words": [
                *self.bit.numbers()["words"],
                *self.window.numbers()["words"],
                self.window_words,
            ]
        }

    @classmethod
    def of_numbers(cls, grid: int, numbers: Mapping[str, Any]) -> Self:
        """Build it again from what a ledger kept."""
        return cls(
            BitReport(grid, *numbers["words"][:2]),
            WindowReport(grid, *numbers["words"][2:4]),
            numbers["words"][4],
        )

    def keeps(self, budget: Budget) -> bool:
        """Whether both do; which of them was used is told."""
        return self.bit.keeps(budget) and self.window.keeps(budget)

    def randomize(self, values: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Return one number for each value.

        Privacy claim: none by itself; `mean_clients.ClientMeanMechanism.draw` is the release's.
        """
        values = checked_values(values, self.grid)
        is_window = words_of(len(values), random_bytes) < np.uint64(self.window_words)
        reports = np.empty(len(values), np.int64)
        reports[is_window] = self.window.randomize(values[is_window], random_bytes)
        reports[~is_window] = _BIT_CODES + self.bit.randomize(values[~is_window], random_bytes)
        return reports

    def estimates(self, reports: IntArray) -> FloatArray:
        """Return what each kind of report says.

        Privacy claim: none; post-processing of reports.
        """
        return np.where(
            reports < 0,
            self.bit.estimates(reports - _BIT_CODES),
            self.window.estimates(reports),
        )

    @property
    def noise(self) -> Quadratic:
        """The average of both: each is right on average, so nothing is added between them."""
        share = Fraction(self.window_words, N_WORDS)
        return Quadratic(
            *(
                share * of_window + (1 - share) * of_bit
                for of_window, of_bit in zip(self.window.noise, self.bit.noise, strict=True)
            )
        )
