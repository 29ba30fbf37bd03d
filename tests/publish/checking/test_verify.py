"""Verification fails on any changed byte, a wrong key, an old sequence and a missing file."""

import hashlib
import json
import shutil
from datetime import datetime, timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.products.head_list.label import second_guarantee
from tasks.products.head_list.run import params_of
from tasks.publish.withdraw import withdraw
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.store.keys import Keyring
from tasks.verify.checks import VerificationFailed
from tasks.verify.manifest import manifest_bytes, signed_bytes
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.homes import new_home
from tests.imports import require_light_verification
from tests.publish.checking.spoiling import Publisher, require_every_change_to_be_seen

FILES = [
    "head_list.parquet", "head_list.jsonl", "trends.parquet", "trends.jsonl", "label.md",
    "manifest.json", "manifest.sig",
]  # fmt: skip


@pytest.fixture
def key(run) -> bytes:
    return read_public_key(run.home.public / "signing.pub")


def test_published_release_is_what_the_measurements_give(run, folder, key):
    manifest, checks = verify_release(folder, key, measurements=run.folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(FILES)
    assert [check.name for check in checks][-1] == "recomputed"
    assert manifest.sequence == 1
    rows = [json.loads(line) for line in (folder / "head_list.jsonl").read_text().splitlines()]
    assert {row["query"] for row in rows} == {"google", "weather"}
    masses = manifest.masses
    total = sum(row["probability"] for row in rows)
    total += sum(masses.query_wildcards.values()) + masses.other_records
    assert total == pytest.approx(1, abs=1e-5)


def test_verifying_imports_nothing_that_takes_long(run, folder):
    require_light_verification(run.home, folder)


@pytest.mark.parametrize("name", FILES)
def test_no_byte_can_be_changed(folder, key, name):
    require_every_change_to_be_seen(folder / name, key)


@pytest.mark.parametrize("name", FILES)
def test_no_file_can_be_missing(folder, key, name):
    (folder / name).unlink()
    with pytest.raises(VerificationFailed, match=r"missing"):
        verify_release(folder, key)


def test_no_file_can_be_added(folder, key):
    (folder / "extra.txt").write_text("hello")
    with pytest.raises(VerificationFailed, match=r"does not list: extra\.txt"):
        verify_release(folder, key)


def test_wrong_key_is_refused(folder):
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(VerificationFailed, match="signature"):
        verify_release(folder, other)


def test_old_sequence_and_expiry_are_refused(folder, key):
    verify_release(folder, key, min_sequence=1)
    with pytest.raises(VerificationFailed, match="sequence 1, below 2"):
        verify_release(folder, key, min_sequence=2)
    expires = datetime.fromisoformat(verify_release(folder, key)[0].expires)
    verify_release(folder, key, now=expires - timedelta(seconds=1))
    with pytest.raises(VerificationFailed, match="expired"):
        verify_release(folder, key, now=expires)


def test_publisher_who_signs_another_list_is_caught_by_the_measurements(run, folder, key):
    """Somebody with the signing key changes a probability, and every hash with it."""
    data = (folder / "head_list.jsonl").read_bytes()
    rows = [json.loads(line) for line in data.splitlines()]
    old = f'"probability":{rows[0]["probability"]:.6f}'.encode()
    new = f'"probability":{rows[0]["probability"] + 1e-6:.6f}'.encode()
    sign_again(run, folder, {"head_list.jsonl": data.replace(old, new, 1)})
    with pytest.raises(VerificationFailed, match="do not say the same"):
        verify_release(folder, key)


def test_mass_that_was_moved_is_caught_by_the_measurements(run, folder, key):
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["masses"]["other_records"] += 0.1
    sign_again(run, folder, {}, manifest)
    verify_release(folder, key)
    with pytest.raises(VerificationFailed, match="masses"):
        verify_release(folder, key, measurements=run.folder)


@pytest.mark.parametrize(("name", "cap"), [("cap_epsilon_nano", 1), ("cap_delta_atto", 0)])
def test_a_cap_below_what_a_person_pays_is_refused(run, folder, key, name, cap):
    publisher = Publisher(run, folder)
    paid = publisher.manifest["guarantees"]["S"][name.removeprefix("cap_")]
    for least, words in ((paid, None), (paid - 1, "cap is below"), (cap, "cap is below")):
        publisher.manifest["cap"][name] = least
        publisher.sign(trends=publisher.table("trends", publisher.rows("trends")))
        if words is None:
            verify_release(folder, key, measurements=run.folder)
            continue
        with pytest.raises(VerificationFailed, match=words):
            verify_release(folder, key)


def test_clients_who_did_not_report_are_not_counted(run, folder, key):
    publisher = Publisher(run, folder)
    people = publisher.manifest["guarantees"]["C"]["people"] = run.group_size("C") + 1
    publisher.manifest["second_guarantee"] = second_guarantee(params_of(run), people)
    publisher.sign(trends=publisher.table("trends", publisher.rows("trends")))
    verify_release(folder, key)
    with pytest.raises(VerificationFailed, match="other clients than have reported"):
        verify_release(folder, key, measurements=run.folder)


def sign_again(run, folder, files, manifest=None):
    manifest = manifest or json.loads((folder / "manifest.json").read_bytes())
    for name, data in files.items():
        (folder / name).write_bytes(data)
        facts = {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["files"][name] = facts
    data = manifest_bytes(manifest)
    (folder / "manifest.json").write_bytes(data)
    signature = Keyring.open(run.home).signing.sign(signed_bytes(data))
    (folder / "manifest.sig").write_bytes(signature)


def test_other_measurements_are_refused(run, folder, key):
    path = run.folder / "optin_histogram.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(VerificationFailed, match="not the measurement"):
        verify_release(folder, key, measurements=run.folder)


def test_withdrawn_release_is_refused_and_nobody_is_pointed_to_it(run, folder, key):
    withdraw(run.home, run.release_id, "a test")
    with pytest.raises(VerificationFailed, match="withdrawn"):
        verify_release(folder, key)
    assert not (folder.parent / "latest.json").exists()
    assert withdraw(run.home, run.release_id, "again") == [folder]


def test_reprocessing_with_the_same_settings_is_the_same_release(run, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    again = run_reprocess(ReprocessRequest(release_id=run.release_id), run.home)
    assert again == folder
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_reprocessing_that_differs_is_a_new_revision(run, folder, key):
    blocklist = run.home.root / "blocked.txt"
    blocklist.write_text(" GOOGLE \n\n")
    request = ReprocessRequest(release_id=run.release_id, decimals=4, blocklist=blocklist)
    revised = run_reprocess(request, run.home)
    assert revised.name == f"{run.release_id}.r2"
    manifest, _ = verify_release(revised, key, measurements=run.folder, min_sequence=2)
    assert (manifest.revision, manifest.sequence, manifest.previous) == (2, 2, folder.name)
    assert manifest.blocked_queries == 1
    assert b"google" not in (revised / "head_list.jsonl").read_bytes()
    assert json.loads((folder.parent / "latest.json").read_bytes())["release"] == revised.name
    with pytest.raises(VerificationFailed, match="withdrawn"):  # the first one names it
        verify_release(folder, key)


def test_blocked_queries_stay_blocked_whatever_later_lists_forget(run):
    blocklist, lifted = run.home.root / "blocked.txt", run.home.root / "empty.txt"
    blocklist.write_text("google\n")
    lifted.write_text("")

    def published(**changed) -> bytes:
        request = ReprocessRequest(release_id=run.release_id, **changed)
        return (run_reprocess(request, run.home) / "head_list.jsonl").read_bytes()

    assert b"google" not in published(blocklist=blocklist)
    assert b"google" not in published(decimals=5)
    assert b"google" not in published(blocklist=lifted)


def test_consumer_needs_nothing_but_the_folder_and_the_key(run, folder, key, tmp_path):
    moved = tmp_path / "elsewhere"
    shutil.move(folder, moved)
    new_home(tmp_path / "empty")
    verify_release(moved, key)
