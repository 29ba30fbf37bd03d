"""`hybriddp plan`: what a release would give and cost, before anything is spent."""

from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from flows.console.terminal import Console, JsonOption, Table, explained, harmless, say_json
from tasks.plan.page import cost_table, headline, prediction_table, runway_words, setting_table
from tasks.plan.plan import Plan, PlanRequest, make_plan


@explained
def plan(
    log_profile: Annotated[
        str | None, typer.Option(help="Synthetic profile: aol-like or yandex-like; aol-like.")
    ] = None,
    previous: Annotated[
        Path | None, typer.Option(help="Go on from a published release: its folder, or its shelf.")
    ] = None,
    users: Annotated[int | None, typer.Option(help="People in the log.")] = None,
    optin_fraction: Annotated[float | None, typer.Option(help="Share opted in; 0.05.")] = None,
    strategy: Annotated[
        str | None, typer.Option(help="high-utility or paper; a suggestion tries both.")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="Privacy loss of each person; 4.")] = None,
    delta: Annotated[
        float | None, typer.Option(help="Chance that the promise fails; 1e-5.")
    ] = None,
    max_head_size: Annotated[
        int | None, typer.Option(help="Queries to publish at most; 50.")
    ] = None,
    headlist_user_fraction: Annotated[
        float | None, typer.Option(help="Share of opt-in people who find the list; 0.95.")
    ] = None,
    query_budget_fraction: Annotated[
        float | None, typer.Option(help="Two stages: a client's budget for the query; 0.85.")
    ] = None,
    max_records_optin: Annotated[
        int | None, typer.Option(help="Records of an opt-in person; 5, or 1 with paper.")
    ] = None,
    records_per_user: Annotated[
        float | None, typer.Option(help="Different clicks of a person, on average; 1.")
    ] = None,
    rotation: Annotated[
        int | None, typer.Option(help="Each person serves every R-th epoch.")
    ] = None,
    every: Annotated[str | None, typer.Option(help="Cadence: day, week or month; week.")] = None,
    horizon_days: Annotated[
        int | None, typer.Option(help="How long the cap should last; 365.")
    ] = None,
    suggest: Annotated[
        bool, typer.Option("--suggest/--no-suggest", help="Try other parameters, too.")
    ] = True,
    replicates: Annotated[int | None, typer.Option(help="Rehearsals of a setting; 20.")] = None,
    seed: Annotated[int | None, typer.Option(help="Same seed, same plan; 1.")] = None,
    home: Annotated[
        Path | None, typer.Option(help="Read the cap and the runway of this home's ledger.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Predict a release and suggest its parameters, from public data; nothing is spent."""
    given = {name: value for name, value in locals().items() if value is not None}
    for name in ("home", "as_json"):
        given.pop(name, None)
    request = PlanRequest.model_validate(given)
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
