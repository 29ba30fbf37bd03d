"""A year of weekly lists: people and laws are as stated, and what the study is for."""

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.errors import InvalidParameter
from hybriddp.planning.populations import study_rng
from hybriddp.studies.blender.finding import draw_shared_law
from hybriddp.studies.series.laws import (
    BURST_RANKS,
    BURSTS,
    CHANGES,
    SLOW,
    STEADY,
    SWAP,
    WEEKLY_STEP,
    Newcomer,
    Year,
)
from hybriddp.studies.series.measures import Published, Shown, week_row, year_row
from hybriddp.studies.series.people import People
from hybriddp.studies.series.runs import run_series
from hybriddp.studies.series.settings import (
    FORGETFUL,
    FORGETFUL_WEIGHTS,
    ONCE,
    QUICK_WEEKS,
    SECOND,
    SERIES,
    SeriesSetting,
)


@pytest.fixture(scope="module")
def law():
    return draw_shared_law("aol-like", 1, is_quick=True)


def rows_of(law, **changes):
    rows = run_series("s", SeriesSetting(is_quick=True, **changes), 1, law)
    return {row["part"]: row for row in rows}


def laws_of(law, change, n_weeks=20):
    return list(Year.of(law, change, n_weeks, 60_000).laws(rng=study_rng(2)))


def test_remembering_lists_more_than_forgetting_and_hears_of_newcomers(law):
    rows = {m: rows_of(law, change=BURSTS, method=m) for m in (FORGETFUL, ONCE, SERIES)}
    last = str(QUICK_WEEKS)
    assert rows[SERIES][last]["n_queries"] > 3 * rows[FORGETFUL][last]["n_queries"]
    assert rows[SERIES][last]["ndcg_queries"] > rows[FORGETFUL][last]["ndcg_queries"]
    assert rows[SERIES][last]["ndcg_queries"] > rows[ONCE][last]["ndcg_queries"]
    assert rows[SERIES]["year"]["newcomers_listed"] > 0
    assert rows[ONCE]["year"]["newcomers_listed"] == 0
    assert rows[SERIES][last]["coverage_records"] > 0.8


def test_a_second_season_begins_with_what_the_first_found(law):
    first, second = (rows_of(law, change=STEADY, method=m)["1"] for m in (SERIES, SECOND))
    assert second["n_queries"] > 1.1 * first["n_queries"]


def test_the_same_seed_gives_the_same_rows(law):
    setting = {"method": FORGETFUL_WEIGHTS, "change": SLOW}
    assert rows_of(law, **setting) == rows_of(law, **setting)


@pytest.mark.parametrize("change", CHANGES)
def test_every_week_has_a_law(law, change):
    laws = laws_of(law, change)
    assert len(laws) == 20
    for week in laws:
        assert 0 < week.probabilities.sum() < 1
        assert week.probabilities.min() >= 0
    same = [np.allclose(week.probabilities, laws[0].probabilities) for week in laws]
    assert all(same) == (change == STEADY)


def test_slow_change_moves_every_record_by_the_stated_step(law):
    before, after = (week.probabilities for week in laws_of(law, SLOW, 2))
    moved = np.log(after / before)
    assert moved.std() == pytest.approx(WEEKLY_STEP, rel=0.05)


def test_bursts_come_in_their_week_as_frequent_as_their_rank(law):
    year = Year.of(law, BURSTS, 20, 60_000)
    laws = laws_of(law, BURSTS)
    assert {burst.rank for burst in year.newcomers} == set(BURST_RANKS)
    for burst in year.newcomers:
        of_week = [np.bincount(week.query_ids, week.probabilities) for week in laws]
        assert of_week[burst.week - 2][burst.query_id] == 0
        now = of_week[burst.week - 1]
        assert now[burst.query_id] == pytest.approx(now[burst.rank - 1])
        last = of_week[-1][burst.query_id] / of_week[-1][burst.rank - 1]
        assert (last == pytest.approx(1)) == burst.stays


def test_a_swap_exchanges_queries_and_leaves_the_rest(law):
    year, laws = Year.of(law, SWAP, 20, 60_000), laws_of(law, SWAP)
    before, after = (np.bincount(laws[w].query_ids, laws[w].probabilities) for w in (9, 10))
    rare = [newcomer.query_id for newcomer in year.newcomers]
    head = [newcomer.rank - 1 for newcomer in year.newcomers]
    np.testing.assert_allclose(after[rare], before[head])
    np.testing.assert_allclose(after[head], before[rare])
    np.testing.assert_allclose(np.delete(after, rare + head), np.delete(before, rare + head))
    assert {newcomer.week for newcomer in year.newcomers} == {11}


def test_a_week_is_drawn_from_its_law(law):
    week = laws_of(law, STEADY, 1)[0]
    query_ids, _ = week.sample(200_000, rng=study_rng(3))
    first = np.bincount(week.query_ids, week.probabilities)[0]
    assert np.mean(query_ids == 0) == pytest.approx(first, rel=0.1)
    is_rare = query_ids > week.query_ids[-1]
    assert is_rare.mean() == pytest.approx(1 - week.probabilities.sum(), rel=0.02)


def test_people_have_two_records_on_average_and_take_turns(law):
    people = People.sample(40_000, 0.25, 2.0, rng=study_rng(4))
    searches = people.searches(laws_of(law, STEADY, 1)[0], rng=study_rng(5))
    assert searches.n_people == people.n_optin == 10_000
    assert searches.n_records.min() == 1
    assert searches.n_records.mean() == pytest.approx(2, rel=0.05)
    turns = np.concatenate([people.group(week, 52) for week in range(1, 53)])
    assert sorted(turns) == list(range(10_000))


def test_newcomers_that_are_never_listed_wait_for_the_rest_of_the_year():
    newcomers = [Newcomer(7, 5, 5, True), Newcomer(8, 5, 40, True), Newcomer(9, 5, 5, True)]
    row = year_row({"part": "10", "n_queries": 3.0}, newcomers, {7: 6, 9: 1}, 10)
    assert row == {
        "part": "year",
        "n_queries": 3.0,
        "newcomers_listed": 2 / 3,
        "newcomer_weeks": (2 + 7 + 1) / 3,
        "frequent_newcomers_listed": 1.0,
        "frequent_newcomer_weeks": 1.5,
    }
    assert year_row({}, [], {}, 10)["newcomer_weeks"] is None


def test_a_perfect_list_has_no_error(law):
    week = laws_of(law, STEADY, 1)[0]
    is_top = np.isin(week.query_ids, week.top_queries(60))
    head = HeadList.from_records(week.query_ids[is_top], week.url_ids[is_top])
    cells = week.of_cells(head)
    queries = np.add.reduceat(cells, head.cell_starts)
    shown = Shown(cells, cells, cells), Shown(queries, queries, queries)
    row = week_row(Published(head, lambda: shown), [week])
    assert row["ndcg_queries"] == pytest.approx(1)
    assert row["l1_records"] == pytest.approx(0, abs=1e-9)
    assert row["l1_top_queries"] == pytest.approx(0, abs=1e-9)
    assert row["top_queries"] == 50
    assert row["coverage_records"] == row["coverage_queries"] == 1


def test_rare_records_are_as_likely_as_they_are_drawn(law):
    week = laws_of(law, STEADY, 1)[0]
    rare = int(week.query_ids[-1]) + 5
    head = HeadList.from_records(np.array([0, rare]), np.array([0, 0]))
    each = (1 - week.probabilities.sum()) / week.n_rare
    assert week.of_cells(head)[head.record_cells[1]] == pytest.approx(each)
    assert week.of_cells(head).sum() == pytest.approx(1)
    assert week.of_queries(np.array([0, rare]))[1] == pytest.approx(each)


def test_unknown_methods_and_changes_are_refused():
    with pytest.raises(InvalidParameter, match="method"):
        SeriesSetting(method="magic")
    with pytest.raises(InvalidParameter, match="change"):
        SeriesSetting(change="magic")
