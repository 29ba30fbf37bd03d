"""The docs, the packaging and the code say the same."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.repository import ROOT, run_python

PACKAGES = ("hybriddp", "tasks", "flows")


def test_wheel_holds_the_library_only(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hybriddp"}


def test_every_dependency_is_pinned_with_hashes_and_no_address_is_named():
    pins = (ROOT / "requirements.txt").read_text()
    assert "//" not in pins
    assert "@" not in pins
    entries = re.findall(r"^([a-z][^\s=]*)==\S+((?:.*\\\n)+.*)$", pins, flags=re.MULTILINE)
    pinned = {name for name, hashes in entries if "--hash=sha256:" in hashes}
    assert pinned == {line.split("==")[0] for line in pins.splitlines() if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["dependencies"] + project["optional-dependencies"]["dev"]
    assert {re.split(r"[<>=]", item)[0] for item in wanted} <= pinned


def test_caps_that_no_package_declares_are_kept():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for cap in ("prefect>=3.8.8,<3.9", "fastapi>=0.139,<0.151", "sqlalchemy>=2.0,<2.1"):
        assert cap in project["dependencies"]


def test_every_erratum_names_tests_that_exist():
    text = (ROOT / "docs" / "errata.md").read_text()
    items = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    numbers = {re.match(r"\d+", item).group() for item in items}
    assert numbers == {str(number) for number in range(1, 12)}
    for item in items:
        shown_by = re.findall(r"`(tests/\S+)::(\w+)`", item)
        assert shown_by or item.startswith("5. "), item.splitlines()[0]
        for path, test in shown_by:
            assert f"def {test}(" in (ROOT / path).read_text(), (path, test)


def test_readme_names_make_targets_and_commands_that_exist():
    readme = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"(?:`|^)make (\w+)", readme, flags=re.MULTILINE))
    assert {"setup", "release", "test", "check", "bench", "serve"} <= targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target
    from flows.cli import Commands

    for name in Commands.table:
        assert f"hybriddp {name}" in readme


def test_readmes_python_example_runs():
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    assert run_python(example).startswith("[1 2 3 4 5] [0.")


@pytest.mark.slow
def test_readmes_commands_run_on_a_new_home(tmp_path):
    """All but `make test` itself, in their order, in a checkout of their own."""
    checkout = tmp_path / "checkout"
    for part in (
        "Makefile",
        "pyproject.toml",
        "requirements.txt",
        *PACKAGES,
        "sql",
        "expectations",
    ):
        source = ROOT / part
        copy = shutil.copytree if source.is_dir() else shutil.copy
        checkout.mkdir(exist_ok=True)
        copy(source, checkout / part)
    # The environment of this very run stands in for the one that `make setup` would make.
    bin_folder = checkout / ".venv" / "bin"
    bin_folder.mkdir(parents=True)
    (bin_folder / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (bin_folder / "hybriddp").write_text(f'#!/bin/sh\nexec {sys.executable} -m flows "$@"\n')
    for script in bin_folder.iterdir():
        script.chmod(0o755)
    (checkout / ".venv" / ".installed").touch()
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    commands = [line for block in blocks for line in block.splitlines() if line != "make test"]
    assert "make release" in commands
    assert len(commands) >= 8
    environment = {
        k: v for k, v in os.environ.items() if not k.startswith(("HYBRIDDP_", "PREFECT_"))
    }
    for command in commands:
        # The README's own release has 200,000 people; these are enough for a list.
        typed = f"{command} USERS=60000" if command == "make release" else command
        done = subprocess.run(
            typed, shell=True, cwd=checkout, env=environment | {"PYTHONPATH": str(checkout)},
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, (command, done.stderr[-2000:])
        if command == "make release":
            assert "google" in done.stdout
            assert "8 checks passed" in done.stdout


def test_readme_shows_a_release_and_its_label_as_they_are_printed():
    readme = (ROOT / "README.md").read_text()
    (shown,) = re.findall(r"```text\n(.*?)```", readme, flags=re.DOTALL)
    rows = re.findall(r"^ \d +\S.* http\S+ +0\.\d{6} +0\.\d{6} - 0\.\d{6}$", shown, re.MULTILINE)
    assert len(rows) == 5
    label = (ROOT / "tasks" / "label.py").read_text()
    for words in ("who saw their searches", "Over a lifetime", "are used beyond"):
        assert words in readme
        assert words in label
