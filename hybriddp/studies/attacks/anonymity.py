"""Anonymous search logs as others proposed them (ZEAL section 3): NOT differentially private.

They exist to be compared with and to be attacked (`hybriddp.studies.attacks.games`). What they
return has its own type, `AnonymousLog`, so that whatever publishes can refuse it. The papers' k is
`min_users` here: how many different user ids look alike. `hybriddp.studies.attacks.keywords` has
k-keyword anonymity.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.errors import require
from hybriddp.zealous.item_kinds import KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.items import SESSION_GAP_SECONDS, SearchLog, UserItems, items_of

Histogram = tuple[IntArray, IntArray]  # items in ascending order, and how many users have each


@dataclass(frozen=True, slots=True, eq=False)
class AnonymousLog:
    """What a method of ZEAL section 3 would publish. It protects nobody from an active attacker.

    The histograms count the original users, which has to be done before their ids are replaced
    (ZEAL section 8); the ids themselves are not kept.
    """

    is_differentially_private: ClassVar[Literal[False]] = False

    pseudonyms: IntArray  # (n_rows,) ascending; one for each session, or for each whole history
    items: IntArray  # (n_rows,) queries, keywords, or nodes of a tree of keywords
    guarantee: str
    histograms: Mapping[str, Histogram]

    @classmethod
    def shuffled(
        cls,
        units: IntArray,
        items: IntArray,
        guarantee: str,
        histograms: Mapping[str, Histogram],
        *,
        rng: np.random.Generator,
    ) -> "AnonymousLog":
        """Replace the number of each unit by a random one; a unit's rows keep their order.

        Only units with a row are numbered, so that nobody sees how many were suppressed.

        Privacy claim: none; k-anonymity is no differential privacy.
        """
        different, position = np.unique(units, return_inverse=True)
        pseudonyms = rng.permutation(len(different))[position]
        order = np.argsort(pseudonyms, kind="stable")
        warning = "NOT differentially private: see docs/anonymity.md"
        return cls(pseudonyms[order], items[order], f"{guarantee}. {warning}", histograms)

    def __len__(self) -> int:
        return len(self.items)

    def histogram(self, kind: str) -> Histogram:
        """Return the items of one kind and how many original users show each.

        Privacy claim: none; k-anonymity is no differential privacy.
        """
        require(
            kind in self.histograms,
            f"kind must be one of those that this method keeps, {', '.join(self.histograms)}",
            repr(kind),
            "take one of these or another method",
        )
        return self.histograms[kind]


def anonymise_queries(
    log: SearchLog,
    min_users: int,
    gap_seconds: int = SESSION_GAP_SECONDS,
    *,
    rng: np.random.Generator,
) -> AnonymousLog:
    """Drop what fewer than `min_users` asked; give every session its own pseudonym (Adar).

    ZEAL section 3, k-query anonymity, with the histograms of section 8. Sessions are those of the
    whole log, and two queries around a dropped one become a pair, as they stand in what is
    published. A pair, unlike a query or a keyword, may be that of a single user.

    Times and clicks are left out: times would link sessions, and "a k-query anonymous search log
    is not designed to publish click data" (ZEAL section 8.1).

    Privacy claim: none; k-anonymity is no differential privacy.
    """
    require_crowd(min_users)
    queries, n_askers = items_of(log, QUERIES).histogram()
    is_frequent = np.zeros(log.words.n_queries, dtype=np.bool_)
    is_frequent[queries[n_askers >= min_users]] = True
    is_kept = is_frequent[log.queries]
    sessions, kept = log.sessions(gap_seconds)[is_kept], log.keep(is_kept)
    # Dropped rows leave longer pauses behind; these times cut where the whole log was cut.
    recut = replace(kept, seconds=sessions * (gap_seconds + 1))
    kinds = (KEYWORDS, QUERIES, PAIRS)
    return AnonymousLog.shuffled(
        sessions,
        kept.queries,
        f"k-query anonymity: every query was asked by at least {min_users} user ids",
        {kind: items_of(recut, kind, gap_seconds).histogram() for kind in kinds},
        rng=rng,
    )


def anonymise_sessions(
    log: SearchLog,
    min_users: int,
    gap_seconds: int = SESSION_GAP_SECONDS,
    *,
    rng: np.random.Generator,
) -> AnonymousLog:
    """Delete keywords until every session equals sessions of `min_users` users (Motwani, Nabar).

    ZEAL section 3, k-session anonymity. A session loses its rarest keyword, again and again, the
    longest sessions first, until what is left of it is left of sessions of `min_users` different
    users. A session of which nothing is left is suppressed.

    Differs from Motwani, Nabar: keywords are deleted and never added, because an added keyword is
    a search that nobody made; and alike are sessions of different users, because one user may
    repeat a session k times. Queries and clicks are left out: without some of their keywords there
    are no queries, and clicks would tell sessions with the same keywords apart.

    Privacy claim: none; k-anonymity is no differential privacy.
    """
    require_crowd(min_users)
    sessions = log.sessions(gap_seconds)
    owners = log.users[np.flatnonzero(np.diff(sessions, prepend=-1))]
    as_users = replace(log, users=sessions, n_users=len(owners))
    by_rank, held = _by_rank(log, as_users, min_users)
    is_left = _is_in_shared_beginning(held, owners, min_users)
    session, word = held.users[is_left], by_rank[held.items[is_left]]
    return AnonymousLog.shuffled(
        session,
        word,
        "k-session anonymity: every session has the keywords of sessions of at least "
        f"{min_users} user ids",
        {KEYWORDS: UserItems.of(owners[session], word).histogram()},
        rng=rng,
    )


def require_crowd(min_users: object) -> None:
    """Raise InvalidParameter unless this many users can hide in each other."""
    require(
        type(min_users) is int and min_users >= 2,
        "min_users must be a whole number of at least 2",
        repr(min_users),
        "nobody is anonymous alone",
    )


def _by_rank(
    log: SearchLog, sessions_as_users: SearchLog, min_users: int
) -> tuple[IntArray, UserItems]:
    """Return the keywords of enough users, most frequent first, and each session's ranks in it.

    No shared set can hold a keyword of fewer users: they are the first that sessions would lose.
    """
    words, n_holders = items_of(log, KEYWORDS).histogram()
    order = np.lexsort((words, -n_holders))
    by_rank = words[order[n_holders[order] >= min_users]]
    rank = np.full(int(words.max(initial=-1)) + 1, -1)
    rank[by_rank] = np.arange(len(by_rank))
    held = items_of(sessions_as_users, KEYWORDS)
    ranks = rank[held.items]
    return by_rank, UserItems.of(held.users[ranks >= 0], ranks[ranks >= 0])


def _is_in_shared_beginning(held: UserItems, owners: IntArray, min_users: int) -> BoolArray:
    """Return which rows belong to the longest beginning that their session shares with enough.

    A session's ranks ascend, so its beginnings are a path of a tree whose nodes are equal sets.
    Nodes are numbered from the root and filled from the leaves; a level costs only the sessions
    that are as long.
    """
    depth = np.arange(len(held.users)) - np.searchsorted(held.users, held.users)
    by_depth = np.argsort(depth, kind="stable")
    levels = np.split(by_depth, np.cumsum(np.bincount(depth))[:-1]) if len(depth) else []
    node = np.zeros(len(depth), np.int64)
    n_ranks = int(held.items.max(initial=0)) + 1
    for level, rows in enumerate(levels):
        parents = node[rows - 1] if level else 0
        node[rows] = np.unique(parents * n_ranks + held.items[rows], return_inverse=True)[1]
    length = np.bincount(held.users, minlength=len(owners))
    for level in range(len(levels), 0, -1):
        rows = levels[level - 1]
        rows = rows[length[held.users[rows]] == level]  # not those that are shared already
        nodes, n_users = UserItems.of(owners[held.users[rows]], node[rows]).histogram()
        is_shared = n_users[np.searchsorted(nodes, node[rows])] >= min_users
        length[held.users[rows[~is_shared]]] -= 1
    return depth < length[held.users]
