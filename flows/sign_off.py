"""Sign-off: a person looks at a release before anybody else does.

A release asks if its request says so, or if its list is empty or collapsed. There are three
answers: publish it, decide later, or never publish it.
"""

import sys
from typing import Literal

import typer
from prefect import get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import deployment
from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.terminal import asking
from tasks import artifacts
from tasks.collapse import doubt_of, refusal
from tasks.ledger_rules import Kind
from tasks.log_files import BadInput
from tasks.paid import what_was_paid
from tasks.proposal import Proposal, as_intervals, as_markdown, bars, propose, shown
from tasks.publish import withhold
from tasks.quality import GateRefused
from tasks.run import LogRun

PUBLISH: Literal["publish"] = "publish"
LATER: Literal["later"] = "later"
NEVER: Literal["never"] = "never"
_A_WEEK = 7 * 24 * 3600
_COST = "It is then never published, everybody stays charged, and this cannot be undone."


class SignOff(RunInput):
    """The operator's decision."""

    decision: Literal["publish", "later", "never"] = Field(
        LATER, description=f"Publish it, ask again later, or never publish it. Never: {_COST}"
    )
    reason: str = Field("", description="Why not, if it is never published.")


def wait_for_sign_off(run: LogRun) -> None:
    """Ask whether to publish, if the request or the list wants that and nobody has decided."""
    if run.state.has(Kind.PUBLISHED):
        return
    doubt = doubt_of(run)
    if not run.request.sign_off and not doubt:
        return
    is_deployed = deployment.id is not None
    answer = _ask_on_the_page(run, doubt) if is_deployed else _ask_in_the_terminal(run, doubt)
    if answer.decision == LATER:
        raise GateRefused(
            f"release {run.release_id} is drawn, stored and not published; run it again to decide, "
            "which is free."
        )
    if answer.decision == NEVER:
        withhold(run, answer.reason)
        raise GateRefused(
            f"release {run.release_id} was withheld at sign-off, for good. {what_was_paid(run)}"
        )


def _ask_on_the_page(run: LogRun, doubt: str) -> SignOff:
    """Suspend the run until somebody answers; *later* suspends it again."""
    proposal = _proposal(run)
    artifacts.show_words(run, "sign-off", as_markdown(proposal, _question(run, doubt)))
    for name, rows in proposal.tables.items():
        artifacts.show_plot(f"sign-off-{name}", as_intervals(rows), f"{name} of {run.release_id}")
    form = SignOff.with_initial_data(description=_question(run, doubt))
    n_asked = 0
    while True:
        get_run_logger().info("Suspended until somebody signs off on this run's page.")
        # A resumed run comes by again: questions that were answered return their answers.
        key = f"sign-off-{n_asked}"
        answer = suspend_flow_run(wait_for_input=form, timeout=_A_WEEK, key=key)
        if answer.decision != LATER:
            return answer
        n_asked += 1


def _proposal(run: LogRun) -> Proposal:
    return propose(run, run.request.settings)


def _question(run: LogRun, doubt: str) -> str:
    warning = f"Look twice: {doubt} " if doubt else ""
    return (
        f"{warning}Release {run.release_id}, {run.request.product}/{run.request.locale}, "
        f"{run.request.epoch}, would be published as it is shown. Never: {_COST}"
    )


def _ask_in_the_terminal(run: LogRun, doubt: str) -> SignOff:
    if not sys.stdin.isatty():
        if doubt:
            raise GateRefused(f"{refusal(run, doubt)} {what_was_paid(run)}")
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one, nothing is lost."
        )
    with asking("sign-off"):
        _show(_proposal(run))
        typer.echo(_question(run, doubt), err=True)
        while True:
            decision = typer.prompt(f"{PUBLISH}, {LATER} or {NEVER}?", default=LATER, err=True)
            if decision in (PUBLISH, LATER):
                return SignOff(decision=decision)
            if decision == NEVER and typer.confirm(f"{_COST} Really never?", err=True):
                reason = typer.prompt("Why?", default="", show_default=False, err=True)
                return SignOff(decision=NEVER, reason=reason)


def _show(proposal: Proposal) -> None:
    """Print everything that would be published."""
    console = Console(stderr=True, highlight=False)  # where --json prints nothing
    for name, rows in proposal.tables.items():
        table = Table(box=None, title=f"{name}: {len(rows)} rows", title_justify="left")
        for column in (*(rows[0] if rows else ()), "plot"):
            table.add_column(column, overflow="fold")  # nothing may be cut off
        for row, bar in zip(rows, bars(rows), strict=True):
            table.add_row(*(escape(shown(value)) for value in row.values()), bar)
        console.print(table)
    console.print(escape(proposal.label), soft_wrap=True)
