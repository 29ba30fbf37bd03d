"""Which release readers are pointed to, and that its sequence never goes back."""

import json
import shutil
import sys

import pyarrow.parquet as pq
import pytest

import tasks.products.files
import tasks.publish.publication
import tasks.publish.publish
import tasks.verify.manifest
from flows.console.verifying import verify_folder
from tasks.budget.policy import Policy, set_policy
from tasks.budget.policy_change import weakest
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.products.head_list import HEAD_LIST
from tasks.products.registry import PRODUCTS
from tasks.publish.pointer import follow
from tasks.publish.shelf import folders_to_check
from tasks.publish.standing import Standing
from tasks.publish.withdraw import withdraw
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import verify_publication, verify_release
from tests.publish.shelves import (
    EARLIER,
    LATER,
    key_of,
    latest,
    names_in,
    publish_epoch,
    rows,
    run_of,
    shelf_of,
)
from tests.release.support import files_below

pytestmark = pytest.mark.usefixtures("gates_waived")


def test_an_older_epoch_that_is_published_later_is_not_the_latest(two_weeks, small_log):
    before = latest(two_weeks)
    backfilled = publish_epoch(two_weeks, small_log, "2026-W39")
    manifest, _ = verify_release(backfilled, key_of(two_weeks))
    assert manifest.sequence == 3
    assert latest(two_weeks) == before
    assert before["epoch"] == LATER


def test_beside_the_ledger_readers_are_led_to_its_newest_list_or_verify_says_so(
    two_weeks, small_log
):
    """Whoever has no ledger has the highest sequence that they saw."""
    newest, pointer = latest(two_weeks)["release"], shelf_of(two_weeks) / "latest.json"
    old = run_of(two_weeks, small_log, EARLIER).release_id
    manifest = json.loads((pointer.parent / old / "manifest.json").read_bytes())
    rolled_back = {n: manifest[n] for n in ("sequence", "epoch", "expires")} | {"release": old}
    pointer.write_text(json.dumps(rolled_back))

    def verify(*, with_measurements: bool) -> list[str]:
        folder, led = follow(pointer.parent)
        trusted = two_weeks.public / "signing.pub"
        _, checks = verify_folder(
            folder, two_weeks, trusted, 0, with_measurements=with_measurements, pointer=led
        )
        return [check.detail for check in checks if check.name == "shelf"]

    assert verify(with_measurements=False) == ["latest.json says what the signed manifest says"]
    [folder] = folders_to_check(two_weeks, None)
    for check in (
        lambda: verify(with_measurements=True),
        lambda: verify_publication(two_weeks, folder, key_of(two_weeks)),
    ):
        with pytest.raises(VerificationFailed, match=rf"leads to {old}, .* that {newest}, of"):
            check()
    publish_epoch(two_weeks, small_log, LATER)
    [words] = verify(with_measurements=True)
    assert words.endswith("leads to what the ledger says is newest")


def test_a_link_in_a_releases_place_is_followed_by_nobody(two_weeks, root):
    """Not even to the very files: whoever owns those may change them while they are read."""
    folder = shelf_of(two_weeks) / latest(two_weeks)["release"]
    folder.rename(root / "elsewhere")
    folder.symlink_to(root / "elsewhere")
    with pytest.raises(VerificationFailed, match="is a link"):
        verify_publication(two_weeks, folder, key_of(two_weeks))
    (root / "typed").symlink_to(root / "elsewhere")
    verify_publication(two_weeks, root / "typed", key_of(two_weeks))


def test_after_a_withdrawal_readers_are_moved_on_under_a_new_sequence(two_weeks, small_log):
    """Whoever has kept sequence 2 accepts the older list, which is published again."""
    run = run_of(two_weeks, small_log, EARLIER)
    first = shelf_of(two_weeks) / run.release_id
    withdraw(two_weeks, run_of(two_weeks, small_log, LATER).release_id, "a test")
    pointer = latest(two_weeks)
    assert (pointer["epoch"], pointer["sequence"]) == (EARLIER, 3)
    moved = shelf_of(two_weeks) / pointer["release"]
    manifest, _ = verify_release(
        moved, key_of(two_weeks), min_sequence=2, measurements=run.folder, may_be_expired=True
    )
    assert manifest.revision == 2
    old = json.loads((first / "manifest.json").read_bytes())
    assert (manifest.created, manifest.expires) == (old["created"], old["expires"])
    assert manifest.model_dump()["files"] == old["files"], "the same list and the same label"


def test_when_everything_is_withdrawn_nothing_is_the_latest(two_weeks, small_log):
    for epoch in (EARLIER, LATER):
        withdraw(two_weeks, run_of(two_weeks, small_log, epoch).release_id, "a test")
        assert (latest(two_weeks) is None) == (epoch == LATER)


@pytest.mark.parametrize("lost", [["withdrawn.json"], ["withdrawn.json", "withdrawn.sig"]])
def test_a_lost_notice_does_not_bring_a_withdrawn_release_back(two_weeks, small_log, lost):
    """Somebody restores the public zone from before, and another week's release runs again."""
    run = run_of(two_weeks, small_log, LATER)
    folder = shelf_of(two_weeks) / run.release_id
    saved = shutil.copytree(folder, two_weeks.root / "saved")
    withdraw(two_weeks, run.release_id, "a test")
    for name in lost:
        (folder / name).unlink()
    shutil.copytree(saved, folder, dirs_exist_ok=True)
    if len(lost) == 2:
        verify_release(folder, key_of(two_weeks))  # a reader cannot know; the ledger does
    with pytest.raises(VerificationFailed, match="withdrawn"):
        verify_publication(two_weeks, folder, key_of(two_weeks))
    publish_epoch(two_weeks, small_log, EARLIER)
    assert latest(two_weeks)["epoch"] == EARLIER
    assert names_in(folder) == {"withdrawn.json", "withdrawn.sig"}


def test_a_release_of_another_version_is_found_again_as_it_was_signed(
    two_weeks, small_log, monkeypatch
):
    """Today's program words labels otherwise; what was signed then is still that release."""
    folder, public = publish_epoch(two_weeks, small_log, LATER), files_below(two_weeks.public)
    become_another_version(monkeypatch)
    assert publish_epoch(two_weeks, small_log, LATER) == folder
    assert files_below(two_weeks.public) == public
    (folder / "label.md").write_text("something else")
    with pytest.raises(LedgerCorrupt, match="somebody changed it"):
        publish_epoch(two_weeks, small_log, LATER)


def test_a_lost_release_of_another_version_becomes_a_revision(two_weeks, small_log, monkeypatch):
    """Two signed manifests of one sequence would look like fraud to readers."""
    folder = publish_epoch(two_weeks, small_log, LATER)
    become_another_version(monkeypatch)
    shutil.rmtree(folder)
    again = publish_epoch(two_weeks, small_log, LATER)
    manifest = json.loads((again / "manifest.json").read_bytes())
    assert (manifest["revision"], manifest["sequence"], manifest["code_version"]) == (2, 3, "9.9")
    assert latest(two_weeks)["release"] == again.name
    assert not folder.exists()


def test_another_version_of_the_parquet_writer_signs_no_second_manifest_of_a_sequence(
    two_weeks, small_log, monkeypatch
):
    """Its version stands in every file. What is there is good; what is lost becomes a revision."""
    folder, public = publish_epoch(two_weeks, small_log, LATER), files_below(two_weeks.public)
    footer = pq.read_metadata(folder / "trends.parquet").created_by.encode()
    write = tasks.products.files.parquet_bytes
    other = footer[:-1] + (b"7" if footer[-1:] != b"7" else b"8")
    monkeypatch.setattr(
        tasks.products.files, "parquet_bytes", lambda table: write(table).replace(footer, other)
    )
    assert publish_epoch(two_weeks, small_log, LATER) == folder
    assert files_below(two_weeks.public) == public
    (folder / "trends.parquet").write_bytes(b"something else")
    with pytest.raises(LedgerCorrupt, match=r"somebody changed it.*new revision"):
        publish_epoch(two_weeks, small_log, LATER)
    shutil.rmtree(folder)
    again = publish_epoch(two_weeks, small_log, LATER)
    manifest, _ = verify_release(again, key_of(two_weeks))
    assert (manifest.revision, manifest.sequence) == (2, 3)
    assert not folder.exists()


def test_what_our_key_signed_and_we_would_not_write_is_left_where_it_is(
    two_weeks, small_log, monkeypatch
):
    """To remove it, and publish again, would sign another manifest of its sequence."""
    folder = publish_epoch(two_weeks, small_log, LATER)
    monkeypatch.setattr(HEAD_LIST.checking, "label", lambda *_: "Rounded by another library.\n")
    with pytest.raises(LedgerCorrupt, match=r"our key signed it.*Leave the folder"):
        publish_epoch(two_weeks, small_log, LATER)
    assert folder.exists()


def become_another_version(monkeypatch) -> None:
    """Run on as a program that says everything in other words."""
    for module in (tasks.verify.manifest, tasks.publish.publication):
        monkeypatch.setattr(module, "code_version", lambda: "9.9")
    for product in PRODUCTS:
        monkeypatch.setattr(product.checking, "label", lambda *_: "In other words.\n")


def test_a_backfill_that_version_0_1_made_the_latest_is_overtaken_under_a_new_sequence():
    """Its rows do not say who was latest: all of them were, one after the other."""
    standing = Standing.among(
        rows(
            (Kind.RESERVED, "new", {"epoch": "2026-W46"}),
            (Kind.RESERVED, "old", {"epoch": "2026-W01"}),
            (Kind.PUBLISHED, "new", {"sequence": 1}),
            (Kind.PUBLISHED, "old", {"sequence": 2}),
        ),
        "search",
        "all",
    )
    assert standing.newest().release_id == "new"
    assert standing.last_latest.release_id == "old", "so `settle` publishes the newest again"


def test_a_release_that_died_on_its_way_to_the_shelf_stays_the_newest(
    two_weeks, small_log, monkeypatch
):
    """Its row is written; a replay of an older week puts it on the shelf, and moves nobody back."""
    with monkeypatch.context() as patch:
        patch.setattr(tasks.publish.publish, "put_on_shelf", lambda *_: sys.exit(9))
        with pytest.raises(SystemExit):
            publish_epoch(two_weeks, small_log, "2026-W42")
    n_rows = len(Ledger(two_weeks.ledger).entries())
    for _ in range(2):
        publish_epoch(two_weeks, small_log, EARLIER)
        assert (latest(two_weeks)["epoch"], latest(two_weeks)["sequence"]) == ("2026-W42", 3)
    assert len(Ledger(two_weeks.ledger).entries()) == n_rows, "a replay adds no revision"


def test_a_newest_release_that_cannot_be_made_again_leaves_readers_where_they_are(
    two_weeks, small_log
):
    """No older list becomes the latest because a folder and its measurements are lost."""
    folder = shelf_of(two_weeks) / latest(two_weeks)["release"]
    release = run_of(two_weeks, small_log, LATER)
    (release.folder / "head_list_draw.parquet").write_bytes(b"lost")
    before = latest(two_weeks)
    publish_epoch(two_weeks, small_log, EARLIER)
    assert latest(two_weeks) == before
    shutil.rmtree(folder)
    publish_epoch(two_weeks, small_log, EARLIER)
    assert latest(two_weeks) is None


def test_of_one_epoch_the_release_that_was_published_last_stays_the_latest():
    """A revision of the first one does not overtake the second, paid for to replace it."""
    standing = Standing.among(
        rows(
            (Kind.RESERVED, "first", {"epoch": "2026-W46"}),
            (Kind.RESERVED, "second", {"epoch": "2026-W46"}),
            (Kind.PUBLISHED, "first", {"sequence": 1, "latest": True}),
            (Kind.PUBLISHED, "second", {"sequence": 2, "latest": True}),
        ),
        "search",
        "all",
    )
    assert not standing.would_be_newest(("first", 1))
    assert standing.would_be_newest(("second", 1))


@pytest.mark.parametrize(("cap", "stated"), [("5", "epsilon 12"), ("20", "epsilon 20")])
def test_a_label_states_the_largest_cap_that_anybody_was_charged_under(
    two_weeks, small_log, cap, stated
):
    """People have spent up to 12, whatever the cap is now; and they may come to spend 20."""
    set_policy(Ledger(two_weeks.ledger), Policy.of(cap, "0.0001", None))
    release_id = run_of(two_weeks, small_log, LATER).release_id
    folder = run_reprocess(ReprocessRequest(release_id=release_id, decimals=3), two_weeks)
    label = (folder / "label.md").read_text()
    assert f"nobody's searches are used beyond ({stated}, delta" in label
    verify_publication(two_weeks, folder, key_of(two_weeks))


def test_the_weakest_policy_has_the_largest_cap_and_the_shortest_window():
    policies = [
        Policy.of(12, "1e-4", None), Policy.of(4, "1e-3", 365), Policy.of(6, 0, 30),
    ]  # fmt: skip
    assert weakest(policies).statement == Policy.of(12, "1e-3", 30).statement
    assert weakest(policies[:1]).window_days is None
