"""What is publicly believed about searches before a release: the planner's only data.

A prior is a law over records <query, url>. The records of the likeliest queries stand in it one
by one; the long tail, in which every query has one record, in groups of about equal ones. What is
left is dust: searches so rare that nobody repeats them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.planning.populations import Population

# Queries that stand in a prior one by one; a list shows far fewer.
N_EXPLICIT = 1 << 15
# Groups of the tail: records of one group differ by a fifth at most.
_N_GROUPS = 96
# A published list's tail goes on to this rank at most.
_LAST_RANK = 20_000_000
# How many listed queries weigh as much as the expectation that the tail follows Zipf's law.
_PSEUDO_QUERIES = 4.0
_ZIPF = 1.0
# Urls of an average query that a published list's tail copies.
_PROFILE_URLS = 3


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """A law over records, sorted by query, then url; query ids are ranks from 0."""

    name: str
    query_ids: IntArray  # (records that stand one by one,)
    url_ids: IntArray
    probabilities: FloatArray
    is_nameable: BoolArray  # False for "any other url of this query", which is no record
    group_sizes: IntArray  # (groups of the tail,), how many records
    group_probabilities: FloatArray  # of each record of a group

    @property
    def n_queries(self) -> int:
        """Queries that stand one by one."""
        return int(self.query_ids[-1]) + 1

    @property
    def dust(self) -> float:
        """The mass of what nobody repeats."""
        tail = float(self.group_sizes @ self.group_probabilities)
        return max(1 - float(self.probabilities.sum()) - tail, 0.0)

    @classmethod
    def of_population(cls, population: Population, n_explicit: int = N_EXPLICIT) -> "Prior":
        """Return a synthetic population's law.

        Privacy claim: none; synthetic data.
        """
        last = min(n_explicit, population.n_queries)
        n_explicit = max(last, int(population.choice_query_ids[-1]) + 1)
        n_records = n_explicit + len(population.record_cdf) - population.n_queries
        query_ids, url_ids = population.decode_records(np.arange(n_records))
        law = population.record_probabilities
        tail = law[n_records:]
        edges = _edges(n_records, len(law)) - n_records
        sizes = np.diff(edges)
        masses = np.add.reduceat(tail, edges[:-1]) if len(tail) else np.zeros(0)
        return cls(
            population.name,
            query_ids,
            url_ids,
            law[:n_records],
            np.ones(n_records, dtype=np.bool_),
            sizes,
            masses / sizes,
        )

    @classmethod
    def of_list(
        cls,
        name: str,
        query_probabilities: Sequence[float],
        url_shares: Sequence[Sequence[float]],
        *,
        slope: float | None = None,
        n_explicit: int = N_EXPLICIT,
    ) -> "Prior":
        """Return the law that a published list suggests; its tail goes on as its head falls.

        `query_probabilities` are the published ones of queries that are surely there, likeliest
        first; `url_shares[q]` what each listed url has of its query. With b queries of which the
        last has p_b, query r > b has p_b (r/b)^-s, as long as there is mass for it, where s is
        `slope`, or `tail_slope` of the listed ones. A query of the tail has the average listed
        query's urls.

        Privacy claim: none; post-processing of a published list.
        """
        listed = np.asarray(query_probabilities, dtype=np.float64)
        require(
            len(listed) >= 1 and bool(np.all(listed > 0)) and len(url_shares) == len(listed),
            "a list must hold at least 1 query that is surely there",
            len(listed),
            "plan from a synthetic profile instead",
        )
        b, s = len(listed), slope or tail_slope(query_probabilities)
        ranks = np.arange(b + 1, max(n_explicit, b) + 1)
        unlisted = _within_mass(listed[-1] * (ranks / b) ** -s, 1 - listed.sum())
        profile = _profile(url_shares)
        heads = _records(listed, [np.append(own, 1 - sum(own)) for own in url_shares], 0)
        tails = _records(unlisted, [np.append(profile, 1 - sum(profile))] * len(unlisted), b)
        left = 1 - listed.sum() - unlisted.sum()
        sizes, probabilities = _tail_groups(b + len(unlisted), listed[-1] * b**s, s, left)
        # One record of each query of the far tail: its likeliest url.
        query_ids, url_ids, law, is_nameable = (
            np.concatenate([head, tail]) for head, tail in zip(heads, tails, strict=True)
        )
        return cls(name, query_ids, url_ids, law, is_nameable, sizes, probabilities * profile[0])


def shares_of(records: Sequence[float], other_urls: float) -> list[float]:
    """Return what each listed url has of its query, from published probabilities.

    Where all of them are 0, nothing is known, and the first url gets everything.
    """
    whole = sum(records) + other_urls
    if whole <= 0:
        return [float(i == 0) for i in range(max(len(records), 1))]
    return [p / whole for p in records]


def tail_slope(query_probabilities: Sequence[float]) -> float:
    """Return s of p_r ~ r^-s, from the likeliest queries' probabilities in descending order.

    Hill's estimator, drawn towards Zipf's law while there are few.

    Privacy claim: none; post-processing of a published list.
    """
    steps = np.log(np.asarray(query_probabilities) / query_probabilities[-1])
    return float((steps.sum() + _PSEUDO_QUERIES * _ZIPF) / (len(steps) + _PSEUDO_QUERIES))


def _edges(first: int, end: int) -> IntArray:
    """Return group borders from `first` to `end`, in equal ratios."""
    return np.unique(np.geomspace(first, end, _N_GROUPS + 1).round().astype(np.int64))


def _within_mass(probabilities: FloatArray, mass: float) -> FloatArray:
    return probabilities[np.cumsum(probabilities) <= mass]


def _tail_groups(
    first: int, scale: float, slope: float, mass: float
) -> tuple[IntArray, FloatArray]:
    """Group the ranks after `first`, of probability scale rank^-slope, as far as the mass goes."""
    edges = _edges(first, max(_LAST_RANK, first + 1))
    sizes, middles = np.diff(edges), (edges[:-1] + edges[1:] + 1) / 2
    probabilities = scale * middles**-slope
    fits = np.cumsum(sizes * probabilities) <= max(mass, 0.0)
    return sizes[fits], probabilities[fits]


def _profile(url_shares: Sequence[Sequence[float]]) -> list[float]:
    """Return the average shares of the likeliest, second and third url."""
    padded = np.zeros((len(url_shares), _PROFILE_URLS))
    for row, shares in zip(padded, url_shares, strict=True):
        largest = sorted(shares, reverse=True)[:_PROFILE_URLS]
        row[: len(largest)] = largest
    profile: list[float] = padded.mean(axis=0).tolist()
    return profile


def _records(
    queries: FloatArray, shares: list[FloatArray], first: int
) -> tuple[IntArray, IntArray, FloatArray, BoolArray]:
    """Lay records out from query `first` on; a query's last share is that of its other urls."""
    if not shares:
        nothing = np.zeros(0, dtype=np.int64)
        return nothing, nothing, np.zeros(0), nothing.astype(np.bool_)
    sizes = np.fromiter(map(len, shares), dtype=np.int64, count=len(shares))
    rows = np.repeat(np.arange(len(queries)), sizes)
    starts = np.cumsum(sizes) - sizes
    is_nameable = np.ones(len(rows), dtype=np.bool_)
    is_nameable[starts + sizes - 1] = False
    probabilities = queries[rows] * np.maximum(np.concatenate(shares), 0)
    return first + rows, np.arange(len(rows)) - starts[rows], probabilities, is_nameable
