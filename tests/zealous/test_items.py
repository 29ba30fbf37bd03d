"""The SQL takes the same items from a log as `hybriddp.search_log` does in memory."""

from datetime import datetime, timedelta

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hybriddp.normalise import normalise_query, normalise_url
from hybriddp.search_log import CLICKS, ITEM_KINDS, KEYWORDS, PAIRS, QueryWords, SearchLog, items_of
from tests.zealous.counting import PEOPLE, Curator
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
NOTHING = np.zeros(0, np.int64)
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


def numbered(texts):
    """Return different texts in a fixed order, and the number of each."""
    known = sorted(set(texts))
    return known, {text: number for number, text in enumerate(known)}


class InMemory:
    """The same log as integers, and its items as texts again."""

    def __init__(self, histories):
        rows = [
            (user, seconds, normalise_query(query), normalise_url(url))
            for user, person in enumerate(PEOPLE)
            for seconds, query, url in histories[person]
            if seconds is not None
        ]
        rows = [row for row in rows if row[2]]
        users, seconds, queries, urls = zip(*rows, strict=True) if rows else ((),) * 4
        self._queries, query_ids = numbered(queries)
        self._urls, url_ids = numbered(url for url in urls if url)
        self._words, word_ids = numbered(word for query in queries for word in query.split(" "))
        words_of = [
            np.array([word_ids[word] for word in dict.fromkeys(query.split(" "))])
            for query in self._queries
        ]
        self.log = SearchLog(
            np.array(users, np.int64),
            np.array(seconds, np.int64),
            np.array([query_ids[query] for query in queries], np.int64),
            np.array([url_ids.get(url, -1) for url in urls], np.int64),
            len(PEOPLE),
            len(self._urls),
            QueryWords(
                np.cumsum([0, *map(len, words_of)]),
                np.array([w for words in words_of for w in words], np.int64),
            ),
        )

    def items(self, kind):
        """Return everybody's different items of one kind."""
        found = {}
        taken = items_of(self.log, kind, GAP_SECONDS)
        for user, item in zip(taken.users.tolist(), taken.items.tolist(), strict=True):
            found.setdefault(PEOPLE[user], set()).add(self._text(kind, item))
        return found

    def _text(self, kind, item):
        if kind == KEYWORDS:
            return self._words[item], ""
        if kind == PAIRS:
            first, second = divmod(item, len(self._queries))
            return self._queries[first], self._queries[second]
        if kind == CLICKS:
            query, url = divmod(item, len(self._urls))
            return self._queries[query], self._urls[url]
        return self._queries[item], ""

    @property
    def shown(self):
        return self._queries


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


@settings(max_examples=12, phases=[Phase.generate])  # shrinking would take minutes
@given(
    rows_of=st.fixed_dictionaries({person: ROWS for person in PEOPLE}),
    order=st.lists(st.integers(0, 99), max_size=40),
)
def test_sql_takes_the_items_that_the_library_takes(curator, path, rows_of, order):
    histories = {person: timed(rows) for person, rows in rows_of.items()}
    library = InMemory(histories)
    counted = curator.count(written(path, histories, order), shown=library.shown)
    for kind in ITEM_KINDS:
        assert counted[kind].own == library.items(kind)


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
