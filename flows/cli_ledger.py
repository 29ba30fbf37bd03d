"""`hybriddp ledger`: what was spent, by whom, and under which cap."""

import json
from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from flows.ledger_words import (
    balance_json,
    composed_epsilon,
    people_in,
    policy_json,
    runway_json,
    runway_text,
)
from flows.spared import spare_pandas
from flows.terminal import (
    Console,
    HomeOption,
    JsonOption,
    Table,
    YesOption,
    confirm,
    explained,
)
from hybriddp.rounding import rounded_up
from tasks.home import Home, write_whole
from tasks.ledger import Ledger
from tasks.ledger_check import check_ledger
from tasks.ledger_rules import SHOWN_DIGITS, Kind
from tasks.overview import (
    balance,
    dearest,
    is_known,
    policy_of,
    public_export,
    runway,
    set_membership,
)
from tasks.policy import DELTA_UNITS, EPSILON_UNITS, set_policy

ledger_app = typer.Typer(help="What was spent, and how far it reaches.", no_args_is_help=True)

PersonArgument = Annotated[str, typer.Argument(help="The person's id, as in the log.")]


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
        shown = {"runway": runway_json(reach), "ledger": public_export(place)}
        typer.echo(json.dumps(shown))
        return
    console = Console(highlight=False)
    table = Table("release", "epoch", "product", "state", "people", "epsilon", "delta", box=None)
    for entry in ledger.entries():
        if entry.kind is not Kind.RESERVED:
            continue
        state = ledger.attempt(entry.release_id, entry.attempt)
        burnt, price = ", ".join(state.burnt_draws), dearest(entry)
        table.add_row(
            entry.release_id[:SHOWN_DIGITS] + (f".a{entry.attempt}" if entry.attempt > 1 else ""),
            entry.payload["epoch"],
            entry.payload["product"],
            f"burnt {burnt}" if burnt else str(state.entries[-1].kind),
            people_in(entry.payload),
            rounded_up(Fraction(price.epsilon, EPSILON_UNITS)),
            rounded_up(Fraction(price.delta, DELTA_UNITS)),
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
        typer.echo(
            json.dumps(
                {
                    "seq": head.seq,
                    "hash": head.hash,
                    "witnesses": checked.n_witnesses,
                    "participation_files": checked.n_participation_files,
                }
            )
        )
    else:
        typer.echo(
            f"The ledger's {head.seq} rows form one chain, {checked.keys}. It knows "
            f"all that {checked.n_witnesses} published and measured files speak of, and "
            f"{checked.n_participation_files} participation files are what was sealed. "
            f"Head: {head.hash}"
        )


@ledger_app.command("export")
@explained
def export(
    out: Annotated[Path | None, typer.Option(help="File to write; default: print.")] = None,
    home: HomeOption = None,
) -> None:
    """Write what may be public of the ledger: group totals and the chain, nobody's account."""
    text = json.dumps(public_export(Home.open(home)), indent=2)
    if out is None:
        typer.echo(text)
    else:
        write_whole(out, text.encode() + b"\n")


@ledger_app.command("balance")
@explained
def show_balance(
    person: PersonArgument, home: HomeOption = None, as_json: JsonOption = False
) -> None:
    """Show what one person has spent. Private."""
    found = balance(Home.open(home), person)
    if as_json:
        typer.echo(json.dumps(balance_json(found)))
        return
    console = Console(highlight=False)
    for spent in found.charges:
        console.print(
            f"{spent.at:%Y-%m-%d}  {spent.release_id[:12]}  {spent.group}  {spent.charge}"
        )
    console.print(
        f"Spent {found.spent} of {found.policy.cap}; remaining {found.remaining.as_left}. "
        f"By PLD accounting: epsilon {composed_epsilon(found.pld_epsilon)}."
        + (" Takes part in nothing any more." if found.is_stopped else ""),
        soft_wrap=True,
    )


@ledger_app.command("opt-out")
@explained
def opt_out(person: PersonArgument, home: HomeOption = None) -> None:
    """Stop using a person's data from the next reservation on; the balance stays."""
    place = Home.open(home)
    unknown = _if_unknown(place, person)
    set_membership(place, person, Kind.OPTED_OUT)
    typer.echo(f"Opted out: no later release uses or charges this person.{unknown}")


@ledger_app.command("opt-in")
@explained
def opt_in(person: PersonArgument, home: HomeOption = None) -> None:
    """Let a person take part again, with the balance that they had."""
    place = Home.open(home)
    unknown = _if_unknown(place, person)
    set_membership(place, person, Kind.OPTED_IN)
    typer.echo(f"Opted in again: the old balance still counts.{unknown}")


@ledger_app.command("erase")
@explained
def erase(person: PersonArgument, yes: YesOption = False, home: HomeOption = None) -> None:
    """Erase a person: opt them out and drop every working copy that may hold their rows."""
    place = Home.open(home)
    unknown = _if_unknown(place, person)
    confirm(
        "Erasing removes every working copy of every log, and puts on record that this person "
        f"takes part no more; the row cannot be removed.{unknown}",
        yes=yes,
    )
    set_membership(place, person, Kind.ERASED)
    dropped = place.drop_warehouses()
    at_work = f" {dropped.n_at_work} more are at work and go when their releases end." * bool(
        dropped.n_at_work
    )
    typer.echo(
        f"Erased: no later release uses this person; {dropped.n_removed} working copies of logs "
        f"were removed, and the texts of unforeseen errors.{at_work} Remove their rows from the "
        f"log itself; the account stays, so that joining again does not refill it.{unknown}"
    )


def _if_unknown(home: Home, person: str) -> str:
    """Say so if an id was perhaps mistyped; what was decided is recorded all the same."""
    if is_known(home, person):
        return ""
    return (
        " Nobody with this id has ever taken part here: it counts from the first time that they "
        "would; if you expected them to be known, check the spelling."
    )


@ledger_app.command("policy")
@explained
def change_policy(
    cap_epsilon: Annotated[str | None, typer.Option(help="Most epsilon for each person.")] = None,
    cap_delta: Annotated[str | None, typer.Option(help="Most delta for each person.")] = None,
    window_days: Annotated[
        int | None, typer.Option(help="Refill after so many days; 0: never.")
    ] = None,
    max_refusals: Annotated[
        int | None,
        typer.Option(help="Verdicts on raw logs, in an epoch or on one log, that no draw follows."),
    ] = None,
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show the cap, or put a new one on record."""
    from tasks.keys import open_for_writing  # who only looks needs neither
    from tasks.policy_change import price_of_change

    place = Home.open(home)
    policy = policy_of(place)
    changed = policy.changed(cap_epsilon, cap_delta, window_days, max_refusals)
    if changed != policy:
        confirm(price_of_change(place, policy, changed), yes=yes)
        set_policy(open_for_writing(place), changed)
    if as_json:
        typer.echo(json.dumps(policy_json(changed)))
        return
    window = f"any {changed.window_days} days" if changed.window_days else "a lifetime"
    typer.echo(
        f"Cap for each person over {window}: {changed.cap}. Verdicts on raw logs that no draw "
        f"follows: at most {changed.max_refusals} in each epoch, and on each log."
    )


@ledger_app.command("void")
@explained
def void(
    release_id: Annotated[str, typer.Argument(help="A reserved release.")], home: HomeOption = None
) -> None:
    """Give a reservation back of which nothing was drawn."""
    from tasks.reserve import void_reservation  # all that a release needs comes with it

    attempt = void_reservation(Home.open(home), release_id)
    typer.echo(f"Attempt {attempt} of {release_id} is void; nobody pays for it.")
