"""Query substitution (ZEAL section 8.3): by hand, and against a version in plain Python."""

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.errors import InvalidParameter
from hybriddp.studies.applications.measures import Histogram
from hybriddp.studies.applications.pair_links import log_likelihood_ratio, significant_links
from hybriddp.studies.applications.phrases import cut_into_phrases
from hybriddp.studies.applications.ranking import compare_rankings
from hybriddp.studies.applications.sequences import SequenceIndex, Sequences
from hybriddp.studies.applications.substitution import Rankings, SubstitutionRules, substitutions
from hybriddp.zealous.item_kinds import PAIRS, QUERIES
from hybriddp.zealous.items import QueryWords, SearchLog, items_of


def sequences(rows) -> Sequences:
    symbols = np.array([symbol for row in rows for symbol in row], dtype=int)
    return Sequences.of_lengths(np.array([len(row) for row in rows], dtype=int), symbols)


def words_of(texts: list[str]) -> QueryWords:
    """Number the keywords of texts by their alphabet."""
    vocabulary = sorted({word for text in texts for word in text.split()})
    rows = sequences([[vocabulary.index(word) for word in text.split()] for text in texts])
    return QueryWords(rows.starts, rows.symbols)


def query_histogram(counts: dict[int, int]) -> Histogram:
    return Histogram.of(np.array([*counts], dtype=int), np.array([*counts.values()], dtype=int))


def pair_histogram(counts: dict[tuple[int, int], int], words: QueryWords) -> Histogram:
    return query_histogram({a * words.n_queries + b: n for (a, b), n in counts.items()})


# Sequences and their index


rows_of_symbols = st.lists(st.lists(st.integers(0, 4), max_size=4), max_size=25)


# With two symbols, (0, 2) has the key of (1, 0).
@example([[0, 0], [1, 0]], [[0, 2]])
@given(rows_of_symbols, rows_of_symbols)
def test_index_numbers_equal_sequences_alike_and_finds_no_others(indexed, wanted):
    index = SequenceIndex.over(sequences(indexed))
    numbers = index.find(sequences(indexed + wanted)).tolist()
    assert max(numbers, default=-1) < index.n_numbers
    prefixes = {tuple(row[:n]) for row in indexed for n in range(len(row) + 1)} | {()}
    number_of = {}
    for row, number in zip(indexed + wanted, numbers, strict=True):
        assert (number >= 0) == (tuple(row) in prefixes)
        if number >= 0:
            assert number_of.setdefault(tuple(row), number) == number
    assert len(set(number_of.values())) == len(number_of)


# Phrases


def phrases_of(texts: list[str], counts: dict[int, int], least_information: float) -> list[str]:
    words = words_of(texts)
    phrased = cut_into_phrases(
        np.arange(len(texts)), query_histogram(counts), words, least_information
    )
    vocabulary = sorted({word for text in texts for word in text.split()})
    cut = []
    for query in range(len(texts)):
        places = range(*phrased.phrases.starts[query : query + 2])
        phrases = [phrased.phrase_words.take(np.array([place])).symbols for place in places]
        cut.append(" | ".join(" ".join(vocabulary[w] for w in phrase) for phrase in phrases))
    return cut


def test_neighbours_stay_together_from_the_least_information_on():
    # new and york: 2 of 16 each, together 2 of 16: log2((2/16)/(2/16)^2) = 3 bits.
    texts, counts = ["new york", "car"], {0: 2, 1: 14}
    assert phrases_of(texts, counts, 3.0) == ["new york", "car"]
    assert phrases_of(texts, counts, 3.001) == ["new | york", "car"]


def test_queries_are_cut_where_the_histogram_says_so_though_it_lacks_them():
    # york: 8 of 64; hotels: 16; together 4, so log2(4 * 64/(8 * 16)) = 1 bit;
    # new york: log2(8 * 64/(8 * 8)) = 3 bits. Nobody has "york new" or "hotels new".
    texts = ["new york", "new york hotels", "hotels", "cars", "hotels new york", "york new", ""]
    counts = {0: 4, 1: 4, 2: 12, 3: 44}
    assert phrases_of(texts, counts, 2.0) == [
        "new york", "new york | hotels", "hotels", "cars", "hotels | new york", "york | new", "",
    ]  # fmt: skip
    assert phrases_of(texts, counts, 1.0)[1] == "new york hotels"
    assert phrases_of(texts, counts, 1.001)[1] == "new york | hotels"


def test_phrase_has_one_number_wherever_it_stands():
    words = words_of(["new york", "new york hotels", "york", "hotels"])
    histogram = query_histogram({0: 4, 1: 1, 2: 1, 3: 90})
    phrases = cut_into_phrases(np.arange(4), histogram, words, 3.0).phrases
    new_york, hotels = phrases.take(np.array([1])).symbols
    assert phrases.take(np.array([0, 3])).symbols.tolist() == [new_york, hotels]
    assert len({*phrases.symbols.tolist()}) == 3


# Pairs that are no accident


@given(st.tuples(*[st.integers(0, 60)] * 4).filter(lambda t: t[0] + t[1] and t[2] + t[3]))
def test_ratio_is_the_g_statistic_of_the_two_by_two_table(cells):
    both, only_first, only_second, neither = cells
    if both + only_second == 0 or only_first + neither == 0:
        expected = 0.0  # a table with one column
    else:
        table = [[both, only_first], [only_second, neither]]
        expected = stats.chi2_contingency(table, correction=False, lambda_="log-likelihood")[0]
    arguments = (np.array([float(n)]) for n in (both, both + only_first, both + only_second))
    ratio = log_likelihood_ratio(*arguments, float(sum(cells)))
    assert ratio[0] == pytest.approx(expected, abs=1e-9)


def test_links_are_pairs_above_chance_in_the_order_of_strength():
    # Of 100 pairs: 0 -> 10 (40 of 50 and 45), 0 -> 11 (10 of 50 and 50), 1 -> 10 (5), 1 -> 11 (40),
    # 1 -> 12 (5 of 50 and 5). Pairs 0 -> 11 and 1 -> 10 shun each other.
    first, second = np.array([0, 0, 1, 1, 1]), np.array([10, 11, 10, 11, 12])
    counts = np.array([40, 10, 5, 40, 5])
    links = significant_links(first, second, counts, 1.0)
    assert list(zip(links.first, links.second, strict=True)) == [(0, 10), (1, 11), (1, 12)]
    assert links.ratios[1] > links.ratios[2] > 7
    positions, found = links.leading_from(np.array([7, 1, 0, 1]), at_most=1)
    assert positions.tolist() == [1, 2, 3]
    assert links.second[found].tolist() == [11, 10, 11]
    strict = significant_links(first, second, counts, links.ratios[1])
    assert strict.second.tolist() == [10, 11]


# Substitutes


# Side by side 1.5 times as often as by chance, far from 2^5: every keyword is a phrase.
TEXTS = ["cheap flights", "cheap tickets", "rome flights", "rome tickets", "hotels", "hostels"]
WORDS = words_of(TEXTS)
COUNTS = query_histogram(dict.fromkeys(range(6), 10))
# In each table of pairs (queries, then phrases) both pairs have G2 = 2 * 60 ln 2 = 83.
FOLLOWED = pair_histogram({(0, 1): 30, (4, 5): 30}, WORDS)
RULES = SubstitutionRules(least_information=5, least_ratio=80)


def test_phrase_pair_of_one_query_rewrites_another():
    ranked = substitutions(np.arange(6), COUNTS, FOLLOWED, WORDS, 2, RULES)
    assert ranked.substitutes.tolist() == [[1, -1], [-1, -1], [3, -1], [-1, -1], [5, -1], [-1, -1]]
    strict = SubstitutionRules(least_information=5, least_ratio=84)
    assert (substitutions(np.arange(6), COUNTS, FOLLOWED, WORDS, 2, strict).substitutes < 0).all()


def test_only_published_queries_are_substitutes():
    without_tickets = query_histogram({0: 10, 1: 10, 2: 10, 4: 10, 5: 10})
    ranked = substitutions(np.array([2, 3]), without_tickets, FOLLOWED, WORDS, 2, RULES)
    assert (ranked.substitutes < 0).all()
    # A published pair publishes its queries.
    pairs = pair_histogram({(0, 1): 30, (4, 5): 30, (3, 4): 30}, WORDS)
    ranked = substitutions(np.array([2]), without_tickets, pairs, WORDS, 2, RULES)
    assert ranked.substitutes.tolist() == [[3, -1]]


def test_words_of_unpublished_queries_are_never_looked_at():
    extended = words_of([*TEXTS, "paris flights", "paris tickets", "cheap flights"])
    published = pair_histogram({(0, 1): 30, (4, 5): 30}, extended)
    ranked = substitutions(np.arange(6), COUNTS, published, extended, 3, RULES)
    starts = extended.starts.copy()
    starts[7:] = -1  # lengths below 0: to look one of the last three up is an error
    other = QueryWords(starts, extended.words[: starts[6]])
    with pytest.raises(ValueError, match="negative"):
        substitutions(np.array([6]), COUNTS, published, other, 3, RULES)
    again = substitutions(np.arange(6), COUNTS, published, other, 3, RULES)
    assert again.substitutes.tolist() == ranked.substitutes.tolist()
    assert ranked.substitutes[:, 0].tolist() == [1, -1, 3, -1, 5, -1]


def test_extremes_give_empty_rankings():
    empty = query_histogram({})
    ranked = substitutions(np.array([4, 0]), empty, empty, WORDS, 3)
    assert ranked.queries.tolist() == [4, 0]
    assert ranked.substitutes.tolist() == [[-1] * 3] * 2
    assert substitutions(np.array([], int), COUNTS, FOLLOWED, WORDS, 3).substitutes.shape == (0, 3)
    no_words = QueryWords(np.zeros(1, int), np.zeros(0, int))
    nobody = substitutions(np.array([], int), empty, empty, no_words, 1)
    assert nobody.substitutes.shape == (0, 1)


def test_ids_that_words_do_not_know_are_refused():
    beyond = query_histogram({6: 1})
    with pytest.raises(InvalidParameter, match="beyond its 6 queries"):
        substitutions(np.array([0]), beyond, FOLLOWED, WORDS, 1)
    with pytest.raises(InvalidParameter, match="beyond its 6 queries"):
        substitutions(np.array([-1]), COUNTS, FOLLOWED, WORDS, 1)
    with pytest.raises(InvalidParameter, match="two different queries"):
        substitutions(np.array([0]), COUNTS, query_histogram({7: 1}), WORDS, 1)


def plain_substitutions(targets, queries, pairs, texts, length, rules) -> list[list[int]]:
    """Do the same with dictionaries, one query at a time."""
    total, alone, beside = sum(queries.values()), Counter(), Counter()
    for query, count in queries.items():
        alone.update(dict.fromkeys(texts[query], count))
        for two in pairwise(texts[query]):
            beside[two] += count

    def cut(text):
        phrases = [text[:1]]
        for a, b in pairwise(text):
            is_joined = beside[a, b] > 0 and (
                math.log2(beside[a, b] / (alone[a] * alone[b] / total)) >= rules.least_information
            )
            phrases[-1:] = [phrases[-1] + (b,)] if is_joined else [phrases[-1], (b,)]
        return phrases

    def strong(counts):
        """{first: [(second, ratio), ...]}, strongest first; of equals the shorter phrase first."""
        firsts, seconds, everything = Counter(), Counter(), sum(counts.values())
        for (a, b), count in counts.items():
            firsts[a] += count
            seconds[b] += count
        found = {}
        for (a, b), count in counts.items():
            margins = (np.array([float(n)]) for n in (count, firsts[a], seconds[b]))
            ratio = log_likelihood_ratio(*margins, float(everything))[0]
            if ratio >= rules.least_ratio and count * everything > firsts[a] * seconds[b]:
                found.setdefault(a, []).append((b, ratio))
        key = {tuple: lambda link: (-link[1], len(link[0]), link[0])}
        for links in found.values():
            links.sort(key=key.get(type(links[0][0]), lambda link: (-link[1], link[0])))
        return found

    phrase_counts = Counter()
    for (a, b), count in pairs.items():
        before, behind = cut(texts[a]), cut(texts[b])
        changes = [two for two in zip(before, behind, strict=False) if two[0] != two[1]]
        if len(before) == len(behind) and len(changes) == 1:
            phrase_counts[changes[0]] += count
    query_links, phrase_links = strong(pairs), strong(phrase_counts)
    known = {}
    for query in sorted({*queries, *(q for pair in pairs for q in pair)}, reverse=True):
        rival = known.get(texts[query])
        if rival is None or queries.get(query, 0) >= queries.get(rival, 0):
            known[texts[query]] = query
    result = []
    for target in targets:
        ratios = dict(query_links.get(target, []))
        phrases = cut(texts[target])
        for i, phrase in enumerate(phrases):
            for new, ratio in phrase_links.get(phrase, [])[: rules.substitutes_per_phrase]:
                query = known.get(sum([*phrases[:i], new, *phrases[i + 1 :]], ()))
                if query is not None:
                    ratios[query] = max(ratio, ratios.get(query, 0))
        best = sorted(ratios, key=lambda q: (-ratios[q], -queries.get(q, 0), q))[:length]
        result.append(best + [-1] * (length - len(best)))
    return result


@given(st.integers(0, 10**9))
def test_substitutes_are_those_of_the_plain_algorithm(seed):
    """Small and crowded logs: two of three have substitutes of both kinds, and many have ties."""
    rng = np.random.default_rng(seed)
    n_queries, length = int(rng.integers(3, 30)), int(rng.integers(1, 5))
    texts = [tuple(rng.permutation(4)[: rng.integers(1, 4)].tolist()) for _ in range(n_queries)]
    largest = int(rng.choice([3, 40]))
    queries = {int(q): int(rng.integers(1, largest)) for q in rng.integers(n_queries, size=20)}
    pairs = {
        (int(a), int(b)): int(rng.integers(1, largest))
        for a, b in rng.integers(n_queries, size=(rng.integers(99), 2))
        if a != b
    }
    rules = SubstitutionRules(
        least_information=float(rng.choice([-9, 0, 0.7, 9])),
        least_ratio=float(rng.choice([0.1, 2, 9])),
        substitutes_per_phrase=int(rng.integers(1, 4)),
    )
    rows = sequences(texts)
    words = QueryWords(rows.starts, rows.symbols)
    targets = rng.integers(n_queries, size=12)
    ranked = substitutions(
        targets, query_histogram(queries), pair_histogram(pairs, words), words, length, rules
    )
    expected = plain_substitutions(targets.tolist(), queries, pairs, texts, length, rules)
    assert ranked.substitutes.tolist() == expected


def random_log(n_users: int, rng: np.random.Generator) -> SearchLog:
    """Sessions of two queries: somebody asks, then changes one of three words for its neighbour."""
    grid = np.stack(np.meshgrid(*[np.arange(8)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    asked = rng.zipf(1.5, size=(n_users, 3)) % 8
    then = asked.copy()
    changed = np.arange(n_users), rng.integers(3, size=n_users)
    then[changed] = (then[changed] + 1) % 8
    queries = np.stack([asked, then], axis=1) @ np.array([64, 8, 1])
    offsets = np.array([0, 8, 16])  # the places have different words
    words = QueryWords(np.arange(513) * 3, (grid + offsets).ravel())
    n_rows = 2 * n_users
    return SearchLog(
        np.repeat(np.arange(n_users), 2),
        np.arange(n_rows),
        queries.ravel(),
        np.full(n_rows, -1),
        n_users,
        1,
        words,
    )


def histograms_of(log: SearchLog) -> tuple[Histogram, Histogram]:
    return tuple(Histogram.of(*items_of(log, kind).histogram()) for kind in (QUERIES, PAIRS))


def test_rephrasings_of_a_log_are_found_and_rare_ones_come_from_phrases(rng):
    """What people do in this log is one word for the next: substitutes must be just that."""
    log = random_log(20_000, rng)
    queries, pairs = histograms_of(log)
    rules = SubstitutionRules(least_information=9, least_ratio=20)
    targets = queries.top(60)
    ranked = substitutions(targets, queries, pairs, log.words, 3, rules)
    digits = np.array([64, 8, 1])
    moves = (ranked.substitutes[..., None] // digits % 8) - (targets[:, None, None] // digits % 8)
    is_shown = ranked.substitutes >= 0
    assert is_shown.mean() > 0.9
    assert (np.sort(moves[is_shown] % 8, axis=1) == [0, 0, 1]).all()
    # Without a single pair of its own, a query still gets substitutes through its phrases.
    own = pairs.items // 512 == targets[0]
    others = Histogram(pairs.items[~own], pairs.counts[~own])
    alone = substitutions(targets[:1], queries, others, log.words, 3, rules)
    assert (alone.substitutes >= 0).all()


def test_other_ids_of_queries_and_words_change_nothing(rng):
    log = random_log(3_000, rng)
    queries, pairs = histograms_of(log)
    # Weights that leave no ties, which ids would settle.
    queries = Histogram(queries.items, rng.permutation(10**6)[: len(queries)] + 1)
    pairs = Histogram(pairs.items, rng.permutation(10**6)[: len(pairs)] + 1)
    targets = queries.top(50)
    before = substitutions(targets, queries, pairs, log.words, 4)

    new_id, new_word = rng.permutation(512), rng.permutation(24)
    old = Sequences(log.words.starts, log.words.words).take(np.argsort(new_id))
    words = QueryWords(old.starts, new_word[old.symbols])
    first, second = np.divmod(pairs.items, 512)
    after = substitutions(
        new_id[targets],
        Histogram.of(new_id[queries.items], queries.counts),
        Histogram.of(new_id[first] * 512 + new_id[second], pairs.counts),
        words,
        4,
    )
    assert (before.substitutes >= 0).mean() > 0.5
    assert np.append(new_id, -1)[before.substitutes].tolist() == after.substitutes.tolist()


# Measures of rankings


def rankings(rows: list[list[int]], length: int) -> Rankings:
    padded = [row + [-1] * (length - len(row)) for row in rows]
    return Rankings(np.arange(len(rows)), np.array(padded, dtype=int).reshape(-1, length))


def test_ranking_measures_of_cases_worked_by_hand():
    truth = rankings([[10, 11, 12], [10, 11], [10], [], []], 3)
    shown = rankings([[11, 99, 10], [11, 10, 12], [], [10, 11], []], 3)
    measures = compare_rankings(truth, shown)
    assert measures.precision.tolist() == pytest.approx([2 / 3, 2 / 3, 0, 0, 0])
    assert measures.recall.tolist() == pytest.approx([2 / 3, 1, 0, 0, 0])
    # Hits at ranks 1 and 3 of three wanted; at ranks 1 and 2 of two.
    assert measures.average_precision.tolist() == pytest.approx([(1 + 2 / 3) / 3, 1, 0, 0, 0])
    # Gains 7, 3, 1 and 3, 1; discounts 1, 1/log2(3), 1/2.
    d = 1 / math.log2(3)
    ndcg = [(3 + 7 / 2) / (7 + 3 * d + 1 / 2), (1 + 3 * d) / (3 + d), 0, 0, 0]
    assert measures.ndcg.tolist() == pytest.approx(ndcg)
    assert measures.coverage.tolist() == pytest.approx([1, 1, 0, 0, 0])

    # Queries 0, 1 and 3 are shown, queries 0, 1 and 2 have a truth.
    quality = measures.averaged()
    assert quality.precision == pytest.approx(4 / 9)
    assert quality.recall == pytest.approx(5 / 9)
    assert quality.average_precision == pytest.approx((5 / 9 + 1) / 3)
    assert quality.ndcg == pytest.approx(sum(ndcg) / 3)
    assert (quality.coverage, quality.answered) == pytest.approx((2 / 3, 2 / 3))


def test_coverage_counts_how_much_of_a_list_is_filled():
    truth, shown = rankings([[1, 2, 3], [1]], 3), rankings([[7], [8, 9, 10]], 3)
    quality = compare_rankings(truth, shown).averaged()
    assert quality.coverage == pytest.approx((1 / 3 + 1) / 2)
    assert quality.answered == 1
    shorter = compare_rankings(truth.top(1), shown.top(1)).averaged()
    assert shorter.coverage == 1


def test_nothing_shown_has_no_coverage_and_no_quality_to_speak_of():
    truth, nothing = rankings([[1, 2], [3]], 2), rankings([[], []], 2)
    quality = compare_rankings(truth, nothing).averaged()
    assert (quality.coverage, quality.answered) == (0, 0)
    assert math.isnan(quality.precision)
    assert math.isnan(quality.ndcg)
    assert math.isnan(compare_rankings(nothing, truth).averaged().coverage)


def test_rankings_of_other_queries_or_lengths_are_refused():
    truth = rankings([[1, 2], [3]], 2)
    for other in (truth.top(1), Rankings(np.array([1, 0]), truth.substitutes)):
        with pytest.raises(InvalidParameter, match="same queries"):
            compare_rankings(truth, other)


def printed_map(truth: list[int], shown: list[int]) -> float:
    """The sum of ZEAL section 8.3, where a missing substitute has rank zero."""
    ranks = [shown.index(q) if q in shown else 0 for q in truth]
    return sum((i + 1) / (rank + 1) for i, rank in enumerate(ranks))


def test_map_as_printed_prefers_a_list_without_hits_and_average_precision_does_not():
    perfect, useless = [1, 2, 3, 4, 5], [6, 7, 8, 9, 10]
    assert (printed_map(perfect, perfect), printed_map(perfect, useless)) == (5, 15)
    assert printed_map([1, 2], [2, 1]) == 2.5
    measures = compare_rankings(rankings([perfect, perfect], 5), rankings([perfect, useless], 5))
    assert measures.average_precision.tolist() == [1, 0]


lists = st.lists(st.integers(0, 8), max_size=5, unique=True)


@given(st.lists(st.tuples(lists, lists), min_size=1, max_size=5), st.permutations(range(9)))
def test_ranking_measures_are_shares_perfect_for_equal_lists_and_blind_to_ids(rows, ids):
    truth, shown = (rankings([row[side] for row in rows], 5) for side in (0, 1))
    measures = compare_rankings(truth, shown)
    for name in ("precision", "recall", "average_precision", "ndcg", "coverage"):
        values = getattr(measures, name)
        assert (values >= 0).all()
        assert (values <= 1 + 1e-12).all()
        itself = getattr(compare_rankings(truth, truth), name)
        assert itself.tolist() == pytest.approx(measures.is_in_truth.astype(float))
    assert (measures.average_precision <= measures.recall + 1e-12).all()
    for (wanted, found), ndcg in zip(rows, measures.ndcg, strict=True):
        # Perfect only if the whole truth comes first, in its order.
        assert (ndcg > 1 - 1e-9) == (len(wanted) > 0 and found[: len(wanted)] == wanted)
    names = np.append(ids, -1)
    renamed = [Rankings(r.queries, names[r.substitutes]) for r in (truth, shown)]
    assert compare_rankings(*renamed).ndcg.tolist() == measures.ndcg.tolist()
