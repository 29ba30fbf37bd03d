"""Sealed sums: when they are made, that nothing rests on them, and that what is wrong is seen."""

import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.budget.spending import counted_in
from tasks.budget.sums import covers, files, recount, sealing
from tasks.budget.sums.covers import reading_of
from tasks.budget.sums.files import file_digest, sums_file
from tasks.budget.sums.sealing import seal_sums
from tasks.budget.window import may_start
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.payloads import Settled, Summed
from tasks.ledger.rules import Kind
from tasks.release.refusals import BudgetRefused
from tests.budget.sums.support import (
    ALL,
    ANNE,
    drawn,
    entries_of,
    plain_spending,
    reserve,
    rows_of_sums,
    seal_now,
    spending_of,
    start,
)
from tests.homes import new_home
from tests.ledger.clocks import Clock


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def home(clock, tmp_path):
    return new_home(tmp_path / "home")


@pytest.fixture
def sealed(home):
    """A home of five releases, of which sums hold four."""
    drawn(home, 5)
    assert len(rows_of_sums(home)) == 1
    return home


def files_read(home):
    """How many sums and how many participation files a check reads."""
    entries = entries_of(home)
    counted = counted_in(entries, sealing.current_policy(entries), Ledger(home.ledger).moment())
    reading = reading_of(entries, counted, lambda row: files.has_sums(home, row))
    return len(reading.sums), reading.n_participation_files


# When they are made.


def test_a_check_for_life_reads_one_file_of_sums_and_few_others(home):
    most = 0
    for number in range(14):
        drawn(home, 1, first=number)
        assert spending_of(home) == plain_spending(home)
        most = max(most, sum(files_read(home)))
    assert most <= 1 + sealing.LEAST_FILES + 1
    assert len(rows_of_sums(home)) == 3
    assert len(list(sums_file(home, rows_of_sums(home)[0]).parent.iterdir())) == 2
    check_ledger(home)


def test_nothing_is_sealed_before_it_saves_reading(home, monkeypatch):
    drawn(home, 3)
    seal_sums(home)
    assert rows_of_sums(home) == []
    assert not files.sums_folder(home).exists()
    drawn(home, 2, first=3)
    [row] = rows_of_sums(home)
    monkeypatch.setattr(sealing, "_n_people", lambda _: row.payload.accounts - 1)
    drawn(home, 5, first=5)
    assert rows_of_sums(home) == [row], "fewer rows are to be read than the sums have"


def test_with_a_window_sums_double_and_what_left_it_counts_no_more(home, clock):
    set_policy(Ledger(home.ledger), Policy(window_days=100))
    for number in range(22):
        drawn(home, 1, first=number)
        clock.advance(days=6)
        assert sum(files_read(home)) <= 9
        if number % 3 == 0:
            assert spending_of(home) == plain_spending(home)
    sizes = [len(held) for held in covers.covers(entries_of(home)).values()]
    assert sorted(set(sizes)) == [8, 16, 32], "at most 17 releases are inside"
    assert spending_of(home) == plain_spending(home)
    check_ledger(home)


def test_a_change_of_the_window_costs_one_sealing_of_everything_inside(home, clock):
    for number in range(9):
        drawn(home, 1, first=number)
        clock.advance(days=3)
    set_policy(Ledger(home.ledger), Policy(window_days=20))
    assert files_read(home) == (0, 6), "the sums reach back too far"
    seal_sums(home)
    assert files_read(home) == (1, 2)
    assert spending_of(home) == plain_spending(home)
    set_policy(Ledger(home.ledger), Policy())
    seal_now(home)
    assert files_read(home) == (1, 0)
    assert spending_of(home) == plain_spending(home)


# What they hold.


def test_only_draws_that_have_started_are_sealed_and_a_void_gives_back_as_ever(home):
    drawn(home, 2)
    open_one, half = reserve(home, "open"), reserve(home, "half")
    start(half, "S")
    seal_now(home)
    [row] = rows_of_sums(home)
    reservations = {e.seq: e.release_id for e in entries_of(home) if e.kind is Kind.RESERVED}
    held = {(reservations[one.row], *one.groups) for one in row.payload.added}
    assert held == {("r0", "C", "S"), ("r1", "C", "S"), ("half", "S")}
    before = spending_of(home)
    void_reservation(home, open_one.release_id)
    assert spending_of(home) == plain_spending(home) != before
    assert files_read(home) == (1, 1), "of what was half drawn, the other half"


def test_a_lowered_cap_is_checked_with_sums_and_newer_files(sealed):
    """A draw starts after the policy has changed: everybody's draws are added up, to the unit."""
    run, ledger = reserve(sealed, "next", ALL), Ledger(sealed.ledger)
    [row] = rows_of_sums(sealed)
    assert len(row.payload.added) == 4
    set_policy(ledger, Policy.of("0.857142857", "1e-4", None))
    with pytest.raises(BudgetRefused, match="would exceed it"):
        may_start(run, "C")
    set_policy(ledger, Policy.of("0.857142858", "1e-4", None))
    may_start(run, "C")


# Nothing rests on them.


def spoil(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(bytes(data))


def of_another_home(path):
    table = pa.table({"account": [ANNE], **{part: [0] for part in ("epsilon", "delta", "rho")}})
    pq.write_table(table, path)


@pytest.mark.parametrize("harm", [spoil, of_another_home, lambda path: path.unlink()])
def test_sums_that_are_lost_or_changed_are_not_read_and_nobody_forgets(sealed, harm):
    before = spending_of(sealed)
    assert files_read(sealed) == (1, 1)
    harm(sums_file(sealed, rows_of_sums(sealed)[0]))
    assert files_read(sealed) == (0, 5)
    assert spending_of(sealed) == before == plain_spending(sealed)
    drawn(sealed, 1, first=5)
    assert files_read(sealed) == (1, 1), "they were sealed again"
    check_ledger(sealed)


@pytest.mark.parametrize("harm", [spoil, of_another_home])
def test_verify_names_a_file_of_sums_that_is_not_what_was_sealed(sealed, harm):
    path = sums_file(sealed, rows_of_sums(sealed)[0])
    assert check_ledger(sealed).n_sums == 1
    harm(path)
    with pytest.raises(LedgerCorrupt, match=r"is not what was sealed.*Remove it"):
        check_ledger(sealed)
    path.unlink()
    assert check_ledger(sealed).n_sums == 0


def test_an_older_ledger_with_newer_sums_is_refused_and_would_add_up_what_it_knows(home):
    drawn(home, 4)
    kept = home.ledger.read_bytes()
    drawn(home, 1, first=4)
    home.ledger.write_bytes(kept)
    for journal in home.private.glob("ledger.sqlite-*"):
        journal.unlink()
    assert rows_of_sums(home) == []
    assert spending_of(home) == plain_spending(home)
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        reserve(home, "next")


def test_older_sums_with_a_newer_ledger_are_used_for_what_they_hold(home):
    drawn(home, 5)
    folder = files.sums_folder(home)
    older = shutil.copytree(folder, home.root / "older")
    drawn(home, 8, first=5)
    assert len(rows_of_sums(home)) == 3
    shutil.rmtree(folder)
    shutil.copytree(older, folder)
    assert files_read(home) == (1, 9)
    assert spending_of(home) == plain_spending(home)


def test_a_participation_file_that_sums_hold_is_missed_by_verify(sealed):
    entries = entries_of(sealed)
    [first] = [e for e in entries if e.kind is Kind.RESERVED and e.release_id == "r0"]
    (sealed.participation / f"{first.payload.participation}.parquet").unlink()
    assert len(spending_of(sealed)) == 8, "people stay charged"
    with pytest.raises(LedgerCorrupt, match="is missing"):
        check_ledger(sealed)


def cut(home, keep):
    """Remove rows from the ledger by hand."""
    with Ledger(home.ledger)._connect() as connection:
        connection.executescript("drop trigger entries_are_never_removed")
        connection.execute(f"delete from entries where not ({keep})")


def test_a_row_of_sums_that_is_removed_breaks_the_chain(sealed):
    cut(sealed, "kind != 'SUMMED'")
    with pytest.raises(LedgerCorrupt, match="does not continue the chain"):
        check_ledger(sealed)


def test_a_row_of_sums_that_is_lost_with_all_behind_it_is_only_a_cost(home):
    drawn(home, 4)
    seal_now(home)
    before = spending_of(home)
    cut(home, "kind != 'SUMMED'")
    assert spending_of(home) == before
    drawn(home, 1, first=4)
    assert files_read(home) == (1, 1)


# What is wrong is seen.


def name_sums(home, added, parts=(), table=None):
    """Write sums and their row by hand, whatever they hold."""
    path = files.sums_folder(home) / "new.parquet"
    path.parent.mkdir(exist_ok=True)
    of_another_home(path) if table is None else pq.write_table(table, path)
    digest = file_digest(path)
    path.rename(path.with_name(f"{digest}.parquet"))
    said = Summed(
        sums=digest,
        accounts=1,
        parts=list(parts),
        added=[Settled(row=row, groups=list(groups)) for row, groups in added],
    )
    return Ledger(home.ledger).note(Kind.SUMMED, said)


def seq_of(home, name):
    return next(e.seq for e in entries_of(home) if (e.kind, e.release_id) == (Kind.RESERVED, name))


@pytest.mark.parametrize("wrong", ["not drawn", "twice", "unknown row", "of a part", "no part"])
def test_a_row_that_holds_what_it_must_not_is_refused(sealed, wrong):
    reserve(sealed, "open")
    first, part = seq_of(sealed, "r0"), rows_of_sums(sealed)[0].seq
    match wrong:
        case "not drawn":
            name_sums(sealed, [(seq_of(sealed, "open"), "S")])
        case "twice":
            name_sums(sealed, [(first, "SS")])
        case "unknown row":
            name_sums(sealed, [(999, "S")])
        case "of a part":
            name_sums(sealed, [(first, "S")], [part])
        case "no part":
            name_sums(sealed, [(first, "S")], [first])
    with pytest.raises(LedgerCorrupt, match="hold a charge twice, or one that was not drawn"):
        reserve(sealed, "next")
    with pytest.raises(LedgerCorrupt, match="hold a charge twice, or one that was not drawn"):
        check_ledger(sealed)


def test_a_void_takes_sums_that_hold_it_out_even_if_they_were_sealed_too_early(home, monkeypatch):
    """Planted: reservations count as settled. Whatever is voided still counts for nobody."""
    original = covers.settled

    def too_early(entries):
        known = list(entries)
        open_ones = {(e.seq, g): e.seq for e in known if e.kind is Kind.RESERVED for g in "SC"}
        return open_ones | original(known)

    for module in (covers, sealing):
        monkeypatch.setattr(module, "settled", too_early)
    drawn(home, 3)
    reserve(home, "open")
    seal_now(home)
    assert files_read(home) == (1, 0)
    void_reservation(home, "open")
    assert spending_of(home) == plain_spending(home)
    assert files_read(home)[0] == 0
    monkeypatch.undo()
    with pytest.raises(LedgerCorrupt, match="not drawn"):
        spending_of(home)


def forgets(reading):
    return covers.Reading(reading.sums, reading.charges[:-1])


def counts_twice(reading):
    return covers.Reading(reading.sums, [*reading.charges, reading.charges[0]])


def forgets_the_old(reading):
    return covers.Reading((), reading.charges)


@pytest.mark.parametrize("defect", [forgets, counts_twice, forgets_the_old])
def test_sums_that_forget_a_file_or_count_one_twice_are_not_sealed(home, monkeypatch, defect):
    drawn(home, 5)
    drawn(home, 3, first=5)
    assert len(rows_of_sums(home)) == 1
    original = sealing.put_read
    monkeypatch.setattr(sealing, "put_read", lambda *a: original(*a[:2], defect(a[2])))
    with pytest.raises(LedgerCorrupt, match="not what the rows of the ledger charged"):
        drawn(home, 1, first=8)
    assert len(rows_of_sums(home)) == 1
    monkeypatch.undo()
    drawn(home, 1, first=9)


@pytest.mark.parametrize("defect", [forgets, counts_twice])
def test_verify_sees_sums_that_were_sealed_wrong(home, monkeypatch, defect):
    """Planted: nobody looks when they are sealed. Then only the digest vouches for them."""
    drawn(home, 4)
    original = sealing.put_read
    monkeypatch.setattr(sealing, "put_read", lambda *a: original(*a[:2], defect(a[2])))
    monkeypatch.setattr(sealing, "_adds_up", lambda *_: True)
    drawn(home, 1, first=4)
    assert spending_of(home) != plain_spending(home)
    with pytest.raises(LedgerCorrupt, match="are not those of the participation files"):
        check_ledger(home)


def test_sums_too_large_for_their_file_are_not_sealed(home, monkeypatch):
    """Exact sums come first; no cap that anybody would set lets them be so large."""
    drawn(home, 4)
    original = sealing.put_read

    def put_read(engine, *args):
        original(engine, *args)
        engine._connection.execute("update spending set delta = 9223372036854775808")

    monkeypatch.setattr(sealing, "put_read", put_read)
    drawn(home, 1, first=4)
    assert rows_of_sums(home) == []
    assert recount.require_exact_sums(home, entries_of(home)) == 0


def test_overlapping_sums_are_never_added_to_each_other(sealed):
    """Two rows may hold the same charges, as after a damage; each charge is read once."""
    [row] = rows_of_sums(sealed)
    table = pq.read_table(sums_file(sealed, row))
    held = [(one.row, one.groups) for one in row.payload.added]
    name_sums(sealed, held, table=table.replace_schema_metadata({"name": "again"}))
    assert files_read(sealed)[0] == 1
    assert spending_of(sealed) == plain_spending(sealed)
    check_ledger(sealed)


def test_a_reservation_between_choosing_and_sealing_changes_nothing(home, monkeypatch):
    """Whoever seals adds up draws that have started, and nothing undoes them."""
    monkeypatch.setattr("tasks.budget.reserve.seal_sums", lambda _: None)
    drawn(home, 4)
    original, todo = sealing._seal, [None]

    def meanwhile(*args):
        said = original(*args)
        while todo:
            todo.pop()
            start(reserve(home, "meanwhile"))
        return said

    monkeypatch.setattr(sealing, "_seal", meanwhile)
    sealing.seal_sums(home)
    assert files_read(home) == (1, 1)
    assert spending_of(home) == plain_spending(home)
