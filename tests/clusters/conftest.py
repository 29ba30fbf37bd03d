"""One log of points, one release of it, and a copy of it to spoil."""

import shutil
from pathlib import Path

import pytest

from tasks.products.clusters.draws import KMeansRun, identify
from tasks.release.walk import run_release
from tasks.verify.signatures import read_public_key
from tests.clusters.support import request_for, write_points
from tests.homes import new_home
from tests.release.conftest import fast_folder, home, root  # noqa: F401 - fixtures
from tests.release.support import waive_gates


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    """A log of three clouds."""
    return write_points(tmp_path_factory.mktemp("log") / "log.csv")


@pytest.fixture
def gates_waived(monkeypatch) -> None:
    """Great Expectations takes seconds, and other tests judge it."""
    waive_gates(monkeypatch.setattr)


@pytest.fixture(scope="session")
def original(log, fast_folder) -> KMeansRun:  # noqa: F811
    """A release, published, with its real gates."""
    run = identify(request_for(log), new_home(fast_folder / "clusters"))
    run_release(run)
    return run


@pytest.fixture
def run(original, root) -> KMeansRun:  # noqa: F811
    """A copy of the home with its release."""
    shutil.copytree(original.home.root, root / "copy")
    return KMeansRun(
        new_home(root / "copy"), original.release_id, original.attempt, original.request
    )


@pytest.fixture
def folder(run) -> Path:
    """Where the release was published."""
    return run.home.shelf("clusters", "all") / run.release_id


@pytest.fixture
def key(run) -> bytes:
    """The publisher's public key."""
    return read_public_key(run.home.public / "signing.pub")
