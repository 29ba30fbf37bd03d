"""Populations with the published shape of AOL's and Yandex's logs, and one of another shape."""

from collections.abc import Callable, Mapping

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.planning.populations import Population

# JPC19 figure 9: the nine most frequent queries of AOL's log.
TOP_QUERY_PROBABILITIES = (0.0211, 0.0067, 0.0066, 0.0055, 0.0055, 0.0048, 0.0044, 0.0034, 0.0030)
TOP_50_MASS = 0.0879
# Only these queries have a choice of urls; every later one has exactly one.
N_QUERIES_WITH_CHOICE = 5_000


def _query_probabilities(n_queries: int) -> FloatArray:
    probabilities = np.arange(1, n_queries + 1, dtype=np.float64)
    top, middle, tail = slice(0, 9), slice(9, 50), slice(50, None)
    # In place: touching fresh memory costs more than the powers.
    for part, exponent, mass in (
        (middle, -1.25, TOP_50_MASS - sum(TOP_QUERY_PROBABILITIES)),
        (tail, -0.75, 1 - TOP_50_MASS),
    ):
        probabilities[part] **= exponent
        probabilities[part] *= mass / probabilities[part].sum()
    probabilities[top] = TOP_QUERY_PROBABILITIES
    return probabilities


def _draw_url_shares(n_queries: int, rng: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Draw 1 + Poisson(3) urls per query with Dirichlet(6, .6, .6, ...) shares, largest first."""
    url_counts = 1 + rng.poisson(3.0, n_queries)
    firsts = np.cumsum(url_counts) - url_counts
    weights = np.full(url_counts.sum(), 0.6)
    weights[firsts] = 6.0
    shares = rng.standard_gamma(weights)
    shares /= np.repeat(np.add.reduceat(shares, firsts), url_counts)
    largest_first = np.lexsort((-shares, np.repeat(np.arange(n_queries), url_counts)))
    return url_counts, shares[largest_first]


def head_and_tail(
    name: str, *, n_users: int, n_queries: int, n_urls: int, rng: np.random.Generator
) -> Population:
    """Return the shape that both published logs share: a measured head and a power-law tail.

    Ranks 1-9 as JPC19 figure 9, ranks 10-50 as rank^-1.25 up to the mass of AOL's top 50, the
    rest as rank^-0.75. With AOL's number of queries the tail starts 4 % above rank 50.

    Privacy claim: none; synthetic data.
    """
    require(n_queries > 50, "n_queries must be > 50", n_queries, "the tail starts at rank 51")
    url_counts, url_shares = _draw_url_shares(min(N_QUERIES_WITH_CHOICE, n_queries), rng)
    return Population.from_shares(
        name,
        n_users=n_users,
        n_urls=n_urls,
        query_probabilities=_query_probabilities(n_queries),
        url_counts=url_counts,
        url_shares=url_shares,
    )


def aol_like(*, rng: np.random.Generator) -> Population:
    """Return a population of the size of AOL's log of 2006 (JPC19 figure 8).

    Privacy claim: none; synthetic data.
    """
    return head_and_tail(
        "aol-like", n_users=519_371, n_queries=4_811_646, n_urls=1_620_064, rng=rng
    )


def yandex_like(*, rng: np.random.Generator) -> Population:
    """Return a population of the size of Yandex's log of 2013 (JPC19 figure 8).

    Privacy claim: none; synthetic data.
    """
    return head_and_tail(
        "yandex-like", n_users=4_970_073, n_queries=13_171_961, n_urls=12_702_350, rng=rng
    )


def zipf_like(*, rng: np.random.Generator) -> Population:
    """Return a smaller log without a pronounced head: Zipf's law, and urls that share alike.

    Privacy claim: none; synthetic data.
    """
    head = np.arange(1, 200_001, dtype=np.float64) ** -1.0
    rare = np.full(1_000_000, 0.4 / 1_000_000)
    url_counts = 1 + rng.poisson(1.0, N_QUERIES_WITH_CHOICE)
    firsts = np.cumsum(url_counts) - url_counts
    shares = rng.standard_gamma(1.0, url_counts.sum())
    shares /= np.repeat(np.add.reduceat(shares, firsts), url_counts)
    return Population.from_shares(
        "zipf-like",
        n_users=200_000,
        n_urls=1_000_000,
        query_probabilities=np.concatenate([0.6 * head / head.sum(), rare]),
        url_counts=url_counts,
        url_shares=shares,
    )


POPULATIONS: Mapping[str, Callable[..., Population]] = {
    "aol-like": aol_like,
    "yandex-like": yandex_like,
    "zipf-like": zipf_like,
}
