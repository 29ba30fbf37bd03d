"""Runs of studies: their randomness, their users, and that nothing finished is done twice."""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.blender.metrics import evaluate
from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.studies.blender.local_baselines import K_RR
from hybriddp.studies.blender.runs import l1_of_top, run_setting
from hybriddp.studies.blender.settings import METHODS, PREFIXES, TOP_QUERIES, Setting, derived_seed
from hybriddp.studies.blender.users import draw_users
from tasks.studies import execute as execution
from tasks.studies.code import code_version, reachable
from tasks.studies.execute import execute, jobs_of, seeds_for
from tasks.studies.model import AOL_DEFAULTS, YANDEX, Plot, Study, Sweep
from tasks.studies.pages.tables import make_tables, write_tables
from tasks.studies.runners import runner_of
from tasks.studies.store import Job, Result, Store, key_of

QUICK = replace(AOL_DEFAULTS, is_quick=True)
STUDY = Study(
    name="small",
    title="A small study",
    question="Does it work?",
    reading="It does.",
    sweeps=(Sweep("epsilon", "AOL-like", AOL_DEFAULTS, "epsilon", (2, 6), (PAPER, K_RR)),),
    plots=(Plot("l1", "L1", "l1_records", ("epsilon",)),),
)


@pytest.fixture(scope="module")
def users():
    return draw_users(QUICK.population, 0, is_quick=True)


def table_bytes(folder, results):
    return [path.read_bytes() for path in write_tables(make_tables(results), folder)]


def test_a_killed_study_does_only_what_is_missing_and_gives_the_same_tables(tmp_path, monkeypatch):
    whole = table_bytes(tmp_path / "a", execute(STUDY, tmp_path / "a", seeds=2, is_quick=True))
    done: list[Job] = []
    original = execution.do
    monkeypatch.setattr(execution, "do", lambda job: done.append(job) or original(job))

    def stop_after_three(finished, total):
        if finished == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(STUDY, tmp_path / "b", seeds=2, is_quick=True, progress=stop_after_three)
    # A kill in the middle of a write leaves half a line.
    with (tmp_path / "b" / "runs.jsonl").open("a") as file:
        file.write('{"key": "cut sh')
    assert len(done) == 3
    done.clear()
    resumed = execute(STUDY, tmp_path / "b", seeds=2, is_quick=True)
    assert len(done) == len(jobs_of(STUDY, 2, is_quick=True)) - 3
    assert table_bytes(tmp_path / "b", resumed) == whole
    done.clear()
    execute(STUDY, tmp_path / "b", seeds=2, is_quick=True)
    assert done == []


def test_results_do_not_depend_on_workers(tmp_path):
    alone = execute(STUDY, tmp_path / "one", seeds=2, is_quick=True, workers=1)
    together = execute(STUDY, tmp_path / "two", seeds=2, is_quick=True, workers=2)
    assert together == alone


def test_more_seeds_keep_the_runs_of_fewer(tmp_path):
    few = dict_of(execute(STUDY, tmp_path, seeds=1, is_quick=True))
    more = dict_of(execute(STUDY, tmp_path, seeds=2, is_quick=True))
    assert len(more) == 2 * len(few)
    assert few.items() <= more.items()


def dict_of(results):
    return {key_of(job): str(rows) for job, rows in results}


def test_a_change_of_the_code_starts_a_study_anew(tmp_path, monkeypatch):
    job = jobs_of(STUDY, 1, is_quick=True)[0]
    store = Store(tmp_path)
    store.append(Result(job, [{"part": "blended"}], 0.1))
    assert store.load([job]) == {job: [{"part": "blended"}]}
    monkeypatch.setattr("tasks.studies.store.code_version", lambda _: "another")
    assert store.load([job]) == {}


def test_version_of_the_code_sees_every_room_and_no_words(tmp_path):
    first = runner_of(STUDY.settings(is_quick=True)[0]).first_module
    reached = reachable(first)
    assert {"hybriddp.blender.simulate", "hybriddp.noise.laplace", "hybriddp.params"} <= set(
        reached
    )
    assert "hybriddp.studies.zealous.runs" not in reached
    assert len(code_version(first)) == 12
    room = tmp_path / "hybriddp" / "room"
    room.mkdir(parents=True)
    (room / "first.py").write_text("from hybriddp.room import second\nfrom hybriddp import room\n")
    (room / "__init__.py").write_text("")
    (tmp_path / "hybriddp" / "__init__.py").write_text("")
    (room / "second.py").write_text("def f():\n    import hybriddp.room.third\n")
    with pytest.raises(LookupError, match=r"hybriddp\.room\.third is no module"):
        reachable("hybriddp.room.first", tmp_path)
    (room / "third.py").write_text("")
    assert "hybriddp.room.third" in reachable("hybriddp.room.first", tmp_path)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_measures_and_repeats_itself(method, users):
    setting = replace(QUICK, method=method)
    rows = run_setting("s", setting, 0, users)
    assert rows == run_setting("s", setting, 0, users)
    assert rows != run_setting("s", setting, 1, users)
    assert [row["part"] for row in rows] == (
        ["blended", "opt-in", "clients"] if method in (PAPER, HIGH_UTILITY) else ["blended"]
    )
    for row in rows:
        assert 0 < row["ndcg_queries"] <= 1
        assert 0 < row["l1_top_queries"] < 1
        assert (row["l1_records"] is None) == (method == PREFIXES)


def test_local_methods_use_the_list_of_strategy_paper(users):
    sizes = {
        method: run_setting("s", replace(QUICK, method=method), 3, users)[0]["n_records"]
        for method in (PAPER, K_RR, "oue", "olh", "subset")
    }
    assert len(set(sizes.values())) == 1


def test_users_are_those_of_the_seed_and_optin_groups_are_nested(users):
    again = draw_users(QUICK.population, 0, is_quick=True)
    other = draw_users(QUICK.population, 1, is_quick=True)
    assert (again.query_ids == users.query_ids).all()
    assert (again.willingness == users.willingness).all()
    assert (other.query_ids != users.query_ids).any()
    few, many = users.is_optin(0.01), users.is_optin(0.1)
    assert (many | ~few).all()
    assert few.mean() == pytest.approx(0.01, rel=0.2)


def test_the_part_of_the_truth_that_is_read_gives_the_same_measures(users):
    ids = np.array([0, 3, 7, 90_000])
    head_list = HeadList(ids, np.ones(4, np.int64), np.zeros(4, np.int64))
    cells = np.linspace(0.01, 0.02, head_list.n_cells)
    queries = np.array([0.02, 0.006, 0.004, 0.001])
    of_part, of_all = (
        evaluate(head_list, cells, queries, truth, users.n_users, 10)
        for truth in (users.truth_about(head_list), users.truth)
    )
    assert of_part == of_all


def test_l1_of_the_top_counts_what_is_missing(users):
    nothing = np.zeros(0, np.int64)
    top = users.top_queries[:5]
    mass = users.query_counts(top).sum() / users.n_users
    assert l1_of_top(nothing, np.ones(1), users, 5) == pytest.approx(mass)
    exact = np.sort(top)
    assert l1_of_top(exact, users.query_counts(exact) / users.n_users, users, 5) == 0


def test_top_queries_are_shown_with_the_wildcard_first(users):
    rows = run_setting("s", replace(QUICK, kind=TOP_QUERIES), 0, users)
    assert [row["part"] for row in rows] == ["*", *"123456789"]
    assert rows[1]["p_true"] == pytest.approx(0.0211, rel=0.1)
    # Summing the clients' records over a query's urls is their query estimate again.
    for row in rows:
        if row["listed"]:
            assert row["p_clients_summed"] == pytest.approx(row["p_clients"], abs=1e-12)
        else:
            assert row["p_blended"] is None


def test_a_seed_depends_on_study_setting_and_number_only():
    base = derived_seed("s", QUICK, 0)
    assert base == derived_seed("s", replace(QUICK, epsilon=4), 0)
    others = {
        derived_seed("t", QUICK, 0),
        derived_seed("s", replace(QUICK, epsilon=3), 0),
        derived_seed("s", replace(QUICK, method=K_RR), 0),
        derived_seed("s", QUICK, 1),
    }
    assert len(others | {base}) == 5
    with pytest.raises(ValueError, match="population must be"):
        Setting(population="mars", delta=1e-5, optin_fraction=0.1, max_head_size=5)


def test_yandex_gets_fewer_seeds_but_at_least_two():
    assert [seeds_for(YANDEX, n) for n in (1, 2, 5, 20)] == [1, 2, 2, 4]
    assert seeds_for(QUICK.population, 20) == 20


def test_parts_of_tables_are_in_the_order_of_their_numbers_behind_words():
    rows = [{"part": part, "l1_records": 0.5} for part in ("10", "9", "100", "all", "*")]
    tables = make_tables([(Job("s", QUICK, seed), rows) for seed in (1, 0)])
    ordered = ["*", "all", "9", "10", "100"]
    assert [row["part"] for row in tables.summary] == ordered
    assert [(run["part"], run["seed"]) for run in tables.runs] == [
        (part, seed) for part in ordered for seed in (0, 1)
    ]
