"""`hybriddp ledger`: what was spent, by whom, and under which cap."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from flows.cli.people import PersonArgument, people_app
from flows.console.ledger_words import (
    balance_json,
    balance_text,
    people_in,
    policy_json,
    runway_json,
    runway_text,
)
from flows.console.spared import spare_pandas
from flows.console.terminal import (
    Console,
    HomeOption,
    JsonOption,
    Table,
    YesOption,
    confirm,
    explained,
    say,
    say_json,
)
from hybriddp.rounding import rounded_up
from tasks.budget.paid import parts_in_words
from tasks.budget.policy import set_policy
from tasks.budget.showing.export import public_export
from tasks.budget.showing.overview import balance, dearest, policy_of, runway
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import SHOWN_DIGITS, Kind
from tasks.store.home import Home, write_whole

ledger_app = typer.Typer(help="What was spent, and how far it reaches.", no_args_is_help=True)
ledger_app.add_typer(people_app)


@ledger_app.command("show")
@explained
def show(
    pld: Annotated[
        bool, typer.Option("--pld", help="Compose the draws by PLD accounting; takes seconds.")
    ] = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every release's state and cost, and the runway."""
    spare_pandas()
    place = Home.open(home)
    ledger = Ledger(place.ledger)
    reach = runway(place, with_pld=pld)
    if as_json:
        say_json({"runway": runway_json(reach), "ledger": public_export(place)})
        return
    console = Console(highlight=False)
    reservations = [entry for entry in ledger.entries() if entry.kind is Kind.RESERVED]
    has_rho = any(dearest(entry).rho for entry in reservations)
    shown = ("release", "epoch", "product", "state", "people", "epsilon", "delta")
    table = Table(box=None)
    for title in (*shown, *(["rho"] if has_rho else [])):
        table.add_column(title, overflow="fold")  # a number that is cut off is another one
    for entry in reservations:
        state = ledger.attempt(entry.release_id, entry.attempt)
        burnt, price = ", ".join(state.burnt_draws), dearest(entry)
        reserved = entry.said(Reserved)
        table.add_row(
            entry.release_id[:SHOWN_DIGITS] + (f".a{entry.attempt}" if entry.attempt > 1 else ""),
            reserved.epoch,
            reserved.product,
            f"burnt {burnt}" if burnt else str(state.entries[-1].kind),
            people_in(reserved),
            rounded_up(Fraction(price.epsilon, EPSILON_UNITS)),
            rounded_up(Fraction(price.delta, DELTA_UNITS)),
            *([rounded_up(Fraction(price.rho, RHO_UNITS))] if has_rho else []),
        )
    console.print(table)
    console.print(runway_text(reach), soft_wrap=True)


@ledger_app.command("verify")
@explained
def verify(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check the chain, the keys, every state, and that no spending was forgotten."""
    checked = check_ledger(Home.open(home))
    head = checked.head
    if as_json:
        say_json(
            {
                "seq": head.seq,
                "hash": head.hash,
                "witnesses": checked.n_witnesses,
                "participation_files": checked.n_participation_files,
                # Ledgers without any are shown as they always were.
                **({"sealed_sums": checked.n_sums} if checked.n_sums else {}),
            }
        )
    else:
        say(
            f"The ledger's {head.seq} rows form one chain, {checked.keys}. It knows "
            f"all that {checked.n_witnesses} published and measured files speak of, and "
            f"{checked.n_participation_files} participation files are what was sealed. "
            f"{_sums_in_words(checked.n_sums)}Head: {head.hash}"
        )


def _sums_in_words(n_sums: int) -> str:
    return f"Sums of them that were sealed, {n_sums} files, are exact. " if n_sums else ""


@ledger_app.command("export")
@explained
def export(
    out: Annotated[Path | None, typer.Option(help="File to write; default: print.")] = None,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write what may be public of the ledger: group totals and the chain, nobody's account."""
    exported = public_export(Home.open(home))
    text = json.dumps(exported, indent=2)
    if out is not None:
        write_whole(out, text.encode() + b"\n")
    if as_json:
        say_json(exported if out is None else {"file": str(out), "head": exported["head"]})
    else:
        say(text if out is None else f"The ledger's {len(exported['entries'])} rows are in {out}.")


@ledger_app.command("balance")
@explained
def show_balance(
    person: PersonArgument, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show what one person has spent. Private."""
    found = balance(Home.open(home), person)
    if as_json:
        say_json(balance_json(found))
        return
    console = Console(highlight=False)
    for spent in found.charges:
        console.print(
            f"{spent.at:%Y-%m-%d}  {spent.release_id[:12]}  {spent.group}  {spent.charge}"
        )
    console.print(balance_text(found), soft_wrap=True)


@ledger_app.command("policy")
@explained
def change_policy(
    cap_epsilon: Annotated[str | None, typer.Option(help="Most epsilon for each person.")] = None,
    cap_delta: Annotated[str | None, typer.Option(help="Most delta for each person.")] = None,
    window_days: Annotated[
        int | None, typer.Option(help="Refill after so many days; 0: never.")
    ] = None,
    pure_epsilon: Annotated[
        str | None,
        typer.Option(
            help="Most epsilon of all else for whoever has a Gaussian loss (charged in rho, as the "
            "weeks of a series are); such losses get the rest of the cap."
        ),
    ] = None,
    no_gaussian: Annotated[
        bool, typer.Option("--no-gaussian", help="Let no Gaussian loss fit the cap.")
    ] = False,
    max_refusals: Annotated[
        int | None,
        typer.Option(help="Verdicts on raw logs, in an epoch or on one log, that no draw follows."),
    ] = None,
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the cap, or put a new one on record."""
    from tasks.budget.policy_change import price_of_change
    from tasks.store.keys import open_for_writing  # who only looks needs neither

    place = Home.open(home)
    policy, head = policy_of(place)
    changed = policy.changed(
        cap_epsilon, cap_delta, window_days, max_refusals, pure_epsilon, no_gaussian=no_gaussian
    )
    if changed != policy:
        confirm(price_of_change(place, policy, changed), yes=yes)
        # Somebody else may have changed it while this one was asked.
        set_policy(open_for_writing(place), changed, since=head)
    if as_json:
        say_json(policy_json(changed))
        return
    window = f"any {changed.window_days} days" if changed.window_days else "a lifetime"
    say(
        f"Cap for each person over {window}: {changed}. {parts_in_words(changed)} Verdicts on raw "
        f"logs that no draw follows: at most {changed.max_refusals} in each epoch, and on each log."
    )


@ledger_app.command("end-season")
@explained
def end_season(
    series: Annotated[str, typer.Argument(help="A series with a running season.")],
    product: Annotated[str, typer.Option(help="Product of its releases.")] = "search",
    locale: Annotated[str, typer.Option(help="Locale of its releases.")] = "all",
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """End a season before its last week, and destroy what it carries of people's searches."""
    from tasks.products.head_list.series.season import ending  # as for `void`

    place, which = Home.open(home), (product, locale, series)
    confirm(ending.cost_of_ending(place, *which), yes=yes)
    ended = ending.end_season(place, *which)
    if as_json:
        facts = {"series": series, "season": ended.season, "newest_week": ended.week}
        say_json({"status": "ended", **facts})
    else:
        say(f"Season {ended.season} of series {series} has no more weeks than {ended.week}.")


@ledger_app.command("void")
@explained
def void(
    release_id: Annotated[str, typer.Argument(help="A reserved release.")],
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Give a reservation back of which nothing was drawn."""
    from tasks.budget.reserve import void_reservation  # all that a release needs comes with it

    voided, attempt = void_reservation(Home.open(home), release_id)
    if as_json:
        say_json({"status": "voided", "release_id": voided, "attempt": attempt})
    else:
        say(f"Attempt {attempt} of {voided} is void; nobody pays for it.")
