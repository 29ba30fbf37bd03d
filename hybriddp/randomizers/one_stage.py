"""Client side, vectorised: millions of reports by subset selection in one call.

The law is `subset.SubsetResponse`, the very one that a device draws from. Only how often each
cell was reported is kept: who reported what is forgotten at once.
"""

import os
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.errors import require
from hybriddp.noise.words import RandomBytes, uniform_below, words_of
from hybriddp.params import Budget
from hybriddp.randomizers.events import SubsetReport
from hybriddp.randomizers.subset import SubsetResponse

# Marks of a chunk of clients, one for each cell: small enough to stay near the processor.
_MARKS = 1 << 22


@dataclass(frozen=True, slots=True)
class SubsetMechanism:
    """One-stage reports over all cells of a head list."""

    budget: Budget
    response: SubsetResponse

    def __post_init__(self) -> None:
        _ = self.event  # refuses a response that costs more than the budget

    @classmethod
    def for_cells(cls, budget: Budget, n_cells: int) -> "SubsetMechanism":
        """Build the law over this many cells; the mechanism needs no delta."""
        return cls(Budget(budget.epsilon), SubsetResponse.for_budget(budget, n_cells))

    @property
    def event(self) -> SubsetReport:
        """What the ledger records for each client."""
        return SubsetReport(self.budget, self.response)

    def draw(self, cells: IntArray) -> IntArray:
        """Let each client report its true cell; return how many reports hold each cell.

        Privacy claim
          Neighbours  one client's records replaced by any others (local model)
          Guarantee   (budget.epsilon, 0) for each element of `cells`; the event refuses a law
                      that costs more
          Assumes     the head list was fixed before these clients' data was read; one call per
                      charge
          Excludes    timing; simulated clients trust whoever runs this with their cells
          Charged as  events.SubsetReport
          Reference   YB18 section III; docs/proofs/subset_selection.md
          Audit       tests/randomizers/test_subset_draws.py::test_vectorised_sets_follow_the_law
        """
        return self._report(cells, os.urandom)

    def simulate(self, cells: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Report with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._report(cells, rng.bytes)

    def _report(self, cells: IntArray, random_bytes: RandomBytes) -> IntArray:
        cells, n_cells = as_integers(cells, "cells"), self.response.n_values
        require(
            cells.ndim == 1,
            "cells must hold exactly 1 for each client",
            f"shape {cells.shape}",
            "give every client's cell; a client without a record has the last one",
        )
        require(
            cells.size == 0 or bool(cells.min() >= 0 and cells.max() < n_cells),
            f"cells must lie between 0 and {n_cells - 1}",
            "another",
            "map records with HeadList.cells_of",
        )
        counts = np.zeros(n_cells, dtype=np.int64)
        chunk = min(max(_MARKS // n_cells, 1), max(cells.size, 1))
        is_marked = np.zeros(chunk * n_cells, dtype=np.bool_)
        for start in range(0, cells.size, chunk):
            counts += self._report_chunk(cells[start : start + chunk], is_marked, random_bytes)
        return counts

    def _report_chunk(
        self, cells: IntArray, is_marked: BoolArray, random_bytes: RandomBytes
    ) -> IntArray:
        """Draw the sets of a chunk by Floyd's algorithm, one element of every set at a time.

        `is_marked` has a mark for every client and cell, all unset, before and after.
        """
        n_cells, size = self.response.n_values, self.response.size
        # 2^64 words, which no word reaches, mean "always": there is only one cell.
        is_kept = words_of(len(cells), random_bytes) <= np.uint64(self.response.truth_words - 1)
        counts = np.bincount(cells[is_kept], minlength=n_cells)
        n_others, rows, marks = n_cells - 1, np.arange(len(cells)) * n_cells, []
        for last in range(n_others - size, n_others):
            # Who keeps the truth needs one element less, and leaves the first step out.
            active = np.flatnonzero(~is_kept) if last == n_others - size else slice(None)
            row, own = rows[active], cells[active]
            candidate = uniform_below(np.full(len(row), last + 1), random_bytes)
            element = np.where(is_marked[row + candidate], last, candidate)
            is_marked[row + element] = True
            marks.append(row + element)
            # Elements are numbered without the client's own cell: skip over it.
            counts += np.bincount(element + (element >= own), minlength=n_cells)
        for mark in marks:
            is_marked[mark] = False
        return counts
