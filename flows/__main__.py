"""`python -m flows` is the `hybriddp` command."""

from flows.cli.main import app
from flows.console import spared


def main() -> None:
    """Run one command, in a process that ends with it."""
    spared.is_own_process = True
    app(prog_name="hybriddp")


if __name__ == "__main__":
    main()
