"""Commands in this process, whose releases run without Prefect: the very steps, and no server."""

import os
import shlex

import pytest
from typer.testing import CliRunner, Result

from flows.cli.main import app
from tasks.products.registry import product_named
from tasks.products.request import LogRequest
from tasks.release.outcome import Outcome
from tasks.release.walk import run_release
from tasks.store.home import Home


def run_plainly(name: str, request: LogRequest, home: Home, *, is_quiet: bool) -> tuple:
    """Do what `flows.console.running.run_flow` does."""
    run = product_named(name).working.identify(request, home)
    run_release(run)
    outcome = Outcome.collecting(run) if run.is_collecting else Outcome.published(run)
    return outcome, {"every step": 1.0}


def run_command(line: str) -> Result:
    """Run a line that a page shows, in the working folder and an environment of its own."""
    program, *arguments = shlex.split(line)
    assert program.endswith("hybriddp"), line
    with pytest.MonkeyPatch.context() as patched:
        environment = os.environ.items()
        patched.setattr(
            os,
            "environ",
            {k: v for k, v in environment if not k.startswith(("HYBRIDDP_", "PREFECT_"))},
        )
        patched.setattr("flows.server.environment.atexit.register", lambda _: None)
        patched.setattr("flows.console.running.run_flow", run_plainly)
        return CliRunner().invoke(app, arguments)
