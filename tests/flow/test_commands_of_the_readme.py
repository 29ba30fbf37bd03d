"""README's commands, as a newcomer types them: with the server that a release starts by itself."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import README, shell_lines
from tests.patience import PATIENCE
from tests.repository import ROOT

pytestmark = [pytest.mark.flow, pytest.mark.slow]

_CHECKOUT = (
    "Makefile", "pyproject.toml", "requirements.txt", "hybriddp", "tasks", "flows", "sql",
    "expectations",
)  # fmt: skip


def new_checkout(folder: Path) -> Path:
    """Copy what `make release` needs; this environment stands in for the one it would make."""
    folder.mkdir()
    for part in _CHECKOUT:
        copy = shutil.copytree if (ROOT / part).is_dir() else shutil.copy
        copy(ROOT / part, folder / part)
    bin_folder = folder / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (bin_folder / "hybriddp").write_text(f'#!/bin/sh\nexec {sys.executable} -m flows "$@"\n')
    for script in bin_folder.iterdir():
        script.chmod(0o755)
    (folder / ".venv" / ".installed").touch()
    return folder


def test_readmes_commands_run_on_a_new_home(tmp_path):
    """All but `make test` itself, in their order, in a checkout of their own."""
    checkout = new_checkout(tmp_path / "checkout")
    commands = [line for line in shell_lines(README) if line != "make test"]
    assert commands[0] == "make release"
    assert len(commands) == 4
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("HYBRIDDP_", "PREFECT_"))
    }
    for command in commands:
        # The README's own release has 200,000 people. Of 30,000 about 1,400 find the list, and 22
        # of them search for google, where 7 are enough to be named.
        typed = f"{command} USERS=30000" if command == "make release" else command
        done = subprocess.run(
            typed, shell=True, cwd=checkout, env=environment | {"PYTHONPATH": str(checkout)},
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr[-2000:])
        if command == "make release":
            assert "google" in done.stdout
            assert "9 checks passed" in done.stdout
