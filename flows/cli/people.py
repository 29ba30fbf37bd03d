"""`hybriddp ledger opt-out`, `opt-in` and `erase`: what one person has decided."""

from pathlib import Path
from typing import Annotated

import typer

from flows.console.terminal import (
    HomeOption,
    JsonOption,
    YesOption,
    confirm,
    explained,
    say,
    say_json,
)
from tasks.budget.showing.overview import is_known, set_membership
from tasks.ledger.rules import Kind
from tasks.store.home import Home

people_app = typer.Typer()

PersonArgument = Annotated[str, typer.Argument(help="The person's id, as in the log.")]


@people_app.command("opt-out")
@explained
def opt_out(person: PersonArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Stop using a person's data from the next reservation on; the balance stays."""
    said = "Opted out: no later release uses or charges this person."
    _decide(person, Kind.OPTED_OUT, said, home, as_json)


@people_app.command("opt-in")
@explained
def opt_in(person: PersonArgument, home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Let a person take part again, with the balance that they had."""
    said = "Opted in again: the old balance still counts."
    _decide(person, Kind.OPTED_IN, said, home, as_json)


def _decide(person: str, kind: Kind, said: str, home: Path | None, as_json: bool) -> None:
    place = Home.open(home)
    was_known = is_known(place, person)
    set_membership(place, person, kind)
    if as_json:
        say_json({"status": kind.lower(), "was_known": was_known})
    else:
        say(f"{said}{_if_unknown(was_known)}")


@people_app.command("erase")
@explained
def erase(
    person: PersonArgument,
    yes: YesOption = False,
    home: HomeOption = None,
    as_json: JsonOption = False,
) -> None:
    """Erase a person: opt them out and drop every working copy that may hold their rows."""
    place = Home.open(home)
    was_known = is_known(place, person)
    confirm(
        "Erasing removes every working copy of every log, and puts on record that this person "
        f"takes part no more; the row cannot be removed.{_if_unknown(was_known)}",
        yes=yes,
    )
    set_membership(place, person, Kind.ERASED)
    dropped = place.drop_warehouses()
    if as_json:
        facts = {"copies_removed": dropped.n_removed, "copies_at_work": dropped.n_at_work}
        say_json({"status": "erased", "was_known": was_known, **facts})
        return
    at_work = f" {dropped.n_at_work} more are at work and go when their releases end." * bool(
        dropped.n_at_work
    )
    say(
        f"Erased: no later release reads this person's rows; {dropped.n_removed} working copies of "
        f"logs were removed, and the texts of unforeseen errors.{at_work} Remove their rows from "
        "the log itself; the account stays, so that joining again does not refill it. What a "
        "running season of a series carries of earlier weeks stays until it is over; `hybriddp "
        "ledger end-season` ends one."
        f"{_if_unknown(was_known)}"
    )


def _if_unknown(was_known: bool) -> str:
    """Say so if an id was perhaps mistyped; what was decided is recorded all the same."""
    if was_known:
        return ""
    return (
        " Nobody with this id has ever taken part here: it counts from the first time that they "
        "would; if you expected them to be known, check the spelling."
    )
