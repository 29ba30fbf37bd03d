"""Commands in this process, whose releases run without Prefect: the very steps, and no server."""

import os
import shlex
from importlib import import_module

import pytest
from typer.testing import CliRunner, Result

from flows.cli import app
from tasks.home import Home
from tasks.outcome import Outcome

# Where a flow's release is identified, and its steps without Prefect.
_PRODUCTS = {
    "release": ("tasks.run", "tasks.steps"),
    "zealous": ("tasks.zealous", "tasks.zealous_steps"),
    "mean": ("tasks.mean", "tasks.mean_steps"),
    "kmeans": ("tasks.kmeans", "tasks.kmeans_steps"),
}


def run_plainly(name: str, request: object, home: Home, *, is_quiet: bool) -> tuple:
    """Do what `flows.running.run_flow` does."""
    identifying, steps = _PRODUCTS[name]
    run = import_module(identifying).identify(request, home)
    folder = getattr(import_module(steps), f"run_{name}")(run)
    outcome = Outcome.collecting(run) if folder is None else Outcome.published(run)
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
        patched.setattr("flows.environment.atexit.register", lambda _: None)
        patched.setattr("flows.running.run_flow", run_plainly)
        return CliRunner().invoke(app, arguments)
