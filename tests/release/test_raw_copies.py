"""No copy of a log outlives what it was made for: refusals, erasures and a retention end it."""

import os
import time

import pytest

import tasks.log.duck.instances
import tasks.log.ingest
from tasks.budget.policy import Policy, set_policy
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger
from tasks.log.engine import open_duckdb, open_memory
from tasks.log.raw.files import BadInput
from tasks.orchestration import tasks as orchestrated
from tasks.products.clusters.draws import identify as identify_kmeans
from tasks.products.clusters.request import KMeansRequest
from tasks.products.head_list.run import identify
from tasks.products.histograms.draws import identify as identify_zealous
from tasks.products.histograms.request import ZealousRequest
from tasks.products.mean.draws import identify as identify_mean
from tasks.products.mean.request import MeanRequest
from tasks.release.refusals import BudgetRefused
from tasks.release.step import Step
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.store.working_copies import RETENTION_DAYS, hold, let_go
from tests.homes import new_home
from tests.release.support import charge, request_for
from tests.steps import do

WEEK = {"epoch": "2026-W46"}
NUMBER = {"column": "ItemRank", "upper": 10, "per_person": "sum"}


def product_runs(log, home):
    """Return a run of each of the four products."""
    mean = {"columns": {"person": "AnonID", "optin": "optin"}}
    clusters = {**mean, "points": [NUMBER]}
    return [
        identify(request_for(log), home),
        identify_zealous(ZealousRequest(log=log, **WEEK), home),
        identify_mean(MeanRequest(log=log, **WEEK, **mean, **NUMBER), home),
        identify_kmeans(KMeansRequest(log=log, **WEEK, **clusters), home),
    ]


def refuse(*_, **__):
    raise GateRefused("a gate refused")


def no_copies(home: Home) -> bool:
    return not list(home.warehouses.iterdir())


def test_a_refused_gate_leaves_no_copy_of_the_log_in_any_product(log, home, monkeypatch):
    monkeypatch.setattr(tasks.log.ingest, "judge", refuse)
    for run in product_runs(log, home):
        with pytest.raises(GateRefused):
            run_release(run)
        assert no_copies(home), run.product.name


def test_a_refused_budget_leaves_no_copy_of_the_log(log, home, gates_waived):
    set_policy(Ledger(home.ledger), Policy.changed(Policy(), "1", None, None))
    for run in product_runs(log, home):
        with pytest.raises(BudgetRefused):
            run_release(run)
        assert no_copies(home), run.product.name


def test_a_log_that_changes_while_it_is_read_leaves_no_copy(log, home, monkeypatch):
    def changed(run):
        raise BadInput("the log changed")

    monkeypatch.setattr(tasks.log.ingest, "require_unchanged", changed)
    with pytest.raises(BadInput):
        run_release(identify(request_for(log), home))
    assert no_copies(home)


def test_a_step_that_cannot_show_what_it_did_leaves_no_copy(log, home, gates_waived):
    run = identify(request_for(log), home)
    do(run, "ingest")
    with pytest.raises(orchestrated.StepFailed):
        orchestrated.do(Step("judge the log", lambda _: None, lambda *_: 1 / 0), run)
    assert no_copies(home)


def test_a_refused_step_of_prefect_leaves_no_copy_and_a_paid_one_keeps_it(log, home, gates_waived):
    run = identify(request_for(log), home)
    do(run, "ingest")
    refused, before = orchestrated.task_of(Step("a gate", refuse)), orchestrated.Passed(run, "")
    assert isinstance(refused.fn(before).data, GateRefused)
    assert no_copies(home)
    charge(run)
    assert isinstance(refused.fn(before).data, GateRefused)
    assert home.warehouse(run.release_id).exists(), "people have paid: a second run goes on"
    assert run_release(run) is not None
    assert no_copies(home)


def test_copies_and_error_texts_are_swept_after_the_retention(home):
    old, young, held = (home.warehouse(name) for name in ("old", "young", "held"))
    for folder in (old, young, held):
        with open_duckdb(folder):
            pass
    for folder in (old, young):  # as if their process had been killed
        let_go(folder, is_needed=True)
    home.failures.mkdir()
    for name in ("old.txt", "young.txt"):
        (home.failures / name).write_text("a secret search")
    long_ago = time.time() - (RETENTION_DAYS * 24 + 1) * 3600
    for path in (old, *old.iterdir(), held, *held.iterdir(), home.failures / "old.txt"):
        os.utime(path, (long_ago, long_ago))
    new_home(home.root)
    assert sorted(path.name for path in home.warehouses.iterdir()) == ["held", "young"]
    assert [path.name for path in home.failures.iterdir()] == ["young.txt"]
    let_go(held, is_needed=False)


def test_erasing_removes_idle_copies_at_once_and_those_at_work_with_their_runs(home):
    idle, at_work = home.warehouse("idle"), home.warehouse("work")
    for folder in (idle, at_work):
        with open_duckdb(folder) as engine:
            engine._connection.execute("create table raw as select 'a secret search' as query")
    let_go(idle, is_needed=True)
    home.failures.mkdir()
    (home.failures / "now.txt").write_text("a secret search")
    dropped = home.drop_warehouses()
    assert (dropped.n_removed, dropped.n_at_work) == (1, 1)
    assert not idle.exists()
    assert not home.failures.exists()
    with open_duckdb(at_work) as engine:
        assert engine.has("raw"), "a running release goes on"
    let_go(at_work, is_needed=True)
    assert not at_work.exists(), "and takes its copy along"


def test_an_erased_copy_whose_run_was_killed_goes_at_the_next_opening(home):
    folder = home.warehouse("work")
    hold(folder)
    home.drop_warehouses()
    os.close(
        tasks.store.working_copies._held.pop(folder)
    )  # the kernel does this to a killed process
    assert folder.exists()
    new_home(home.root)
    assert not folder.exists()


def test_questions_to_the_ledgers_files_spill_into_the_private_zone_only(home, monkeypatch):
    monkeypatch.setattr(tasks.log.duck.instances, "for_duckdb", lambda: 20 * 10**6)
    with open_memory(home.spill) as engine:
        engine._connection.execute(
            "create table much as select hash(range) as h, repeat('x', 50) as t from range(800000)"
        )
        assert list(home.spill.glob("*/*")), "nothing was spilled: the test is too small"
    assert not list(home.spill.iterdir())


def test_a_copy_that_was_removed_and_made_again_has_room_to_spill(home, monkeypatch):
    """The instance that is kept between steps has its spilled files in the folder that is gone."""
    monkeypatch.setattr(tasks.log.duck.instances, "for_duckdb", lambda: 20 * 10**6)
    much = "select hash(range) as h, repeat('x', 50) as t from range(800000)"
    folder = home.warehouse("a" * 32)
    for _ in range(2):
        with open_duckdb(folder) as engine:
            engine._connection.execute(f"create temp table much as {much}")
            assert list((folder / "spill").iterdir()), "nothing was spilled: the test is too small"
        let_go(folder, is_needed=False)
        assert not folder.exists()
