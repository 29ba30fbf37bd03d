"""What the curator publishes of trusted users' numbers: noisy sums, one for each public key."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp.arrays import IntArray, as_integers
from hybriddp.errors import require
from hybriddp.mean.events import BoundedSum, Noise
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget


@dataclass(frozen=True, slots=True)
class BoundedSumMechanism:
    """Sums of integers between 0 and `largest`, with noise that hides any one of them."""

    budget: Budget
    largest: int
    noise: Noise

    def __post_init__(self) -> None:
        _ = self.event  # refuses noise that costs more than the budget

    @classmethod
    def for_budget(cls, budget: Budget, largest: int) -> "BoundedSumMechanism":
        """Return the mechanism with the least Laplace noise; it needs no delta."""
        noise = DiscreteLaplace.for_epsilon(budget.epsilon, largest)
        return cls(Budget(budget.epsilon), largest, noise)

    @classmethod
    def gaussian(cls, budget: Budget, largest: int) -> "BoundedSumMechanism":
        """Return the mechanism with the least Gaussian noise of its grid."""
        return cls(budget, largest, DiscreteGaussian.for_budget(budget, largest))

    @property
    def event(self) -> BoundedSum:
        """What the ledger records."""
        return BoundedSum(self.budget, self.noise, self.largest)

    def draw(self, values: IntArray, keys: IntArray, n_keys: int) -> IntArray:
        """Publish the sum of values of each key.

        Privacy claim
          Neighbours  one element of `values` replaced by any other; keys and their number stay
          Guarantee   the budget, with delta = 0 for Laplace noise; the event refuses noise that
                      costs more
          Assumes     which person has which key, and which element, is public; a person is one
                      element; one call per charge
          Excludes    timing of the sampler
          Charged as  events.BoundedSum
          Reference   MEAN20 definition 3.1; CKS20 algorithm 2
          Audit       tests/mean/laws/test_trusted.py::test_one_value_moves_one_sum
        """
        return self.noise.draw(self._sums(values, keys, n_keys))

    def simulate(
        self, values: IntArray, keys: IntArray, n_keys: int, *, rng: np.random.Generator
    ) -> IntArray:
        """Publish sums with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self.noise.simulate(self._sums(values, keys, n_keys), rng=rng)

    def _sums(self, values: IntArray, keys: IntArray, n_keys: int) -> IntArray:
        values, keys = as_integers(values, "values"), as_integers(keys, "keys")
        require(
            values.shape == keys.shape
            and _is_between(values, 0, self.largest)
            and _is_between(keys, 0, n_keys - 1),
            f"values must lie between 0 and {self.largest}, with one of {n_keys} keys each",
            "others",
            "clamp values, and leave out people without a key",
        )
        sums = np.zeros(n_keys, np.int64)
        np.add.at(sums, keys, values)
        return sums


def squared_differences(
    positions: IntArray, keys: IntArray, order: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the squared difference of every pair of people of one key, and its key.

    Pairs are neighbours in a public order, each person in one pair; the last of an odd number is
    in none. Half of a squared difference is on average the variance, whatever the mean is, so
    nobody has to estimate that first.

    Args:
        order: Any order of the people that does not depend on their values.

    Privacy claim: none; the result is as private as the values. A person moves one square, by
    at most the grid's square.
    """
    order = order[np.argsort(keys[order], kind="stable")]
    sorted_keys, sorted_positions = keys[order], positions[order]
    begins = np.searchsorted(sorted_keys, sorted_keys)  # where each one's key begins
    place = np.arange(len(order)) - begins
    is_first = (place[:-1] % 2 == 0) & (sorted_keys[:-1] == sorted_keys[1:])
    (first,) = np.nonzero(is_first)
    return (sorted_positions[first] - sorted_positions[first + 1]) ** 2, sorted_keys[first]


def trusted_budgets(budget: Budget, variance_share: Fraction) -> tuple[Budget, Budget | None]:
    """Split a trusted user's budget between the sum and the sum of squares; they add up to it.

    Squares get Laplace noise, so all of delta stays with the sum.
    """
    require(
        0 <= variance_share < 1,
        "variance_share must be at least 0 and below 1",
        f"{float(variance_share):g}",
        "0.05 is enough for most",
    )
    if variance_share == 0:
        return budget, None
    for_sum = Budget(budget.epsilon * (1 - variance_share), budget.delta)
    return for_sum, Budget(budget.epsilon * variance_share)


def _is_between(values: IntArray, low: int, high: int) -> bool:
    return values.size == 0 or bool(low <= values.min() and values.max() <= high)
