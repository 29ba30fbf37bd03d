"""Sign-off of a list before devices are asked about it: a package names every query in public."""

import sys
from typing import Any, Literal

import typer
from prefect import get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import deployment
from pydantic import Field

from flows.terminal import asking
from tasks.artifacts import show_listing
from tasks.draws import discard_private_tables
from tasks.left_out import blocked_now, is_settled, list_to_sign_off, seal_list
from tasks.log_files import BadInput
from tasks.orchestrated import guarded, ledger_turn
from tasks.publish import withhold
from tasks.quality import GateRefused
from tasks.run import Run

SHOW: Literal["show"] = "show"
LATER: Literal["later"] = "later"
NEVER: Literal["never"] = "never"
_A_WEEK = 7 * 24 * 3600
_COST = (
    "Nothing is published then, everybody who was reserved stays charged, also those who were not "
    "measured yet, and this cannot be undone."
)
_QUESTION = (
    "Devices would be shown this list, in public. To leave queries out, answer later and run again "
    f"with a blocklist. Never: {_COST}"
)


class ListSignOff(RunInput):
    """The operator's decision on a list."""

    decision: Literal["show", "later", "never"] = Field(
        LATER, description=f"Show the list to devices, decide later, or never. Never: {_COST}"
    )
    reason: str = Field("", description="Why not, if it is never shown.")


def wait_for_list_sign_off(run: Run) -> None:
    """Ask whether devices may see the list, if the request wants that and it is not settled."""
    if not run.request.sign_off or is_settled(run):
        return
    blocked = guarded("read the blocklist", run.home, lambda: blocked_now(run))
    ask = _ask_in_the_terminal if deployment.id is None else _ask_on_the_page
    answer = ask(run, list_to_sign_off(run, blocked))
    if answer.decision == LATER:
        raise GateRefused(
            f"the list of release {run.release_id} is drawn, stored and shown to nobody; run it "
            "again to decide, which is free."
        )
    if answer.decision == NEVER:
        withhold(run, answer.reason)
        discard_private_tables(run)
        raise GateRefused(
            f"release {run.release_id} was withheld at the sign-off of its list; nothing of it is "
            "public, and everybody who was reserved stays charged."
        )

    def seal() -> None:  # what was shown, whatever became of the blocklist meanwhile
        seal_list(run, blocked, is_signed_off=True)

    with ledger_turn():
        guarded("settle the list", run.home, seal)


def _ask_on_the_page(run: Run, listed: list[dict[str, Any]]) -> ListSignOff:
    digest = show_listing(run, listed)
    form = ListSignOff.with_initial_data(description=_QUESTION)
    n_asked = 0
    while True:
        get_run_logger().info("Suspended until somebody signs off the list on this run's page.")
        # The key names the list: an answer about another one is no answer.
        key = f"list-{digest}-{n_asked}"
        answer = suspend_flow_run(wait_for_input=form, timeout=_A_WEEK, key=key)
        if answer.decision != LATER:
            return answer
        n_asked += 1


def _ask_in_the_terminal(run: Run, listed: list[dict[str, Any]]) -> ListSignOff:
    if not sys.stdin.isatty():
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one, nothing is lost."
        )
    with asking("sign-off of the list"):
        for row in listed:
            typer.echo("  ".join(_harmless(str(value)) for value in row.values()), err=True)
        typer.echo(_QUESTION, err=True)
        while True:
            decision = typer.prompt(f"{SHOW}, {LATER} or {NEVER}?", default=LATER, err=True)
            if decision in (SHOW, LATER):
                return ListSignOff(decision=decision)
            if decision == NEVER and typer.confirm(f"{_COST} Really never?", err=True):
                reason = typer.prompt("Why?", default="", show_default=False, err=True)
                return ListSignOff(decision=NEVER, reason=reason)


def _harmless(text: str) -> str:
    """Spell out what would steer a terminal."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
