"""The list that a season begins with is what the ledger lets stand, as it was published."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST
from tasks.products.head_list.run import HeadListRun, identify
from tasks.products.head_list.series.measured import prior_of
from tasks.publish.publish import published_folder, withdraw
from tasks.publish.shelf import list_rows
from tasks.release.refusals import BadInput
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.verify import verify_publication
from tests.homes import new_home
from tests.release.series.support import run_week, usual, week_request, write_week
from tests.release.support import charge

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]


@pytest.fixture
def home(seasons, root) -> Home:
    """A home after a whole season."""
    shutil.copytree(seasons[3], root, dirs_exist_ok=True)
    return new_home(root / "home")


@pytest.fixture
def last(home, root) -> HeadListRun:
    """The last week of that season: the next one begins with its list."""
    return identify(week_request(root / "week-3.tsv", 3), home)


def asked(home: Home, root: Path, week: int) -> HeadListRun:
    """A week that is asked for and not paid for."""
    return identify(week_request(write_week(root / f"week-{week}.tsv", usual()), week), home)


def rows_of(home: Home, *kinds: Kind) -> int:
    return len(Ledger(home.ledger).entries(*kinds))


def prior_in(run: HeadListRun) -> Any:
    return prior_of(load_measurement(run, HEADLIST))


def verify(run: HeadListRun) -> dict[str, Any]:
    """See that a week verifies beside the ledger; return what its manifest says of its season."""
    folder, home = published_folder(run), run.home
    verify_publication(home, folder, bytes.fromhex((home.public / "signing.pub").read_text()))
    season: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())["season"]
    return season


def rewritten(name: str, change: Callable[[str], str]) -> Callable[[Path], None]:
    """Return what changes a file of a folder, as anybody can who may write there."""

    def spoil(folder: Path) -> None:
        (folder / name).write_text(change((folder / name).read_text()))

    return spoil


def put_another_in_its_place(folder: Path) -> None:
    """Of the same home: signed, and let stand by the ledger."""
    lists = (path.parent for path in folder.parent.glob("*/manifest.json"))
    other = next(path for path in lists if path != folder)
    shutil.rmtree(folder)
    shutil.copytree(other, folder)


def link_to_another(folder: Path) -> None:
    put_another_in_its_place(folder)
    folder.rename(folder.parents[3] / "elsewhere")
    folder.symlink_to(folder.parents[3] / "elsewhere")


SPOILT: dict[str, Callable[[Path], None]] = {
    "another number": rewritten("head_list.jsonl", lambda text: text.replace("0.", "0.0", 1)),
    "a row twice": rewritten("head_list.jsonl", lambda text: text + text.splitlines()[0] + "\n"),
    "other decimals": rewritten(
        "manifest.json", lambda text: text.replace('"decimals":6', '"decimals":2')
    ),
    "missing": shutil.rmtree,
    "another list": put_another_in_its_place,
    "a link to another list": link_to_another,
}


@pytest.mark.parametrize("spoil", SPOILT.values(), ids=SPOILT)
def test_what_nobody_published_is_refused_before_anybody_pays(home, root, last, spoil):
    spoil(published_folder(last))
    paid = rows_of(home, Kind.RESERVED)
    with pytest.raises(BadInput, match=r"not what was published there: .*or do without the list"):
        charge(asked(home, root, 4))
    assert rows_of(home, Kind.RESERVED) == paid


def test_it_is_looked_at_again_before_the_draw(home, root, last):
    """A refusal burns nothing: when the folder is there again, the week goes on."""
    run, folder = charge(asked(home, root, 4)), published_folder(last)
    shutil.move(folder, root / "away")
    with pytest.raises(BadInput, match="not what was published there"):
        run_release(run)
    assert not run.state.has(Kind.DRAW_STARTED, HEADLIST)
    run_release(last)  # which makes it again
    run_release(run)
    assert prior_in(run)
    assert verify(run)["prior_from"] == run.place.names_of == folder.name


def test_a_list_that_was_taken_down_is_used_nowhere_its_folder_may_be(home, root, last):
    """Before the first draw of the season: it begins without names."""
    run, folder = charge(asked(home, root, 4)), published_folder(last)
    shutil.copytree(folder, root / "copied")
    withdraw(last, "a mistake")
    shutil.rmtree(folder)
    shutil.copytree(root / "copied", folder)
    with pytest.raises(BadInput, match=r"`hybriddp withdraw .*` mends it"):
        run_release(run)
    assert not run.state.has(Kind.DRAW_STARTED, HEADLIST)
    withdraw(last, "again")
    run_release(run)
    assert prior_in(run) == {}
    season = verify(run)
    assert "prior_from" not in season
    assert set(season["found"]["maps"].values()) == {1}


def test_a_list_that_is_taken_down_later_is_not_handed_on_from_a_backup(home, root, last):
    first, folder = run_week(home, root, 4, usual()), published_folder(last)
    assert prior_in(first)
    shutil.copytree(folder, root / "copied")
    withdraw(last, "a mistake")
    shutil.copytree(root / "copied", folder, dirs_exist_ok=True)
    for name in ("withdrawn.json", "withdrawn.sig"):
        (folder / name).unlink()
    paid = rows_of(home, Kind.RESERVED)
    with pytest.raises(BadInput, match=r"`hybriddp withdraw .*` mends it"):
        charge(asked(home, root, 5))
    assert rows_of(home, Kind.RESERVED) == paid


def test_estimates_are_handed_on_from_the_first_week_whatever_lies_there(home, root, last):
    """Once a week of the season is drawn nobody reads the folder."""
    first, folder = run_week(home, root, 4, usual()), published_folder(last)
    shutil.move(folder, root / "away")
    second = run_week(home, root, 5, usual())
    assert prior_in(second) == prior_in(first) != {}
    assert verify(second)["prior_from"] == folder.name


@pytest.mark.parametrize("is_paid", [False, True], ids=["before it is paid", "before it is drawn"])
def test_what_the_list_is_revised_without_stays_out(home, root, last, is_paid):
    """Names that it gave stay known: whoever goes on says again what is blocked."""
    blocklist = root / "blocked.txt"
    blocklist.write_text("news\n")
    run_week(home, root, 4, usual())
    if is_paid:
        charge(asked(home, root, 5))
    request = ReprocessRequest(
        release_id=last.release_id, blocklist=blocklist, accept_collapse=True
    )
    run_reprocess(request, home)
    started = rows_of(home, Kind.DRAW_STARTED)
    with pytest.raises(BadInput, match="give --blocklist in every epoch"):
        run_week(home, root, 5, usual())
    assert rows_of(home, Kind.DRAW_STARTED) == started
    run = run_week(home, root, 5, usual(), blocklist=blocklist)
    assert [row["query"] for row in list_rows(published_folder(run), "trends")] == ["maps"]
    assert prior_in(run) == {}, "the list was taken down"
