"""Local reports of a bounded number: what they have in common, and the value plus noise.

A value is one of the integers 0 to `grid`. Every law is drawn exactly, from integers and the
operating system's randomness, so the law whose privacy is computed is the law that is drawn. The
laws of `bounded_reports` have less noise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, Self

import numpy as np

from hybriddp.arrays import FloatArray, IntArray, as_integers
from hybriddp.errors import require, require_count
from hybriddp.noise.exact_gaussian import add_gaussian_noise
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.noise.words import RandomBytes
from hybriddp.params import Budget

# Finer grids gain nothing: the noise of a report is a large part of the range.
MAX_GRID = 1 << 20


class Quadratic(NamedTuple):
    """c0 + c1 x + c2 x^2, in exact numbers."""

    c0: Fraction
    c1: Fraction
    c2: Fraction

    def mean(self, mean: float, variance: float) -> float:
        """Return the average over values of this mean and variance."""
        return float(self.c0) + float(self.c1) * mean + float(self.c2) * (mean**2 + variance)

    def at(self, x: Fraction) -> Fraction:
        """Return the value at x."""
        return self.c0 + x * (self.c1 + x * self.c2)

    def largest(self, grid: int) -> Fraction:
        """Return the largest value between 0 and the grid's end."""
        ends = [self.at(Fraction(0)), self.at(Fraction(grid))]
        if self.c2 < 0:
            top = -self.c1 / (2 * self.c2)
            ends.append(self.at(min(max(top, Fraction(0)), Fraction(grid))))
        return max(ends)


@dataclass(frozen=True, slots=True)
class NoisyValue:
    """The value plus noise of some scale: 0 on average."""

    grid: int
    scale: float

    def numbers(self) -> dict[str, Any]:
        """Return what it draws with, exactly, as a ledger keeps it."""
        return {"scale": self.scale.hex()}

    @classmethod
    def of_numbers(cls, grid: int, numbers: Mapping[str, Any]) -> Self:
        """Build it again from what a ledger kept."""
        return cls(grid, float.fromhex(numbers["scale"]))

    def estimates(self, reports: IntArray) -> FloatArray:
        """Return the reports: noise is 0 on average.

        Privacy claim: none; post-processing of reports.
        """
        return reports.astype(np.float64)


@dataclass(frozen=True, slots=True)
class LaplaceReport(NoisyValue):
    """The value plus discrete Laplace noise."""

    def __post_init__(self) -> None:
        check_grid(self.grid)
        ExactLaplace(self.scale)  # which refuses scales that it cannot draw

    @classmethod
    def for_budget(cls, budget: Budget, grid: int) -> "LaplaceReport":
        """Return the least noise that hides any of the values among the others."""
        check_grid(grid)
        return cls(grid, DiscreteLaplace.for_epsilon(budget.epsilon, grid).scale)

    def keeps(self, budget: Budget) -> bool:
        """Whether no report is more than e^epsilon times likelier for one value than another."""
        return self.grid / Fraction(self.scale) <= budget.epsilon

    def randomize(self, values: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Return noisy values.

        Privacy claim: none by itself; `mean_clients.ClientMeanMechanism.draw` is the release's.
        """
        return ExactLaplace(self.scale).add(checked_values(values, self.grid), random_bytes)

    @property
    def noise(self) -> Quadratic:
        """That of the noise, whatever the value is."""
        return Quadratic(Fraction(DiscreteLaplace(self.scale).variance), Fraction(0), Fraction(0))


@dataclass(frozen=True, slots=True)
class GaussianReport(NoisyValue):
    """The value plus discrete Gaussian noise, which needs a delta."""

    def __post_init__(self) -> None:
        check_grid(self.grid)
        DiscreteGaussian(self.scale)  # which refuses scales that it cannot draw

    @classmethod
    def for_budget(cls, budget: Budget, grid: int) -> "GaussianReport":
        """Return the least noise that keeps the budget, by the exact divergence."""
        check_grid(grid)
        return cls(grid, DiscreteGaussian.for_budget(budget, grid).scale)

    def keeps(self, budget: Budget) -> bool:
        """Whether any two values are told apart by at most (epsilon, delta)."""
        return DiscreteGaussian(self.scale).delta(budget.epsilon, self.grid) <= budget.delta

    def randomize(self, values: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Return noisy values.

        Privacy claim: none by itself; `mean_clients.ClientMeanMechanism.draw` is the release's.
        """
        return add_gaussian_noise(checked_values(values, self.grid), self.scale, random_bytes)

    @property
    def noise(self) -> Quadratic:
        """That of the noise, whatever the value is."""
        return Quadratic(Fraction(DiscreteGaussian(self.scale).variance), Fraction(0), Fraction(0))


def check_grid(grid: int) -> None:
    """Refuse a grid that is no grid."""
    require_count(grid, "grid")
    require(grid <= MAX_GRID, f"grid must be at most {MAX_GRID}", grid, "take a coarser one")


def checked_values(values: IntArray, grid: int) -> IntArray:
    """Return values as integers, or refuse those outside of the grid without quoting them.

    Privacy claim: none; the result is as private as the values.
    """
    values = as_integers(values, "values")
    require(
        values.size == 0 or bool(values.min() >= 0 and values.max() <= grid),
        f"values must lie between 0 and {grid}",
        "another",
        "clamp them first",
    )
    return values
