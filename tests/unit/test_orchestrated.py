"""The Prefect side of the steps: order, retries, and what an error may say."""

import ast
import asyncio
import inspect
import json
import logging

import pytest
from prefect.cache_policies import NO_CACHE
from prefect.workers.process import ProcessJobConfiguration

from flows import release as release_flow
from hybriddp.errors import HybridDPError
from tasks import orchestrated, steps
from tasks.reasons import reasoned
from tasks.refusals import BadInput, BudgetRefused
from tests.homes import new_home
from tests.repository import ROOT

DRAWS = ("draw_head_list", "draw_optin_histogram", "collect_reports")
POST_PROCESSING = ("trim_head_list", "publish_package", "denoise", "blend", "project")


def calls_in(function) -> list[str]:
    """Return the names of the functions that a function calls, in order."""
    tree = ast.parse(inspect.getsource(function)).body[0]
    calls = [node for statement in tree.body for node in ast.walk(statement)]
    found = [node for node in calls if isinstance(node, ast.Call)]
    found.sort(key=lambda node: (node.lineno, node.col_offset))
    return [node.func.id for node in found if isinstance(node.func, ast.Name)]


def test_flow_runs_the_same_steps_in_the_same_order_as_the_crash_tests():
    same = {"denoise_reports": "denoise", "blend_estimates": "blend",
            "project_estimates": "project", "measure_clients": "collect_reports"}  # fmt: skip
    plain = [same.get(name, name) for name in calls_in(steps.run_release)]
    flow = calls_in(release_flow.release.fn)
    assert [name for name in flow if name not in ("identify", "wait_for_sign_off")] == plain
    assert flow[0] == "identify"
    assert flow.index("judge_release") < flow.index("wait_for_sign_off") < flow.index("publish")


def test_draws_neither_retry_nor_cache_and_post_processing_retries():
    for name in (*DRAWS, *POST_PROCESSING, "reserve", "publish", "ingest"):
        task = getattr(orchestrated, name)
        assert task.cache_policy == NO_CACHE, name
        assert task.persist_result is False, name
        assert (task.retries > 0) == (name in POST_PROCESSING), name


def test_unforeseen_error_is_kept_in_the_private_zone(tmp_path):
    home = new_home(tmp_path)

    def fail():
        raise ValueError("a secret search")

    with pytest.raises(orchestrated.StepFailed, match="failed with ValueError") as raised:
        orchestrated.guarded("a step", home, fail)
    assert "secret" not in str(raised.value)
    assert raised.value.__suppress_context__
    (kept,) = (home.private / "failures").iterdir()
    assert "a secret search" in kept.read_text()
    assert kept.stat().st_mode & 0o077 == 0


def test_refusal_passes_without_the_frames_that_held_private_data(tmp_path):
    def refuse():
        private = "a secret search"
        raise BadInput(f"the file cannot be used ({len(private)}).")

    with pytest.raises(BadInput) as raised:
        orchestrated.guarded("a step", new_home(tmp_path), refuse)
    frames = [entry.name for entry in raised.traceback]
    assert "refuse" not in frames


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [(OSError("disk"), True), (orchestrated.StepFailed("x"), True), (HybridDPError("no"), False)],
)
def test_only_unforeseen_errors_are_retried(error, is_retried):
    class Failed:
        def result(self):
            raise error

    assert orchestrated._is_unforeseen(None, None, Failed()) is is_retried


def test_refused_run_says_its_reason_in_the_forms_words():
    @reasoned
    def refuse():
        raise BudgetRefused("epoch 2026-W46 was paid for; give --pay-again.")

    state = refuse()
    assert state.is_failed()
    assert state.message == "epoch 2026-W46 was paid for; give pay_again."
    assert isinstance(state.data, BudgetRefused)  # the command line raises it again


def test_only_flows_end_with_a_reason():
    """A task that returned a failed state, instead of raising, would not stop its flow."""
    for path in (ROOT / "tasks").rglob("*.py"):
        assert "@reasoned" not in path.read_text(), path
    for name in ("release", "zealous", "mean", "kmeans", "reprocess", "verify", "plan", "study"):
        assert "\n@reasoned\ndef " in (ROOT / "flows" / f"{name}.py").read_text(), name


def logged(error: Exception, message: str) -> logging.LogRecord | None:
    """Return what Prefect's logger of task runs makes of an error, if it logs it at all."""
    logger = logging.getLogger("prefect.task_runs")
    trace = (type(error), error, error.__traceback__)
    record = logger.makeRecord(logger.name, logging.ERROR, "", 0, message, (error,), trace)
    return record if logger.filter(record) else None


def test_log_of_a_run_says_reasons_instead_of_tracebacks():
    error = BadInput("a.tsv is not there; give --log.")
    said = logged(error, "Task run failed with exception: %r")
    assert (said.getMessage(), said.exc_info) == ("a.tsv is not there; give log.", None)
    assert logged(error, "Engine execution exited with unexpected exception %r") is None
    assert logged(ValueError("unforeseen"), "failed with %r").exc_info


def test_worker_ignores_what_a_request_says_of_its_command():
    """The server refuses it already (tests/flow/test_door.py)."""
    template = json.loads((ROOT / "work_pool.json").read_text())
    hostile = {"command": "touch x", "env": {"A": "b"}, "working_dir": "/", "env.C": "d"}
    made = asyncio.run(
        ProcessJobConfiguration.from_template_and_values(template, hostile, client=object())
    )
    assert (made.command, made.env, made.working_dir) == (None, {}, None)
