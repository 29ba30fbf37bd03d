"""The Prefect side of the steps: order, retries, and what an error may say."""

import asyncio
import importlib
import json
import logging
import sys

import pytest
from prefect.cache_policies import NO_CACHE
from prefect.states import Failed
from prefect.workers.process import ProcessJobConfiguration

from hybriddp.errors import HybridDPError
from tasks.gates.preflight import can_ask
from tasks.orchestration import tasks as orchestrated
from tasks.orchestration.reasons import reasoned_task
from tasks.products.registry import PRODUCTS
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.release.run import Release
from tasks.release.step import Step
from tests.homes import new_home
from tests.repository import ROOT


@pytest.mark.parametrize("product", PRODUCTS, ids=lambda product: product.name)
def test_draws_neither_retry_nor_cache_and_post_processing_retries(product):
    for step in product.working.STEPS:
        task = orchestrated.task_of(step)
        assert task.cache_policy == NO_CACHE, step.title
        assert task.persist_result is False, step.title
        assert (task.retries > 0) == step.is_free, step.title
        assert not (step.is_free and step.takes_a_turn), step.title
        assert step.takes_a_turn or not step.draws


def test_whether_somebody_can_be_asked_is_known_to_the_step_alone(tmp_path):
    """What one run found out must not refuse the next one of this process."""
    release, seen = Release(new_home(tmp_path), "a" * 32, 1), []
    step = Step("look", lambda _: seen.append(can_ask.get()))
    orchestrated.do(step, release)
    assert seen == [sys.stdin.isatty()]
    assert can_ask.get()


def test_what_a_step_shows_is_guarded_as_what_it_does(tmp_path):
    """It is made of measurements, and an error may quote them."""
    home = new_home(tmp_path)

    def show(*_):
        raise ValueError("a secret search")
        yield

    with pytest.raises(orchestrated.StepFailed, match="failed with ValueError") as raised:
        orchestrated.do(Step("a step", lambda _: None, show), Release(home, "a" * 32, 1))
    assert "secret" not in str(raised.value)


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


def test_refused_step_says_its_reason_in_the_forms_words():
    @reasoned_task(name="pay")
    def refuse():
        raise BudgetRefused("epoch 2026-W46 was paid for; give --pay-again.")

    state = refuse.fn()
    assert state.is_failed()
    assert state.message == "epoch 2026-W46 was paid for; give pay_again."
    assert isinstance(state.data, BudgetRefused)  # the flow and the command line raise it again


FLOWS = ("release", "zealous", "mean", "kmeans", "reprocess", "verify", "plan", "study")


@pytest.mark.parametrize("name", FLOWS)
def test_a_form_that_is_wrong_is_refused_by_its_flow_in_our_words(name):
    """Prefect would say it in pydantic's, with a traceback."""
    flow = getattr(importlib.import_module(f"flows.{name}"), name)
    assert not flow.should_validate_parameters
    assert list(flow.parameters.properties) == ["request"], "the page still shows the form"
    assert flow.parameters.definitions
    for wrong, words in (
        ({"epsilom": 1}, "epsilom: is no setting of this; check its spelling or leave it out"),
        (7, "the settings: must be a table of names and values"),
    ):
        state = flow.fn(wrong)
        assert state.is_failed()
        assert words in state.message
        assert "Correct the form's fields and run it again; nothing was done" in state.message
        assert isinstance(state.data, BadInput)


def logged(message: str, *args: object, level=logging.ERROR, error=None) -> str | None:
    """Return what Prefect's logger of task runs makes of a line, if it logs it at all."""
    logger = logging.getLogger("prefect.task_runs")
    trace = (type(error), error, None) if error else None
    record = logger.makeRecord(logger.name, level, "", 0, message, args, trace)
    return record.getMessage() if logger.filter(record) else None


def test_log_of_a_run_says_reasons_instead_of_tracebacks():
    error = BadInput("a.tsv is not there; give --log.")
    state = Failed(message="a.tsv is not there; give log.", data=error)
    assert logged("Engine execution exited with unexpected exception", error=error) is None
    assert logged(f"Task run failed with state: {state!r}") is None
    again = logged("Task run failed with %s: %r - Retry", "state", state, level=logging.INFO)
    assert again == "Task run failed with state: 'a.tsv is not there; give log.' - Retry"
    said = f"Finished in state {state}"
    assert logged(said) == said == "Finished in state Failed('a.tsv is not there; give log.')"
    assert logged("failed", error=ValueError("unforeseen")) == "failed"


def test_worker_ignores_what_a_request_says_of_its_command():
    """The server refuses it already (tests/flow/test_door.py)."""
    template = json.loads((ROOT / "work_pool.json").read_text())
    hostile = {"command": "touch x", "env": {"A": "b"}, "working_dir": "/", "env.C": "d"}
    made = asyncio.run(
        ProcessJobConfiguration.from_template_and_values(template, hostile, client=object())
    )
    assert (made.command, made.env, made.working_dir) == (None, {}, None)
