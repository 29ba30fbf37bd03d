"""The paper's measures, against examples worked by hand."""

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList, count_records
from hybriddp.blender.metrics import evaluate, ndcg
from hybriddp.errors import InvalidParameter


def test_perfect_order_has_ndcg_one_and_the_reverse_less():
    counts = np.array([5.0, 3.0, 2.0])
    assert ndcg(np.array([0.5, 0.3, 0.2]), counts, counts) == 1.0
    # rel = .5, .3, .2; gains 2^rel - 1 = .41421, .23114, .14870; discounts 1, .63093, .5
    reversed_dcg = 0.14870 * 1 + 0.23114 * 0.63093 + 0.41421 * 0.5
    ideal_dcg = 0.41421 * 1 + 0.23114 * 0.63093 + 0.14870 * 0.5
    assert ndcg(np.array([1.0, 2.0, 3.0]), counts, counts) == pytest.approx(
        reversed_dcg / ideal_dcg, abs=1e-4
    )


def test_missing_items_cost_their_gain():
    ideal = np.array([5.0, 3.0, 2.0])
    short = ndcg(np.array([0.5]), np.array([5.0]), ideal)
    assert short == pytest.approx(0.41421 / (0.41421 + 0.23114 * 0.63093 + 0.14870 * 0.5), abs=1e-4)


def test_only_as_many_items_count_as_the_ideal_list_has():
    ideal = np.array([5.0])
    assert ndcg(np.array([3.0, 2.0]), np.array([5.0, 5.0]), ideal) == 1.0


def test_nothing_to_gain_is_a_perfect_score():
    assert ndcg(np.array([]), np.array([]), np.array([])) == 1.0


def test_scores_must_belong_to_counts():
    with pytest.raises(InvalidParameter, match="one element for each listed item"):
        ndcg(np.ones(2), np.ones(3), np.ones(3))


# 10 users: query 0 has urls 0 (4 users) and 1 (2), query 1 has url 0 (3), query 2 has url 0 (1).
QUERIES = np.array([0, 0, 0, 0, 0, 0, 1, 1, 1, 2])
URLS = np.array([0, 0, 0, 0, 1, 1, 0, 0, 0, 0])
TRUTH = count_records(QUERIES, URLS)
HEAD_LIST = HeadList.from_records(np.array([0, 0, 1]), np.array([0, 1, 0]))
# Cells: <0,0> <0,1> <0,*> <1,0> <1,*> <*,*>


def test_true_probabilities_score_perfectly():
    utility = evaluate(
        HEAD_LIST, np.array([0.4, 0.2, 0, 0.3, 0, 0.1]), np.array([0.6, 0.3, 0.1]), TRUTH, 10, 2
    )
    assert (utility.l1_records, utility.l1_queries) == pytest.approx((0, 0), abs=1e-12)
    assert (utility.ndcg_queries, utility.ndcg_of_ndcgs) == (1, 1)


def test_l1_leaves_wildcards_out_and_counts_every_record():
    utility = evaluate(
        HEAD_LIST, np.array([0.5, 0.1, 0.9, 0.3, 0.9, 0.9]), np.array([0.5, 0.35, 0]), TRUTH, 10, 2
    )
    assert utility.l1_records == pytest.approx(0.2)
    assert utility.l1_queries == pytest.approx(0.15)


def test_ndcg_of_ndcgs_punishes_wrong_urls_where_ndcg_of_queries_does_not():
    swapped = np.array([0.1, 0.5, 0, 0.3, 0, 0.1])
    utility = evaluate(HEAD_LIST, swapped, np.array([0.6, 0.3, 0.1]), TRUTH, 10, 2)
    assert utility.ndcg_queries == 1
    # Query 0: rel = 2/3, 1/3 in the wrong order; query 1 is right. Ideal queries rel 6/9, 3/9.
    gain = np.exp2([2 / 3, 1 / 3]) - 1
    url_ndcg = (gain[1] + gain[0] / np.log2(3)) / (gain[0] + gain[1] / np.log2(3))
    expected = (gain[0] * url_ndcg + gain[1] / np.log2(3)) / (gain[0] + gain[1] / np.log2(3))
    assert utility.ndcg_of_ndcgs == pytest.approx(expected)


def test_listed_query_that_nobody_holds_gains_nothing():
    head_list = HeadList.from_records(np.array([0, 9]), np.array([0, 0]))
    probabilities = np.array([0.1, 0, 0.8, 0, 0.1])
    utility = evaluate(head_list, probabilities, np.array([0.1, 0.8, 0.1]), TRUTH, 10, 2)
    assert utility.ndcg_queries < 0.7
    assert utility.l1_records == pytest.approx(0.3 + 0.8)


def test_empty_list_scores_zero():
    empty = HeadList.from_records(np.array([], dtype=int), np.array([], dtype=int))
    utility = evaluate(empty, np.ones(1), np.ones(1), TRUTH, 10, 2)
    assert (utility.l1_records, utility.ndcg_queries, utility.ndcg_of_ndcgs) == (0, 0, 0)
