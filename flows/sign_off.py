"""Sign-off: a person looks at a release before anybody else does."""

import sys

import typer
from prefect import get_run_logger, suspend_flow_run
from prefect.input import RunInput
from prefect.runtime import deployment
from pydantic import Field

from flows.terminal import Console, Table, asking
from tasks.ledger_rules import Kind
from tasks.products import product_of
from tasks.publish import withhold
from tasks.quality import GateRefused
from tasks.refusals import BadInput
from tasks.run import LogRun

_A_WEEK = 7 * 24 * 3600
_SHOWN = 20


class SignOff(RunInput):
    """The operator's decision."""

    approve: bool = Field(description="Publish it as this run's artifacts show it.")
    reason: str = Field("", description="Why not, if it is withheld for good.")


def wait_for_sign_off(run: LogRun) -> None:
    """Ask whether to publish, if the request wants that and it was not published before."""
    if not run.request.sign_off or run.state.has(Kind.PUBLISHED):
        return
    decision = _ask_on_the_page() if deployment.id is not None else _ask_in_the_terminal(run)
    if not decision.approve:
        withhold(run, decision.reason)
        raise GateRefused(f"release {run.release_id} was withheld at sign-off.")


def _ask_on_the_page() -> SignOff:
    get_run_logger().info("Suspended until somebody signs off on this run's page.")
    return suspend_flow_run(wait_for_input=SignOff, timeout=_A_WEEK, key="sign-off")


def _ask_in_the_terminal(run: LogRun) -> SignOff:
    if not sys.stdin.isatty():
        raise BadInput(
            "sign-off needs a terminal or a deployed run; run again in one, nothing is lost."
        )
    with asking("sign-off"):
        _show(run)
        return SignOff(approve=typer.confirm("Publish this?", err=True))


def _show(run: LogRun) -> None:
    """Print the head of what would be published."""
    product = product_of(run.reservation["parameters"])
    console = Console(stderr=True)  # where --json prints nothing
    for name, table in product.preview(run, run.request.settings).items():
        shown = Table(*table.column_names, title=name, title_justify="left")
        for row in table.slice(0, _SHOWN).to_pylist():
            shown.add_row(*("" if value is None else str(value) for value in row.values()))
        console.print(shown)
        if table.num_rows > _SHOWN:
            console.print(f"... and {table.num_rows - _SHOWN} more")
