"""One small log for all, and a home for each test."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
from tasks.store.home import Home
from tests.homes import new_home
from tests.release.support import N_PEOPLE, request_for, waive_gates, write_log


@pytest.fixture(scope="session")
def log(tmp_path_factory) -> Path:
    """A log in which a third of the people clicked on each of three queries."""
    return write_log(tmp_path_factory.mktemp("log") / "log.tsv", map(str, range(N_PEOPLE)))


@pytest.fixture(scope="session")
def fast_folder(tmp_path_factory) -> Iterator[Path]:
    """A folder in memory, if there is room: a killed process leaves the same behind as on disk."""
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 2**30:
        with tempfile.TemporaryDirectory(prefix="hybriddp-", dir=memory) as folder:
            yield Path(folder)
    else:
        yield tmp_path_factory.mktemp("fast")


@pytest.fixture
def root(fast_folder) -> Path:
    """A folder for this test alone."""
    return Path(tempfile.mkdtemp(dir=fast_folder))


@pytest.fixture
def home(root) -> Home:
    """A home without keys, ledger or releases."""
    return new_home(root / "home")


@pytest.fixture
def gates_waived(monkeypatch) -> None:
    """Great Expectations takes a second for each release, and other tests judge it."""
    waive_gates(monkeypatch.setattr)


@pytest.fixture(scope="session")
def _published_once(log, fast_folder) -> Home:
    home = new_home(fast_folder / "published")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_release(identify(request_for(log), home))
    return home


@pytest.fixture
def published_home(_published_once, root) -> Home:
    """A home with one release of the log, published as `request_for(log)` asks; a copy to spoil."""
    shutil.copytree(_published_once.root, root / "published")
    return new_home(root / "published")
