"""Synthetic search logs: who searched when, as integers, drawn from a population."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.errors import require
from hybriddp.planning.populations import Population

RecordsPerUser = Literal["one", "many"]

SPAN_SECONDS = 91 * 24 * 3600
ROWS_PER_BATCH = 2**18

# "many" is the ceiling of a log-normal law: median 7 records, mean 19.9, at most a cap that
# keeps one user from filling a batch and takes less than 0.01 off the mean.
RECORDS_LOGNORMAL_MEDIAN = 6.3
RECORDS_LOGNORMAL_SIGMA = 1.5
MAX_RECORDS_PER_USER = 10_000

# A row's sort key: user | second (23 bits hold SPAN_SECONDS) | whether it lacks a click (1 bit).
_SECOND_SHIFT = 1
_SECOND_MASK = 2**23 - 1
_USER_SHIFT = 24


@dataclass(frozen=True, slots=True, eq=False)
class LogBatch:
    """Consecutive rows of a log, sorted by user, then time; one entry per row in every array."""

    user_index: IntArray
    query_id: IntArray
    url_id: IntArray  # -1 where nothing was clicked
    seconds: IntArray  # since the log's start

    def __len__(self) -> int:
        return len(self.user_index)

    @property
    def item_rank(self) -> IntArray:
        """Position of the clicked url on the page, from 1; 0 where nothing was clicked.

        A query's favourite url stands first, as if the search engine had learned from clicks.

        Privacy claim: none; synthetic data.
        """
        return self.url_id + 1


def sample_log(
    population: Population,
    n_users: int,
    *,
    rng: np.random.Generator,
    records_per_user: RecordsPerUser = "one",
    no_click_share: float = 0.0,
    rows_per_batch: int = ROWS_PER_BATCH,
) -> Iterator[LogBatch]:
    """Yield a log of n_users users, batch by batch, in bounded memory.

    Every user clicks: once with "one", on a heavy-tailed number of records with "many". Rows
    without a click come on top, so many that they are no_click_share of the log's rows in
    expectation. A user's rows stay in one batch, which is longer than rows_per_batch only where
    one user alone is.

    Privacy claim: none; synthetic data.
    """
    laws = get_args(RecordsPerUser)
    require(n_users >= 1, "n_users must be >= 1", n_users, "ask for at least one user")
    require(
        records_per_user in laws,
        f"records_per_user must be one of {', '.join(laws)}",
        repr(records_per_user),
        "choose one of them",
    )
    require(
        0 <= no_click_share < 1,
        "no_click_share must be at least 0 and below 1",
        no_click_share,
        "in AOL's log it is about 0.47",
    )
    require(rows_per_batch >= 1, "rows_per_batch must be >= 1", rows_per_batch, "raise it")
    # Not a generator itself, so that a bad argument fails here and not at the first batch.
    return _batches(population, n_users, rng, records_per_user, no_click_share, rows_per_batch)


def _batches(
    population: Population,
    n_users: int,
    rng: np.random.Generator,
    records_per_user: RecordsPerUser,
    no_click_share: float,
    rows_per_batch: int,
) -> Iterator[LogBatch]:
    for block_start in range(0, n_users, ROWS_PER_BATCH):
        n_block = min(ROWS_PER_BATCH, n_users - block_start)
        clicks = draw_record_counts(n_block, records_per_user, rng=rng)
        misses = np.zeros_like(clicks)
        if no_click_share > 0:
            misses = rng.poisson(clicks * (no_click_share / (1 - no_click_share)))
        rows_before = np.concatenate([[0], np.cumsum(clicks + misses)])
        start = 0
        while start < n_block:
            limit = rows_before[start] + rows_per_batch
            stop = max(start + 1, int(np.searchsorted(rows_before, limit, side="right")) - 1)
            users = np.arange(block_start + start, block_start + stop)
            yield _batch(population, users, clicks[start:stop], misses[start:stop], rng)
            start = stop


def draw_record_counts(
    n_users: int, records_per_user: RecordsPerUser, *, rng: np.random.Generator
) -> IntArray:
    """Draw how many clicks each user has."""
    if records_per_user == "one":
        return np.ones(n_users, dtype=np.int64)
    sizes = rng.lognormal(np.log(RECORDS_LOGNORMAL_MEDIAN), RECORDS_LOGNORMAL_SIGMA, n_users)
    return np.minimum(np.ceil(sizes), MAX_RECORDS_PER_USER).astype(np.int64)


def _batch(
    population: Population,
    users: IntArray,
    clicks: IntArray,
    misses: IntArray,
    rng: np.random.Generator,
) -> LogBatch:
    # Records do not depend on times, so sorting the bare keys and then drawing the records in
    # order gives the same law as sorting whole rows, and nothing else moves.
    user_keys = users << _USER_SHIFT
    keys = np.concatenate([np.repeat(user_keys, clicks), np.repeat(user_keys | 1, misses)])
    keys |= rng.integers(0, SPAN_SECONDS, len(keys)) << _SECOND_SHIFT
    keys.sort()
    query_ids, url_ids = population.sample_records(len(keys), rng=rng)
    url_ids[np.flatnonzero(keys & 1)] = -1
    seconds = (keys >> _SECOND_SHIFT) & _SECOND_MASK
    return LogBatch(keys >> _USER_SHIFT, query_ids, url_ids, seconds)
