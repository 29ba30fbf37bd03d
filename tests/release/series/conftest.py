"""Seasons that have begun, made once and copied for each test that goes on with one."""

import shutil
from pathlib import Path

import pytest

from tasks.store.home import Home
from tests.homes import new_home
from tests.release.series.support import run_week, series_home, usual
from tests.release.support import waive_gates


@pytest.fixture(scope="session")
def seasons(fast_folder) -> dict[int, Path]:
    """Folders with a home after one, two and three weeks, with logs and what was carried before."""
    root, found = fast_folder / "season", {}
    root.mkdir()
    home = series_home(root / "home")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        for week in (1, 2, 3):
            run_week(home, root, week, usual())
            found[week] = shutil.copytree(root, fast_folder / f"season-after-{week}")
            shutil.copytree(home.series, root / "backup", dirs_exist_ok=True)
    return found


@pytest.fixture
def begun(seasons, root) -> Home:
    """A home after the first week of a season; its log lies beside it."""
    shutil.copytree(seasons[1], root, dirs_exist_ok=True)
    return new_home(root / "home")


@pytest.fixture
def two_weeks(seasons, root) -> Home:
    """A home after two weeks, with their logs and what the first of them carried beside it."""
    shutil.copytree(seasons[2], root, dirs_exist_ok=True)
    return new_home(root / "home")
