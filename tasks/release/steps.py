"""The steps that all products have: what comes before anybody pays, the charge, and the end."""

from functools import partial
from typing import Any

from tasks.budget.reserve import reserve
from tasks.gates.collapse import require_a_word
from tasks.gates.preflight import check_inputs
from tasks.gates.quality import Verdict
from tasks.publish.publish import publish
from tasks.release import artifacts
from tasks.release.artifacts import Artifacts
from tasks.release.run import LogRun, Release
from tasks.release.step import Step
from tasks.release.walk import discard_private_tables

# What a person can be asked about before others see it.
THE_RELEASE = "the release"


def is_measured(run: Release) -> bool:
    """Whether nothing is awaited any more: what comes after the draws can be done."""
    return not run.is_collecting


def _judge(run: LogRun) -> Verdict:
    return run.product.judge(run, run.request.settings)


def _show_judged(key: str, run: LogRun, verdict: Verdict) -> Artifacts:
    yield from artifacts.gate(key, run, verdict)
    # Before publication, because whoever signs off wants to see it.
    yield from artifacts.preview(run)


def _publish(run: LogRun) -> Any:
    return publish(run, run.request.settings)


def judging(title: str, key: str) -> Step:
    """Return the step that judges what would be published."""
    return Step(title, _judge, partial(_show_judged, key), applies=is_measured)


CHECK_INPUTS = Step("check inputs", check_inputs)
RESERVE = Step("reserve budget", reserve, artifacts.budget, writes_ledger=True)
DISCARD = Step("discard the log's tables", discard_private_tables, is_free=True)
# Where nobody can be asked, a list that nobody has agreed to is refused.
SIGN_OFF = Step("sign-off", require_a_word, applies=is_measured, asks=THE_RELEASE)
PUBLISH = Step("publish", _publish, artifacts.label, applies=is_measured, writes_ledger=True)
