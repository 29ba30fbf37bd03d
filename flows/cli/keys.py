"""`hybriddp keys`: make a home with its keys, and show what may be shown of them."""

import typer

from flows.console.terminal import HomeOption, JsonOption, explained, say, say_json
from tasks.store.home import Home
from tasks.store.keys import PURPOSES, Keyring, make_keys, write_public_key

keys_app = typer.Typer(help="The curator's keys.", no_args_is_help=True)


@keys_app.command("init")
@explained
def init(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Make the keys of a new home; keys that are there stay."""
    place = Home.create(home)
    made = make_keys(place)
    public = write_public_key(place)
    if as_json:
        facts = {"keys_were_made": bool(made), "keys_folder": str(place.keys)}
        say_json({**facts, "public_key_file": str(public)})
        return
    say(
        ("Made new keys" if made else "The keys are there already") + f" in {place.keys}.\n"
        f"Give consumers {public}. Back up {place.keys}: without the account key nobody knows what "
        "people have spent."
    )


@keys_app.command("show")
@explained
def show_keys(home: HomeOption = None, as_json: JsonOption = False) -> None:
    """Show the public key and what the secret ones are for; never a secret."""
    place = Home.open(home)
    public = Keyring.open(place).public_key.hex()
    if as_json:
        say_json({"public_key": public, "file": str(write_public_key(place))})
        return
    say(f"public key  {public}\n            in {write_public_key(place)}")
    for name, purpose in PURPOSES.items():
        say(f"{name:<11} {purpose}")
