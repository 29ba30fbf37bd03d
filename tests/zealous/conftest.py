"""One log that releases are made of, one release of it, and copies of that to spoil."""

import shutil
from pathlib import Path

import pytest

from tasks.products.histograms.draws import ZealousRun, identify
from tasks.release.walk import run_release
from tasks.verify.signatures import read_public_key
from tests.homes import new_home
from tests.release.conftest import fast_folder, home, root  # noqa: F401 - fixtures
from tests.release.support import waive_gates
from tests.zealous.support import popular_log, request_for


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    """A log in which everybody shares a session."""
    return popular_log(tmp_path_factory.mktemp("log") / "log.tsv")


@pytest.fixture
def gates_waived(monkeypatch) -> None:
    """Great Expectations takes seconds, and `test_gates.py` judges it."""
    waive_gates(monkeypatch.setattr)


@pytest.fixture(scope="session")
def original(log, fast_folder) -> ZealousRun:  # noqa: F811
    """A release as it is by default, published."""
    run = identify(request_for(log), new_home(fast_folder / "histograms"))
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_release(run)
    return run


@pytest.fixture
def run(original, root) -> ZealousRun:  # noqa: F811
    """A copy of the home with its release."""
    shutil.copytree(original.home.root, root / "copy")
    return ZealousRun(
        new_home(root / "copy"), original.release_id, original.attempt, original.request
    )


@pytest.fixture
def folder(run) -> Path:
    """Where the release was published."""
    return run.home.shelf("histograms", "all") / run.release_id


@pytest.fixture
def key(run) -> bytes:
    """The publisher's public key."""
    return read_public_key(run.home.public / "signing.pub")
