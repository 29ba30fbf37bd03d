"""A search log as integers, and the items that a person contributes to a histogram (ZEAL 2.1).

Studies and releases alike take items with these functions: a release numbers its texts in DuckDB,
and hands over blocks of whole people.
"""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.errors import require, require_one_of
from hybriddp.zealous.item_kinds import CLICKS, ITEM_KINDS, KEYWORDS, QUERIES

# A longer pause ends a session: half an hour, as most engines cut them.
SESSION_GAP_SECONDS = 1_800


@dataclass(frozen=True, slots=True, eq=False)
class QueryWords:
    """Which different keywords each query is made of: those of q are words[starts[q]:starts[q+1]].

    Inside a query they stand in the order in which they are typed.
    """

    starts: IntArray  # (n_queries + 1,)
    words: IntArray  # (starts[-1],)

    @property
    def n_queries(self) -> int:
        """How many queries there are."""
        return len(self.starts) - 1

    @property
    def counts(self) -> IntArray:
        """How many keywords each query has."""
        return np.diff(self.starts)

    def of(self, query: int) -> IntArray:
        """Return the keywords of one query."""
        return self.words[self.starts[query] : self.starts[query + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class SearchLog:
    """Rows in the order of (user, time). Private, unless it is synthetic."""

    users: IntArray  # from 0 to n_users - 1, ascending; a user may have no row
    seconds: IntArray  # ascending inside a user
    queries: IntArray  # positions in `words`
    urls: IntArray  # -1 where nothing was clicked
    n_users: int
    n_urls: int
    words: QueryWords

    def __post_init__(self) -> None:
        columns = (self.users, self.seconds, self.queries, self.urls)
        require(
            len({len(column) for column in columns}) == 1,
            "users, seconds, queries and urls must have one element for each row",
            [len(column) for column in columns],
            "give whole rows",
        )
        is_same_user = np.diff(self.users) == 0
        require(
            bool(np.all(np.diff(self.users) >= 0))
            and bool(np.all(np.diff(self.seconds)[is_same_user] >= 0)),
            "rows must be in the order of (user, time)",
            "another order",
            "sort them",
        )

    def __len__(self) -> int:
        return len(self.users)

    def sessions(self, gap_seconds: int = SESSION_GAP_SECONDS) -> IntArray:
        """Return the number of each row's session, ascending, each of one user only.

        Privacy claim: none; the result is as private as the log.
        """
        if len(self) == 0:
            return np.zeros(0, np.int64)
        begins = (np.diff(self.users) != 0) | (np.diff(self.seconds) > gap_seconds)
        return np.append(0, np.cumsum(begins))

    def keep(self, is_kept: BoolArray) -> "SearchLog":
        """Return the log with these rows only; nobody is forgotten.

        Privacy claim: none; the result is as private as the log.
        """
        return replace(
            self,
            users=self.users[is_kept],
            seconds=self.seconds[is_kept],
            queries=self.queries[is_kept],
            urls=self.urls[is_kept],
        )


@dataclass(frozen=True, slots=True, eq=False)
class UserItems:
    """Different items of each user, in the order of (user, item)."""

    users: IntArray
    items: IntArray

    @classmethod
    def of(cls, users: IntArray, items: IntArray) -> "UserItems":
        """Keep each item of a user once.

        Privacy claim: none; the result is as private as the log.
        """
        if len(users) == 0:
            return cls(users, items)
        first, width = int(users.min()), int(items.max()) + 1
        if (int(users.max()) - first + 1) * width <= np.iinfo(np.int64).max:
            # Sorting one number is many times faster than sorting two columns.
            both = np.sort((users - first) * width + items)
            users, items = np.divmod(both[_is_new(both)], width)
            return cls(users + first, items)
        order = np.lexsort((items, users))
        users, items = users[order], items[order]
        is_new = _is_new(users) | _is_new(items)
        return cls(users[is_new], items[is_new])

    def bounded(self, items_per_user: int, *, rng: np.random.Generator) -> "UserItems":
        """Keep at most so many items of each user, any of them alike (ZEALOUS step 1).

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        order = np.lexsort((rng.random(len(self.users)), self.users))
        users = self.users[order]
        starts = np.searchsorted(users, users)  # where each row's user begins
        kept = np.sort(order[np.arange(len(users)) - starts < items_per_user])
        return UserItems(self.users[kept], self.items[kept])

    def picked(self, items_per_user: int, first_picks: IntArray) -> "UserItems":
        """Keep at most so many items of each user: those from their first pick on, round again.

        A user's own items and first pick alone decide, if items are numbered in an order in which
        other people's items change nothing, as that of their texts.

        Args:
            first_picks: For each user a number that does not depend on anybody's items.

        Privacy claim: none; the result is as private as the log.
        """
        begins = np.flatnonzero(_is_new(self.users))
        n_items = np.diff(np.append(begins, len(self.users)))
        first = first_picks[self.users[begins]] % n_items
        place = np.arange(len(self.users)) - np.repeat(begins + first, n_items)
        kept = np.where(place < 0, place + np.repeat(n_items, n_items), place) < items_per_user
        return UserItems(self.users[kept], self.items[kept])

    def histogram(self) -> tuple[IntArray, IntArray]:
        """Return the items that occur and how many users have each (ZEALOUS step 2).

        Privacy claim: none; the result is private and must stay with the curator.
        """
        items, counts = np.unique(self.items, return_counts=True)
        return items, counts.astype(np.int64)


def _is_new(ordered: IntArray) -> BoolArray:
    """Return where another value begins."""
    return np.append(np.ones(min(1, len(ordered)), dtype=np.bool_), np.diff(ordered) != 0)


def items_of(log: SearchLog, kind: str, gap_seconds: int = SESSION_GAP_SECONDS) -> UserItems:
    """Return every user's different items of one kind.

    keywords: word ids. queries: query ids. pairs: two different queries, one after the other in
    one session, as first * n_queries + second (a query asked again, or clicked twice, is no pair
    with itself). clicks: query * n_urls + url.

    Privacy claim: none; the result is as private as the log.
    """
    require_one_of(kind, "kind", ITEM_KINDS)
    if kind == KEYWORDS:
        asked = UserItems.of(log.users, log.queries)
        # Of these queries alone: a block of people knows few of a whole log's vocabulary.
        begins = log.words.starts[asked.items]
        counts = log.words.starts[asked.items + 1] - begins
        inside = np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
        words = log.words.words[np.repeat(begins, counts) + inside]
        return UserItems.of(np.repeat(asked.users, counts), words)
    if kind == QUERIES:
        return UserItems.of(log.users, log.queries)
    if kind == CLICKS:
        clicked = log.urls >= 0
        return UserItems.of(
            log.users[clicked], log.queries[clicked] * log.n_urls + log.urls[clicked]
        )
    sessions = log.sessions(gap_seconds)
    follows = (np.diff(sessions) == 0) & (np.diff(log.queries) != 0)
    first, second = log.queries[:-1][follows], log.queries[1:][follows]
    return UserItems.of(log.users[1:][follows], first * log.words.n_queries + second)
