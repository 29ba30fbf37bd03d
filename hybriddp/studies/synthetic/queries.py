"""The queries of synthetic searches: sets of words, each an edit of another one.

A family is something that people want to know: a first query, its edits, and their edits. An edit
is what people do to a query (and what query substitution learns, ZEAL section 8.3): they add a
word, drop one, take a related one instead, or misspell one.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.studies.synthetic.words import Vocabulary
from hybriddp.zealous.items import QueryWords

MAX_WORDS = 6
# Popular queries are short: each word after the first is there with probability 0.7 in the rarest
# family, and with 0.145 less whenever the rank is a tenth.
_RAREST_HAVE_WORD, _WORD_SLOPE = 0.7, 0.145
# A word is so often followed by one of its own topic; such words become phrases.
_PHRASE_SHARE = 0.25

# An edit adds or replaces a word so often, else it drops one.
_ADDS, _REPLACES = 0.5, 0.3
# The edits of a first query: dozens for one in 5,000, one for most.
_MOST_EDITS, _MANY_EDITS_BEND, _EDITS_EXPONENT, _FEWEST_EDITS = 30.0, 5_000, 0.5, 0.8
# A query's first edit has so many edits of its own for each one of the query, later ones fewer.
_SECOND_EDITS = 0.4
_MISSPELLED_SHARE = 0.15

# (MAX_WORDS, n): the words of n queries in the order of typing; -1 behind the last.
_Columns = npt.NDArray[np.int32]
_Keys = npt.NDArray[np.uint64]
# A sort key holds a position in its low bits.
_INDEX_BITS = np.uint64(24)
MAX_QUERIES = 2 ** int(_INDEX_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class QueryFamilies:
    """Different sets of words: first queries, their edits, edits of those, misspelled ones.

    The edits of a query are neighbours, the likeliest first.
    """

    words: QueryWords
    n_families: int  # query f is the first one of family f; popular families come first
    n_right: int  # queries from here on are misspelled
    families: IntArray  # (n_queries,)
    parents: IntArray  # (n_queries,): what a query is an edit of; -1 for a first query
    first_edits: IntArray  # (n_queries,): where the edits of a query begin
    n_edits: IntArray  # (n_queries,): how many it has, misspelled ones not counted
    misspelled: IntArray  # (n_queries,): the same with a word misspelled; -1 where nobody does it


@dataclass(frozen=True, slots=True, eq=False)
class _Queries:
    """Different queries, as long as others may still join them."""

    columns: _Columns
    keys: _Keys
    parents: IntArray

    def __len__(self) -> int:
        return len(self.parents)


def draw_query_families(
    n_families: int, vocabulary: Vocabulary, *, rng: np.random.Generator
) -> QueryFamilies:
    """Draw n_families families, less those whose first query another one has already."""
    require(n_families >= 1, "n_families must be >= 1", n_families, "ask for at least one")
    columns = _first_queries(n_families, vocabulary, rng)
    none = _Queries(columns[:, :0], np.zeros(0, np.uint64), np.zeros(0, np.int64))
    firsts = _joined(none, columns, np.full(columns.shape[1], -1))
    expected = _expected_edits(len(firsts))
    newest = np.arange(len(firsts))
    once = _joined_by_edits(firsts, np.repeat(newest, rng.poisson(expected)), vocabulary, rng)
    edited = once.parents[len(firsts) :]
    places = 1 + np.arange(len(edited)) - np.searchsorted(edited, edited)
    expected = _SECOND_EDITS * expected[edited] / places
    newest = np.arange(len(firsts), len(once))
    twice = _joined_by_edits(once, np.repeat(newest, rng.poisson(expected)), vocabulary, rng)
    return _with_misspellings(twice, len(firsts), len(once), vocabulary, rng)


def _joined(queries: _Queries, columns: _Columns, parents: IntArray) -> _Queries:
    """Return these queries and those others whose words are no earlier query's."""
    keys = np.append(queries.keys, _set_keys(columns))
    is_new = np.flatnonzero(_is_first(keys)[len(queries) :])
    return _Queries(
        np.append(queries.columns, columns[:, is_new], axis=1),
        np.append(queries.keys, keys[len(queries) + is_new]),
        np.append(queries.parents, parents[is_new]),
    )


def _joined_by_edits(
    queries: _Queries, edited: IntArray, vocabulary: Vocabulary, rng: np.random.Generator
) -> _Queries:
    """Return these queries and one edit of each of those edited, as far as it is another one."""
    columns, is_set = _edits(queries.columns[:, edited], vocabulary, rng)
    return _joined(queries, columns[:, is_set], edited[is_set])


def _expected_edits(n_families: int) -> FloatArray:
    bends = 1 + np.arange(n_families, dtype=np.float64) * (_MANY_EDITS_BEND / n_families)
    return _FEWEST_EDITS + _MOST_EDITS * bends**-_EDITS_EXPONENT


def _with_misspellings(
    right: _Queries, n_first: int, n_once: int, vocabulary: Vocabulary, rng: np.random.Generator
) -> QueryFamilies:
    corrected = np.flatnonzero(rng.random(len(right)) < _MISSPELLED_SHARE)
    columns = right.columns[:, corrected]
    places = (rng.random(len(corrected)) * _lengths(columns)).astype(np.int64)
    slips = places, np.arange(len(corrected))
    columns[slips] = vocabulary.misspelled(columns[slips].astype(np.int64))
    parents = np.append(right.parents, corrected)
    families = np.arange(len(parents))
    # A generation's families are known when its parents' are.
    for generation in (slice(n_first, n_once), slice(n_once, len(right)), slice(len(right), None)):
        families[generation] = families[parents[generation]]
    misspelled = np.full(len(parents), -1)
    misspelled[corrected] = np.arange(len(right), len(parents))
    n_edits = np.bincount(right.parents[n_first:], minlength=len(parents))
    return QueryFamilies(
        words=_as_words(np.concatenate([right.columns, columns], axis=1)),
        n_families=n_first,
        n_right=len(right),
        families=families,
        parents=parents,
        # Edits stand in the order of what they are edits of.
        first_edits=n_first + np.cumsum(n_edits) - n_edits,
        n_edits=n_edits,
        misspelled=misspelled,
    )


def _first_queries(n: int, vocabulary: Vocabulary, rng: np.random.Generator) -> _Columns:
    """Draw the first queries of n families, less those with a word twice."""
    columns = np.full((MAX_WORDS, n), -1, np.int32)
    share = _RAREST_HAVE_WORD + _WORD_SLOPE * np.log10(np.arange(1, n + 1) / n)
    lengths = 1 + rng.binomial(MAX_WORDS - 1, np.clip(share, 0, 1))
    # The most popular queries are names of sites and nothing else.
    n_names = min(n, vocabulary.n_site_names)
    lengths[:n_names] = 1
    columns[0] = vocabulary.sample(n, rng=rng)
    columns[0, :n_names] = np.arange(n_names)
    is_set = np.ones(n, np.bool_)
    for place in range(1, MAX_WORDS):
        rows = np.flatnonzero(lengths > place)
        words = _next_words(columns[place - 1, rows], vocabulary, rng)
        is_set[rows] &= ~np.any(columns[:place, rows] == words, axis=0)
        columns[place, rows] = words
    return columns[:, is_set]


def _next_words(
    words: npt.NDArray[np.int32], vocabulary: Vocabulary, rng: np.random.Generator
) -> npt.NDArray[np.int32]:
    """Draw what follows each of these words."""
    following = np.empty(len(words), np.int32)
    is_phrase = rng.random(len(words)) < _PHRASE_SHARE
    following[is_phrase] = vocabulary.related(words[is_phrase].astype(np.int64), rng=rng)
    following[~is_phrase] = vocabulary.sample(int(np.count_nonzero(~is_phrase)), rng=rng)
    return following


def _edits(
    columns: _Columns, vocabulary: Vocabulary, rng: np.random.Generator
) -> tuple[_Columns, npt.NDArray[np.bool_]]:
    """Draw one edit of each of these queries; say which ones hold no word twice."""
    edits = columns.copy()
    n, lengths = columns.shape[1], _lengths(columns)
    choice, places = rng.random(n), (rng.random(n) * lengths).astype(np.int64)
    # One does not drop the only word, nor add one to a query that is full.
    is_drop = (choice >= _ADDS + _REPLACES) & (lengths > 1)
    is_add = ~is_drop & ((choice < _ADDS) | (choice >= _ADDS + _REPLACES)) & (lengths < MAX_WORDS)
    drops, adds = np.flatnonzero(is_drop), np.flatnonzero(is_add)
    replaces = np.flatnonzero(~is_drop & ~is_add)
    words = np.full(n, -2, np.int32)
    words[adds] = _next_words(columns[lengths[adds] - 1, adds], vocabulary, rng)
    replaced = columns[places[replaces], replaces].astype(np.int64)
    words[replaces] = vocabulary.related(replaced, rng=rng)
    edits[lengths[adds], adds] = words[adds]
    edits[places[replaces], replaces] = words[replaces]
    for place in range(MAX_WORDS):
        behind = drops[places[drops] <= place]
        edits[place, behind] = columns[place + 1, behind] if place + 1 < MAX_WORDS else -1
    return edits, ~np.any(columns == words, axis=0)


def _lengths(columns: _Columns) -> IntArray:
    lengths: IntArray = np.sum(columns >= 0, axis=0, dtype=np.int64)
    return lengths


def _as_words(columns: _Columns) -> QueryWords:
    starts = np.append(0, np.cumsum(_lengths(columns)))
    words = np.empty(starts[-1], np.int64)
    for place, column in enumerate(columns):
        rows = np.flatnonzero(column >= 0)
        words[starts[rows] + place] = column[rows]
    return QueryWords(starts, words)


def _set_keys(columns: _Columns) -> _Keys:
    """Return a number for each query that depends on which words it has, not on their order."""
    keys = np.zeros(columns.shape[1], np.uint64)
    for column in columns:
        # The finalizer of splitmix64, so that sums of different words hardly ever agree.
        mixed = column.astype(np.uint64)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed += np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(shift)
            mixed *= np.uint64(factor)
        keys += mixed ^ (mixed >> np.uint64(31))
    return keys


def _is_first(keys: _Keys) -> npt.NDArray[np.bool_]:
    """Return which keys are no earlier one's.

    Sorting numbers with their position in the low bits is ten times faster than np.unique with
    positions. The 40 bits that are left of a key make ten of five million queries look like an
    earlier one; they are lost, and nobody misses them.
    """
    require(
        len(keys) <= MAX_QUERIES,
        f"a world must have at most {MAX_QUERIES} queries and candidates",
        len(keys),
        "lower n_families",
    )
    marked = keys >> _INDEX_BITS << _INDEX_BITS
    marked |= np.arange(len(keys), dtype=np.uint64)
    marked.sort()
    is_new = np.diff(marked >> _INDEX_BITS, prepend=np.uint64(2**64 - 1)) != 0
    is_first = np.zeros(len(keys), np.bool_)
    is_first[(marked[is_new] % np.uint64(MAX_QUERIES)).astype(np.int64)] = True
    return is_first
