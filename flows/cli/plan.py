"""`hybriddp plan`: what a release would give and cost, before anything is spent."""

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from flows.console.forms import filling_in
from flows.console.terminal import Console, JsonOption, Table, explained, harmless, say_json
from tasks.plan.page import cost_table, headline, prediction_table, runway_words, setting_table
from tasks.plan.plan import Plan, make_plan
from tasks.plan.request import PlanRequest

CapOption = Annotated[
    Path | None, typer.Option(help="Read the cap and the runway of this home's ledger.")
]


@explained
@filling_in(PlanRequest, home=CapOption, as_json=JsonOption)
def plan(settings: dict[str, Any], home: Path | None = None, as_json: bool = False) -> None:
    """Predict a release and suggest its parameters, from public data; nothing is spent."""
    request = PlanRequest.model_validate(settings)
    with Console(stderr=True, quiet=as_json).status("Rehearsing the release"):
        found = make_plan(request, home)
    if as_json:
        say_json(found.as_json())
    else:
        show(found)


def show(plan: Plan) -> None:
    """Print the page that an operator reads."""
    console = Console()
    console.print(Text(harmless(headline(plan)), style="bold"))
    console.print(f"Predicted from {plan.source}; nothing was spent.\n")
    _print_table(console, prediction_table(plan))
    _print_table(console, setting_table(plan))
    _print_list(console, "Suggestion", plan.reasons)
    _print_table(console, cost_table(plan))
    for sentence in runway_words(plan):
        console.print(sentence)
    console.print()
    if plan.season is not None:
        _print_table(console, plan.season.table)
        for sentence in plan.season.words:
            console.print(sentence)
        console.print()
    _print_list(console, "Assumptions", plan.assumptions)


def _print_table(console: Console, rows: list[tuple[str, ...]]) -> None:
    header, *body = rows
    table = Table(pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(header[0], no_wrap=True)
    for name in header[1:]:
        table.add_column(name, justify="right")
    for row in body:
        table.add_row(*row)
    console.print(table)
    console.print()


def _print_list(console: Console, title: str, sentences: tuple[str, ...]) -> None:
    if not sentences:
        return
    console.print(Text(title, style="bold"))
    bullets = Table(show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
    for sentence in sentences:
        bullets.add_row(" •", sentence)
    console.print(bullets)
    console.print()
