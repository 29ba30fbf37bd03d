"""What a season carries: an older, changed or lost state is refused, whatever is restored."""

import os
import shutil

import pytest

from tasks.budget.paid import what_was_paid
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.measured.stored import measurement_path
from tasks.products.head_list import CLIENTS, HEADLIST, OF_A_WEEK
from tasks.products.head_list.run import identify
from tasks.products.head_list.series import draws
from tasks.publish.publish import withdraw
from tasks.release.refusals import BudgetRefused
from tasks.release.walk import run_release
from tests.homes import new_home
from tests.release.series.support import usual, week_request, write_week

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]


@pytest.fixture
def home(two_weeks):
    """A home after two weeks of a season; beside it lies what it carried after the first."""
    return two_weeks


def files(home):
    [season] = home.series.iterdir()
    return {path.name: path for path in season.iterdir()}


def next_week(home, root):
    log = write_week(root / "next.tsv", usual())
    run_release(identify(week_request(log, 3), home))


def require_refused(home, root, message):
    with pytest.raises(LedgerCorrupt, match=message):
        next_week(home, root)
    kinds = [entry.kind for entry in Ledger(home.ledger).entries()]
    assert kinds.count(Kind.RESERVED) == 2, "nobody has paid for the third week"
    assert kinds.count(Kind.DRAW_STARTED) == 6, "two weeks of three groups"


def test_only_the_newest_state_is_kept(home):
    assert sorted(files(home)) == ["season.key", "week-002.state"]
    assert files(home)["season.key"].stat().st_mode & 0o077 == 0


def test_an_older_state_is_refused(home, root):
    [season] = (root / "backup").iterdir()
    older = (season / "week-001.state").read_bytes()
    files(home)["week-002.state"].write_bytes(older)
    require_refused(home, root, "is not what this season's week 2 left")


@pytest.mark.parametrize("name", ["season.key", "week-002.state"])
@pytest.mark.parametrize("fault", ["lost", "changed"])
def test_a_lost_or_changed_file_is_refused(home, root, name, fault):
    path = files(home)[name]
    if fault == "lost":
        path.unlink()
    else:
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(bytes(data))
    require_refused(home, root, "restore it|Restore it")


def test_a_restored_state_goes_on(home, root):
    kept = root / "kept"
    shutil.copytree(home.series, kept)
    shutil.rmtree(home.series)
    require_refused(home, root, "Restore it")
    shutil.copytree(kept, home.series)
    next_week(home, root)


@pytest.mark.parametrize("group", OF_A_WEEK)
def test_a_week_is_not_paid_for_if_one_that_it_is_estimated_from_is_lost(home, root, group):
    """It had been drawn, and could then not be published."""
    first = identify(week_request(root / "week-1.tsv", 1), home)
    path = measurement_path(first, group)
    path.rename(root / "away")
    words = "estimated from it" if group != HEADLIST else "restore it"  # whose names are known
    require_refused(home, root, words)
    if group == CLIENTS:
        withdraw(first, "its reports are lost")
    else:
        (root / "away").rename(path)
    next_week(home, root)


def test_what_a_killed_week_left_half_written_goes_after_a_day(root):
    home = new_home(root / "swept")
    season = home.series / "a season"
    season.mkdir(parents=True)
    for name, age in (("old", 25), ("new", 1)):
        path = season / f".week-001.state.{name}.partial"
        path.write_bytes(b"sealed")
        changed = path.stat().st_mtime - age * 3600
        os.utime(path, (changed, changed))
    home.sweep()
    assert [path.name for path in season.iterdir()] == [".week-001.state.new.partial"]


def test_a_week_that_burns_is_told_what_a_series_can_do(home, root, monkeypatch):
    """Not to pay for another attempt, which it refuses."""
    run = identify(week_request(write_week(root / "next.tsv", usual()), 3), home)
    monkeypatch.setattr(draws, "draw_from", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_release(run)
    assert run.state.burnt_draws
    words = what_was_paid(run)
    assert "go on with the next epoch" in words
    assert "new_attempt" not in words
    with pytest.raises(BudgetRefused, match="It is spent; go on with the next epoch"):
        draws.draw_week(run)
