"""What people search for in each week of a year, and how that changes."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.headlist import HeadList, RecordCounts
from hybriddp.errors import require_one_of
from hybriddp.planning.populations import Population

# Nothing changes; every record does, a little each week; new queries come; a part is exchanged.
STEADY, SLOW, BURSTS, SWAP = "steady", "slow", "bursts", "swap"
CHANGES = (STEADY, SLOW, BURSTS, SWAP)
# A record's logarithm moves by so much in a week.
WEEKLY_STEP = 0.05
# New queries come in these parts of a year, each time one as frequent as the query of each rank.
_BURSTS_AT, BURST_RANKS = (0.1, 0.25, 0.4, 0.55, 0.7), (5, 10, 20, 40)
# Every other one loses half of its searches in so many weeks; the others stay.
_HALVED_IN = 8
# In the middle of the year so many of the head's queries, from this rank on in such steps, change
# places with rare ones.
_N_SWAPPED, _FIRST_SWAPPED, _SWAPPED_EACH, _RARE_RANK = 10, 4, 4, 1_000
# Probabilities as counts of so many.
SCALE = 10**12


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A query that becomes frequent in some week."""

    query_id: int
    week: int
    rank: int  # of the query that it is as frequent as
    stays: bool


@dataclass(frozen=True, eq=False)
class WeekLaw:
    """One week's law of records: those that may be listed, and many rare ones."""

    query_ids: IntArray  # ascending, then url_ids
    url_ids: IntArray
    probabilities: FloatArray
    n_rare: int  # rare records, all alike, which have the rest to one

    @cached_property
    def counts(self) -> RecordCounts:
        """The records that may be listed, as counts of SCALE."""
        counts = np.round(self.probabilities * SCALE).astype(np.int64)
        return RecordCounts(self.query_ids, self.url_ids, counts)

    @cached_property
    def _cdf(self) -> FloatArray:
        return np.cumsum(self.probabilities)

    def sample(self, n: int, *, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw n independent records.

        Privacy claim: none; synthetic data.
        """
        drawn = np.searchsorted(self._cdf, rng.random(n), side="right")
        is_rare = drawn == len(self._cdf)
        rare = int(self.query_ids[-1]) + 1 + rng.integers(0, self.n_rare, int(is_rare.sum()))
        query_ids, url_ids = (np.append(ids, 0)[drawn] for ids in (self.query_ids, self.url_ids))
        query_ids[is_rare] = rare
        return query_ids, url_ids

    def top_queries(self, n: int) -> IntArray:
        """Return the n most frequent queries.

        Privacy claim: none; synthetic data.
        """
        of_queries = np.bincount(self.query_ids, self.probabilities)
        return np.argsort(-of_queries, kind="stable")[:n]

    def of_queries(self, query_ids: IntArray) -> FloatArray:
        """Return the probabilities of some queries, rare ones among them.

        Privacy claim: none; synthetic data.
        """
        each = (1 - float(self.probabilities.sum())) / self.n_rare
        known = np.append(np.bincount(self.query_ids, self.probabilities), each)
        of_some: FloatArray = known[np.minimum(query_ids, len(known) - 1)]
        return of_some

    def of_cells(self, head_list: HeadList) -> FloatArray:
        """Return the probability of every cell of a list.

        Privacy claim: none; synthetic data.
        """
        cells = head_list.cells_of(self.query_ids, self.url_ids)
        mass = np.bincount(cells, self.probabilities, head_list.n_cells).astype(np.float64)
        is_rare = head_list.query_ids > self.query_ids[-1]
        mass[head_list.cell_starts[:-1][is_rare]] = self.of_queries(head_list.query_ids[is_rare])
        mass[-1] += 1 - mass.sum()
        return mass


@dataclass(frozen=True, slots=True, eq=False)
class Year:
    """The laws of all weeks."""

    change: str
    first: WeekLaw
    rare: float  # the probability of all rare records before anything changed
    newcomers: tuple[Newcomer, ...]
    n_weeks: int

    @classmethod
    def of(cls, law: Population, change: str, n_weeks: int, n_rare: int) -> "Year":
        """Return a year that begins with this law; with bursts, they are still to come.

        What is too rare to be listed is drawn from `n_rare` queries. As many as opted in are
        enough: each is given once or twice a week, which names none, and a season carries few.

        Privacy claim: none; synthetic data.
        """
        require_one_of(change, "change", CHANGES)
        n = len(law.choice_query_ids)
        p = np.diff(law.record_cdf[:n], prepend=0.0)
        queries, urls = law.choice_query_ids, law.choice_url_ids
        newcomers: tuple[Newcomer, ...] = ()
        if change == BURSTS:
            newcomers = _bursts(int(queries[-1]) + 1, n_weeks)
            alike = [np.flatnonzero(queries == burst.rank - 1) for burst in newcomers]
            ids = [np.full(len(a), b.query_id) for a, b in zip(alike, newcomers, strict=True)]
            rows = np.concatenate(alike)
            queries, urls = np.concatenate([queries, *ids]), np.append(urls, urls[rows])
            p = np.append(p, p[rows])
        elif change == SWAP:
            newcomers = tuple(
                Newcomer(_RARE_RANK + number, n_weeks // 2 + 1, int(query_id) + 1, True)
                for number, query_id in enumerate(_swapped())
            )
        rare = 1 - float(law.record_cdf[n - 1])
        first = WeekLaw(queries, urls, p, n_rare)
        return cls(change, first, rare, newcomers, n_weeks)

    def laws(self, *, rng: np.random.Generator) -> Iterator[WeekLaw]:
        """Yield the law of each week, from 1.

        Privacy claim: none; synthetic data.
        """
        queries, p = self.first.query_ids, self.first.probabilities
        walked = np.zeros(len(p))
        for week in range(1, self.n_weeks + 1):
            if self.change == SLOW and week > 1:
                walked += WEEKLY_STEP * rng.standard_normal(len(p))
            now = p * np.exp(walked)
            if self.change == BURSTS:
                for burst in self.newcomers:
                    now[queries == burst.query_id] *= _part_of(burst, week)
            if self.change == SWAP and week > self.n_weeks // 2:
                now = _exchanged(queries, p)
            now /= now.sum() + self.rare
            yield WeekLaw(queries, self.first.url_ids, now, self.first.n_rare)


def _bursts(first_id: int, n_weeks: int) -> tuple[Newcomer, ...]:
    moments = [(part, rank) for part in _BURSTS_AT for rank in BURST_RANKS]
    return tuple(
        Newcomer(first_id + number, max(2, round(part * n_weeks)), rank,
                 stays=(number // len(BURST_RANKS)) % 2 == 0)
        for number, (part, rank) in enumerate(moments)
    )  # fmt: skip


def _part_of(burst: Newcomer, week: int) -> float:
    """Return which part of its searches a burst has in a week."""
    if week < burst.week:
        return 0.0
    return 1.0 if burst.stays else float(0.5 ** ((week - burst.week) / _HALVED_IN))


def _swapped() -> IntArray:
    return _FIRST_SWAPPED - 1 + _SWAPPED_EACH * np.arange(_N_SWAPPED)


def _exchanged(queries: IntArray, p: FloatArray) -> FloatArray:
    """Return probabilities after some of the head's queries changed places with rare ones."""
    of_queries = np.bincount(queries, p)
    factors = np.ones(len(of_queries))
    for number, head in enumerate(_swapped()):
        rare = _RARE_RANK + number
        factors[head] = of_queries[rare] / of_queries[head]
        factors[rare] = 1 / factors[head]
    return p * factors[queries]
