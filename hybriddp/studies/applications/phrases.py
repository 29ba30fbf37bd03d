"""Queries cut into phrases where neighbouring keywords say little of each other.

The first step of Jones, Rey, Madani, Greiner: *Generating query substitutions* (2006), as ZEAL
section 8.3 uses it.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.studies.applications.measures import Histogram
from hybriddp.studies.applications.sequences import SequenceIndex, Sequences
from hybriddp.zealous.items import QueryWords


@dataclass(frozen=True, slots=True, eq=False)
class PhrasedQueries:
    """Some queries as sequences of keywords, and the same as sequences of phrases.

    A phrase has the same number wherever it stands. Keywords are numbered anew from 0.
    """

    queries: IntArray  # ascending ids; row i below is query queries[i]
    keywords: Sequences  # one for each query
    phrases: Sequences  # one for each query, of phrase numbers
    phrase_words: Sequences  # the keywords of each element of phrases.symbols
    n_phrase_numbers: int  # phrase numbers are below this one

    def rows_of(self, queries: IntArray) -> IntArray:
        """Return the rows of these queries, which must all be here.

        Privacy claim: none; the result is as private as the queries.
        """
        return np.searchsorted(self.queries, queries)


def cut_into_phrases(
    queries: IntArray, histogram: Histogram, words: QueryWords, least_information: float
) -> PhrasedQueries:
    """Cut queries (ascending ids) by what the query histogram says of neighbouring keywords.

    Two neighbours stay together if their pointwise mutual information log2(p(ab)/(p(a) p(b))) is
    at least `least_information`, in bits: p(a) is the share of all query counts whose query has
    the keyword a, p(ab) of those where b stands right behind a. Neighbours that no query of the
    histogram has side by side are cut apart. ZEAL speaks of sets of keywords; ours keep their
    order, for a phrase is put back where another one stood.

    `words` may know queries that nobody published: only `queries`, among which must be those of
    the histogram, are looked up in it.

    Privacy claim: none; the result is as private as the queries, their words and the histogram.
    """
    original = Sequences(words.starts, words.words).take(queries)
    vocabulary, symbols = np.unique(original.symbols, return_inverse=True)
    keywords = Sequences(original.starts, symbols)
    begins = np.zeros(len(symbols), dtype=np.bool_)
    begins[keywords.starts[:-1][keywords.lengths > 0]] = True
    inside = np.flatnonzero(~begins)
    weights = np.repeat(histogram.counts_of(queries), keywords.lengths).astype(np.float64)
    information = _information(symbols, inside, weights, len(vocabulary), histogram.total)
    begins[inside] = information < least_information

    phrase_words = Sequences(np.append(np.flatnonzero(begins), len(symbols)), symbols)
    phrase_index = SequenceIndex.over(phrase_words)
    starts = np.append(0, np.cumsum(begins))[keywords.starts]  # phrases before each query
    phrases = Sequences(starts, phrase_index.find(phrase_words))
    return PhrasedQueries(queries, keywords, phrases, phrase_words, phrase_index.n_numbers)


def _information(
    symbols: IntArray, inside: IntArray, weights: FloatArray, n_symbols: int, total: int
) -> FloatArray:
    """Return the mutual information of the symbols at `inside` with those before them, in bits."""
    before, behind = symbols[inside - 1], symbols[inside]
    alone = np.bincount(symbols, weights, n_symbols)
    _, pair = np.unique(before * n_symbols + behind, return_inverse=True)
    together = np.bincount(pair, weights[inside], minlength=1)[pair]
    seen = together > 0
    information = np.full(len(inside), -np.inf)
    by_chance = alone[before[seen]] * alone[behind[seen]] / total
    information[seen] = np.log2(together[seen] / by_chance)
    return information
