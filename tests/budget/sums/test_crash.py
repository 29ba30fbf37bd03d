"""Whoever is killed while sums are sealed leaves everybody's balance as it was."""

import shutil
import signal
from pathlib import Path

import pytest

from tasks.budget.sums.files import sums_file, sums_folder
from tasks.ledger.check import check_ledger
from tasks.ledger.rules import Kind
from tasks.store.home import Home
from tests.budget.sums.support import (
    drawn,
    entries_of,
    plain_spending,
    reserve,
    rows_of_sums,
    spending_of,
)
from tests.examples import IS_CAMPAIGN
from tests.homes import new_home
from tests.release.faults import Fuse, read_lines, run_child

pytestmark = [pytest.mark.slow, pytest.mark.kills]

# `make campaign` kills at every point.
DECISIVE = (
    ("before table sums_to_seal", 0), ("before replace <digest>.parquet", 0),
    ("before table sums_in_all", 0), ("before SUMMED", 0),
    ("after the insert of SUMMED", 0), ("after SUMMED", 0), ("before RESERVED", 0),
)  # fmt: skip


def reserve_until(root: Path, burns_at: tuple[str, int] | None, record: Path | None = None) -> None:
    """Reserve in this process, which seals sums first and dies at a point."""
    home = new_home(root / "home")
    Fuse(burns_at, record).lay()
    reserve(home, "next")


@pytest.fixture(scope="module")
def begin(tmp_path_factory) -> Path:
    """A home in which the second sums are due: five releases more than the first hold."""
    root = tmp_path_factory.mktemp("begin")
    home = new_home(root / "home")
    drawn(home, 8)
    assert len(rows_of_sums(home)) == 1
    return root


@pytest.fixture(scope="module")
def points(begin, tmp_path_factory) -> list[tuple[str, int]]:
    """Everything durable that is done, and how often before."""
    root = tmp_path_factory.mktemp("recorded") / "root"
    shutil.copytree(begin, root)
    assert run_child(reserve_until, root, None, root / "points") == 0
    names = read_lines(root / "points")
    assert len(rows_of_sums(Home(root / "home"))) == 2
    return [(name, names[:place].count(name)) for place, name in enumerate(names)]


def test_a_kill_at_any_point_changes_nobodys_balance(begin, points, tmp_path):
    assert set(DECISIVE) <= set(points), points
    for number, point in enumerate(points if IS_CAMPAIGN else DECISIVE):
        root = tmp_path / str(number)
        shutil.copytree(begin, root)
        assert run_child(reserve_until, root, point) == -signal.SIGKILL, point
        home = Home(root / "home")
        before = entries_of(home)
        assert spending_of(home) == plain_spending(home), point
        reserve(home, "next")
        after = entries_of(home)
        assert after[: len(before)] == before, point
        assert [e.kind for e in after[-2:]] == [Kind.SUMMED, Kind.RESERVED], point
        assert len(rows_of_sums(home)) == 2, point
        assert spending_of(home) == plain_spending(home), point
        named = {sums_file(home, row) for row in rows_of_sums(home)}
        if point[0] != "before RESERVED" and not point[0].startswith("after"):
            assert set(sums_folder(home).iterdir()) == named, point
        check_ledger(home)
