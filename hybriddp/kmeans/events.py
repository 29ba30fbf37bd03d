"""Events of hybrid k-means: a curator's noisy tables of clusters, and what one client reports."""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from hybriddp.accounting.event import Event, known
from hybriddp.accounting.losses import AnyOf, Losses, WorstOf
from hybriddp.errors import require, require_count
from hybriddp.noise.exponentials import DOWNWARDS, EXACT, exp
from hybriddp.params import Budget
from hybriddp.randomizers.pairs import LawPair, two_stage_neighbour_laws
from hybriddp.randomizers.response import RandomizedResponse

# More noise would drown anything, and integers stay far below what a double holds exactly.
MAX_SCALE = 1 << 40
_NUMBERS = ("grid", "n_dimensions", "n_iterations", "noise_scale")
_NOTHING_TO_LIE_ABOUT = RandomizedResponse(1, 0)


@known
@dataclass(frozen=True, slots=True)
class ClusterSums(Event):
    """People's points were counted and added up by cluster, with noise, in each iteration.

    A point has `n_dimensions` integers from 0 to `grid`, and counts as `grid`. All counts and sums
    got discrete Laplace noise of one scale. The clusters of an iteration may depend on what was
    published before it.
    """

    grid: int
    n_dimensions: int
    n_iterations: int
    noise_scale: int

    def __post_init__(self) -> None:
        _check_counts(self.grid, self.n_dimensions, self.n_iterations, self.noise_scale)
        spent = self.iteration_epsilon * self.n_iterations
        require(
            spent <= self.budget.epsilon,
            f"noise must cost at most epsilon = {float(self.budget.epsilon):.6g} in all",
            f"{float(spent):.6g} at scale {self.noise_scale}",
            "raise the scale",
        )

    @property
    def iteration_epsilon(self) -> Fraction:
        """What one iteration costs, exactly."""
        return Fraction(replaced_point_moves(self.grid, self.n_dimensions), self.noise_scale)

    def losses(self) -> Losses:
        """Return every iteration's worst."""
        return ((WorstOf(self.iteration_epsilon), self.n_iterations),)

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        return {name: getattr(self, name) for name in _NUMBERS}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        return cls(budget, *(numbers[name] for name in _NUMBERS))


@known
@dataclass(frozen=True, slots=True)
class ClusterReport(Event):
    """A client reported its point with noise, and in each iteration named the nearest cluster.

    Each of the point's integers from 0 to `grid` got discrete Laplace noise, once; a cluster was
    named by randomized response. The clusters may depend on what was reported before.
    """

    grid: int
    n_dimensions: int
    n_iterations: int
    noise_scale: int
    response: RandomizedResponse

    def __post_init__(self) -> None:
        _check_counts(self.grid, self.n_dimensions, self.n_iterations, self.noise_scale)
        require(
            type(self.response) is RandomizedResponse,  # a subclass could have lifted the checks
            "response must be a randomized response",
            type(self.response).__name__,
            "build it from a budget",
        )
        left = (self.budget.epsilon - self.point_epsilon) / self.n_iterations
        require(
            left >= 0 and self._costs_at_most(left),
            "a client's point and responses together must cost at most "
            f"epsilon = {float(self.budget.epsilon):.6g}",
            "more",
            "build the law from the budget that is charged",
        )

    @property
    def point_epsilon(self) -> Fraction:
        """What the noisy point costs, exactly."""
        return Fraction(self.grid * self.n_dimensions, self.noise_scale)

    def response_laws(self) -> list[LawPair]:
        """Return the laws of one response under every kind of pair of clusters."""
        return two_stage_neighbour_laws(self.response, [_NOTHING_TO_LIE_ABOUT])

    def losses(self) -> Losses:
        """Return the noisy point, and every iteration's response."""
        responses = AnyOf(tuple(self.response_laws()))
        return ((WorstOf(self.point_epsilon), 1), (responses, self.n_iterations))

    def numbers(self) -> dict[str, Any]:
        """Return what it was drawn with."""
        counts = {name: getattr(self, name) for name in _NUMBERS}
        return {**counts, "response": self.response.numbers}

    @classmethod
    def of_numbers(cls, budget: Budget, numbers: Mapping[str, Any]) -> Self:
        """Build it again."""
        counts = {name: numbers[name] for name in _NUMBERS}
        return cls(budget, **counts, response=RandomizedResponse(*numbers["response"]))

    def _costs_at_most(self, epsilon: Fraction) -> bool:
        """Whether the truth is at most e^epsilon times as likely as a lie, for certain."""
        if self.response.n_values == 1:
            return True
        ratio = self.response.p_truth / self.response.p_lie
        return ratio <= Fraction(EXACT.multiply(exp(epsilon), DOWNWARDS))


def replaced_point_moves(grid: int, n_dimensions: int) -> int:
    """Return how much a replaced point moves one iteration's counts and sums, at most.

    It may leave one cluster and enter another: `grid` less and more in two counts, up to
    grid * d less and more in two clusters' sums.
    """
    return 2 * grid * (n_dimensions + 1)


def _check_counts(grid: int, n_dimensions: int, n_iterations: int, noise_scale: int) -> None:
    require_count(grid, "grid")
    require_count(n_dimensions, "n_dimensions")
    require_count(n_iterations, "n_iterations")
    require_count(noise_scale, "noise_scale")
    require(
        noise_scale <= MAX_SCALE,
        f"noise_scale must be at most {MAX_SCALE}",
        noise_scale,
        "such noise drowns any data: raise epsilon, or take fewer iterations or dimensions",
    )
