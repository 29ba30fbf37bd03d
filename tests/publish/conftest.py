"""Small releases, made once without Prefect, and copies of them to spoil."""

import shutil
from pathlib import Path

import pytest

from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, identify
from tasks.release.walk import run_release
from tasks.store.home import Home
from tests.flow.logs import write_searches
from tests.homes import new_home
from tests.publish.shelves import EARLIER, LATER, publish_epoch
from tests.release.conftest import fast_folder, root  # noqa: F401 - fixtures
from tests.release.support import N_PEOPLE, waive_gates, write_log


@pytest.fixture(scope="session")
def original(tmp_path_factory) -> HeadListRun:
    folder = tmp_path_factory.mktemp("publish")
    write_searches(folder / "searches.tsv", 1_500)
    # A third of the people search for the same, which the plan, from AOL's log, does not expect.
    request = ReleaseRequest(
        log=folder / "searches.tsv", epoch="2026-W46", optin_fraction=0.3, ignore_plan=True
    )
    run = identify(request, new_home(folder / "home"))
    assert run_release(run) is not None
    return run


@pytest.fixture
def run(original, root) -> HeadListRun:  # noqa: F811
    """A copy of the home with its release."""
    shutil.copytree(original.home.root, root / "home")
    return HeadListRun(
        new_home(root / "home"), original.release_id, original.attempt, original.request
    )


@pytest.fixture
def folder(run) -> Path:
    return run.home.shelf("search", "all") / run.release_id


@pytest.fixture(scope="session")
def small_log(tmp_path_factory) -> Path:
    """A log in which a third of the people clicked on each of three queries."""
    return write_log(tmp_path_factory.mktemp("log") / "log.tsv", map(str, range(N_PEOPLE)))


@pytest.fixture
def gates_waived(monkeypatch) -> None:
    """Great Expectations takes a second for each release, and other tests judge it."""
    waive_gates(monkeypatch.setattr)


@pytest.fixture(scope="session")
def _two_weeks_once(small_log, fast_folder) -> Home:  # noqa: F811
    home = new_home(fast_folder / "two weeks")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        for epoch in (EARLIER, LATER):
            publish_epoch(home, small_log, epoch)
    return home


@pytest.fixture
def two_weeks(_two_weeks_once, root) -> Home:  # noqa: F811
    """A home with the lists of two weeks, the later one published last; a copy to spoil."""
    shutil.copytree(_two_weeks_once.root, root / "two weeks")
    return new_home(root / "two weeks")
