"""Sign-off: a person looks at a release before anybody else does.

A release asks if its request says so, or if its list is empty or collapsed. There are three
answers: publish it, decide later, or never publish it.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import typer
from prefect import get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import deployment
from pydantic import Field

from flows.console.terminal import Console, Table, asking, say
from tasks.budget.paid import what_was_paid
from tasks.gates.collapse import doubt_of, refusal
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.orchestration.tasks import show
from tasks.publish.proposal import Proposal, as_intervals, as_markdown, bars, propose, shown
from tasks.publish.publish import approve, withhold
from tasks.release import artifacts
from tasks.release.artifacts import Words
from tasks.release.refusals import BadInput
from tasks.release.run import LogRun

PUBLISH: Literal["publish"] = "publish"
LATER: Literal["later"] = "later"
NEVER: Literal["never"] = "never"
_A_WEEK = 7 * 24 * 3600
COST = "It is then never published, everybody stays charged, and this cannot be undone."
UNDECIDED = (
    "nothing was published, and what was drawn is stored. Run the same command again to decide, "
    "which is free."
)


class SignOff(RunInput):
    """The operator's decision."""

    decision: Literal["publish", "later", "never"] = Field(
        LATER, description=f"Publish it, ask again later, or never publish it. Never: {COST}"
    )
    reason: str = Field("", description="Why not, if it is never published.")


@dataclass(frozen=True, slots=True)
class Question:
    """What somebody is asked before others see it, and how it is shown to them."""

    key: str
    text: str
    show_on_the_page: Callable[[], object]
    show_in_the_terminal: Callable[[Console], object]


def wait_for_sign_off(run: LogRun) -> None:
    """Ask whether to publish, if the request or the list wants that and nobody has decided."""
    if run.state.has(Kind.PUBLISHED):
        return
    doubt = doubt_of(run)
    if not run.request.sign_off and not doubt:
        return
    if doubt and not _can_ask():
        raise GateRefused(f"{refusal(run, doubt)} {what_was_paid(run)}")
    proposal, text = propose(run, run.request.settings), _text(run, doubt)
    require_approval(
        run,
        Question(
            f"sign-off-{proposal.digest}",
            text,
            lambda: _show_on_the_page(run, proposal, text),
            lambda console: _show(console, proposal),
        ),
    )
    # What was shown is published, whatever became of the blocklist meanwhile.
    approve(run, proposal.facts)


def require_approval(run: LogRun, question: Question) -> None:
    """Go on if somebody approves; raise GateRefused if it is to wait, or never to be published."""
    if not _can_ask():
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one, nothing is lost."
        )
    is_deployed = deployment.id is not None
    answer = _ask_on_the_page(question) if is_deployed else _ask_in_the_terminal(question)
    if answer.decision == LATER:
        raise GateRefused(
            f"release {run.release_id} is drawn, stored and not published; run "
            "it again to decide, which is free."
        )
    if answer.decision == NEVER:
        withhold(run, answer.reason)
        raise GateRefused(
            f"release {run.release_id} was withheld at sign-off, for good. {what_was_paid(run)}"
        )


def _can_ask() -> bool:
    return deployment.id is not None or sys.stdin.isatty()


def _ask_on_the_page(question: Question) -> SignOff:
    """Suspend the run until somebody answers; *later* suspends it again."""
    question.show_on_the_page()
    form = SignOff.with_initial_data(description=question.text)
    n_asked = 0
    while True:
        get_run_logger().info("Suspended until somebody signs off on this run's page.")
        # A resumed run comes by again: questions that were answered return their answers.
        key = f"{question.key}-{n_asked}"
        answer = suspend_flow_run(wait_for_input=form, timeout=_A_WEEK, key=key)
        if answer.decision != LATER:
            return answer
        n_asked += 1


def _ask_in_the_terminal(question: Question) -> SignOff:
    with asking("sign-off", UNDECIDED):
        question.show_in_the_terminal(Console(stderr=True))  # where --json prints nothing
        say(question.text, to_stderr=True)
        while True:
            decision = typer.prompt(f"{PUBLISH}, {LATER} or {NEVER}?", default=LATER, err=True)
            if decision in (PUBLISH, LATER):
                return SignOff(decision=decision)
            if decision == NEVER and typer.confirm(f"{COST} Really never?", err=True):
                reason = typer.prompt("Why?", default="", show_default=False, err=True)
                return SignOff(decision=NEVER, reason=reason)


def _text(run: LogRun, doubt: str) -> str:
    warning = f"Look twice: {doubt} " if doubt else ""
    return (
        f"{warning}Release {run.release_id}, {run.request.product}/{run.request.locale}, "
        f"{run.request.epoch}, would be published as it is shown. Never: {COST}"
    )


def _show_on_the_page(run: LogRun, proposal: Proposal, text: str) -> None:
    pictures = (
        artifacts.intervals(f"sign-off-{name}", as_intervals(rows), f"{name} of {run.release_id}")
        for name, rows in proposal.tables.items()
    )
    show(run.release_id, [Words("sign-off", as_markdown(proposal, text)), *pictures])


def _show(console: Console, proposal: Proposal) -> None:
    """Print everything that would be published."""
    for name, rows in proposal.tables.items():
        table = Table(title=f"{name}: {len(rows)} rows", title_justify="left")
        for column in (*(rows[0] if rows else ()), "plot"):
            table.add_column(column, overflow="fold")  # nothing may be cut off
        for row, bar in zip(rows, bars(rows), strict=True):
            table.add_row(*(shown(value) for value in row.values()), bar)
        console.print(table)
    console.print(proposal.label)
