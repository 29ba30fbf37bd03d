"""Opt-in group S: find the records that are popular enough to be named."""

import math
from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY
from hybriddp.arrays import IntArray, NamedCounts, as_integers
from hybriddp.blender.events import HeadListDraw, headlist_leak
from hybriddp.errors import require
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget


@dataclass(frozen=True, slots=True)
class HeadListMechanism:
    """Name every record whose noisy count is strictly above the threshold (JPC19 figure 3).

    Counts are in units of 1/`records_per_user` of a user.
    """

    budget: Budget
    noise: DiscreteLaplace
    threshold: int
    records_per_user: int = 1

    def __post_init__(self) -> None:
        _ = self.event  # refuses noise and thresholds that cost more than the budget
        ExactLaplace(self.noise.scale)  # which refuses scales that it cannot draw

    @classmethod
    def for_budget(cls, budget: Budget) -> "HeadListMechanism":
        """Set noise and threshold as the paper does, for one record a user.

        tau = b (ln(exp(eps/2) + m_O - 1) - ln delta) = 1 - b ln delta   (b = 2/eps, m_O = 1).
        Counts are integers, so "> tau" is "> floor(tau)".
        """
        noise = _noise(budget, 1)
        # tau >= 1, since delta < 1.
        return cls(budget, noise, math.floor(1 - noise.scale * _log_delta(budget)))

    @classmethod
    def tight(cls, budget: Budget, records_per_user: int) -> "HeadListMechanism":
        """Set the least noise and the smallest threshold that keep the budget."""
        noise = _noise(budget, records_per_user)
        # The leak falls with the threshold T; at the end of this range both its bounds hold.
        reach = noise.scale * (math.log(records_per_user) - _log_delta(budget))
        thresholds = range(records_per_user, records_per_user + math.ceil(reach) + 2)
        first = bisect_left(
            thresholds,
            1,
            key=lambda t: int(
                Fraction(headlist_leak(noise.scale, t, records_per_user)) <= budget.delta
            ),
        )
        threshold = thresholds[first]
        return cls(budget, noise, threshold, records_per_user)

    @property
    def event(self) -> HeadListDraw:
        """What the ledger records for one draw."""
        return HeadListDraw(self.budget, self.noise.scale, self.threshold, self.records_per_user)

    @property
    def people_needed(self) -> float:
        """How many people's noisy worth a record needs to be named."""
        return (self.threshold + 1) / self.records_per_user

    def given(self, _records_per_user: float) -> tuple[int, int]:
        """Return on how many records a user's units lie at best, and how many on each."""
        return 1, self.records_per_user

    def release_probability(self, counts: npt.ArrayLike) -> npt.NDArray[np.float64]:
        """Return P(count + Y > threshold), exactly."""
        return self.noise.tail(self.threshold + 1 - np.asarray(counts))

    def draw(self, counts: IntArray) -> NamedCounts:
        """Decide which of the occurring records to name, with which noisy counts.

        Privacy claim
          Neighbours  one user's records replaced by any others or none
          Guarantee   `budget`; the event refuses noise or a threshold that costs more
          Assumes     each user added at most `records_per_user` to all counts together; records
                      that nobody holds are absent; only the named records leave, with or without
                      their noisy counts, in an order that does not depend on the log's (how many
                      records occur, the mask's length, is private)
          Excludes    timing and memory, which grow with the number of records
          Charged as  events.HeadListDraw
          Reference   JPC19 figure 3, theorem 3.1; docs/proofs/create_head_list.md
          Audit       tests/blender/test_finding.py::test_head_list_keeps_its_budget_on_small_logs
        """
        return self._select(counts, ExactLaplace(self.noise.scale).draw)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> NamedCounts:
        """Decide with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._select(counts, lambda exact: self.noise.simulate(exact, rng=rng))

    def _select(self, counts: IntArray, add_noise: Callable[[IntArray], IntArray]) -> NamedCounts:
        counts = as_integers(counts, "counts")
        require(
            bool(np.all(counts >= 1)),
            "every count must be at least 1",
            "a smaller one",
            "pass only the records that occur: naming others would need a known domain",
        )
        return NamedCounts.above(self.threshold, add_noise(counts))


def _noise(budget: Budget, records_per_user: int) -> DiscreteLaplace:
    require(
        budget.delta > 0,
        "delta must be above 0 for a head list",
        0,
        "no threshold can hide a record of one user completely; use for example 1e-5",
    )
    return DiscreteLaplace.for_epsilon(budget.epsilon, REPLACE_ONE_SENSITIVITY * records_per_user)


def _log_delta(budget: Budget) -> float:
    # Logarithms of the integers, since a tiny delta has no float.
    return math.log(budget.delta.numerator) - math.log(budget.delta.denominator)
