"""What was taken down is gone from the public zone, and says so."""

import hashlib
import json
import shutil
import threading
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tasks.publish.publish
from flows.cli.products import show
from tasks.ledger.chain import canonical, row_hash
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.plan.prior import from_published
from tasks.products.head_list import artifacts
from tasks.products.head_list.measuring.collection import build_package, write_package
from tasks.publish.publish import _remove_packages, publish, withhold
from tasks.publish.shelf import folders_to_check, look_up, newest_folder, published_heads
from tasks.publish.standing import Standing
from tasks.publish.takedown import notice_of
from tasks.publish.withdraw import cost_of_withdrawal, withdraw
from tasks.release.refusals import BudgetRefused
from tasks.release.reprocess import ReprocessRequest, find, run_reprocess
from tasks.release.walk import run_release
from tasks.store.doctor import examine
from tasks.store.home import Home, whole_directory
from tasks.store.keys import Keyring
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
from tests.release.support import QUERIES, files_below

pytestmark = pytest.mark.usefixtures("gates_waived")
NOTICE = {"withdrawn.json", "withdrawn.sig"}


def named_in_public(home: Home) -> set[str]:
    """Return the queries that some public file names, by whatever door."""
    files = files_below(home.public)
    return {q for q in QUERIES if any(q.encode() in data for data in files.values())}


@pytest.fixture
def newest(two_weeks, small_log):
    """The run of the newest release."""
    return run_of(two_weeks, small_log, LATER)


@pytest.fixture
def blocklist(two_weeks):
    """A blocklist with one of the published queries."""
    path = two_weeks.root / "blocked.txt"
    path.write_text("weather\n")
    return path


def test_page_of_a_reprocessing_shows_nothing_that_it_blocks(two_weeks, newest, blocklist):
    """Estimates are shown before the revision, which is when the ledger knows what is blocked."""
    frame = pl.DataFrame({"query": ["google", "weather", None]})
    request = ReprocessRequest(release_id=newest.release_id, blocklist=blocklist)
    shown = artifacts._unblocked(find(request, two_weeks), frame)
    assert shown["query"].to_list() == ["google", None]


def test_simulated_clients_leave_no_package(two_weeks):
    assert not (two_weeks.public / "collections").exists()


def test_packages_that_earlier_versions_published_go_with_the_next_change(
    two_weeks, small_log, newest
):
    package = write_package(newest, build_package(newest))
    assert b"weather" in (package / "package.json").read_bytes()
    publish_epoch(two_weeks, small_log, EARLIER)
    assert not package.exists()


def test_a_withheld_release_names_nothing_in_public(two_weeks, small_log):
    run = run_of(two_weeks, small_log, "2026-W42", product="withheld")
    run_release(run, before="publish")
    package = write_package(run, build_package(run))
    assert package.exists()
    withhold(run, "a test")
    assert not package.exists()
    assert not (two_weeks.public / "withheld").exists()


@pytest.mark.parametrize("ending", [Kind.WITHHELD, Kind.WITHDRAWN])
def test_the_package_of_real_devices_goes_with_its_release(two_weeks, ending):
    folder = two_weeks.collection("r")
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("weather")
    reserved = {"epoch": "2026-W46", "parameters": {"clients": "reports"}}
    began = [(Kind.RESERVED, "r", reserved), (Kind.PUBLISHED, "r", {"sequence": 1})]
    _remove_packages(two_weeks, Standing.among(rows(*began), "search", "all"))
    assert names_in(folder) == {"package.json"}, "devices still need it"
    ended = [*began, (ending, "r", {"reason": "weather"} if ending is Kind.WITHHELD else
              {"reason": "a test", "at": "2026-11-17"})]  # fmt: skip
    _remove_packages(two_weeks, Standing.among(rows(*ended), "search", "all"))
    assert names_in(folder) == NOTICE
    assert b"weather" not in (folder / "withdrawn.json").read_bytes()


def test_a_withdrawn_release_leaves_a_signed_notice_and_nothing_else(two_weeks, newest):
    folder = shelf_of(two_weeks) / newest.release_id
    assert "removes every file of" in cost_of_withdrawal(two_weeks, newest.release_id)
    assert withdraw(two_weeks, newest.release_id, "a court order") == [folder]
    assert names_in(folder) == NOTICE
    with pytest.raises(VerificationFailed, match=r"withdrawn.*a court order"):
        verify_release(folder, key_of(two_weeks))
    with pytest.raises(VerificationFailed, match="withdrawn"):
        verify_publication(two_weeks, folder, key_of(two_weeks))
    with pytest.raises(BadInput, match="a court order"):
        look_up(newest_folder(folder), "w", 10)
    with pytest.raises(BadInput, match="a court order"):
        from_published(folder)
    assert folders_to_check(two_weeks, newest.release_id) == [folder]
    assert withdraw(two_weeks, newest.release_id, "again") == [folder]
    assert [e.kind for e in Ledger(two_weeks.ledger).entries()].count(Kind.WITHDRAWN) == 1


@pytest.mark.parametrize("name", sorted(NOTICE))
def test_a_notice_that_the_key_did_not_sign_is_damage_and_still_a_refusal(two_weeks, newest, name):
    [folder] = withdraw(two_weeks, newest.release_id, "a test")
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(VerificationFailed, match=r"withdrawn.*not what the key signed"):
        verify_release(folder, key_of(two_weeks))
    (folder / name).unlink()
    with pytest.raises(VerificationFailed, match=r"withdrawn.*not what the key signed"):
        verify_release(folder, key_of(two_weeks))


def test_anybody_can_see_a_forged_notice_on_a_release_that_stands(two_weeks, newest):
    folder = shelf_of(two_weeks) / newest.release_id
    (folder / "withdrawn.json").write_text("{}")
    with pytest.raises(VerificationFailed, match="somebody put it there"):
        verify_release(folder, key_of(two_weeks))


def test_a_genuine_notice_of_something_else_is_not_believed(two_weeks, newest):
    """Neither that of another week, nor of another revision, nor of the release's package."""
    [buried] = withdraw(two_weeks, newest.release_id, "a test")
    good = shelf_of(two_weeks) / latest(two_weeks)["release"]
    row = newest.ledger.entries()[-1]
    about = json.loads((good / "manifest.json").read_bytes())
    facts = {n: about[n] for n in ("product", "locale", "epoch", "release_id", "attempt")}
    others = [
        (buried / "withdrawn.json").read_bytes(),
        notice_of(row, facts),  # a package's
        notice_of(row, facts | {"sequence": about["sequence"] - 2}),
    ]
    for notice in others:
        put_notice(two_weeks, good, notice)
        with pytest.raises(VerificationFailed, match="notice of something else"):
            verify_release(good, key_of(two_weeks))
    put_notice(two_weeks, good, notice_of(row, facts | {"sequence": about["sequence"]}))
    with pytest.raises(VerificationFailed, match="taken down by its publisher"):
        verify_release(good, key_of(two_weeks))
    # Whoever has the key, and not the ledger.
    with pytest.raises(VerificationFailed, match="its ledger does not say that the release was"):
        verify_publication(two_weeks, good, key_of(two_weeks))
    with pytest.raises(VerificationFailed, match="taken down by its publisher"):
        verify_publication(two_weeks, buried, key_of(two_weeks))
    renamed = buried.rename(buried.with_name("renamed"))
    with pytest.raises(VerificationFailed, match="notice of something else"):
        verify_release(renamed, key_of(two_weeks))


def put_notice(home: Home, folder: Path, notice: bytes) -> None:
    """Put a notice that the key signed into a folder, beside its files."""
    signature = Keyring.open(home).signing.sign(b"hybriddp withdrawal v1\n" + notice)
    (folder / "withdrawn.json").write_bytes(notice)
    (folder / "withdrawn.sig").write_bytes(signature)


def test_a_takedown_by_blocklist_leaves_the_query_nowhere_in_public(two_weeks, newest, blocklist):
    """Not in the revisions before, nor in their manifests, nor in the package."""
    release_id, first = newest.release_id, shelf_of(two_weeks) / newest.release_id
    second = run_reprocess(ReprocessRequest(release_id=release_id, decimals=5), two_weeks)
    shutil.rmtree(shelf_of(two_weeks) / run_of_other(two_weeks, release_id))
    third = run_reprocess(ReprocessRequest(release_id=release_id, blocklist=blocklist), two_weeks)
    assert named_in_public(two_weeks) == set(QUERIES) - {"weather"}
    assert names_in(first) == names_in(second) == NOTICE
    assert json.loads((first / "withdrawn.json").read_bytes())["replaced_by"] == third.name
    assert latest(two_weeks)["release"] == third.name
    verify_publication(two_weeks, third, key_of(two_weeks))
    lifted = two_weeks.root / "empty.txt"
    lifted.write_text("")
    fourth = run_reprocess(ReprocessRequest(release_id=release_id, blocklist=lifted), two_weeks)
    verify_publication(two_weeks, third, key_of(two_weeks))
    assert names_in(first) == NOTICE, "what was taken down is not put back"
    assert b"weather" not in (fourth / "trends.jsonl").read_bytes(), "what was blocked stays so"


def test_whoever_blocks_is_told_that_it_is_for_good(two_weeks, newest, blocklist, capsys):
    """Not which texts: what a terminal shows may be copied."""
    show(shelf_of(two_weeks) / newest.release_id, 8)
    assert "blocklist" not in capsys.readouterr().out
    request = ReprocessRequest(release_id=newest.release_id, blocklist=blocklist)
    show(run_reprocess(request, two_weeks), 8)
    shown = " ".join(capsys.readouterr().out.split())
    assert "Left out by a blocklist: 1. That is for good: no revision of this release" in shown
    assert "weather" not in shown


def run_of_other(home: Home, release_id: str) -> str:
    """Return the folder of the release that is not this one."""
    [other] = {p.name for p in shelf_of(home).iterdir() if p.is_dir()} - {
        release_id,
        f"{release_id}.r2",
    }
    return other


def test_a_ledger_that_forgot_a_withdrawal_is_refused(two_weeks, newest):
    """Nothing but the notice may be left that knows of the row."""
    backup = two_weeks.ledger.read_bytes()
    [folder] = withdraw(two_weeks, newest.release_id, "a test")
    shutil.rmtree(shelf_of(two_weeks) / latest(two_weeks)["release"])
    for leftover in two_weeks.private.glob("ledger.sqlite-*"):
        leftover.unlink()
    two_weeks.ledger.write_bytes(backup)
    assert folder.exists()
    with pytest.raises(LedgerCorrupt, match="lacks the published head"):
        Ledger(two_weeks.ledger).verify(published_heads(two_weeks))


def test_a_release_that_is_withdrawn_while_it_is_revised_stays_withdrawn(
    two_weeks, newest, monkeypatch
):
    """The revision has its row and not yet its folder when somebody withdraws the release."""
    at_the_lock, locked = threading.Event(), Home.locked
    withdrawing = threading.Thread(target=withdraw, args=(two_weeks, newest.release_id, "a test"))
    put_on_shelf = tasks.publish.publish.put_on_shelf

    def announced(home: Home, name: str):
        if threading.current_thread() is withdrawing:
            at_the_lock.set()
        return locked(home, name)

    def beside_a_withdrawal(*args):
        if not withdrawing.ident:
            withdrawing.start()
            assert at_the_lock.wait(60)
            if not is_locked(two_weeks):  # then nothing holds the withdrawal up
                withdrawing.join(60)
        return put_on_shelf(*args)

    monkeypatch.setattr(Home, "locked", announced)
    monkeypatch.setattr(tasks.publish.publish, "put_on_shelf", beside_a_withdrawal)
    request = ReprocessRequest(release_id=newest.release_id, decimals=3)
    run_reprocess(request, two_weeks)
    withdrawing.join(60)
    monkeypatch.undo()
    for name in (newest.release_id, f"{newest.release_id}.r2"):
        assert names_in(shelf_of(two_weeks) / name) == NOTICE
    assert latest(two_weeks)["epoch"] == EARLIER
    with pytest.raises(BudgetRefused, match="was withdrawn"):
        run_reprocess(request, two_weeks)


def test_a_replay_that_began_before_a_withdrawal_publishes_nothing(two_weeks, newest):
    """It was identified when the release still stood, and somebody removed the folder since."""
    [folder] = withdraw(two_weeks, newest.release_id, "a test")
    shutil.rmtree(folder)
    with pytest.raises(BudgetRefused, match="was withdrawn"):
        publish(newest, newest.request.settings)
    assert not folder.exists()
    assert latest(two_weeks)["epoch"] == EARLIER
    withdraw(two_weeks, newest.release_id, "again")
    assert names_in(folder) == NOTICE


def is_locked(home: Home) -> bool:
    """Whether somebody is changing the shelf."""
    import fcntl

    with (home.private / "shelf.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def test_a_guessed_blocked_text_cannot_be_tested_against_the_public_hash(newest, blocklist):
    """A row's hash is in its manifest, and all else of the row can be known or guessed."""
    run_reprocess(ReprocessRequest(release_id=newest.release_id, blocklist=blocklist), newest.home)
    row = newest.ledger.entries()[-1]
    assert (row.kind, row.payload.blocked) == (Kind.REVISED, ["weather"])
    guess = {name: fact for name, fact in row.payload.as_json().items() if name != "salt"}
    known = (row.seq, row.at, str(row.kind), row.release_id, row.attempt, row.draw)
    assert row_hash((*known, canonical(row.payload.as_json()), row.previous)) == row.hash
    assert row_hash((*known, canonical(guess), row.previous)) != row.hash
    assert len(row.payload.salt) == 32
    for name, data in files_below(newest.home.public).items():
        assert row.payload.salt.encode() not in data, name


def test_what_a_killed_publication_left_is_closed_and_goes_with_the_next_change(newest):
    """It has all files of the release, but not yet its name."""
    shelf = shelf_of(newest.home)
    with whole_directory(shelf / "finished") as partial:
        (partial / "head_list.jsonl").write_text("weather")
        assert partial.stat().st_mode & 0o777 == 0o700
        shutil.copytree(partial, shelf / f".{newest.release_id}.0123.partial")
    shutil.rmtree(shelf / "finished")
    assert "weather" in named_in_public(newest.home)
    withdraw(newest.home, newest.release_id, "a test")
    assert not list(shelf.glob(".*.partial"))
    assert [f.name for f in examine(newest.home) if f.name == "public zone" and not f.is_well] == []


def test_a_blocked_text_cannot_be_tested_against_a_measurements_hash(newest):
    """Hashes of measurements stand in the manifest; all but a blocked row of one may be known."""
    path = newest.folder / "head_list_draw.parquet"
    table = pq.read_table(path)
    assert len(table.schema.metadata[b"salt"]) == 64
    sink = pa.BufferOutputStream()
    pq.write_table(table.replace_schema_metadata(None), sink)
    digest = newest.state.find(Kind.DRAWN, "S").payload.sha256
    assert hashlib.sha256(path.read_bytes()).hexdigest() == digest
    assert hashlib.sha256(bytes(sink.getvalue())).hexdigest() != digest
