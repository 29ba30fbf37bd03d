"""A gate's verdict is a row before anybody knows it, and an epoch has few that lead to nothing."""

import pytest

import tasks.ingest
from tasks.cohorts import choose_cohorts
from tasks.ingest import ingest, judge_log
from tasks.judgements import count_fruitless
from tasks.ledger import Ledger
from tasks.ledger_check import check_ledger
from tasks.ledger_rules import Kind
from tasks.log_files import BadInput
from tasks.policy import Policy, set_policy
from tasks.quality import GateRefused, Result, Verdict
from tasks.refusals import BudgetRefused
from tasks.reserve import reserve, void_reservation
from tasks.run import identify
from tests.homes import new_home
from tests.release.support import COLUMNS, request_for, waive_gates, write_log

EPOCH = "2026-W40"
REFUSED = Verdict("raw_log", (Result("an expectation", (), False, "a test refuses"),))


@pytest.fixture
def home(tmp_path):
    home = new_home(tmp_path / "home")
    set_policy(Ledger(home.ledger), Policy(max_refusals=3))
    return home


@pytest.fixture
def log(tmp_path):
    return write_log(tmp_path / "log.tsv", map(str, range(600)))


def judged(home):
    return [row.payload for row in Ledger(home.ledger).entries() if row.kind is Kind.JUDGED]


def n_fruitless(home, epoch=EPOCH):
    return count_fruitless(Ledger(home.ledger).entries(), epoch)


def ask(home, log, share, epoch=EPOCH, **settings):
    """Ask the gate about a log, and go no further."""
    run = identify(request_for(log, epoch=epoch, max_bad_row_share=share, **settings), home)
    ingest(run)
    judge_log(run)
    return run


@pytest.mark.parametrize("verdict", [REFUSED, Verdict("waived", (Result("any", (), True, "it"),))])
def test_a_share_cannot_be_bisected_and_the_row_comes_before_the_verdict(
    home, log, monkeypatch, verdict
):
    def judge(*_):
        assert len(judged(home)) == n_asked[-1]
        return verdict

    n_asked = []
    monkeypatch.setattr(tasks.ingest, "judge", judge)
    for number in range(3):
        n_asked.append(number + 1)
        for _ in range(2):  # the same question again has the same answer, and is free
            if verdict is REFUSED:
                with pytest.raises(GateRefused):
                    ask(home, log, 0.01 * (number + 1))
            else:
                ask(home, log, 0.01 * (number + 1))
    monkeypatch.setattr(tasks.ingest, "judge", None)  # calling it would fail
    with pytest.raises(BudgetRefused, match=r"judged 3 times .* --max-refusals N"):
        ask(home, log, 0.04)
    assert len(judged(home)) == n_fruitless(home) == 3
    set_policy(Ledger(home.ledger), Policy(max_refusals=4))
    waive_gates(monkeypatch.setattr)
    ask(home, log, 0.04)
    check_ledger(home)


def test_rows_hold_what_was_asked_and_nothing_that_was_answered(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)
    ask(home, log, 0.25)
    [row] = judged(home)
    assert set(row) == {"release_id", "product", "epoch", "suite", "limits"}
    assert row["limits"]["max_bad_row_share"] == (0.25).hex()
    assert set(row["limits"]) == {
        "max_bad_row_share", "max_outside_epoch_share", "max_alike_id_share",
    }  # fmt: skip


def test_another_log_product_or_parameter_is_asked_on_the_same_account(home, tmp_path, monkeypatch):
    """Who may not vary the limit could vary the log instead."""
    waive_gates(monkeypatch.setattr)
    for number, settings in enumerate([{}, {"product": "other"}, {"epsilon": 2.0}]):
        people = map(str, range(600 + number))
        ask(home, write_log(tmp_path / f"{number}.tsv", people), 0.01, **settings)
    last = write_log(tmp_path / "last.tsv", map(str, range(700)))
    with pytest.raises(BudgetRefused, match="judged 3 times"):
        ask(home, last, 0.01, locale="en-US")
    ask(home, last, 0.01, epoch="2026-W41")


def test_a_release_takes_one_verdict_and_gives_it_back_if_it_is_voided(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)
    for share in (0.01, 0.02):
        run = ask(home, log, share)
    choose_cohorts(run)
    reserve(run)
    assert n_fruitless(home) == 1, "of two verdicts one led to a release"
    void_reservation(home, run.release_id)
    assert n_fruitless(home) == 2


def test_a_log_that_cannot_be_read_is_a_verdict_too(home, tmp_path):
    for number in range(4):
        log = tmp_path / f"{number}.csv"
        log.write_text(COLUMNS.replace("\t", ",") + '\n1,"a\nb",,,,\n2,"c",,,,' + "\n" * number)
        kind = BadInput if number < 3 else BudgetRefused
        with pytest.raises(kind):
            ingest(identify(request_for(log, epoch=EPOCH), home))
        assert len(judged(home)) == n_fruitless(home) == min(number + 1, 3)
