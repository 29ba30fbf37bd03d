"""A home that version 0.1.0 made still verifies, replays, goes on, and counts in the budget."""

import json
import shutil

import pytest

from tasks.budget.showing.overview import balance, runway
from tasks.ledger.ledger import Ledger
from tasks.store.home import Home
from tasks.verify.verify import VerificationFailed, verify_release
from tests.compatibility.old_homes import OldHome, unpack

HEAD_LISTS = ["published", "paper", "latest", "collected"]
PRODUCTS = ["histograms", "mean", "clusters"]
PUBLISHED = [*HEAD_LISTS, *PRODUCTS]
# One head list goes through all steps again, as one of each other kind does.
IN_ONE_STEP = HEAD_LISTS[1:]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> OldHome:
    root = unpack("0.1.0", tmp_path_factory.mktemp("old"))
    facts = json.loads((root / "facts.json").read_text())
    facts["products"] = {name: name for name in PRODUCTS}
    # What was revised is shown as it was revised.
    facts["newest"] = facts["folders"] | {"published": facts["folders"]["revised"]}
    for asked in facts["requests"].values():
        if asked.get("clients") == "reports":  # where version 0.1.0 ignored it
            asked.pop("optin_fraction")
    return OldHome(root, Home.open(root / "home"), facts)


@pytest.fixture
def old(unpacked, root) -> OldHome:
    """A copy of the home, to be changed."""
    return unpacked.copied(root / "old")


@pytest.mark.parametrize("name", [*PUBLISHED, "revised"])
def test_a_published_folder_verifies_with_its_measurements(unpacked, name):
    assert "recomputed" in unpacked.verified(unpacked.folder(name))["checks"]


def test_a_withdrawn_folder_is_still_refused(old):
    [folder] = [path.parent for path in old.home.public.glob("search/*/*/withdrawn.json")]
    with pytest.raises(VerificationFailed, match="taken down by its publisher"):
        verify_release(folder, old.key, may_be_expired=True)
    other = old.folder("latest")
    for name in ("withdrawn.json", "withdrawn.sig"):
        shutil.copy(folder / name, other / name)
    with pytest.raises(VerificationFailed, match="notice of something else"):
        verify_release(other, old.key, may_be_expired=True)


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_replay_gives_the_same_bytes_and_pays_nothing(old, name):
    old.require_replay(name, in_one_step=name in IN_ONE_STEP)


def test_a_drawn_release_is_published_from_what_was_drawn(old):
    before = old.measured()
    folder = old.run_again("drawn")
    assert (folder / "manifest.json").exists()
    after = old.measured()
    assert {name: after[name] for name in before} == before


def test_reports_on_an_old_package_are_taken(old):
    folder = old.run_again("collecting", reports="reports-collecting.jsonl")
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert manifest["guarantees"]["C"]["people"] == 60


@pytest.mark.parametrize("name", ["withheld", "withdrawn", "burnt"])
def test_what_was_refused_is_still_refused(old, name):
    old.require_refused(name)


def test_reprocessing_is_free(old):
    paid = old.payments()
    folder = old.reprocess("published", decimals=3)
    assert json.loads((folder / "manifest.json").read_bytes())["decimals"] == 3
    assert old.payments() == paid


def test_what_people_spent_still_counts(unpacked):
    home, facts = unpacked.home, unpacked.facts
    assert [runway(home).largest.epsilon, runway(home).largest.delta] == facts["largest"]
    for person, spent in facts["balances"].items():
        found = balance(home, person)
        assert [found.spent.epsilon, found.spent.delta] == spent
    assert balance(home, "7").is_stopped
    assert balance(home, "8").is_stopped
    head = Ledger(home.ledger).verify()
    assert facts["head"] in {entry.hash for entry in Ledger(home.ledger).entries()}
    assert head.seq >= len(unpacked.payments())
