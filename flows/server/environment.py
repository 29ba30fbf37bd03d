"""Prefect's settings for this product; call `configure` before anything imports prefect."""

import atexit
import os
import sys
from pathlib import Path

from tasks.store.home import Home

NO_TELEMETRY = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "GX_ANALYTICS_ENABLED": "false",
}
_USUAL = {
    # A server that Prefect starts by itself has no key and outlives a killed command.
    "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "false",
    "PREFECT_CLI_PROMPT": "false",
}


def configure(root: Path | None, *, quiet: bool) -> Home:
    """Keep Prefect's files in the private zone, its telemetry off, and its log out of the way.

    What an operator has set stays, but for telemetry. Errors reach the user as one sentence;
    Prefect would print them as tracebacks too.
    """
    home = Home.open(root)
    os.environ["HYBRIDDP_HOME"] = str(home.root)
    os.environ.update(NO_TELEMETRY)
    for name, value in _USUAL.items():
        os.environ.setdefault(name, value)
    os.environ.setdefault("PREFECT_HOME", str(home.prefect))
    if quiet:
        os.environ.setdefault("PREFECT_LOGGING_LEVEL", "CRITICAL")
        os.environ.setdefault("PREFECT_LOGGING_SERVER_LEVEL", "CRITICAL")
        atexit.register(_close_stderr)
    return home


def _close_stderr() -> None:
    """Hide what DuckDB's bindings print when the interpreter is torn down under Prefect's threads.

    Registered before Prefect is imported, so it runs after everything that has something to say.
    """
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
