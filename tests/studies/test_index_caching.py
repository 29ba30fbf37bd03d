"""Index caching (ZEAL section 8.2), against cases by hand and a greedy fill in plain Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.studies.applications.index_caching import Memory, cached_keywords, hit_probability
from hybriddp.studies.applications.measures import Histogram

EMPTY = Histogram.of(np.zeros(0, int), np.zeros(0, int))
# Scores 10, 4, 3, 1 for lists of 3, 5, 2 and 1 postings.
KEYWORDS = Histogram.of(np.arange(4), np.array([30, 20, 6, 1]))
DOCUMENTS = np.array([3, 5, 2, 1])


def memory(n_postings: int, longest_list: int = 200_000) -> Memory:
    return Memory(8 * n_postings, 8, longest_list)


@pytest.mark.parametrize(
    ("n_postings", "cached"),
    [
        (2, [2]),  # the best two lists are too long
        (3, [0]),
        (4, [0, 3]),  # two lists that do not fit are passed over, the fill goes on
        (6, [0, 2, 3]),
        (7, [0, 2, 3]),
        (8, [0, 1]),
        (9, [0, 1, 3]),
        (11, [0, 1, 2, 3]),
        (10**6, [0, 1, 2, 3]),
    ],
)
def test_lists_of_the_highest_scores_are_taken_if_they_fit(n_postings, cached):
    assert cached_keywords(KEYWORDS, DOCUMENTS, memory(n_postings)).tolist() == cached


def test_memory_of_the_paper_holds_134_million_postings():
    assert Memory().n_postings == 2**27
    assert Memory(n_bytes=23).n_postings == 2


def test_long_list_takes_the_memory_of_a_cut_one_but_the_score_of_all_its_documents():
    keywords = Histogram.of(np.array([0, 1]), np.array([10, 3]))
    documents = np.array([1_000_000, 250_000])
    # Scores 1.0e-5 and 1.2e-5; by cut lists they would be 5e-5 and 1.5e-5, the other way round.
    assert cached_keywords(keywords, documents, memory(200_000)).tolist() == [1]
    assert cached_keywords(keywords, documents, memory(399_999)).tolist() == [1]
    assert cached_keywords(keywords, documents, memory(400_000)).tolist() == [0, 1]


def test_of_equal_scores_the_more_frequent_keyword_is_taken_then_the_lower_id():
    keywords = Histogram.of(np.arange(4), np.array([1, 2, 2, 1]))
    documents = np.array([2, 4, 4, 2])
    assert cached_keywords(keywords, documents, memory(4)).tolist() == [1]
    assert cached_keywords(keywords, documents, memory(10)).tolist() == [0, 1, 2]


def test_hit_probability_is_the_true_share_of_the_cached_keywords():
    truth = Histogram.of(np.array([0, 1, 2, 9]), np.array([50, 30, 15, 5]))
    assert hit_probability(truth, np.array([1, 9])) == pytest.approx(0.35)
    assert hit_probability(truth, np.array([1, 1, 777])) == pytest.approx(0.30)
    assert hit_probability(truth, truth.items) == 1
    assert hit_probability(truth, np.zeros(0, int)) == 0
    assert hit_probability(EMPTY, np.array([1])) == 0


def test_nothing_published_caches_nothing():
    assert cached_keywords(EMPTY, DOCUMENTS).tolist() == []


def test_every_keyword_needs_a_posting_list():
    with pytest.raises(InvalidParameter, match="an element for every keyword"):
        cached_keywords(KEYWORDS, DOCUMENTS[:3])
    with pytest.raises(InvalidParameter, match="at least 1 document"):
        cached_keywords(KEYWORDS, np.array([3, 0, 2, 1]))


def greedy(counts, documents, n_free, longest_list) -> set[int]:
    """Take one list after the other, as one would write it down."""
    order = sorted(range(len(counts)), key=lambda k: (-counts[k] / documents[k], -counts[k], k))
    taken = set()
    for keyword in order:
        length = min(documents[keyword], longest_list)
        if length <= n_free:
            taken.add(keyword)
            n_free -= length
    return taken


cases = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 30)), min_size=1, max_size=40)


@given(cases, st.integers(1, 200), st.integers(1, 30), st.randoms(use_true_random=False))
def test_fill_takes_what_a_fill_one_by_one_takes_whatever_the_ids(lists, free, longest, random):
    counts, documents = (np.array(column) for column in zip(*lists, strict=True))
    expected = greedy(counts, documents, free, longest)
    histogram = Histogram.of(np.arange(len(counts)), counts)
    cached = cached_keywords(histogram, documents, memory(free, longest))
    assert set(cached.tolist()) == expected

    ids = np.arange(len(counts))
    random.shuffle(ids)
    moved = np.zeros_like(documents)
    moved[ids] = documents
    renamed = cached_keywords(Histogram.of(ids, counts), moved, memory(free, longest))
    # Keywords that tie in count and documents may stand in for each other: compare those.
    shapes = [
        sorted(zip(counts[k], documents[k], strict=True))
        for k in (cached, np.argsort(ids)[renamed])
    ]
    assert shapes[0] == shapes[1]


def test_noise_that_hides_a_frequent_keyword_costs_hits():
    truth = Histogram.of(np.arange(3), np.array([60, 30, 10]))
    documents = np.array([10, 10, 10])
    noisy = Histogram.of(np.array([1, 2]), np.array([28, 33]))  # keyword 0 is not published
    room = memory(10)
    assert hit_probability(truth, cached_keywords(truth, documents, room)) == pytest.approx(0.6)
    assert hit_probability(truth, cached_keywords(noisy, documents, room)) == pytest.approx(0.1)
