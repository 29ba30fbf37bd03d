"""The docs, the packaging and the code say the same."""

import re
import subprocess
import sys
import tomllib
import zipfile

from hybriddp.params import BlenderParams
from tests.repository import ROOT, run_python


def test_wheel_holds_the_library_only(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hybriddp"}


def test_every_dependency_is_pinned_and_no_address_is_named():
    pins = (ROOT / "constraints.txt").read_text()
    assert "//" not in pins
    assert "@" not in pins
    pinned = {line.split("==")[0] for line in pins.splitlines() if "==" in line}
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
    assert numbers == {"1", "2", "3", "4", "5", "6", "7", "8"}
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
    from flows.cli import app

    for command in app.registered_commands:
        assert f"hybriddp {command.name or command.callback.__name__}" in readme


def test_readmes_python_example_runs():
    (example,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL
    )
    assert run_python(example).startswith("[1 2 3 4 5] [0.")


def test_readme_shows_what_make_release_prints():
    """The shown release is a real one: same seed, same rows."""
    from tasks.in_memory import release_in_memory

    release = release_in_memory("aol-like", None, 0.05, BlenderParams(4, "1e-5"), seed=1)
    readme = (ROOT / "README.md").read_text()
    for row in release.rows[:5]:
        assert re.search(
            rf"{re.escape(row.query)} +{re.escape(row.url)} +{row.probability:.5f}", readme
        )
