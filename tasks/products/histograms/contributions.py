"""What each person gives to a histogram: their own items, and not more than they may.

DuckDB holds the log as numbers, in the order of people; `hybriddp.zealous.items` takes the items of
a block of whole people at a time. Everything is private.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.zealous.item_kinds import CLICKS, KEYWORDS, PAIRS, QUERIES
from hybriddp.zealous.items import QueryWords, SearchLog, items_of
from tasks.log.engine import Engine
from tasks.measured.stored import load_measurement
from tasks.products.histograms.request import ZealousRequest
from tasks.release.run import Release

_SECONDS_A_MINUTE = 60


@dataclass(frozen=True)
class Vocabulary:
    """How many numbers of each sort there are in a log."""

    n_people: int
    n_queries: int
    n_urls: int

    @classmethod
    def of(cls, engine: Engine) -> "Vocabulary":
        """Count what was numbered."""
        engine.step("histograms/vocabulary")
        return cls(**engine.fetch("vocabulary").to_pylist()[0])

    def n_second(self, kind: str) -> int:
        """Return how many second texts an item can have: it is first * n_second + second."""
        return max(1, {PAIRS: self.n_queries, CLICKS: self.n_urls}.get(kind, 1))


@dataclass(frozen=True)
class Picker:
    """Picks the items of one kind that people give."""

    kind: str
    items_per_user: int
    gap_seconds: int
    vocabulary: Vocabulary
    first_picks: IntArray  # of each person
    is_shown: BoolArray  # of each query: whether clicks on it count
    words: QueryWords

    def __call__(self, block: pa.RecordBatch) -> pa.RecordBatch:
        """Return (person, item) of the people in a block of `searches`, who are whole in it."""
        users, seconds, queries, urls = (
            block.column(name).to_numpy() for name in ("person", "seconds", "query", "url")
        )
        log = SearchLog(
            users,
            seconds,
            queries,
            urls,
            self.vocabulary.n_people,
            self.vocabulary.n_urls,
            self.words,
        )
        if self.kind == CLICKS:
            log = log.keep(self.is_shown[queries])
        held = items_of(log, self.kind, self.gap_seconds)
        given = held.picked(self.items_per_user, self.first_picks)
        return pa.RecordBatch.from_pydict({"person": given.users, "item": given.items})


def pick_items(engine: Engine, run: Release, request: ZealousRequest, kind: str) -> Vocabulary:
    """Fill `picked_items`: at most `items_per_user` different items of each person."""
    vocabulary = Vocabulary.of(engine)
    picker = Picker(
        kind,
        request.items_per_user,
        request.session_gap_minutes * _SECONDS_A_MINUTE,
        vocabulary,
        _first_picks(engine, vocabulary),
        _shown_queries(engine, run, request, vocabulary, kind),
        _words(engine, vocabulary, kind),
    )
    engine.map("searches", picker, "picked_items", whole="person")
    return vocabulary


def _first_picks(engine: Engine, vocabulary: Vocabulary) -> IntArray:
    people = engine.fetch("people")
    first_picks = np.zeros(vocabulary.n_people, np.int64)
    first_picks[people["number"].to_numpy()] = people["first_pick"].to_numpy()
    return first_picks


def _shown_queries(
    engine: Engine, run: Release, request: ZealousRequest, vocabulary: Vocabulary, kind: str
) -> BoolArray:
    """A person's few clicks count where they can be seen: on queries that were published."""
    if kind != CLICKS or QUERIES not in request.kinds:
        return np.ones(vocabulary.n_queries, np.bool_)
    engine.put("shown_queries", load_measurement(run, QUERIES).select(["query"]))
    engine.step("histograms/shown_numbers")
    is_shown = np.zeros(vocabulary.n_queries, np.bool_)
    is_shown[engine.fetch("shown_numbers")["number"].to_numpy()] = True
    return is_shown


def _words(engine: Engine, vocabulary: Vocabulary, kind: str) -> QueryWords:
    starts = np.zeros(vocabulary.n_queries + 1, np.int64)
    if kind != KEYWORDS:
        return QueryWords(starts, starts[:0])
    typed = engine.fetch("keywords_of_queries")
    queries, keywords = typed["query"].to_numpy(), typed["keyword"].to_numpy()
    np.cumsum(np.bincount(queries, minlength=vocabulary.n_queries), out=starts[1:])
    # Sorted as one number, which is many times faster; items do not depend on the order of words.
    width = int(keywords.max(initial=0)) + 1
    return QueryWords(starts, np.sort(queries * width + keywords) % width)
