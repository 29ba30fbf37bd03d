"""Synthetic search populations, and the generator that people are drawn from them with.

A population is one categorical law over records <query, url>. Studies, tests and synthetic logs
draw from it; no release does.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require


def study_rng(seed: int) -> np.random.Generator:
    """Return the reproducible generator of studies, tests and synthetic logs.

    Never for a release: whoever knows the seed can subtract the noise.
    """
    require(seed >= 0, "seed must be >= 0", seed, "choose any non-negative integer")
    return np.random.Generator(np.random.PCG64(seed))


@dataclass(frozen=True, eq=False)
class Population:
    """One categorical law over records, which are sorted by query, then url.

    Query ids are ranks from 0; url ids are positions in the query's own list. The records of
    queries with a choice of urls come first. After them every query has one record with url 0,
    so a record's number gives its query. Build one with `from_shares`, which makes the tables
    fit each other.
    """

    name: str
    n_users: int  # of the log that it imitates: the default size of a new one
    n_queries: int
    n_urls: int  # different sites over all queries, for whoever writes urls as text
    choice_query_ids: IntArray  # (records of queries with a choice,)
    choice_url_ids: IntArray  # (records of queries with a choice,)
    record_cdf: FloatArray  # (records,), the last entry is exactly 1

    @cached_property
    def guide(self) -> npt.NDArray[np.int32]:
        """The first record with cdf > cell / cells, for every cell; who draws nothing has none.

        Privacy claim: none; synthetic data.
        """
        table = _guide_table(self.record_cdf)
        table.flags.writeable = False
        return table

    @classmethod
    def from_shares(
        cls,
        name: str,
        *,
        n_users: int,
        n_urls: int,
        query_probabilities: FloatArray,
        url_counts: npt.NDArray[np.integer],
        url_shares: FloatArray,
    ) -> "Population":
        """Return the population with these queries, the first of which have these urls.

        Privacy claim: none; synthetic data.

        Args:
            query_probabilities: Shape (n_queries,), most frequent first; scaled to sum to 1.
            url_counts: Urls of each query with a choice, shape (n_queries with a choice,).
            url_shares: Shares of those urls inside their query, shape (url_counts.sum(),).
        """
        n_choice = len(url_counts)
        query_ids = np.repeat(np.arange(n_choice), url_counts)
        first_records = np.cumsum(url_counts) - url_counts
        url_ids = np.arange(len(query_ids)) - first_records[query_ids]
        cdf = np.concatenate(
            [query_probabilities[query_ids] * url_shares, query_probabilities[n_choice:]]
        )
        np.cumsum(cdf, out=cdf)
        cdf /= cdf[-1]
        for array in (query_ids, url_ids, cdf):
            array.flags.writeable = False
        n_queries = len(query_probabilities)
        return cls(name, n_users, n_queries, n_urls, query_ids, url_ids, cdf)

    @property
    def record_query_ids(self) -> IntArray:
        """Query of every record, shape (records,).

        Privacy claim: none; synthetic data.
        """
        return self.decode_records(np.arange(len(self.record_cdf)))[0]

    @property
    def record_url_ids(self) -> IntArray:
        """Url of every record, shape (records,).

        Privacy claim: none; synthetic data.
        """
        return self.decode_records(np.arange(len(self.record_cdf)))[1]

    @property
    def record_probabilities(self) -> FloatArray:
        """Law of the sampler, shape (records,).

        Privacy claim: none; synthetic data.
        """
        return np.diff(self.record_cdf, prepend=0.0)

    @property
    def query_probabilities(self) -> FloatArray:
        """Law of a record's query, shape (n_queries,).

        Privacy claim: none; synthetic data.
        """
        law = np.bincount(self.record_query_ids, self.record_probabilities)
        return law.astype(np.float64, copy=False)

    def records_at(self, uniforms: FloatArray) -> IntArray:
        """Return the first record whose cdf exceeds each number of [0, 1).

        Indexed search (Chen and Asau 1974): a guide table leads to the first record that can be
        the answer, and a few steps go on from there. The cells are a power of two, so the
        product below is exact and the result equals np.searchsorted(side="right"), which takes
        ten times longer: it probes a table far larger than the cache 23 times per draw. Walker's
        alias table needs no steps, but building it is a sequential loop over all records.

        Privacy claim: none; synthetic data.
        """
        cells = (uniforms * len(self.guide)).astype(np.int64)
        records = np.take(self.guide, cells).astype(np.int64)
        behind = np.flatnonzero(np.take(self.record_cdf, records) <= uniforms)
        while behind.size:
            records[behind] += 1
            behind = behind[self.record_cdf[records[behind]] <= uniforms[behind]]
        return records

    def decode_records(self, records: IntArray) -> tuple[IntArray, IntArray]:
        """Return the query ids and url ids of these records.

        Privacy claim: none; synthetic data.
        """
        query_ids = records - (len(self.record_cdf) - self.n_queries)
        url_ids = np.zeros_like(records)
        has_choice = np.flatnonzero(records < len(self.choice_query_ids))
        query_ids[has_choice] = self.choice_query_ids[records[has_choice]]
        url_ids[has_choice] = self.choice_url_ids[records[has_choice]]
        return query_ids, url_ids

    def sample_records(self, n: int, *, rng: np.random.Generator) -> tuple[IntArray, IntArray]:
        """Draw n independent records; return their query ids and url ids.

        Privacy claim: none; synthetic data.
        """
        require(n >= 0, "n must be >= 0", n, "ask for zero records or more")
        return self.decode_records(self.records_at(rng.random(n)))


def _guide_table(cdf: FloatArray) -> npt.NDArray[np.int32]:
    # At least one cell per record: then a draw takes half a step on average.
    n_cells = 1 << (len(cdf) - 1).bit_length()
    # Record j serves the cells k with cdf[j-1] <= k / n_cells < cdf[j].
    first_cells_after = np.ceil(cdf * n_cells).astype(np.int64)
    return np.repeat(np.arange(len(cdf), dtype=np.int32), np.diff(first_cells_after, prepend=0))
