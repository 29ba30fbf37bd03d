"""The search log of a study's seed, shared by all settings: what it holds, and what is taken of it.

A log of half a million people has 28 million keywords of users. Everything that is taken from it
is taken once, block by block, and kept in as few bytes as it needs.
"""

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import IntArray
from hybriddp.errors import require
from hybriddp.planning.populations import study_rng
from hybriddp.studies.applications.measures import Histogram
from hybriddp.studies.attacks.anonymity import anonymise_queries
from hybriddp.studies.blender.settings import derived_seed
from hybriddp.studies.synthetic.sessions import SessionWorld, draw_session_world
from hybriddp.studies.zealous.settings import LOG_SIZES, QUICK_SIZE
from hybriddp.zealous.item_kinds import QUERIES
from hybriddp.zealous.items import SESSION_GAP_SECONDS, SearchLog, UserItems, items_of

# Fewer users are not asked for by any study, so rarer queries can be dropped once for all.
LEAST_CROWD = 10
_USERS_PER_BLOCK = 20_000

Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, eq=False)
class RankedItems:
    """Every user's different items, each with its place in a random order of that user's.

    Who gives m items gives those of rank 0 to m - 1, so whoever gives more gives these, too.
    """

    users: npt.NDArray[np.int32]
    items: IntArray
    ranks: npt.NDArray[np.int32]

    @classmethod
    def of(cls, held: UserItems, *, rng: np.random.Generator) -> "RankedItems":
        """Put each user's items in a random order (the choice of ZEALOUS step 1).

        Privacy claim: none; synthetic data.
        """
        order = np.argsort(held.users + rng.random(len(held.users)))
        starts = np.searchsorted(held.users, held.users)
        ranks = np.empty(len(order), np.int32)
        ranks[order] = np.arange(len(order)) - starts
        return cls(held.users.astype(np.int32), held.items, ranks)

    def histogram(self, items_per_user: int | None = None) -> Histogram:
        """Return how many users give each item, if everybody gives so many, or all."""
        items = self.items if items_per_user is None else self.items[self.ranks < items_per_user]
        found, counts = np.unique(items, return_counts=True)
        return Histogram(found, counts.astype(np.int64))


class StudyLog:
    """A log and what was computed from it so far."""

    def __init__(self, world: SessionWorld, log: SearchLog, name: tuple[Hashable, ...]) -> None:
        self.world, self.log, self._name = world, log, name
        self._known: dict[Hashable, Any] = {}

    @property
    def n_users(self) -> int:
        """How many users there are, all of whom search."""
        return self.log.n_users

    def once(self, key: Hashable, compute: Callable[[], Found]) -> Found:
        """Return what was computed under this key, or compute it."""
        if key not in self._known:
            self._known[key] = compute()
        return cast(Found, self._known[key])

    def rng(self, purpose: str) -> np.random.Generator:
        """Return a generator that depends on the log and the purpose, not on the order of use."""
        return study_rng(derived_seed("session log", *self._name, purpose))

    def items(self, kind: str) -> RankedItems:
        """Return every user's items of one kind, in the random order of this seed."""
        return self.once(("items", kind), lambda: self._take_items(kind))

    def original(self, kind: str) -> Histogram:
        """Return how many users have each item of one kind."""
        return self.once(("original", kind), self.items(kind).histogram)

    def anonymous(self, min_users: int) -> dict[str, Histogram]:
        """Return the histograms of the k-query anonymous log (ZEAL section 8), by kind of item."""
        return self.once(("anonymous", min_users), lambda: self._anonymise(min_users))

    def _take_items(self, kind: str) -> RankedItems:
        rng = self.rng(f"items, {kind}")
        parts = [RankedItems.of(items_of(block, kind), rng=rng) for block in self._blocks()]
        return RankedItems(
            np.concatenate([part.users for part in parts]),
            np.concatenate([part.items for part in parts]),
            np.concatenate([part.ranks for part in parts]),
        )

    def _blocks(self) -> Iterator[SearchLog]:
        """Yield the log of whole users, some at a time: sorting it in one piece takes longer."""
        log = self.log
        bounds = np.arange(0, log.n_users + _USERS_PER_BLOCK, _USERS_PER_BLOCK)
        rows = np.searchsorted(log.users, bounds)
        for begin, end in zip(rows[:-1].tolist(), rows[1:].tolist(), strict=True):
            part = slice(begin, end)
            yield replace(
                log,
                users=log.users[part],
                seconds=log.seconds[part],
                queries=log.queries[part],
                urls=log.urls[part],
            )

    def _anonymise(self, min_users: int) -> dict[str, Histogram]:
        require(
            min_users >= LEAST_CROWD,
            f"min_users must be at least {LEAST_CROWD} in a study",
            min_users,
            "lower LEAST_CROWD for smaller crowds",
        )
        frequent = self.once("frequent", self._frequent)
        anonymous = anonymise_queries(frequent, min_users, rng=self.rng(f"anonymous, {min_users}"))
        return {kind: Histogram(*found) for kind, found in anonymous.histograms.items()}

    def _frequent(self) -> SearchLog:
        """Drop the queries that no study keeps, and cut sessions where the whole log is cut.

        A larger k drops them, too, and pairs form around whatever is missing: the histograms of
        the anonymous log are the same as if nothing had been dropped before.
        """
        queries = self.original(QUERIES)
        is_frequent = np.zeros(self.log.words.n_queries, dtype=np.bool_)
        is_frequent[queries.items[queries.counts >= LEAST_CROWD]] = True
        is_kept = is_frequent[self.log.queries]
        sessions = self.log.sessions()[is_kept]
        return replace(self.log.keep(is_kept), seconds=sessions * (SESSION_GAP_SECONDS + 1))


def draw_study_log(population: str, seed: int, *, is_quick: bool) -> StudyLog:
    """Draw a world and a log in it; all settings of this seed share them."""
    n_users, world_size = QUICK_SIZE if is_quick else LOG_SIZES[population]
    name = (population, is_quick, seed)
    rng = study_rng(derived_seed("session log", *name))
    world = draw_session_world(rng=rng, size=world_size)
    return StudyLog(world, world.draw_log(n_users, rng=rng), name)
