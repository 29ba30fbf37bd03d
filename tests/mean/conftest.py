"""One log of numbers, one release of each kind, and copies of them to spoil."""

import shutil
from pathlib import Path

import pytest

from tasks.products.mean.draws import MeanRun, identify
from tasks.release.walk import run_release
from tasks.verify.signatures import read_public_key
from tests.homes import new_home
from tests.mean.support import request_for, usual_people, usual_rows, write_numbers, write_roster
from tests.release.conftest import fast_folder, home, root  # noqa: F401 - fixtures
from tests.release.support import waive_gates


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    """A log in which everybody has two numbers."""
    return write_numbers(tmp_path_factory.mktemp("log") / "log.csv", usual_rows())


@pytest.fixture(scope="session")
def roster(tmp_path_factory) -> Path:
    """A roster with countries."""
    return write_roster(tmp_path_factory.mktemp("roster") / "roster.csv", usual_people())


@pytest.fixture
def gates_waived(monkeypatch) -> None:
    """Great Expectations takes seconds, and `test_gates.py` judges it."""
    waive_gates(monkeypatch.setattr)


def _release(log: Path, folder: Path, **settings: object) -> MeanRun:
    run = identify(request_for(log, **settings), new_home(folder))
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_release(run)
    return run


@pytest.fixture(scope="session")
def usual(log, roster, fast_folder) -> MeanRun:  # noqa: F811
    """A release by country, with everything else as it is by default."""
    return _release(log, fast_folder / "usual", roster=roster, by="country")


@pytest.fixture(scope="session")
def one_number(log, fast_folder) -> MeanRun:  # noqa: F811
    """A release of one number."""
    return _release(log, fast_folder / "one", one_number=True)


@pytest.fixture(params=["usual", "one_number"])
def run(request, root) -> MeanRun:  # noqa: F811
    """A copy of the home of either release."""
    original = request.getfixturevalue(request.param)
    shutil.copytree(original.home.root, root / "copy")
    return MeanRun(new_home(root / "copy"), original.release_id, original.attempt, original.request)


@pytest.fixture
def folder(run) -> Path:
    """Where the release was published."""
    return run.home.shelf("mean", "all") / run.release_id


@pytest.fixture
def key(run) -> bytes:
    """The publisher's public key."""
    return read_public_key(run.home.public / "signing.pub")
