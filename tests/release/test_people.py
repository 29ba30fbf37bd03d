"""What people decide about themselves: to leave, to come back, to be erased."""

import shutil

import pytest

from tasks.budget.accounts import account_of
from tasks.budget.reserve import reserve
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.engine import open_duckdb
from tasks.log.ingest import ingest
from tasks.products.head_list.measuring.cohorts import choose_cohorts
from tasks.products.head_list.measuring.draws import draw_head_list
from tasks.products.head_list.run import identify
from tasks.release.refusals import BudgetRefused
from tasks.store.keys import Keyring, make_keys
from tests.release.support import (
    request_by_column,
    request_for,
    reserve_groups,
    reserve_release,
    sealed_groups,
    spent_by_account,
    write_log,
)

ANNE, BOB, CARL, DORA = (bytes([number]) * 16 for number in range(4))
GROUPS = {ANNE: "S", BOB: "S", CARL: "T", DORA: "C"}
SETTINGS = {"min_group_size": 1, "epsilon": 5.0}


@pytest.mark.parametrize("leaving", [Kind.OPTED_OUT, Kind.ERASED])
def test_whoever_leaves_is_charged_no_more_and_finds_the_old_balance_on_coming_back(home, leaving):
    ledger = Ledger(home.ledger)
    reserve_groups(home, "r1", GROUPS, **SETTINGS)
    before = spent_by_account(home)[ANNE]
    ledger.note(leaving, subject=ANNE.hex())
    run = reserve_groups(home, "r2", GROUPS, **SETTINGS)
    assert ANNE not in sealed_groups(home, run)
    assert spent_by_account(home)[ANNE] == before
    ledger.note(Kind.OPTED_IN, subject=ANNE.hex())
    run = reserve_groups(home, "r3", {ANNE: "S", CARL: "T", DORA: "C"} | {BOB: "S"},
                         **SETTINGS | {"epsilon": 2.0})  # fmt: skip
    assert ANNE in sealed_groups(home, run), "back again, beside those who stayed"
    assert spent_by_account(home)[ANNE] == (7 * 10**9, 2 * 10**13)
    # Of the cap of 12, 5 are left: a new balance would allow 6.
    with pytest.raises(BudgetRefused, match="spent \\(epsilon 7, delta 2e-05\\)"):
        reserve_groups(home, "r4", {ANNE: "S"}, min_group_size=1, epsilon=6.0)
    ledger.verify()


def test_the_newest_decision_counts_however_often_somebody_changes_their_mind(home):
    ledger = Ledger(home.ledger)
    make_keys(home)
    for kind in [Kind.OPTED_OUT, Kind.OPTED_IN] * 2 + [Kind.OPTED_OUT, Kind.ERASED]:
        ledger.note(kind, subject=ANNE.hex())
    ledger.note(Kind.OPTED_IN, subject=BOB.hex())
    run = reserve_groups(home, "r1", GROUPS, min_group_size=1)
    assert set(sealed_groups(home, run)) == {BOB, CARL, DORA}


def test_a_group_in_which_everybody_left_is_too_small_and_names_nobodys_balance(home):
    make_keys(home)
    for account in (ANNE, BOB):
        Ledger(home.ledger).note(Kind.OPTED_OUT, subject=account.hex())
    with pytest.raises(BudgetRefused, match="would have fewer than 1 people"):
        reserve_groups(home, "r1", GROUPS, min_group_size=1)


def test_somebody_of_a_real_log_who_opts_out_is_in_no_later_release(log, home):
    first = reserve_release(request_for(log), home)
    account = account_of(Keyring.open(home), "7")
    assert account in sealed_groups(home, first)
    Ledger(home.ledger).note(Kind.OPTED_OUT, subject=account.hex())
    later = reserve_release(request_for(log, epoch="2026-W45"), home)
    assert set(sealed_groups(home, first)) - set(sealed_groups(home, later)) == {account}


def test_opting_out_after_the_charge_does_not_undo_it(log, home):
    """The release was decided before; the ledger is never rewritten."""
    run = reserve_release(request_for(log), home)
    account = account_of(Keyring.open(home), "7")
    Ledger(home.ledger).note(Kind.OPTED_OUT, subject=account.hex())
    assert spent_by_account(home)[account][0] == 4 * 10**9
    assert account in sealed_groups(home, run)


def test_an_account_is_the_same_for_the_command_line_as_for_the_log(home, tmp_path):
    """White space around an id is trimmed alike, and what is not trimmed is part of the id."""
    people = ["plain", " spaced ", "\u00a0hard space\u3000", "\u2003em", "é", "tab\u000b", "a b"]
    log = write_log(tmp_path / "log.tsv", people, people)
    run = identify(request_by_column(log), home)
    ingest(run)
    choose_cohorts(run)
    with open_duckdb(home.warehouse(run.release_id)) as engine:
        accounts = {row["account"] for row in engine.fetch("accounts").to_pylist()}
    keys = Keyring.open(home)
    assert accounts == {account_of(keys, person) for person in people}
    assert account_of(keys, "spaced") == account_of(keys, " spaced ")


def test_nobody_is_drawn_from_who_was_charged_in_a_ledger_that_was_replaced(log, home, root):
    """One run has reserved; the ledger is restored, somebody leaves, and another run reserves."""
    run = identify(request_for(log), home)
    ingest(run)
    choose_cohorts(run)
    shutil.copy(home.ledger, root / "backup")
    reserve(run)
    assert run.group_size("S") > 0
    shutil.copy(root / "backup", home.ledger)
    [somebody, *_] = [
        account for account, group in sealed_groups(home, run).items() if group == "S"
    ]
    Ledger(home.ledger).note(Kind.OPTED_OUT, subject=somebody.hex())
    other = reserve_release(request_for(log), home)
    assert other.group_size("S") == run.group_size("S") - 1
    with pytest.raises(LedgerCorrupt, match="was reserved anew while this run was at work"):
        draw_head_list(run)
    assert not other.state.has(Kind.DRAW_STARTED, "S")
    assert draw_head_list(other).num_rows
