"""Homes for tests: made on purpose, as `hybriddp keys init` makes one."""

from pathlib import Path

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry
from tasks.store.home import Home
from tasks.store.keys import PURPOSES, make_keys


def new_home(root: Path, *, known_keys: bool = False) -> Home:
    """Make a home with its keys, or open the one that is there.

    With `known_keys` every run makes the same keyed choices.
    """
    home = Home.create(root)
    if known_keys:
        for name in [*PURPOSES, "signing"]:
            (home.keys / f"{name}.key").write_bytes(name.encode().ljust(32, b"."))
    make_keys(home)
    return home


def steps_of(home: Home) -> list[Entry]:
    """Return the ledger's rows about releases: without its founding, judgements and policies."""
    return [entry for entry in Ledger(home.ledger).entries() if entry.release_id]
