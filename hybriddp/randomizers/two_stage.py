"""Client side, vectorised: millions of two-stage reports in one call.

The law is `response.TwoStageResponse`, the very one that a device draws from; this module only
draws it for many clients at once, from 64-bit words compared as integers.
"""

import os
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import IntArray, as_integers
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import require
from hybriddp.noise.words import RandomBytes, Words, uniform_below, words_of
from hybriddp.params import BlenderParams, Budget
from hybriddp.randomizers.events import ClientReport
from hybriddp.randomizers.stages import TwoStageResponse

# Clients handled at a time: small enough for the arrays of one step to stay in the cache.
_CHUNK = 1 << 16

# Up to this length of list, 16 random bits choose a url with few redraws; randomness from the


@dataclass(frozen=True, slots=True)
class ClientMechanism:
    """LocalAlg for a head list: every client's budget and the law of its reports."""

    budget: Budget
    response: TwoStageResponse
    n_reports: int

    def __post_init__(self) -> None:
        _ = self.event  # refuses a response that costs more than the budget

    @classmethod
    def for_head_list(cls, head_list: HeadList, params: BlenderParams) -> "ClientMechanism":
        """Build the law of JPC19 figure 6 over the cells of this head list."""
        response = TwoStageResponse.for_budgets(
            params.client_query_budget, params.client_url_budget, head_list.list_sizes.tolist()
        )
        return cls(params.budget, response, params.max_records_client)

    @property
    def event(self) -> ClientReport:
        """What the ledger records for each client."""
        distinct = sorted(set(self.response.urls), key=lambda url: url.n_values)
        return ClientReport(self.budget, self.response.query, tuple(distinct), self.n_reports)

    def draw(self, cells: IntArray) -> IntArray:
        """Randomize each client's true cell, with the operating system's randomness.

        Pass an array (n_clients,) for one report each, or (n_clients, n_reports).

        Privacy claim
          Neighbours  one client's records replaced by any others (local model)
          Guarantee   `budget` for each row of `cells`; the event refuses a law that costs more
          Assumes     the head list was fixed before these clients' data was read; every client
                      has exactly n_reports cells, padded with <*,*>; one call per charge
          Excludes    timing; simulated clients trust whoever runs this with their cells
          Charged as  events.ClientReport
          Reference   JPC19 figure 6, theorem 3.3
          Audit       tests/randomizers/test_local.py::test_vectorised_reports_follow_the_exact_law
        """
        return self._randomize(cells, os.urandom)

    def simulate(self, cells: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Randomize with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._randomize(cells, rng.bytes)

    def _randomize(self, cells: IntArray, random_bytes: RandomBytes) -> IntArray:
        cells = as_integers(cells, "cells")
        per_client = cells.shape[1] if cells.ndim == 2 else 1
        require(
            cells.ndim in (1, 2) and per_client == self.n_reports,
            f"cells must hold exactly {self.n_reports} for each client",
            f"shape {cells.shape}",
            "pad missing records with <*,*>, the last cell",
        )
        n_cells = self.response.n_cells
        require(
            cells.size == 0 or bool(cells.min() >= 0 and cells.max() < n_cells),
            f"cells must lie between 0 and {n_cells - 1}",
            "another",
            "map records with HeadList.cells_of",
        )
        kernel = _Kernel(self.response)
        flat, reports = cells.reshape(-1), np.empty(cells.size, dtype=np.int64)
        for start in range(0, flat.size, _CHUNK):
            chunk = slice(start, start + _CHUNK)
            reports[chunk] = kernel(flat[chunk], random_bytes)
        return reports.reshape(cells.shape)


class _Kernel:
    """The response's numbers as arrays, and one step over a chunk of clients."""

    def __init__(self, response: TwoStageResponse) -> None:
        self.sizes = np.array([url.n_values for url in response.urls], dtype=np.int64)
        self.starts = np.cumsum(self.sizes) - self.sizes
        self.query_of_cell = np.repeat(np.arange(len(self.sizes)), self.sizes)
        self.n_other_queries = response.query.n_values - 1
        # Where there is nothing to lie about, lie_words is 0 and every word is the truth's;
        # a divisor of 1 serves as well, since no quotient is below "0 other values".
        self.query_lie_words = np.uint64(max(response.query.lie_words, 1))
        self.url_lie_words = np.array([max(u.lie_words, 1) for u in response.urls], dtype=np.uint64)

    def __call__(self, cells: IntArray, random_bytes: RandomBytes) -> IntArray:
        query = self.query_of_cell[cells]
        lie = _lies(words_of(len(cells), random_bytes), self.query_lie_words, self.n_other_queries)
        is_kept = lie == self.n_other_queries
        reported = np.where(is_kept, query, lie + (lie >= query))
        reports = self.starts[reported] + uniform_below(self.sizes[reported], random_bytes)
        kept = np.flatnonzero(is_kept)
        reports[kept] = self._url_stage(cells[kept], query[kept], random_bytes)
        return reports

    def _url_stage(self, cells: IntArray, query: IntArray, random_bytes: RandomBytes) -> IntArray:
        url = cells - self.starts[query]
        n_others = self.sizes[query] - 1
        lie = _lies(words_of(len(cells), random_bytes), self.url_lie_words[query], n_others)
        return self.starts[query] + np.where(lie == n_others, url, lie + (lie >= url))


def _lies(words: Words, lie_words: Words | np.uint64, n_others: IntArray | int) -> IntArray:
    """Return which lie owns each word, 0 .. n_others-1, or n_others where the truth owns it."""
    # The minimum comes before the cast: a quotient may exceed what a signed integer holds.
    owner: Words = np.minimum(words // lie_words, np.asarray(n_others, dtype=np.uint64))
    return owner.astype(np.int64)
