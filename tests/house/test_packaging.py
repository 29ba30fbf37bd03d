"""What is installed, and what of it is shipped."""

import re
import subprocess
import sys
import tomllib
import zipfile

import pytest

from tests.patience import PATIENCE
from tests.repository import ROOT


def test_wheel_holds_the_library_only(tmp_path):
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT, check=True, capture_output=True, timeout=PATIENCE,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    folders = {name.split("/")[0] for name in zipfile.ZipFile(wheel).namelist()}
    assert {folder for folder in folders if not folder.endswith(".dist-info")} == {"hybriddp"}


@pytest.mark.parametrize(
    ("file", "extra"),
    [
        ("requirements.txt", "dev"),
        ("requirements-spark.txt", "spark"),
        ("requirements-spark-tests.txt", "spark-tests"),
    ],
)
def test_every_dependency_is_pinned_with_hashes_and_no_address_is_named(file, extra):
    pins = (ROOT / file).read_text()
    assert "//" not in pins
    assert "@" not in pins
    entries = re.findall(r"^([a-z][^\s=]*)==\S+((?:.*\\\n)+.*)$", pins, flags=re.MULTILINE)
    pinned = {name for name, hashes in entries if "--hash=sha256:" in hashes}
    assert pinned == {line.split("==")[0] for line in pins.splitlines() if "==" in line}
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = project["optional-dependencies"][extra]
    if extra == "dev":
        wanted = project["dependencies"] + wanted
    assert {re.split(r"[<>=]", item)[0] for item in wanted} <= pinned


def test_caps_that_no_package_declares_are_kept():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for cap in ("prefect>=3.8.8,<3.9", "fastapi>=0.139,<0.151", "sqlalchemy>=2.0,<2.1"):
        assert cap in project["dependencies"]
