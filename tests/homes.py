"""Homes for tests: made on purpose, as `hybriddp keys init` makes one."""

from pathlib import Path

from tasks.home import Home
from tasks.keys import make_keys


def new_home(root: Path) -> Home:
    """Make a home with its keys, or open the one that is there."""
    home = Home.create(root)
    make_keys(home)
    return home
