"""Sign-off of a list before devices are asked about it: a package names every query in public."""

import sys

import typer
from prefect import get_run_logger, suspend_flow_run
from prefect.runtime import deployment
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.sign_off import SignOff
from flows.terminal import asking
from tasks.artifacts import show_listing
from tasks.left_out import blocked_now, is_settled, list_to_sign_off, seal_list
from tasks.log_files import BadInput
from tasks.orchestrated import guarded, ledger_turn
from tasks.publish import withhold
from tasks.quality import GateRefused
from tasks.run import Run

_A_WEEK = 7 * 24 * 3600
_COST = (
    "Refusing cannot be undone: everybody who was reserved stays charged, also those who were not "
    "measured yet. To leave queries out instead, stop here and run again with --blocklist."
)


def wait_for_list_sign_off(run: Run) -> None:
    """Ask whether devices may see the list, if the request wants that and it is not settled."""
    if not run.request.sign_off or is_settled(run):
        return
    blocked = guarded("read the blocklist", run.home, lambda: blocked_now(run))
    is_on_a_page = deployment.id is not None
    decision = (_ask_on_the_page if is_on_a_page else _ask_in_the_terminal)(run, blocked)
    if not decision.approve:
        withhold(run, decision.reason)
        raise GateRefused(
            f"release {run.release_id} was withheld at the sign-off of its list; nothing of it is "
            "public, and everybody who was reserved stays charged."
        )
    with ledger_turn():
        # What was shown, whatever became of the blocklist meanwhile.
        guarded("settle the list", run.home, lambda: seal_list(run, blocked, is_signed_off=True))


def _ask_on_the_page(run: Run, blocked: list[str]) -> SignOff:
    digest = show_listing(run, list_to_sign_off(run, blocked))
    get_run_logger().info(f"Suspended until somebody signs off the list. {_COST}")
    # The key holds the list: an answer about another one is no answer.
    return suspend_flow_run(wait_for_input=SignOff, timeout=_A_WEEK, key=f"list-{digest}")


def _ask_in_the_terminal(run: Run, blocked: list[str]) -> SignOff:
    if not sys.stdin.isatty():
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one, nothing is lost."
        )
    table = list_to_sign_off(run, blocked)
    with asking("sign-off of the list"):
        console = Console(stderr=True, highlight=False)  # where --json prints nothing
        shown = Table(*table.column_names, box=None, title="the list that devices would see")
        for row in table.to_pylist():
            shown.add_row(*(escape(str(value)) for value in row.values()))
        console.print(shown)
        console.print(_COST)
        return SignOff(approve=typer.confirm("May devices see this list?", err=True))
