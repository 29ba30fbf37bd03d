"""Substitutes for frequent queries, learned from how people rephrase them (ZEAL section 8.3).

After Jones, Rey, Madani, Greiner: *Generating query substitutions* (2006). The same code runs on
the histograms of a raw log, of ZEALOUS and of a k-anonymous log; a count is a weight to it.

Two sources of candidates for a query: the queries that followed it (query pairs), and the query
with one of its phrases replaced (phrase pairs: two queries of a pair that differ in one phrase).
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require, require_count
from hybriddp.studies.applications.measures import Histogram
from hybriddp.studies.applications.pair_links import Links, significant_links
from hybriddp.studies.applications.phrases import PhrasedQueries, cut_into_phrases
from hybriddp.studies.applications.sequences import SequenceIndex, Sequences, ranges
from hybriddp.zealous.items import QueryWords


@dataclass(frozen=True, slots=True)
class SubstitutionRules:
    """What counts as a phrase and as a rephrasing.

    A pair that is seen once, of queries seen once, has a ratio of about 2 + 2 ln(all pairs), 32
    for three million: chi-squared's usual 3.84 would keep every accident of a long tail.
    """

    least_information: float = 3.0  # bits: 8 times as often side by side as by chance
    least_ratio: float = 100.0
    substitutes_per_phrase: int = 20  # the strongest; most of what they lead to is no query


DEFAULT_RULES = SubstitutionRules()


@dataclass(frozen=True, slots=True, eq=False)
class Rankings:
    """The substitutes of some queries, best first."""

    queries: IntArray  # (n,)
    substitutes: IntArray  # (n, length) query ids, -1 behind the last

    def top(self, length: int) -> "Rankings":
        """Return the rankings cut to this length."""
        require_count(length, "length")
        return Rankings(self.queries, self.substitutes[:, :length])


@dataclass(frozen=True, slots=True, eq=False)
class _Candidates:
    """Substitutes in no order; one may occur several times."""

    targets: IntArray  # positions in the list of targets
    rows: IntArray  # of the substitutes
    ratios: FloatArray


def substitutions(
    targets: IntArray,
    queries: Histogram,
    pairs: Histogram,
    words: QueryWords,
    length: int,
    rules: SubstitutionRules = DEFAULT_RULES,
) -> Rankings:
    """Rank at most `length` substitutes for each target query.

    Candidates are ranked by the log-likelihood ratio of the pair that they come from, the highest
    one if they come from several; then the more frequent query is first, then the lower id.
    Differs from Jones et al.: no learned ranking, only one phrase changes, and a rewritten query
    counts only if the histograms have it, for a query that nobody asked has no id.

    `words` may know queries that nobody published. Only the targets (somebody has just typed
    them) and queries of the two histograms are looked up in it, and only the latter can be
    substitutes.

    Privacy claim: none; the result is as private as the histograms.
    """
    require_count(length, "length")
    first, second = _ends(pairs, words.n_queries)
    _require_known((targets, queries.items, first), words.n_queries)
    published = np.union1d(queries.items, np.append(first, second))
    phrased = cut_into_phrases(
        np.union1d(targets, published), queries, words, rules.least_information
    )
    first, second, rows = (phrased.rows_of(ids) for ids in (first, second, targets))
    followers = _followers(rows, significant_links(first, second, pairs.counts, rules.least_ratio))
    popularity = queries.counts_of(phrased.queries)
    rewritten = _rewritten(
        phrased,
        rows,
        _phrase_links(phrased, first, second, pairs.counts, rules.least_ratio),
        _QueryFinder.over(phrased, phrased.rows_of(published), popularity),
        rules.substitutes_per_phrase,
    )
    best = _best(followers, rewritten, popularity, (len(targets), length))
    return Rankings(targets, np.append(phrased.queries, -1)[best])


def _ends(pairs: Histogram, n_queries: int) -> tuple[IntArray, IntArray]:
    """Return the first and the second query of each pair (search_log.items_of)."""
    first, second = np.divmod(pairs.items, max(n_queries, 1))
    require(
        bool(np.all(first != second)),
        "pairs must be of two different queries",
        "a query paired with itself",
        "take pairs as search_log.items_of does",
    )
    return first, second


def _require_known(lists: tuple[IntArray, ...], n_queries: int) -> None:
    require(
        all(len(ids) == 0 or (ids.min() >= 0 and ids.max() < n_queries) for ids in lists),
        "targets, queries and pairs must be made of queries that `words` knows",
        f"an id beyond its {n_queries} queries",
        "number them as search_log.items_of does",
    )


def _followers(target_rows: IntArray, links: Links) -> _Candidates:
    targets, link = links.leading_from(target_rows, len(links))
    return _Candidates(targets, links.second[link], links.ratios[link])


def _phrase_links(
    phrased: PhrasedQueries,
    first: IntArray,
    second: IntArray,
    counts: IntArray,
    least_ratio: float,
) -> Links:
    """Find the phrase that changes in each pair whose queries differ in one, and score the pairs.

    Phrases are compared place by place. A phrase pair counts as often as the query pairs that it
    is in, so it may be frequent though each of them is rare (ZEAL section 8.3).
    """
    n_phrases = phrased.phrases.lengths
    alike = np.flatnonzero(n_phrases[first] == n_phrases[second])
    sizes = n_phrases[first[alike]]
    before = phrased.phrases.take(first[alike]).symbols
    behind = phrased.phrases.take(second[alike]).symbols
    pair = np.repeat(np.arange(len(alike)), sizes)
    differs = before != behind
    n_different = np.bincount(pair[differs], minlength=len(alike))
    at = np.flatnonzero(differs & (n_different[pair] == 1))
    keys, place = np.unique(before[at] * phrased.n_phrase_numbers + behind[at], return_inverse=True)
    # Exact: sums of whole numbers far below 2^53.
    totals = np.bincount(place, counts[alike][pair[at]], len(keys)).astype(np.int64)
    return significant_links(*np.divmod(keys, phrased.n_phrase_numbers), totals, least_ratio)


@dataclass(frozen=True, slots=True, eq=False)
class _QueryFinder:
    """Finds the row of the query that is made of given keywords."""

    index: SequenceIndex
    rows: IntArray  # by number of sequence, -1 if no query; the last one serves "not found"

    @classmethod
    def over(cls, phrased: PhrasedQueries, rows: IntArray, popularity: IntArray) -> "_QueryFinder":
        """Index the queries of these rows.

        Privacy claim: none; the result is as private as the queries.
        """
        sequences = phrased.keywords.take(rows)
        index = SequenceIndex.over(sequences)
        by_number = np.full(index.n_numbers + 1, -1)
        # Two queries may have the same keywords, if one has a word twice. The last one written
        # stays: the more frequent, then the lower id.
        order = np.lexsort((-rows, popularity[rows]))
        by_number[index.find(sequences)[order]] = rows[order]
        return cls(index, by_number)

    def find(self, sequences: Sequences) -> IntArray:
        """Return the row of each sequence of keywords, -1 if it is no query."""
        return self.rows[self.index.find(sequences)]


def _rewritten(
    phrased: PhrasedQueries,
    target_rows: IntArray,
    links: Links,
    finder: _QueryFinder,
    substitutes_per_phrase: int,
) -> _Candidates:
    """Replace each phrase of each target by its strongest substitutes, and look for the result.

    The result is looked up by its keywords, however it would be cut itself.
    """
    n_phrases = phrased.phrases.lengths[target_rows]
    places = ranges(phrased.phrases.starts[target_rows], n_phrases)
    targets = np.repeat(np.arange(len(target_rows)), n_phrases)
    at, link = links.leading_from(phrased.phrases.symbols[places], substitutes_per_phrase)
    places, targets = places[at], targets[at]
    # Any place where a phrase stands shows its keywords.
    example = np.zeros(phrased.n_phrase_numbers, np.int64)
    example[phrased.phrases.symbols] = np.arange(len(phrased.phrases.symbols))
    rewritten = _replace(phrased, target_rows[targets], places, example[links.second[link]])
    rows = finder.find(rewritten)
    found = np.flatnonzero(rows >= 0)
    return _Candidates(targets[found], rows[found], links.ratios[link[found]])


def _replace(
    phrased: PhrasedQueries, rows: IntArray, places: IntArray, new_places: IntArray
) -> Sequences:
    """Return the keywords of queries with the phrase at one place replaced by that at another."""
    begins, ends = phrased.phrase_words.starts[:-1], phrased.phrase_words.starts[1:]
    parts = np.stack(
        [
            (phrased.keywords.starts[rows], begins[places]),
            (begins[new_places], ends[new_places]),
            (ends[places], phrased.keywords.starts[rows + 1]),
        ],
        axis=-1,
    )
    lengths = parts[1] - parts[0]
    symbols = phrased.keywords.symbols[ranges(parts[0].ravel(), lengths.ravel())]
    return Sequences.of_lengths(lengths.sum(axis=1), symbols)


def _best(
    followers: _Candidates, rewritten: _Candidates, popularity: IntArray, shape: tuple[int, int]
) -> IntArray:
    """Return the rows of the best candidates of each target, -1 where there are no more."""
    targets = np.append(followers.targets, rewritten.targets)
    rows = np.append(followers.rows, rewritten.rows)
    ratios = np.append(followers.ratios, rewritten.ratios)
    order = np.lexsort((-ratios, rows, targets))
    targets, rows, ratios = targets[order], rows[order], ratios[order]
    is_new = np.append(True, (np.diff(targets) != 0) | (np.diff(rows) != 0))[: len(rows)]
    targets, rows, ratios = targets[is_new], rows[is_new], ratios[is_new]
    order = np.lexsort((rows, -popularity[rows], -ratios, targets))
    targets, rows = targets[order], rows[order]
    rank = np.arange(len(targets)) - np.searchsorted(targets, targets)
    kept = rank < shape[1]
    best = np.full(shape, -1)
    best[targets[kept], rank[kept]] = rows[kept]
    return best
