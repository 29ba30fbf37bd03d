"""What one person can change, through real files and the real SQL: their own records, no more."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.log.engine import DuckDBEngine
from tasks.log.ingest import load_searches
from tasks.log.normalisation import normalise_records
from tasks.products.head_list.measuring.cohorts import assign_groups
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tests.engines import empty_database
from tests.examples import few
from tests.homes import new_home

pytestmark = pytest.mark.property

PEOPLE = [f"person {i}" for i in range(10)]
SETTINGS = {
    "paper": {"strategy": "paper", "max_records_client": 3},
    "high-utility": {"strategy": "high-utility", "max_records_optin": 5},
}
# How many records an opt-in person gives at most, and a client.
AT_MOST = {"paper": (1, 3), "high-utility": (5, 1)}
HEADER = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n"

GOOD = st.builds(
    lambda query, url: f"{query}\t2026-11-10 07:17:12\t1\t{url}".encode(),
    st.sampled_from(["news", "News ", "mail", "caf\u00e9", "cafe\u0301", '"maps', "#x", "\\"]),
    st.sampled_from(["http://a", "http://b", "'", ""]),
)
BAD = st.sampled_from(
    [
        b"",
        b"\t\t\t",
        b"\t2026-11-10 07:17:12\t1\thttp://a",
        b"news\tinfinity\t1\thttp://a",
        b"news\t2026-11-10 07:17:12\t1\thttp://a\tone too many",
        b"too\tfew",
        b"new\0s\t2026-11-10 07:17:12\t1\thttp://a",
        b"new\xffs\t2026-11-10 07:17:12\t1\thttp://a",
        b"\xc3\t2026-11-10 07:17:12\t1\thttp://a",
        b'"\t2026-11-10 07:17:12\t1\t"http://a',
        b"x" * 3_000 + b"\t2026-11-10 07:17:12\t1\thttp://a",
        b"\xc2\xa0\t2026-11-10 07:17:12\t1\t\xe3\x80\x80",
    ]
)
# A person's rows, each with its place among everybody's: that place is nobody's business.
ROWS = st.lists(st.tuples(st.integers(0, 99), GOOD | BAD), max_size=6)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = new_home(tmp_path_factory.mktemp("home"), known_keys=True)
    roster = "person\toptin\n" + "".join(
        f"{person}\t{int(i < 6)}\n" for i, person in enumerate(PEOPLE)
    )
    (home.root / "roster.tsv").write_text(roster)
    return home


def records_of(home, rows_of, asked):
    """Return who is in which group, each account's records, and the records that are counted."""
    log = home.root / "log.tsv"
    placed = [(place, who, row) for who, rows in rows_of.items() for place, row in rows]
    placed.sort(key=lambda item: item[:2])  # stable: a person's rows keep their own order
    log.write_bytes(HEADER + b"".join(b"%b\t%b\n" % (who.encode(), row) for _, who, row in placed))
    request = ReleaseRequest(
        log=log,
        epoch="2026-W46",
        roster=home.root / "roster.tsv",
        headlist_user_fraction=0.5,
        **asked,
    )
    run = HeadListRun(home, "0" * 32, 1, request)
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        load_searches(engine, run)
        assign_groups(engine, run)
        params = request.params()
        engine.step(
            "head_list/chosen_records",
            max_records_optin=params.max_records_optin,
            max_records_client=params.max_records_client,
        )
        engine.map("chosen_records", normalise_records, "records")
        candidates = engine.fetch("candidates")
        engine.put("sealed", candidates.select(["account", "cohort"]))  # everybody can pay
        engine.step("head_list/cohort_records")
        kept = {row["account"]: [] for row in candidates.to_pylist()}
        for row in engine.fetch("records").to_pylist():
            kept[row["account"]].append((row["query"], row["url"]))
        counted = Counter(
            (row["cohort"], row["query"], row["url"])
            for row in engine.fetch("cohort_records").to_pylist()
        )
    groups = {row["person"]: (row["account"], row["cohort"]) for row in candidates.to_pylist()}
    return groups, {account: sorted(records) for account, records in kept.items()}, counted


@settings(max_examples=few(12, in_a_campaign=200))
@given(
    rows_of=st.fixed_dictionaries({person: ROWS for person in PEOPLE}),
    who=st.sampled_from(PEOPLE),
    strategy=st.sampled_from(list(AT_MOST)),
    others=ROWS | st.lists(st.tuples(st.integers(0, 99), GOOD), min_size=20, max_size=30),
)
def test_one_person_changes_only_their_own_records(home, rows_of, who, others, strategy):
    before, kept_before, counted_before = records_of(home, rows_of, SETTINGS[strategy])
    after, kept_after, counted_after = records_of(home, rows_of | {who: others}, SETTINGS[strategy])

    assert before == after  # groups, and so their sizes, do not depend on the log
    assert before.keys() == set(PEOPLE)
    account, cohort = before[who]
    del kept_before[account], kept_after[account]
    assert kept_before == kept_after

    at_most = AT_MOST[strategy][cohort == "C"]
    gone, new = counted_before - counted_after, counted_after - counted_before
    assert gone.total() <= at_most
    assert new.total() <= at_most
    assert {key[0] for key in gone + new} <= {cohort}


def test_the_keys_of_this_test_fill_every_group(home):
    """Without people in all three groups the property would say less than it seems to."""
    groups, _, _ = records_of(home, {person: [] for person in PEOPLE}, SETTINGS["paper"])
    assert {cohort for _, cohort in groups.values()} == {"S", "T", "C"}


@pytest.mark.parametrize("strategy", AT_MOST)
def test_everybody_gives_as_many_records_as_they_may(home, strategy):
    """Without rows that are dropped by the bound the property would hold of no bound at all."""
    row = b"news\t2026-11-10 07:17:12\t1\thttp://a"
    groups, kept, _ = records_of(
        home, {person: [(0, row)] * 5 for person in PEOPLE}, SETTINGS[strategy]
    )
    for account, cohort in groups.values():
        assert len(kept[account]) == AT_MOST[strategy][cohort == "C"]
