"""ZEALOUS: publish the items of a search log that enough people share (ZEAL section 5).

An item is a keyword, a query, a pair of queries or a click. Each person contributes at most m
different ones, each once. Counts below a first threshold are dropped, noise is added, and noisy
counts up to a second threshold are dropped as well.
"""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY
from hybriddp.arrays import FloatArray, IntArray, NamedCounts, as_integers
from hybriddp.errors import require, require_count, require_one_of
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget
from hybriddp.zealous.events import (
    INDISTINGUISHABLE,
    RELAXATIONS,
    ItemHistogram,
    histogram_limit,
    passing_probability,
)


@dataclass(frozen=True, slots=True)
class ZealousMechanism:
    """Noise and thresholds of one histogram.

    ZEAL's letters: m = items_per_user, U = n_users, lambda = noise.scale, tau = first_threshold,
    tau' = threshold.
    """

    budget: Budget
    relaxation: str
    items_per_user: int
    n_users: int
    noise: DiscreteLaplace
    first_threshold: int
    threshold: int

    def __post_init__(self) -> None:
        _ = self.event  # refuses noise and thresholds that cost more than the budget

    @classmethod
    def for_budget(
        cls, budget: Budget, relaxation: str, items_per_user: int, n_users: int
    ) -> "ZealousMechanism":
        """Set the least noise and the smallest second threshold that keep the budget.

        Indistinguishable: tau = 1. Probabilistic: tau' is smallest for a tau next to 2m/epsilon
        (ZEAL proposition 4 takes the ceiling; whole thresholds make the floor as good at times).
        """
        require_one_of(relaxation, "relaxation", RELAXATIONS)
        require_count(items_per_user, "items_per_user")
        require_count(n_users, "n_users")
        require(
            budget.delta > 0,
            "delta must be above 0 for a histogram of items",
            0,
            "items come from an open domain, and without a delta none could ever be published",
        )
        noise = DiscreteLaplace.for_epsilon(
            budget.epsilon, REPLACE_ONE_SENSITIVITY * items_per_user
        )
        best = Fraction(REPLACE_ONE_SENSITIVITY * items_per_user) / budget.epsilon
        firsts = (
            {1}
            if relaxation == INDISTINGUISHABLE
            else {max(math.floor(best), 1), max(math.ceil(best), 1)}
        )
        return min(
            (
                cls._with_first_threshold(budget, relaxation, items_per_user, n_users, noise, first)
                for first in sorted(firsts)
            ),
            key=lambda mechanism: mechanism.threshold,
        )

    @classmethod
    def _with_first_threshold(
        cls,
        budget: Budget,
        relaxation: str,
        items_per_user: int,
        n_users: int,
        noise: DiscreteLaplace,
        first: int,
    ) -> "ZealousMechanism":
        limit = histogram_limit(budget, relaxation, noise.scale, first, items_per_user, n_users)
        # P(Y > d) < e^(-d/scale), so at the end of this range it is below the limit.
        reach = noise.scale * (math.log(limit.denominator) - math.log(limit.numerator))
        distances = range(max(math.ceil(reach), 0) + 2)
        distance = bisect_left(
            distances,
            1,
            key=lambda d: int(Fraction(passing_probability(noise.scale, d)) <= limit),
        )
        return cls(budget, relaxation, items_per_user, n_users, noise, first, first + distance)

    @property
    def event(self) -> ItemHistogram:
        """What the ledger records for one draw."""
        return ItemHistogram(
            self.budget,
            self.relaxation,
            self.noise.scale,
            self.first_threshold,
            self.threshold,
            self.items_per_user,
            self.n_users,
        )

    def release_probability(self, counts: npt.ArrayLike) -> FloatArray:
        """Return the chance that items held by so many users are published, exactly."""
        held = np.asarray(counts)
        passing = self.noise.tail(self.threshold + 1 - held)
        return np.where(held >= self.first_threshold, passing, 0.0)

    def draw(self, counts: IntArray) -> NamedCounts:
        """Decide which of the occurring items to publish, with which noisy counts.

        Privacy claim
          Neighbours  one user's items replaced by any others or none
          Guarantee   `budget`, as (epsilon, delta)-probabilistic differential privacy or as
                      (epsilon, delta)-indistinguishability; the event refuses noise or thresholds
                      that cost more
          Assumes     each of at most `n_users` users added at most 1 to at most `items_per_user`
                      counts, and which ones depends on this user alone; items that nobody holds
                      are absent; only the published items leave, in an order that does not depend
                      on the log's
          Excludes    timing and memory, which grow with the number of items
          Charged as  events.ItemHistogram
          Reference   ZEAL section 5, theorems 1 (corrected) and 2; docs/proofs/zealous.md
          Audit       tests/zealous/laws/test_law.py::test_histogram_keeps_its_promise_on_small_logs
        """
        return self._publish(counts, ExactLaplace(self.noise.scale).draw)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> NamedCounts:
        """Decide with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._publish(counts, lambda exact: self.noise.simulate(exact, rng=rng))

    def _publish(self, counts: IntArray, add_noise: Callable[[IntArray], IntArray]) -> NamedCounts:
        counts = as_integers(counts, "counts")
        require(
            bool(np.all(counts >= 1)),
            "every count must be at least 1",
            "a smaller one",
            "pass only the items that occur: publishing others would need a known domain",
        )
        (candidates,) = np.nonzero(counts >= self.first_threshold)
        noisy = add_noise(counts[candidates])
        is_above = noisy > self.threshold
        is_published = np.zeros(len(counts), dtype=np.bool_)
        is_published[candidates[is_above]] = True
        return NamedCounts(is_published, noisy[is_above])
