"""Head lists, cells and counts obey their definitions for any records."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.estimation.paper import estimate_variance, sum_by_query, trim
from hybriddp.blender.headlist import HeadList, RecordCounts, count_records
from hybriddp.blender.optin import count_listed_records
from hybriddp.errors import InvalidParameter

pytestmark = pytest.mark.property

# Small ids collide often; the huge one leaves the dense look-up table.
ids = st.sampled_from([0, 1, 2, 3, 7, (1 << 40) + 5])
records = st.lists(st.tuples(ids, ids), max_size=12)
# A user without a usable record, without a click, and with ids that no list has.
odd = st.sampled_from([(-1, -1), (3, -1), (-1, 3), (-5, -5), (4, 4)])
logs = st.lists(st.one_of(st.tuples(ids, ids), odd), min_size=1, max_size=12)


def columns(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0].copy(), both[:, 1].copy()


def list_of(pairs: list[tuple[int, int]]) -> HeadList:
    return HeadList.from_records(*columns(sorted(set(pairs), reverse=True)))


def cell_names(head_list: HeadList) -> list[tuple[int, int]]:
    """The meaning of every cell, written as slowly and plainly as possible; -1 is the wildcard."""
    names, start = [], 0
    for query, n_urls in zip(head_list.query_ids, head_list.url_counts, strict=True):
        names += [(int(query), int(url)) for url in head_list.url_ids[start : start + n_urls]]
        names.append((int(query), -1))
        start += n_urls
    return [*names, (-1, -1)]


@given(records, logs)
def test_every_record_goes_to_the_cell_that_names_it(listed, log):
    head_list = list_of(listed)
    names = cell_names(head_list)
    assert head_list.n_cells == len(names)
    known_queries = {query for query, _ in listed}
    expected = [
        record
        if record in set(listed)
        else (record[0], -1)
        if record[0] in known_queries
        else (-1, -1)
        for record in log
    ]
    assert [names[cell] for cell in head_list.cells_of(*columns(log))] == expected
    assert [names[cell] for cell in head_list.record_cells] == sorted(set(listed))
    assert [names[start][0] for start in head_list.cell_starts[:-1]] == sorted(known_queries)


@given(logs)
def test_counts_are_those_of_a_dictionary(log):
    usable = [record for record in log if min(record) >= 0]
    counted = count_records(*columns(log))
    assert list(zip(*as_lists(counted), strict=True)) == [
        (*record, usable.count(record)) for record in sorted(set(usable))
    ]


def as_lists(counted: RecordCounts) -> tuple[list[int], ...]:
    return counted.query_ids.tolist(), counted.url_ids.tolist(), counted.counts.tolist()


def l1_distance(first: dict, second: dict) -> int:
    return sum(abs(first.get(key, 0) - second.get(key, 0)) for key in first.keys() | second.keys())


def counts_of_records(log: list[tuple[int, int]]) -> dict:
    query_ids, url_ids, counts = as_lists(count_records(*columns(log)))
    return dict(zip(zip(query_ids, url_ids, strict=True), counts, strict=True))


@given(records, logs, logs, st.data())
def test_replacing_a_user_moves_counts_by_at_most_two(listed, log, others, data):
    position = data.draw(st.integers(0, len(log) - 1))
    neighbour = [*log[:position], others[0], *log[position + 1 :]]
    head_list = list_of(listed)
    in_t = [count_listed_records(head_list, *columns(one)) for one in (log, neighbour)]
    assert l1_distance(counts_of_records(log), counts_of_records(neighbour)) <= 2
    assert np.abs(in_t[0] - in_t[1]).sum() <= 2
    assert in_t[0].sum() == in_t[1].sum() == len(log)


users = st.integers(1, 4).flatmap(
    lambda m: st.lists(
        st.lists(st.one_of(st.tuples(ids, ids), odd), min_size=m, max_size=m),
        min_size=2,
        max_size=6,
    )
)


@given(users)
def test_replacing_a_user_with_several_records_moves_counts_by_twice_as_many(log):
    """The last user takes the place of the first: all units of one go, those of the other come."""
    m = len(log[0])
    before, after = (
        [record for user in one for record in user] for one in (log[:-1], [log[-1], *log[1:-1]])
    )
    assert l1_distance(counts_of_records(before), counts_of_records(after)) <= 2 * m
    alone = l1_distance(counts_of_records(log[0]), {})
    assert alone <= m, "a user adds at most one unit for each record"


@pytest.mark.parametrize("query_ids", [["my private query"], [0.5], [2**64 - 1]])
def test_ids_that_are_no_integers_are_refused_without_quoting_them(query_ids):
    for function in (list_of([(0, 0)]).cells_of, count_records):
        with pytest.raises(InvalidParameter, match="query_ids must") as caught:
            function(np.array(query_ids), np.zeros(1, np.int64))
        assert "private query" not in str(caught.value)
        assert "18446744073709551615" not in str(caught.value)


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(InvalidParameter, match="vectors of one length"):
        list_of([(0, 0)]).cells_of(np.zeros(2, np.int64), np.zeros(3, np.int64))


def test_sensitivity_check_catches_a_user_who_is_counted_twice():
    log, neighbour = [(0, 0), (1, 1)], [(0, 0), (2, 2)]
    twice = [one + one[-1:] for one in (log, neighbour)]
    assert l1_distance(counts_of_records(log), counts_of_records(neighbour)) == 2
    assert l1_distance(*map(counts_of_records, twice)) > 2
    several = [[(0, 0)] * 3, [(1, 1)] * 3]  # reached: three records against three others
    assert l1_distance(*map(counts_of_records, several)) == 6


@given(records.filter(bool), st.integers(1, 9), st.randoms(use_true_random=False))
def test_trimming_keeps_the_likeliest_queries_and_all_mass(listed, max_head_size, random):
    head_list = list_of(listed)
    values = np.array([random.uniform(-0.1, 0.5) for _ in range(head_list.n_records + 1)])
    before = Estimate(values, np.ones_like(values))
    after_list, after = trim(head_list, before, max_head_size, 100, 0.5)
    marginals = dict(zip(head_list.query_ids, sum_by_query(head_list, values)[:-1], strict=True))
    best = sorted(marginals, key=marginals.get, reverse=True)[:max_head_size]
    assert after_list.query_ids.tolist() == sorted(best)
    assert np.isclose(after.values.sum(), values.sum(), atol=1e-12)
    assert after.variances.tolist() == estimate_variance(after.values, 100, 0.5).tolist()
    kept = {name for name in cell_names(head_list) if name[0] in best and name[1] >= 0}
    assert {name for name in cell_names(after_list) if name[1] >= 0} == kept
