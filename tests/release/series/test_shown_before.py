"""What changed is said against the list that readers saw, not against all that was measured."""

from pathlib import Path

import pytest

from tasks.products.head_list.run import HeadListRun, identify
from tasks.publish.publish import published_folder
from tasks.publish.shelf import read_rows
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.verify.checks import VerificationFailed
from tasks.verify.found import Source
from tasks.verify.verify import verify_publication, verify_release
from tests.publish.checking.spoiling import Publisher
from tests.release.series.support import CLIENTS, MANY, run_week, usual, week_request

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]

NOTHING, MAPS = frozenset[str](), frozenset({"maps"})
ONLY_NEWS = {person: ["news"] for person in [*MANY, *CLIENTS]}


def blocklist(root: Path, *queries: str) -> Path:
    path = root / "-".join(["blocklist", *queries])
    path.write_text("".join(f"{query}\n" for query in queries))
    return path


def block(run: HeadListRun, path: Path) -> None:
    request = ReprocessRequest(release_id=run.release_id, blocklist=path, accept_collapse=True)
    run_reprocess(request, run.home)


def key_of(run: HeadListRun) -> bytes:
    return bytes.fromhex((run.home.public / "signing.pub").read_text())


def changed(run: HeadListRun) -> dict[str, str]:
    """See that a week verifies, beside the ledger and without; return what it says of changes."""
    folder = published_folder(run)
    verify_publication(run.home, folder, key_of(run))
    verify_release(folder, key_of(run), measurements=run.folder)
    return {row["query"]: row["change"] for row in read_rows(folder, "changes")}


def test_what_was_not_shown_has_entered_and_never_left(begun, root):
    """`maps` is blocked by a later revision of weeks 1 and 2; in week 3 one query is listed."""
    first = identify(week_request(root / "week-1.tsv", 1), begun)
    block(first, blocklist(root, "maps"))
    second = run_week(begun, root, 2, ONLY_NEWS, blocklist=blocklist(root))
    assert changed(second)["maps"] == "entered"
    block(second, blocklist(root, "maps"))
    third = run_week(
        begun, root, 3, ONLY_NEWS, blocklist=blocklist(root), max_head_size=1,
        accept_collapse=True,
    )  # fmt: skip
    assert changed(third).keys() <= {"news"}
    # What becomes of the week before from now on changes nothing.
    block(second, blocklist(root, "maps", "news"))
    changed(third)


def test_beside_the_ledger_nobody_says_that_something_else_was_shown(begun, root):
    """Who has no ledger must believe what the key signed, of what a blocklist can have done."""
    second = run_week(begun, root, 2, ONLY_NEWS)
    folder, publisher = published_folder(second), Publisher(second, published_folder(second))
    as_it_was, otherwise = (Source(second.folder, NOTHING, then) for then in (NOTHING, MAPS))
    assert changed(second) == {"maps": "fell", "news": "rose"}
    with pytest.raises(VerificationFailed, match=r"changes.* is not what the measurements give"):
        verify_release(folder, key_of(second), measurements=otherwise)
    rows = publisher.rows("changes")
    entered = sorted(
        (row | {"change": "entered"} if row["query"] == "maps" else row for row in rows),
        key=lambda row: row["change"],
    )
    publisher.sign(changes=publisher.table("changes", entered))
    for source in (second.folder, otherwise):
        verify_release(folder, key_of(second), measurements=source)
    with pytest.raises(VerificationFailed, match=r"changes.* is not what the measurements give"):
        verify_release(folder, key_of(second), measurements=as_it_was)


def test_what_stays_blocked_is_said_by_nobody_and_verifies_without_a_ledger(begun, root):
    """It has neither entered nor changed for anybody who may not know it."""
    block(identify(week_request(root / "week-1.tsv", 1), begun), blocklist(root, "maps"))
    second = run_week(begun, root, 2, usual(), blocklist=blocklist(root, "maps"))
    assert changed(second).keys() <= {"news"}
