"""The items that a release takes from a log, against a definition that can be read at a glance."""

from datetime import datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hybriddp.device.normalise import normalise_query, normalise_url
from hybriddp.zealous.item_kinds import CLICKS, ITEM_KINDS, KEYWORDS, PAIRS, QUERIES
from tests.examples import few
from tests.zealous.laws.counting import PEOPLE, Curator
from tests.zealous.support import request_for, write_log

START = datetime(2026, 11, 10, 23, 0, 0)  # sessions go over midnight
GAP_SECONDS = 30 * 60
TYPED = (
    "news", "NEWS", " news  ", "news news", "New  York", "new york", "york", "Caf\u00e9 York",
    "cafe\u0301 york", "\u01f0", "J\u030c", "100%\u00a0sure", "100% sure", "\x1f",
)  # fmt: skip
CLICKED = ("", "http://a", " http://a", "http://A", "http://caf\u00e9", "http://cafe\u0301")
# Pauses at the limit and a second over it, several rows at one moment, and no time at all.
PAUSES = (0, 1, 600, GAP_SECONDS, GAP_SECONDS + 1, None)
ROWS = st.lists(
    st.tuples(st.sampled_from(TYPED), st.sampled_from(PAUSES), st.sampled_from(CLICKED)),
    max_size=12,
)


@pytest.fixture(scope="module")
def curator(fast_folder) -> Curator:
    return Curator(fast_folder / "items")


@pytest.fixture(scope="module")
def path(fast_folder):
    return fast_folder / "random.tsv"


def items_by_hand(history):
    """Return the items of one person's (seconds, query, url), as ZEAL defines them."""
    rows = [(at, normalise_query(query), normalise_url(url)) for at, query, url in history]
    rows = [row for row in rows if row[0] is not None and row[1]]
    rows.sort(key=lambda row: row[0])  # stable: rows of one moment keep their order
    return {
        KEYWORDS: {(word, "") for _, query, _ in rows for word in query.split(" ")},
        QUERIES: {(query, "") for _, query, _ in rows},
        PAIRS: {
            (query, next_query)
            for (at, query, _), (next_at, next_query, _) in pairwise(rows)
            if query != next_query and next_at - at <= GAP_SECONDS
        },
        CLICKS: {(query, url) for _, query, url in rows if url},
    }


def timed(rows):
    """Turn pauses into seconds since the start; rows without a time are bad ones."""
    seconds, history = 0, []
    for query, pause, url in rows:
        seconds += pause or 0
        history.append((None if pause is None else seconds, query, url))
    return history


def written(path, histories, order):
    """Write everybody's rows; whose comes next is anybody's turn, a person's own keep theirs."""
    left, rows = {person: list(history) for person, history in histories.items()}, []
    for turn in order:
        person = PEOPLE[turn % len(PEOPLE)]
        if left[person]:
            rows.append((person, *left[person].pop(0)))
    rows += [(person, *row) for person, history in left.items() for row in history]
    return write_log(path, [(who, query, clock(at), url) for who, at, query, url in rows])


def clock(seconds):
    return "no time" if seconds is None else str(START + timedelta(seconds=seconds))


@pytest.mark.property
@settings(
    max_examples=few(6, in_a_campaign=60), phases=[Phase.generate]
)  # shrinking would take minutes
@given(
    rows_of=st.fixed_dictionaries({person: ROWS for person in PEOPLE}),
    order=st.lists(st.integers(0, 99), max_size=40),
)
def test_items_are_those_of_the_definition(curator, path, rows_of, order):
    histories = {person: timed(rows) for person, rows in rows_of.items()}
    expected = {person: items_by_hand(history) for person, history in histories.items()}
    shown = {query for items in expected.values() for query, _ in items[QUERIES]}
    counted = curator.count(written(path, histories, order), shown=shown)
    for kind in ITEM_KINDS:
        own = {person: items[kind] for person, items in expected.items() if items[kind]}
        assert counted[kind].own == own


def test_clicks_without_a_histogram_of_queries_are_those_on_all_queries(curator, path):
    histories = {person: [(0, "news", "http://a"), (9, "mail", "")] for person in PEOPLE}
    counted = curator.count(written(path, histories, []), kinds=[CLICKS])
    assert counted[CLICKS].counts == {("news", "http://a"): len(PEOPLE)}


@pytest.mark.parametrize("minutes", [1, 30, 1_440])
def test_a_pause_of_the_limit_is_in_a_session_and_a_second_more_is_not(curator, path, minutes):
    for pause, pairs in ((60 * minutes, {("a", "b"): 1}), (60 * minutes + 1, {})):
        log = written(path, {PEOPLE[0]: [(0, "a", ""), (pause, "b", "")]}, [])
        counted = curator.count(log, kinds=[PAIRS], session_gap_minutes=minutes)
        assert counted[PAIRS].counts == pairs


def test_a_log_without_times_has_all_items_but_pairs(curator, path):
    path.write_text("AnonID\tQuery\tClickURL\nperson 0\tNews\thttp://a\nperson 0\tMail\t\n")
    columns = {"time": None}
    with pytest.raises(ValueError, match="pairs need times: name the column of times, or leave"):
        request_for(path, columns=columns)
    kinds = [kind for kind in ITEM_KINDS if kind != PAIRS]
    counted = curator.count(path, kinds, shown=["news"], columns=columns, items_per_user=9)
    assert {kind: set(counted[kind].counts) for kind in kinds} == {
        "keywords": {("news", ""), ("mail", "")},
        "queries": {("news", ""), ("mail", "")},
        "clicks": {("news", "http://a")},
    }
