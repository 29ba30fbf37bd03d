"""`hybriddp keys`: make a home with its keys, and show what may be shown of them."""

import json

import typer

from flows.terminal import HomeOption, JsonOption, explained
from tasks.home import Home
from tasks.keys import PURPOSES, Keyring, make_keys, write_public_key

keys_app = typer.Typer(help="The curator's keys.", no_args_is_help=True)


@keys_app.command("init")
@explained
def init(home: HomeOption = None) -> None:
    """Make the keys of a new home; keys that are there stay."""
    place = Home.create(home)
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
