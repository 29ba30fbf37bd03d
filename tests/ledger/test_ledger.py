"""The ledger cannot be fooled: not by crashes, races, edits or restored backups."""

import multiprocessing
import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.ledger.ledger import GENESIS, Head, IllegalStep, Ledger, LedgerCorrupt, LedgerMoved
from tasks.ledger.payloads import Drawn, DrawStarted, Nothing, Withdrawn
from tasks.ledger.rules import NOTES, ONCE, RULES, Attempt, Entry, Kind
from tests.patience import PATIENCE
from tests.rows import DRAWN, PUBLISHED, STARTED, TERMS, reserved

GROUPS = reserved()


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


def draw_all(ledger: Ledger, release_id: str = "r1", attempt: int = 1) -> None:
    ledger.append(Kind.RESERVED, release_id, attempt, GROUPS)
    for draw in GROUPS.groups:
        ledger.append(Kind.DRAW_STARTED, release_id, attempt, STARTED, draw=draw)
        ledger.append(Kind.DRAWN, release_id, attempt, DRAWN, draw=draw)


def test_release_goes_from_reserved_to_withdrawn(ledger):
    draw_all(ledger)
    ledger.append(Kind.PUBLISHED, "r1", 1, PUBLISHED)
    ledger.append(Kind.WITHDRAWN, "r1", 1, Withdrawn(reason="drift", at="2026-11-17"))
    kinds = [entry.kind for entry in ledger.entries()]
    assert kinds == [
        Kind.RESERVED, *[Kind.DRAW_STARTED, Kind.DRAWN] * 3, Kind.PUBLISHED, Kind.WITHDRAWN,
    ]  # fmt: skip
    assert ledger.verify() == ledger.head() == Head(9, ledger.entries()[-1].hash)


def test_same_row_again_is_the_row_that_stands_there(ledger):
    """A commit can land without its acknowledgement; the retry must not charge twice."""
    first = ledger.append(Kind.RESERVED, "r1", 1, GROUPS)
    again = ledger.append(Kind.RESERVED, "r1", 1, reserved(("C", "T", "S")))
    assert (first, ledger.head().seq) == (again, 1)
    with pytest.raises(IllegalStep, match="other contents"):
        ledger.append(Kind.RESERVED, "r1", 1, reserved(()))


steps = st.lists(
    st.tuples(
        st.sampled_from(sorted(set(Kind) - {*NOTES, *ONCE})), st.sampled_from(["", "S", "T"])
    ),
    max_size=12,
)


def entry_for(kind: Kind, draw: str, seq: int) -> Entry:
    payload = reserved(("S", "T")) if kind is Kind.RESERVED else Nothing()
    return Entry(seq, "", kind, "r", 1, draw, payload, "", "")


@given(steps)
def test_no_order_of_steps_draws_twice_or_publishes_what_was_not_drawn(steps):
    attempt = Attempt(())
    for kind, draw in steps:
        is_about_a_draw = kind in (Kind.DRAW_STARTED, Kind.DRAWN)
        if is_about_a_draw == bool(draw) and RULES[kind][1](attempt, draw):
            attempt = Attempt((*attempt.entries, entry_for(kind, draw, len(attempt.entries))))
    written = [(entry.kind, entry.draw) for entry in attempt.entries]
    assert len(set(written)) == len(written), "no step happens twice"
    if written:
        assert written[0] == (Kind.RESERVED, "")
    for draw in ("S", "T"):
        if (Kind.DRAWN, draw) in written:
            assert written.index((Kind.DRAW_STARTED, draw)) < written.index((Kind.DRAWN, draw))
    if (Kind.PUBLISHED, "") in written:
        before = written[: written.index((Kind.PUBLISHED, ""))]
        assert {(Kind.DRAWN, "S"), (Kind.DRAWN, "T")} <= set(before)
    if (Kind.WITHHELD, "") in written:
        assert written[-1] == (Kind.WITHHELD, ""), "nothing is drawn after it"
        assert any(kind is Kind.DRAWN for kind, _ in written)
    if (Kind.LISTED, "") in written:
        before = written[: written.index((Kind.LISTED, ""))]
        assert [kind for kind, _ in before] == [Kind.RESERVED, Kind.DRAW_STARTED, Kind.DRAWN]
    if (Kind.VOIDED, "") in written:
        assert written == [(Kind.RESERVED, ""), (Kind.VOIDED, "")]
    assert {(Kind.PUBLISHED, ""), (Kind.WITHHELD, "")} - set(written)


def test_burnt_draw_is_seen_and_cannot_be_started_again(ledger):
    ledger.append(Kind.RESERVED, "r1", 1, GROUPS)
    ledger.append(Kind.DRAW_STARTED, "r1", 1, STARTED, draw="S")
    assert ledger.attempt("r1", 1).burnt_draws == ["S"]
    with pytest.raises(IllegalStep):
        ledger.append(Kind.DRAW_STARTED, "r1", 1, DrawStarted(event={}, token="another"), draw="S")
    with pytest.raises(IllegalStep, match="no draw has started"):
        ledger.append(Kind.VOIDED, "r1", 1, Nothing())


def test_only_what_devices_drew_is_not_burnt_and_it_keeps_its_one_start(ledger):
    devices = TERMS.model_copy(update={"members": None})
    groups = {"S": TERMS, "T": TERMS, "C": devices}
    ledger.append(Kind.RESERVED, "r1", 1, reserved().model_copy(update={"groups": groups}))
    for draw in groups:
        ledger.append(Kind.DRAW_STARTED, "r1", 1, STARTED, draw=draw)
    begun = ledger.attempt("r1", 1)
    assert begun.unfinished_draws == ["S", "T", "C"]
    assert (begun.burnt_draws, begun.unfinished_sealings) == (["S", "T"], ["C"])
    with pytest.raises(IllegalStep):
        ledger.append(Kind.DRAW_STARTED, "r1", 1, DrawStarted(event={}, token="another"), draw="C")
    for kind, said in ((Kind.VOIDED, Nothing()), (Kind.PUBLISHED, PUBLISHED)):
        with pytest.raises(IllegalStep):
            ledger.append(kind, "r1", 1, said)
    ledger.append(Kind.DRAWN, "r1", 1, DRAWN, draw="C")
    with pytest.raises(IllegalStep, match="with other contents"):
        ledger.append(Kind.DRAWN, "r1", 1, Drawn(file="", sha256="other"), draw="C")
    assert ledger.attempt("r1", 1).unfinished_sealings == []


def test_draw_that_was_not_reserved_is_refused(ledger):
    ledger.append(Kind.RESERVED, "r1", 1, GROUPS)
    with pytest.raises(IllegalStep, match="DRAW_STARTED of draw X needs an open reservation"):
        ledger.append(Kind.DRAW_STARTED, "r1", 1, STARTED, draw="X")


def test_decision_on_an_old_head_is_refused(ledger):
    seen = ledger.head()
    ledger.append(Kind.RESERVED, "other", 1, GROUPS)
    with pytest.raises(LedgerMoved):
        ledger.append(Kind.RESERVED, "r1", 1, GROUPS, expected_head=seen)
    ledger.append(Kind.RESERVED, "r1", 1, GROUPS, expected_head=ledger.head())
    assert ledger.head().seq == 2


def race(path, release_id, head, results):
    try:
        Ledger(path).append(Kind.RESERVED, release_id, 1, GROUPS, expected_head=head)
        results.put(release_id)
    except LedgerMoved:
        results.put(None)


def test_of_many_that_decide_on_one_head_exactly_one_writes(ledger):
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    writers = [
        context.Process(target=race, args=(ledger.path, f"r{i}", ledger.head(), results))
        for i in range(4)
    ]
    for writer in writers:
        writer.start()
    won = [results.get(timeout=PATIENCE) for _ in writers]
    for writer in writers:
        writer.join(timeout=PATIENCE)
    assert len([release_id for release_id in won if release_id]) == 1
    assert ledger.verify().seq == 1


@pytest.mark.parametrize("statement", ["update entries set payload = '{}'", "delete from entries"])
def test_rows_can_be_neither_changed_nor_removed(ledger, statement):
    draw_all(ledger)
    connection = sqlite3.connect(ledger.path)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


@pytest.mark.parametrize(
    "tampering",
    [
        "update entries set payload = '{}' where seq = 3",
        "update entries set at = '1999-01-01' where seq = 3",
        "update entries set draw = 'X' where seq = 7",
        "update entries set release_id = 'r9' where seq = 3",
        "delete from entries where seq = 4",
        "delete from entries where seq = 1",
        "insert into entries select 99, at, kind, 'r2', attempt, draw, payload, previous, 'x' "
        "from entries where seq = 1",
    ],
)
def test_verify_sees_tampering_that_went_around_the_triggers(ledger, tampering):
    draw_all(ledger)
    assert ledger.verify().seq == 7
    connection = sqlite3.connect(ledger.path)
    connection.execute("drop trigger entries_are_never_changed")
    connection.execute("drop trigger entries_are_never_removed")
    connection.execute(tampering)
    connection.commit()
    connection.close()
    with pytest.raises(LedgerCorrupt):
        ledger.verify()


def test_restored_backup_that_forgets_spending_is_seen(ledger, tmp_path):
    """Only a head that left the private zone can tell: a cut chain is still a chain."""
    ledger.append(Kind.RESERVED, "r1", 1, GROUPS)
    backup = Ledger(tmp_path / "backup.sqlite")
    backup.append(Kind.RESERVED, "r0", 1, GROUPS)
    published = ledger.head()
    assert ledger.verify((published,)) == published
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        backup.verify((published,))
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        backup.verify((Head(7, GENESIS),))


def test_killed_writer_leaves_no_half_row(ledger):
    """A transaction that is never committed is as if it had never begun."""
    connection = sqlite3.connect(ledger.path, isolation_level=None)
    connection.execute("begin immediate")
    connection.execute("insert into entries values (1, '', 'RESERVED', 'r1', 1, '', '{}', '', 'x')")
    connection.close()  # what the operating system does for a killed process
    assert ledger.head() == Head(0, GENESIS)
    ledger.append(Kind.RESERVED, "r1", 1, GROUPS)
    assert ledger.verify().seq == 1
