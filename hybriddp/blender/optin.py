"""Opt-in group T: measure the probabilities of the named records.

A *record vector* here has one entry for each record of the head list and a last one for <*,*>.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY
from hybriddp.arrays import IntArray
from hybriddp.blender.events import OptinHistogram
from hybriddp.blender.headlist import HeadList
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget


@dataclass(frozen=True, slots=True)
class HistogramMechanism:
    """Noisy counts over cells that were fixed beforehand (JPC19 figure 4, lines 10-12)."""

    budget: Budget
    noise: DiscreteLaplace
    l1_sensitivity: int = REPLACE_ONE_SENSITIVITY

    def __post_init__(self) -> None:
        _ = self.event  # refuses noise that costs more than the budget
        ExactLaplace(self.noise.scale)  # which refuses scales that it cannot draw

    @classmethod
    def for_budget(
        cls, budget: Budget, l1_sensitivity: int = REPLACE_ONE_SENSITIVITY
    ) -> "HistogramMechanism":
        """Set the noise, by default for one record a user; the mechanism needs no delta."""
        noise = DiscreteLaplace.for_epsilon(budget.epsilon, l1_sensitivity)
        return cls(Budget(budget.epsilon), noise, l1_sensitivity)

    @property
    def event(self) -> OptinHistogram:
        """What the ledger records for one draw."""
        return OptinHistogram(self.budget, self.noise.scale, self.l1_sensitivity)

    def draw(self, counts: IntArray) -> IntArray:
        """Add noise to the count of every cell, empty ones included.

        Privacy claim
          Neighbours  one user's records replaced by any others or none
          Guarantee   (budget.epsilon, 0); the event refuses noise that costs more
          Assumes     the cells were fixed before these users' data was read; replacing a user
                      moves all counts together by at most `l1_sensitivity` (2: two by one)
          Excludes    timing of the sampler
          Charged as  events.OptinHistogram
          Reference   JPC19 figure 4, theorem 3.2; docs/proofs/optin_histogram.md
          Audit       tests/blender/test_optin.py::test_histogram_keeps_its_budget_on_small_logs
        """
        return ExactLaplace(self.noise.scale).draw(counts)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Add noise from a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self.noise.simulate(counts, rng=rng)


def count_listed_records(head_list: HeadList, query_ids: IntArray, url_ids: IntArray) -> IntArray:
    """Count users by record; whoever holds no listed record counts as <*,*>.

    Privacy claim: none; the result is private and must stay with the curator.
    """
    cells = head_list.cells_of(query_ids, url_ids)
    by_cell = np.bincount(cells, minlength=head_list.n_cells)
    by_record = by_cell[head_list.record_cells]
    return np.append(by_record, len(query_ids) - by_record.sum()).astype(np.int64)
