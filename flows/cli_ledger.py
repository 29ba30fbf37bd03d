"""`hybriddp ledger` and `hybriddp keys`: what was spent, by whom, and with which keys."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.terminal import Console, HomeOption, JsonOption, Table, explained
from tasks.groups import people_of
from tasks.home import Home, write_whole
from tasks.keys import PURPOSES, Keyring, make_keys, write_public_key
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.overview import Runway, balance, dearest, public_export, runway, set_membership
from tasks.policy import (
    DELTA_UNITS,
    EPSILON_UNITS,
    Policy,
    current_policy,
    set_policy,
)
from tasks.reserve import void_reservation
from tasks.run import SHOWN_DIGITS
from tasks.shelf import published_heads

ledger_app = typer.Typer(help="What was spent, and how far it reaches.", no_args_is_help=True)
keys_app = typer.Typer(help="The curator's keys.", no_args_is_help=True)

PersonArgument = Annotated[str, typer.Argument(help="The person's id, as in the log.")]


@ledger_app.command("show")
@explained
def show(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show every release's state and cost, and the runway."""
    place = Home.open(home)
    ledger = Ledger(place.ledger)
    reach = runway(place, with_pld=True)
    if as_json:
        typer.echo(json.dumps({"runway": asdict(reach), "ledger": public_export(place)}))
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
            _people(entry.payload),
            f"{price.epsilon / EPSILON_UNITS:g}",
            f"{price.delta / DELTA_UNITS:g}",
        )
    console.print(table)
    console.print(_runway_text(reach), soft_wrap=True)


def _people(reserved: Mapping[str, Any]) -> str:
    """Return how many people are in the groups, those who are in several only once."""
    groups = reserved["groups"]
    members = [groups[together[0]]["members"] for together in people_of(groups)]
    return " + ".join("devices" if size is None else str(size) for size in members)


def _runway_text(reach: Runway) -> str:
    policy = reach.policy
    window = f"any {policy.window_days} days" if policy.window_days else "a lifetime"
    lines = [f"\nCap for each person over {window}: {policy.cap}."]
    if reach.asked is None:
        return "\n".join([*lines, "Nobody has been charged yet."])
    tighter = f"; by PLD accounting {reach.pld_epsilon:.3f}" if reach.pld_epsilon else ""
    lines.append(
        f"{reach.n_accounts:,} people were charged; the most charged has spent {reach.largest} "
        f"(the sum, which is enforced{tighter})."
    )
    lines.append(
        f"Runway at {reach.asked} a release: {reach.fits_largest} more for the most charged, "
        f"{reach.fits_newcomer} for a newcomer."
    )
    return "\n".join(lines)


@ledger_app.command("verify")
@explained
def verify(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Check the chain, every state, and that no published spending was forgotten."""
    place = Home.open(home)
    heads = published_heads(place)
    head = Ledger(place.ledger).verify(heads)
    if as_json:
        typer.echo(json.dumps({"seq": head.seq, "hash": head.hash, "published": len(heads)}))
    else:
        typer.echo(
            f"The ledger's {head.seq} rows form one chain, and contain all {len(heads)} "
            f"published heads. Head: {head.hash}"
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
        typer.echo(json.dumps(asdict(found), default=str))
        return
    console = Console(highlight=False)
    for spent in found.charges:
        console.print(
            f"{spent.at:%Y-%m-%d}  {spent.release_id[:12]}  {spent.group}  {spent.charge}"
        )
    console.print(
        f"Spent {found.spent} of {found.policy.cap}; remaining {found.remaining}. "
        f"By PLD accounting: epsilon {found.pld_epsilon:.3f}."
        + (" Takes part in nothing any more." if found.is_stopped else ""),
        soft_wrap=True,
    )


@ledger_app.command("opt-out")
@explained
def opt_out(person: PersonArgument, home: HomeOption = None) -> None:
    """Stop using a person's data from the next reservation on; the balance stays."""
    set_membership(Home.open(home), person, Kind.OPTED_OUT)
    typer.echo("Opted out: no later release uses or charges this person.")


@ledger_app.command("opt-in")
@explained
def opt_in(person: PersonArgument, home: HomeOption = None) -> None:
    """Let a person take part again, with the balance that they had."""
    set_membership(Home.open(home), person, Kind.OPTED_IN)
    typer.echo("Opted in again: the old balance still counts.")


@ledger_app.command("erase")
@explained
def erase(person: PersonArgument, home: HomeOption = None) -> None:
    """Erase a person: opt them out and drop every working copy that may hold their rows."""
    place = Home.open(home)
    set_membership(place, person, Kind.ERASED)
    n_dropped = place.drop_warehouses()
    typer.echo(
        f"Erased: no later release uses this person; {n_dropped} working copies of logs were "
        "removed. Remove their rows from the log itself; the account stays, so that joining "
        "again does not refill it."
    )


@ledger_app.command("policy")
@explained
def change_policy(
    cap_epsilon: Annotated[str | None, typer.Option(help="Most epsilon for each person.")] = None,
    cap_delta: Annotated[str | None, typer.Option(help="Most delta for each person.")] = None,
    window_days: Annotated[
        int | None, typer.Option(help="Refill after so many days; 0: never.")
    ] = None,
    home: HomeOption = None,
) -> None:
    """Show the cap, or put a new one on record."""
    ledger = Ledger(Home.open(home).ledger)
    policy = current_policy(ledger.entries())
    if (cap_epsilon, cap_delta, window_days) != (None, None, None):
        policy = Policy.changed(policy, cap_epsilon, cap_delta, window_days)
        set_policy(ledger, policy)
    window = f"any {policy.window_days} days" if policy.window_days else "a lifetime"
    typer.echo(f"Cap for each person over {window}: {policy.cap}.")


@ledger_app.command("void")
@explained
def void(
    release_id: Annotated[str, typer.Argument(help="A reserved release.")], home: HomeOption = None
) -> None:
    """Give a reservation back of which nothing was drawn."""
    attempt = void_reservation(Home.open(home), release_id)
    typer.echo(f"Attempt {attempt} of {release_id} is void; nobody pays for it.")


@keys_app.command("init")
@explained
def init(home: HomeOption = None) -> None:
    """Make the keys of a new home; keys that are there stay."""
    place = Home.open(home)
    made = make_keys(place)
    typer.echo(
        ("Made new keys" if made else "The keys are there already") + f" in {place.keys}.\n"
        f"Give consumers {write_public_key(place)}. Back up {place.keys}: without the account "
        "key nobody knows what people have spent."
    )


@keys_app.command("show")
@explained
def show_keys(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the public key and what the secret ones are for; never a secret."""
    place = Home.open(home)
    public = Keyring.open(place).public_key.hex()
    if as_json:
        typer.echo(json.dumps({"public_key": public, "file": str(write_public_key(place))}))
        return
    typer.echo(f"public key  {public}\n            in {write_public_key(place)}")
    for name, purpose in PURPOSES.items():
        typer.echo(f"{name:<11} {purpose}")
