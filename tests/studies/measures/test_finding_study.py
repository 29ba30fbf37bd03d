"""Counts against weights: the same people for all methods, and what the study is for."""

import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.params import GAUSSIAN, HIGH_UTILITY, PAPER
from hybriddp.planning.populations import study_rng
from hybriddp.studies.blender.finding import (
    FINDERS,
    FIVE,
    FindingSetting,
    draw_searches,
    draw_shared_law,
    run_finding,
)


@pytest.fixture(scope="module")
def law():
    return draw_shared_law("aol-like", 1, is_quick=True)


def row_of(law, **changes):
    [row] = run_finding("s", FindingSetting(is_quick=True, optin_fraction=0.2, **changes), 1, law)
    return row


def test_the_same_seed_gives_the_same_row(law):
    assert row_of(law, records_per_user=6) == row_of(law, records_per_user=6)


def test_weights_find_more_where_people_have_several_records(law):
    rows = {method: row_of(law, records_per_user=10, epsilon=2, method=method)
            for method in FINDERS}  # fmt: skip
    most = max(rows[method]["n_queries"] for method in (PAPER, HIGH_UTILITY, FIVE))
    assert rows[GAUSSIAN]["n_queries"] > 1.5 * most
    assert rows[GAUSSIAN]["ndcg_queries"] > rows[PAPER]["ndcg_queries"]
    assert rows[GAUSSIAN]["l1_common_records"] < 1.5 * rows[FIVE]["l1_common_records"]
    assert rows[PAPER]["l1_common_records"] is None
    assert "coverage_records" not in rows[PAPER]


def test_with_one_record_each_counts_are_never_behind_the_papers(law):
    for epsilon in (1, 4):
        ours, paper = (row_of(law, epsilon=epsilon, method=m) for m in (HIGH_UTILITY, PAPER))
        assert ours["n_queries"] >= 0.9 * paper["n_queries"]


def test_people_have_about_as_many_records_as_stated_and_clients_one(law):
    for median in (1.0, 3.0, 20.0):
        setting = FindingSetting(records_per_user=median, optin_fraction=0.2)
        searches, is_optin = draw_searches(law, setting, rng=study_rng(3))
        own = searches.n_records[is_optin]
        assert sorted(own)[len(own) // 2] == pytest.approx(median, rel=0.1, abs=0.01)
        assert set(searches.n_records[~is_optin]) == {1}
        assert own.min() >= 1
        assert median > 1 or own.max() == 1


def test_unknown_methods_are_refused():
    with pytest.raises(InvalidParameter, match="method"):
        FindingSetting(method="magic")
