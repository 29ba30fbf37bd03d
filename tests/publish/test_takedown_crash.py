"""A takedown that dies anywhere is finished by the next one, and nothing comes back."""

import shutil
import signal
from pathlib import Path

import pytest

from tasks.ledger.ledger import Ledger
from tasks.publish.shelf import published_heads
from tasks.publish.withdraw import withdraw
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.verify.verify import verify_publication, verify_release
from tests.homes import new_home
from tests.publish.shelves import EARLIER, LATER, key_of, latest, names_in, run_of, shelf_of
from tests.release.faults import Fuse, read_lines, run_child
from tests.release.support import waive_gates

pytestmark = pytest.mark.slow
NOTICE = {"withdrawn.json", "withdrawn.sig"}
# Where a withdrawal can die: around its row, amid the files it removes, around the row that moves
# readers on, before the folder of that row has its name, and before the pointer to it.
KINDS_OF_POINTS = (
    "after the insert of WITHDRAWN",
    "after WITHDRAWN",
    "removing head_list.jsonl",
    "after REVISED 2",
    "before rename",
    "before replace latest.json",
)


def take_down(root: Path, act: str, release_id: str) -> None:
    """Withdraw a release, or block one of its queries."""
    home = new_home(root)
    if act == "withdraw":
        withdraw(home, release_id, "a test")
    else:
        waive_gates()
        request = ReprocessRequest(release_id=release_id, blocklist=root / "blocked.txt")
        run_reprocess(request, home)


def take_down_until(
    root: Path, act: str, release_id: str, burns_at: int | None, record: Path | None
) -> None:
    """Do so in this process, which dies at a point."""
    fuse = Fuse(burns_at, record)
    fuse.lay()
    fuse.before(Path, "unlink", lambda path, **_: f"removing {path.name}")
    take_down(root, act, release_id)


@pytest.mark.usefixtures("gates_waived")
def test_a_withdrawal_that_dies_is_finished_by_the_next_one(two_weeks, small_log, root):
    run = run_of(two_weeks, small_log, LATER)
    points = points_of(two_weeks.root, "withdraw", run.release_id, root)
    for kind in KINDS_OF_POINTS:
        point = next(place for place, name in enumerate(points) if kind in name)
        kill_and_finish(two_weeks.root, "withdraw", run.release_id, root, point)


@pytest.mark.long
@pytest.mark.usefixtures("gates_waived")
@pytest.mark.parametrize("act", ["withdraw", "block"])
def test_a_takedown_that_dies_anywhere_is_finished_by_the_next_one(two_weeks, small_log, root, act):
    run = run_of(two_weeks, small_log, LATER)
    (two_weeks.root / "blocked.txt").write_text("weather\n")
    for point in range(len(points_of(two_weeks.root, act, run.release_id, root))):
        kill_and_finish(two_weeks.root, act, run.release_id, root, point)


def points_of(home: Path, act: str, release_id: str, root: Path) -> list[str]:
    """Take a release down; return everything durable that this does, in order."""
    whole, record = shutil.copytree(home, root / "whole"), root / "points"
    assert run_child(take_down_until, whole, act, release_id, None, record) == 0
    return read_lines(record)


def kill_and_finish(home: Path, act: str, release_id: str, root: Path, point: int) -> None:
    """Kill a takedown at a point and do it again; nothing may be left or come back."""
    killed = shutil.copytree(home, root / "killed")
    died = run_child(take_down_until, killed, act, release_id, point, None)
    assert died == -signal.SIGKILL, point
    take_down(killed, act, release_id)
    require_taken_down(killed, act, release_id)
    shutil.rmtree(killed)


def require_taken_down(root: Path, act: str, release_id: str) -> None:
    """See that nothing of the release is left, and that readers have something better."""
    home = new_home(root)
    assert names_in(shelf_of(home) / release_id) == NOTICE
    pointer = latest(home)
    assert pointer["epoch"] == (EARLIER if act == "withdraw" else LATER)
    folder = shelf_of(home) / pointer["release"]
    verify_publication(home, folder, key_of(home))
    manifest, _ = verify_release(folder, key_of(home), min_sequence=3)
    assert manifest.sequence == pointer["sequence"]
    Ledger(home.ledger).verify(published_heads(home))
