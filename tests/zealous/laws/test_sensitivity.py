"""What one person can change of the counts, through real files and the real SQL."""

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from hybriddp.zealous.item_kinds import CLICKS, ITEM_KINDS
from tests.examples import few
from tests.zealous.laws.counting import PEOPLE, Curator
from tests.zealous.support import HEADER, write_log

QUERIES = (
    "news", "News ", "mail", "new york", "New  York new", "york mail", "mail news york", "news new",
    "caf\u00e9", "cafe\u0301", '"maps',
)  # fmt: skip
TIMES = ("10:00:00", "10:30:00", "10:30:01", "23:59:00")
URLS = ("http://a", "http://b", " http://a ", "")
GOOD = st.builds(
    lambda query, time, url: f"{query}\t2026-11-10 {time}\t1\t{url}".encode(),
    st.sampled_from(QUERIES), st.sampled_from(TIMES), st.sampled_from(URLS),
)  # fmt: skip
BAD = st.sampled_from(
    [
        b"",
        b"\t2026-11-10 10:00:00\t1\thttp://a",
        b"\x1c\t2026-11-10 10:00:00\t1\thttp://a",
        b"news\tinfinity\t1\thttp://a",
        b"news\t2026-11-10 10:00:00\t1\thttp://a\tone too many",
        b"new\xffs\t2026-11-10 10:00:00\t1\thttp://a",
        b"x" * 3_000 + b"\t2026-11-10 10:00:00\t1\thttp://a",
    ]
)
# A person's rows, each with its place among everybody's: that place is nobody's business.
HISTORY = st.lists(st.tuples(st.integers(0, 99), GOOD | BAD), max_size=6)
LONG = st.lists(st.tuples(st.integers(0, 99), GOOD), min_size=20, max_size=30)
SHOWN = st.sets(st.sampled_from(["news", "mail", "new york", "caf\u00e9"]))


@pytest.fixture(scope="module")
def curator(fast_folder) -> Curator:
    return Curator(fast_folder / "sensitivity")


@pytest.fixture(scope="module")
def path(fast_folder):
    return fast_folder / "neighbours.tsv"


def write_histories(path, histories):
    """Write everybody's rows in the order of their places; a person's own keep their order."""
    placed = [(place, who, row) for who, rows in histories.items() for place, row in rows]
    placed.sort(key=lambda item: item[:2])
    lines = [b"%b\t%b\n" % (who.encode(), row) for _, who, row in placed]
    path.write_bytes(HEADER.encode() + b"\n" + b"".join(lines))
    return path


def without(items_of, person):
    return {who: items for who, items in items_of.items() if who != person}


@pytest.mark.property
@settings(
    max_examples=few(4, in_a_campaign=60), phases=[Phase.generate]
)  # shrinking would take minutes
@given(
    histories=st.fixed_dictionaries({person: HISTORY for person in PEOPLE}),
    who=st.sampled_from(PEOPLE),
    instead=HISTORY | LONG,
    items_per_user=st.sampled_from([1, 2, 4]),
    shown=SHOWN,
    epoch=st.sampled_from(["2026-W46", "2026-11-10"]),
)
def test_one_person_changes_at_most_two_m_counts_by_one_and_nobody_elses_items(
    curator, path, histories, who, instead, items_per_user, shown, epoch
):
    asked = {"shown": shown, "items_per_user": items_per_user, "epoch": epoch}
    before = curator.count(write_histories(path, histories), **asked)
    after = curator.count(write_histories(path, histories | {who: instead}), **asked)
    for kind in ITEM_KINDS:
        old, new = before[kind], after[kind]
        assert without(old.given, who) == without(new.given, who)
        for items in [*old.given.values(), *new.given.values()]:
            assert len(set(items)) == len(items) <= items_per_user
        gone, come = old.counts - new.counts, new.counts - old.counts
        for changed in (gone, come):
            assert len(changed) <= items_per_user
            assert set(changed.values()) <= {1}


@pytest.mark.property
@settings(max_examples=few(2, in_a_campaign=20), phases=[Phase.generate])
@given(
    rows=st.lists(GOOD, min_size=12, max_size=20),
    others=st.fixed_dictionaries({person: HISTORY for person in PEOPLE[1:]}),
    shown=SHOWN,
    moments=st.permutations(TIMES),
)
def test_a_persons_items_do_not_depend_on_other_people_or_on_the_order_of_rows(
    curator, path, rows, others, shown, moments
):
    """Alone in the log or not, and with rows in any order that keeps those of one moment."""
    who, asked = PEOPLE[0], {"shown": shown, "items_per_user": 2}
    moved = sorted(rows, key=lambda row: moments.index(row.decode().split("\t")[1][-8:]))
    alone = curator.count(write_histories(path, {who: list(enumerate(rows))}), **asked)
    among = curator.count(write_histories(path, others | {who: list(enumerate(moved))}), **asked)
    for kind in ITEM_KINDS:
        assert alone[kind].own.get(who) == among[kind].own.get(who)
        assert alone[kind].given.get(who) == among[kind].given.get(who)


@pytest.mark.parametrize("items_per_user", [1, 3, 100])
def test_everybody_gives_as_many_different_items_as_they_may(curator, path, items_per_user):
    """Without items that the bound drops the property would hold of no bound at all."""
    queries = [f"word{number} common" for number in range(8)]
    rows = [
        (person, query, f"2026-11-10 10:{minute:02}:00", f"http://{minute % 4}")
        for person in PEOPLE
        for minute, query in enumerate([*queries, *queries])
    ]
    shown = queries[:5]
    counted = curator.count(write_log(path, rows), shown=shown, items_per_user=items_per_user)
    n_own = {"keywords": 9, "queries": 8, "pairs": 8, "clicks": 5}
    for kind in ITEM_KINDS:
        for person in PEOPLE:
            assert len(counted[kind].own[person]) == n_own[kind]
            assert len(counted[kind].given[person]) == min(n_own[kind], items_per_user)
    assert {query for query, _ in counted[CLICKS].counts} <= set(shown)
    if items_per_user == 1:
        chosen = {items[0] for items in counted["queries"].given.values()}
        assert len(chosen) > 1, "the keyed start is not everybody's first item"
