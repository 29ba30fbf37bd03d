"""The users of a study: one population and one record each, shared by all settings of a seed."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.headlist import HeadList, RecordCounts, count_records
from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import POPULATIONS, head_and_tail
from hybriddp.studies.blender.settings import MANY, derived_seed
from hybriddp.studies.synthetic.log import draw_record_counts

# Users, queries and urls of the small populations of quick runs.
QUICK_SIZES = {
    "aol-like": (60_000, 100_000, 50_000),
    "yandex-like": (150_000, 200_000, 100_000),
    "zipf-like": (60_000, 100_000, 50_000),
}
# At least as many as the longest list: an ideal list is made of them.
_N_TOP = 2_000
# Records whose law is looked up: no rarer one is ever listed.
_N_KNOWN = 200_000
_N_UNITS = 5


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """One record of every user, and what is true of all of them.

    Where people have many records, `units` holds five of each, the first one first.
    """

    law: Population
    query_ids: IntArray
    url_ids: IntArray
    units: tuple[IntArray, IntArray] | None
    willingness: FloatArray  # who opts in first: groups of different sizes are nested
    truth: RecordCounts
    top_queries: IntArray  # the most frequent queries, most frequent first

    @property
    def n_users(self) -> int:
        """How many there are."""
        return len(self.query_ids)

    def is_optin(self, fraction: float) -> BoolArray:
        """Return who opts in."""
        return self.willingness < fraction

    def records(self, n_records: int) -> tuple[IntArray, IntArray]:
        """Return this many records of each user, or one where that is all there is."""
        if n_records == 1 or self.units is None:
            return self.query_ids, self.url_ids
        return self.units

    def law_of_cells(self, head_list: HeadList) -> FloatArray:
        """Return the probability of every cell under the law that users were drawn from.

        Privacy claim: none; synthetic data.
        """
        return law_of_cells(self.law, head_list)

    def truth_about(self, head_list: HeadList) -> RecordCounts:
        """Return the truth about the listed queries and the most frequent ones.

        A measure reads nothing else, and looking through millions of rare records for each
        release would take longer than the release.

        Privacy claim: none; synthetic data.
        """
        wanted = np.union1d(head_list.query_ids, self.top_queries)
        first = np.searchsorted(self.truth.query_ids, wanted, side="left")
        sizes = np.searchsorted(self.truth.query_ids, wanted, side="right") - first
        ends = np.cumsum(sizes)
        rows = np.repeat(first - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        return RecordCounts(
            self.truth.query_ids[rows], self.truth.url_ids[rows], self.truth.counts[rows]
        )

    def query_counts(self, query_ids: IntArray) -> IntArray:
        """Return how many users hold each of these queries.

        Privacy claim: none; synthetic data.
        """
        running = np.append(0, np.cumsum(self.truth.counts))
        first = np.searchsorted(self.truth.query_ids, query_ids, side="left")
        last = np.searchsorted(self.truth.query_ids, query_ids, side="right")
        counts: IntArray = running[last] - running[first]
        return counts


def law_of_cells(law: Population, head_list: HeadList) -> FloatArray:
    """Return the probability of every cell under a law.

    Privacy claim: none; synthetic data.
    """
    query_ids, url_ids, probabilities = frequent_records(law)
    cells = head_list.cells_of(query_ids, url_ids)
    mass = np.bincount(cells, probabilities, head_list.n_cells).astype(np.float64)
    mass[-1] += 1 - mass.sum()
    return mass


def frequent_records(law: Population) -> tuple[IntArray, IntArray, FloatArray]:
    """Return the records that a list can hold, and their probabilities.

    Privacy claim: none; synthetic data.
    """
    known = np.arange(min(_N_KNOWN, len(law.record_cdf)))
    return *law.decode_records(known), np.diff(law.record_cdf[: len(known)], prepend=0.0)


def draw_law(population: str, is_quick: bool, *, rng: np.random.Generator) -> Population:
    """Draw a population, or a small one of the same shape.

    Privacy claim: none; synthetic data.
    """
    if not is_quick:
        return POPULATIONS[population](rng=rng)
    n_users, n_queries, n_urls = QUICK_SIZES[population]
    return head_and_tail(population, n_users=n_users, n_queries=n_queries, n_urls=n_urls, rng=rng)


def draw_users(population: str, seed: int, *, is_quick: bool) -> Users:
    """Draw a population and its users; all settings of this seed share them."""
    rng = study_rng(derived_seed("users", population, is_quick, seed))
    law = draw_law(population.removesuffix(MANY), is_quick, rng=rng)
    units = _draw_units(law, rng) if population.endswith(MANY) else None
    query_ids, url_ids = (
        law.sample_records(law.n_users, rng=rng)
        if units is None
        else (units[0][:, 0], units[1][:, 0])
    )
    truth = count_records(query_ids, url_ids)
    starts = np.flatnonzero(np.diff(truth.query_ids, prepend=-1))
    totals = np.add.reduceat(truth.counts, starts)
    top = np.argsort(-totals, kind="stable")[:_N_TOP]
    willingness = rng.random(law.n_users)
    return Users(law, query_ids, url_ids, units, willingness, truth, truth.query_ids[starts[top]])


def _draw_units(law: Population, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
    """Draw people with many records each, and five of every one's, evenly from a random start."""
    n_records = draw_record_counts(law.n_users, "many", rng=rng)
    firsts = np.cumsum(n_records) - n_records
    query_ids, url_ids = law.sample_records(int(n_records.sum()), rng=rng)
    start = (rng.random(law.n_users) * n_records).astype(np.int64)
    offset = np.arange(_N_UNITS) * n_records[:, None] // _N_UNITS
    chosen = firsts[:, None] + (start[:, None] + offset) % n_records[:, None]
    chosen = rng.permuted(chosen, axis=1)
    return query_ids[chosen], url_ids[chosen]
