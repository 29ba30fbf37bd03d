"""A gate's verdict is a row before anybody knows it; an epoch and a log have few for nothing."""

import pytest

import tasks.log.ingest
import tasks.release.run
from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import reserve, void_reservation
from tasks.gates.judgements import count_fruitless
from tasks.gates.preflight import check_inputs
from tasks.gates.quality import GateRefused, Result, Verdict
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Judged
from tasks.ledger.rules import Kind
from tasks.log.ingest import ingest, judge_log
from tasks.log.raw.files import BadInput
from tasks.log.spark.address import NoSpark
from tasks.products.head_list.measuring.cohorts import choose_cohorts
from tasks.products.head_list.run import identify
from tasks.products.request import LogColumns
from tasks.release.refusals import BAD_INPUT, BudgetRefused, exit_code_of
from tests.homes import new_home
from tests.release.support import COLUMNS, request_for, waive_gates, write_log
from tests.rows import DRAWN, STARTED

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
    return [row.payload.as_json() for row in Ledger(home.ledger).entries(Kind.JUDGED)]


def n_fruitless(home, epoch=EPOCH):
    return count_fruitless(Ledger(home.ledger).entries(), lambda asked: asked.epoch == epoch)


def ask(home, log, share, epoch=EPOCH, **settings):
    """Ask the gate about a log, and go no further."""
    run = identify(request_for(log, epoch=epoch, max_bad_row_share=share, **settings), home)
    ingest(run)
    judge_log(run)
    return run


def pay(run):
    choose_cohorts(run)
    reserve(run)
    return run


def draw(run):
    """Put on record that one draw of a release was made."""
    for kind, said in ((Kind.DRAW_STARTED, STARTED), (Kind.DRAWN, DRAWN)):
        run.ledger.append(kind, run.release_id, run.attempt, said, draw="S")


@pytest.mark.parametrize("verdict", [REFUSED, Verdict("waived", (Result("any", (), True, "it"),))])
def test_a_share_cannot_be_bisected_and_the_row_comes_before_the_verdict(
    home, log, monkeypatch, verdict
):
    def judge(*_):
        assert len(judged(home)) == n_asked[-1]
        return verdict

    n_asked = []
    monkeypatch.setattr(tasks.log.ingest, "judge", judge)
    for number in range(3):
        n_asked.append(number + 1)
        for _ in range(2):  # the same question again has the same answer, and is free
            if verdict is REFUSED:
                with pytest.raises(GateRefused):
                    ask(home, log, 0.01 * (number + 1))
            else:
                ask(home, log, 0.01 * (number + 1))
    monkeypatch.setattr(tasks.log.ingest, "judge", None)  # calling it would fail
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
    assert set(row) == {"release_id", "product", "epoch", "log", "suite", "limits"}
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


def test_a_release_takes_one_verdict_once_it_has_drawn(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)
    for share in (0.01, 0.02):
        run = ask(home, log, share)
    pay(run)
    void_reservation(home, run.release_id)
    run = pay(ask(home, log, 0.02))
    assert n_fruitless(home) == 2, "a reservation alone leaves nothing behind"
    draw(run)
    assert n_fruitless(home) == 1, "of two verdicts one led to a release"
    draw(pay(ask(home, log, 0.01, epsilon=0.5, pay_again=True)))
    assert n_fruitless(home) == 2, "an epoch's list takes one, however often it is paid for"
    draw(pay(ask(home, log, 0.01, epsilon=0.5, locale="en-US")))
    assert n_fruitless(home) == 2


def test_a_reservation_that_is_never_drawn_buys_no_question(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)

    def ask_and_stop_after_paying(number):
        tiny = {"epsilon": 0.001 + number * 1e-6, "delta": 1e-12}
        pay(ask(home, log, 0.01 * number, **tiny, pay_again=True))

    for number in range(1, 4):
        ask_and_stop_after_paying(number)
    with pytest.raises(BudgetRefused, match="logs of epoch 2026-W40 were judged 3 times"):
        ask_and_stop_after_paying(4)


@pytest.mark.parametrize(
    ("time", "year"),
    [(None, 2026), ("QueryTime", 1999)],
    ids=["a log without times fits any epoch", "unreadable rows are in every week without rows"],
)
def test_the_same_log_under_another_epochs_name_is_asked_on_the_same_account(
    home, log, tmp_path, monkeypatch, time, year
):
    waive_gates(monkeypatch.setattr)
    with log.open("a") as more:
        more.write("x\tq\tnever\t1\thttp://a.com\t0\n")
    columns = LogColumns(time=time)
    for week in range(1, 4):
        ask(home, log, 0.01 * week, epoch=f"{year}-W0{week}", columns=columns)
    copy = log.rename(tmp_path / "another-name.tsv")
    for settings in ({}, {"product": "other"}, {"epsilon": 2.0}):
        with pytest.raises(BudgetRefused, match=r"this log was, .* judged 3 times"):
            ask(home, copy, 0.05, epoch=f"{year}-W04", columns=columns, **settings)
    assert len({row["log"] for row in judged(home)}) == 1


def test_years_of_one_log_are_released_week_by_week(home, log, monkeypatch):
    """Each week asks once and draws once, so neither the log nor an epoch runs out."""
    waive_gates(monkeypatch.setattr)
    for week in range(40, 45):
        draw(pay(ask(home, log, 0.01, epoch=f"2026-W{week}", epsilon=0.5)))
        assert n_fruitless(home, f"2026-W{week}") == 0


def test_a_row_without_a_log_counts_for_its_epoch(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)
    ask(home, log, 0.01)
    for number in range(2):
        row = judged(home)[0] | {"release_id": f"{number:032x}"}
        del row["log"]
        Ledger(home.ledger).append(Kind.JUDGED, "", 0, Judged(**row), draw=f"{number:032x}")
    with pytest.raises(BudgetRefused, match="judged 3 times"):
        ask(home, log, 0.02)
    ask(home, log, 0.02, epoch="2026-W41")


def test_the_log_is_not_read_once_more_for_its_row(home, log, monkeypatch):
    """Nor taken for what it was, if it changed: what was judged is what its id names."""
    waive_gates(monkeypatch.setattr)
    run = identify(request_for(log, epoch=EPOCH), home)
    ingest(run)
    monkeypatch.setattr(tasks.release.run, "release_ids_of", None)  # calling it would fail
    judge_log(run)
    assert len(judged(home)) == 1


def test_a_process_that_did_not_name_the_release_finds_the_same_log(home, log, monkeypatch):
    waive_gates(monkeypatch.setattr)
    first = ask(home, log, 0.01)
    monkeypatch.setattr(tasks.release.run, "_LOG_IDS", {})
    ask(home, log, 0.02)
    monkeypatch.setattr(tasks.release.run, "_LOG_IDS", {})
    judge_log(first)
    assert len({row["log"] for row in judged(home)}) == 1
    monkeypatch.setattr(tasks.release.run, "_LOG_IDS", {})
    log.write_text(log.read_text() + "\n")
    with pytest.raises(BadInput, match="changed while it was read"):
        judge_log(first)


def test_a_log_that_cannot_be_read_is_a_verdict_too(home, tmp_path):
    for number in range(4):
        log = tmp_path / f"{number}.csv"
        log.write_text(COLUMNS.replace("\t", ",") + '\n1,"a\nb",,,,\n2,"c",,,,' + "\n" * number)
        kind = BadInput if number < 3 else BudgetRefused
        with pytest.raises(kind):
            ingest(identify(request_for(log, epoch=EPOCH), home))
        assert len(judged(home)) == n_fruitless(home) == min(number + 1, 3)


def test_what_a_machine_lacks_is_no_verdict_on_a_log(home, log, monkeypatch):
    """Be it no Spark, or an address that is none: the log was not looked at."""
    monkeypatch.setenv("HYBRIDDP_SPARK", "nowhere at all")
    run = identify(request_for(log, epoch=EPOCH, engine="spark"), home)
    for step in (check_inputs, ingest):
        for _ in range(4):
            with pytest.raises(NoSpark) as refused:
                step(run)
            assert exit_code_of(type(refused.value)) == BAD_INPUT
    assert judged(home) == []
