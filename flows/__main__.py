"""`python -m flows` is the `hybriddp` command."""

from flows.cli import app

app(prog_name="hybriddp")
