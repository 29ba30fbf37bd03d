"""Beside a ledger: whoever has the key signs nothing that was not reserved, charged and drawn."""

import shutil
from functools import reduce
from operator import getitem
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest

from tasks.products.head_list import product
from tasks.publish.pointer import folder_name
from tasks.publish.publish import publish
from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import ask_own_ledger, own_measurements, verify_release
from tests.publish.checking.spoiling import Publisher

OTHER_DIGEST = "0" * 64


@pytest.mark.parametrize(
    ("where", "to"),
    [
        ("epoch", "2026-W47"),
        ("sequence", 7),
        ("previous", "0" * 32),
        ("created", "2026-11-16T00:00:00+00:00"),
        ("expires", "2099-01-01T00:00:00+00:00"),
        ("code_version", "0.1.0"),
        ("ledger.hash", OTHER_DIGEST),
        ("measurements.S", OTHER_DIGEST),
        ("parameters.clients", "reports"),
        ("parameters.epsilon", "3"),
        ("cap.cap_epsilon_nano", 10**15),
        ("guarantees.S.people", 10**6),
        ("guarantees.S.epsilon_nano", 1),
        ("guarantees.C.delta_atto", 1),
        ("decimals", 2),
    ],
)
def test_a_signed_manifest_says_what_the_ledger_says(run, folder, where, to):
    publisher = Publisher(run, folder)
    own_measurements(run.home, folder, public_key(run))
    *path, last = where.split(".")
    part = reduce(getitem, path, publisher.manifest)
    assert part[last] != to
    part[last] = to
    publisher.sign()
    words = f"ledger says something else of {where.partition('.')[0]} "
    with pytest.raises(VerificationFailed, match=words):
        own_measurements(run.home, folder, public_key(run))


@pytest.mark.parametrize(("name", "to"), [("release_id", "0" * 32), ("revision", 2)])
def test_a_signed_release_that_the_ledger_does_not_know_is_refused(run, folder, name, to):
    publisher = Publisher(run, folder)
    publisher.manifest[name] = to
    publisher.sign()
    said = publisher.manifest
    # In its own place, or that is refused first.
    own = folder.rename(folder.with_name(folder_name(said["release_id"], 1, said["revision"])))
    with pytest.raises(VerificationFailed, match="its ledger does not know it"):
        own_measurements(run.home, own, public_key(run))


@pytest.mark.parametrize(
    "forge",
    [
        lambda publisher: publisher.write("label.md", b"# Nobody's data was used.\n"),
        lambda publisher: publisher.manifest["guarantees"]["S"].update(trusts="nobody"),
        lambda publisher: publisher.manifest.update(interval_method="exact"),
        lambda publisher: publisher.manifest.update(second_guarantee=None),
        lambda publisher: publisher.manifest.update(blocked_queries=1),
    ],
    ids=["label", "words", "intervals", "second guarantee", "blocked"],
)
def test_every_word_is_on_record_whichever_version_it_is_of(run, folder, forge):
    """A later version does not compare words; the row has the digest of all of them."""
    [check] = ask_own_ledger(run.home, folder, public_key(run)).checks
    assert check.detail.endswith("what was reserved, charged, drawn and published")
    publisher = Publisher(run, folder)
    forge(publisher)
    publisher.sign()
    with pytest.raises(VerificationFailed, match="something else of files, label or words than"):
        own_measurements(run.home, folder, public_key(run))


@pytest.mark.parametrize(
    ("name", "to", "words"),
    [
        ("second_guarantee", None, "not the one that is proved"),
        ("interval_method", "exact", "not of the kind"),
    ],
)
def test_without_a_ledger_our_own_words_are_made_again(run, folder, name, to, words):
    publisher = Publisher(run, folder)
    publisher.manifest[name] = to
    publisher.sign(trends=pq.read_table(folder / "trends.parquet"))
    with pytest.raises(VerificationFailed, match=words):
        verify_release(folder, public_key(run), measurements=run.folder)


def test_a_publication_that_cannot_be_made_again_as_its_row_says_becomes_a_revision(
    run, folder, monkeypatch
):
    """Another machine may round otherwise: there are no two manifests of one sequence."""
    shutil.rmtree(folder)
    method = "as another machine says"
    monkeypatch.setattr(product, "strategy_for", lambda _: SimpleNamespace(INTERVAL_METHOD=method))
    publish(run, run.request.settings)
    assert not folder.exists()
    assert (folder.parent / f"{folder.name}.r2").exists()


def public_key(run) -> bytes:
    return bytes.fromhex((run.home.public / "signing.pub").read_text())
