"""Homes that version 0.2.0 made say the same to later code, byte for byte, and count the same.

`make_home_0_2_0.py` says what is in them; `facts.json` of the archive says what was known of them,
and what 0.2.0 itself would have published from measurements that nobody had published yet.
"""

import json
import shutil
from collections.abc import Callable

import pytest

from hybriddp.device.package import read_package
from hybriddp.device.reporting import Device, ReportRefused
from tasks.budget.reserve import void_reservation
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.store.home import Home
from tasks.verify.signatures import is_signed
from tasks.verify.verify import (
    VerificationFailed,
    ask_own_ledger,
    known_release,
    verify_release,
)
from tests.compatibility.old_homes import OldHome, remembered, require_same, unpack
from tests.publish.checking.spoiling import Publisher

# What was published, in all its forms.
SIMULATED = [
    *("published", "retried", "paper", "two_stage", "blocked", "blocked_later", "rotated"),
    *("latest", "histograms", "words", "mean_by", "mean", "one_number", "bits", "window"),
    "clusters",
]
PUBLISHED = [
    *(("simulated", name) for name in SIMULATED),
    *(("devices", name) for name in ("collected", "collected_paper")),
]
# These go through all steps again; head lists do where they are drawn, and take a second.
IN_ALL_STEPS = ["histograms", "mean_by", "clusters"]
DRAWN = ["drawn", "drawn_histograms", "drawn_mean", "drawn_clusters"]
REVISED = ["published", "paper", "histograms", "mean_by", "one_number", "clusters"]
HELD = [("maps", "http://maps.com")]  # not what the devices held when they reported


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory) -> dict[str, OldHome]:
    """Both homes, only to be looked at."""
    root = unpack("0.2.0", tmp_path_factory.mktemp("old"))
    facts = json.loads((root / "facts.json").read_text())
    return {name: OldHome(root, Home.open(root / name), facts[name]) for name in facts}


@pytest.fixture(scope="module")
def replayed(unpacked, fast_folder) -> dict[str, OldHome]:
    """Copies of both, for what puts everything back as it was."""
    return {name: old.copied(fast_folder / "replayed" / name) for name, old in unpacked.items()}


@pytest.fixture
def copy_of(unpacked, root) -> Callable[[str], OldHome]:
    """Copies a home, to be changed."""
    return lambda name: unpacked[name].copied(root / name)


def test_every_release_of_the_archive_is_tested_here(unpacked):
    known = {home: old.facts for home, old in unpacked.items()}
    assert set(PUBLISHED) == {(home, name) for home in known for name in known[home]["newest"]}
    assert set(DRAWN) == set(known["simulated"]["drawn"])
    assert set(REVISED) == set(known["simulated"]["reprocessed"])


@pytest.mark.parametrize(("home", "name"), [*PUBLISHED, ("simulated", "revised")])
def test_a_published_folder_verifies_in_the_same_words(unpacked, home, name):
    unpacked[home].require_verified(name)
    unpacked[home].require_verified(name, by_the_key_alone=True)


@pytest.mark.parametrize("name", ["words", "blocked"])
@pytest.mark.parametrize(
    ("are_shown", "words"),
    [(True, "shows a text that the ledger says is left out"), (False, "missing .*beyond those")],
    ids=["a blocked text is shown", "another is hidden"],
)
def test_nothing_is_hidden_but_what_its_row_says(copy_of, name, are_shown, words):
    """Rows of then have no digest of what was published, and say which texts were blocked."""
    made = copy_of("simulated")
    run, folder = made.find(name), made.folder(name)
    row = run.state.find(Kind.PUBLISHED)
    shown = run.product.make(run, row.payload.settings, frozenset(), row.payload.schema_version)
    listed = [row for table in shown.tables.values() for row in table.to_pylist()]
    texts = {row.get("query") or row.get("keyword") for row in listed}
    blocked = frozenset(row.payload.blocked)
    hidden = frozenset() if are_shown else blocked | {min(texts - blocked)}
    again = run.product.make(run, row.payload.settings, hidden, row.payload.schema_version)
    publisher = Publisher(run, folder)
    [check] = ask_own_ledger(made.home, folder, made.key).checks
    assert "label and words were not checked" in check.detail
    publisher.manifest |= {n: again.facts[n] for n in publisher.manifest if n in again.facts}
    publisher.sign(**again.tables)
    verify_release(folder, made.key, measurements=run.folder, may_be_expired=True)
    with pytest.raises(VerificationFailed, match=words):
        known_release(made.home, folder, made.key)


@pytest.mark.parametrize("name", ["withdrawn", "blocked_later"])
def test_what_was_taken_down_is_still_refused(unpacked, name):
    old = unpacked["simulated"]
    folder = old.home.root / old.facts["taken_down"][name]
    with pytest.raises(VerificationFailed, match="it was taken down by its publisher"):
        verify_release(folder, old.key, may_be_expired=True)


@pytest.mark.parametrize(("home", "name"), PUBLISHED)
def test_a_replay_gives_the_same_bytes_and_pays_nothing(replayed, home, name):
    replayed[home].require_replay(name, in_one_step=name not in IN_ALL_STEPS)


@pytest.mark.parametrize("name", DRAWN)
def test_a_drawn_release_is_published_as_it_would_have_been(copy_of, name):
    made = copy_of("simulated")
    paid, measured = made.payments(), made.measured()
    made.require_publication(made.run_again(name), made.facts["drawn"][name])
    assert made.payments() == paid
    assert made.measured() == measured


def test_reports_on_an_old_package_give_what_they_would_have_given(copy_of):
    made = copy_of("devices")
    folder = made.run_again("collecting", reports="reports-collecting.jsonl")
    made.require_publication(folder, made.facts["collecting"])


@pytest.mark.parametrize("name", REVISED)
def test_reprocessing_gives_what_it_would_have_given_and_is_free(copy_of, name):
    made = copy_of("simulated")
    paid, wanted = made.payments(), made.facts["reprocessed"][name]
    made.require_publication(made.reprocess(name, **wanted["settings"]), wanted["gives"])
    assert made.payments() == paid
    chain = Ledger(made.home.ledger)
    assert chain.verify().hash != made.facts["head"]
    assert made.facts["head"] in {entry.hash for entry in chain.entries()}


def test_what_was_half_drawn_goes_on_to_its_end(copy_of):
    made = copy_of("simulated")
    paid, measured = made.payments(), made.measured()
    folder = made.run_again("half_drawn")
    assert "recomputed" in made.verified(folder)["checks"]
    # The draws from T and from the clients, and no charge.
    assert (made.payments()[: len(paid)], len(made.payments())) == (paid, len(paid) + 4)
    assert measured.items() <= made.measured().items()


def test_a_reservation_can_still_be_given_back(copy_of):
    made = copy_of("simulated")
    reserved = made.find("reserved")
    void_reservation(made.home, reserved.release_id)
    runways = [made.facts["ledger_show"]["runway"], made.printed("ledger", "show")["runway"]]
    before, after = (runway["largest"]["epsilon"] for runway in runways)
    assert after == before - reserved.request.epsilon


@pytest.mark.parametrize("name", ["withheld", "withdrawn", "burnt"])
def test_what_was_refused_is_still_refused(replayed, name):
    replayed["simulated"].require_refused(name)


@pytest.mark.parametrize("home", ["simulated", "devices"])
def test_what_people_spent_still_counts(unpacked, home):
    old = unpacked[home]
    require_same(old.printed("ledger", "show"), old.facts["ledger_show"])
    require_same(old.printed("ledger", "verify"), old.facts["ledger_verify"])
    for person, known in old.facts["balances"].items():
        require_same(old.printed("ledger", "balance", person), known)


def test_packages_are_still_what_was_signed(unpacked, root):
    old = unpacked["devices"]
    for number, place in enumerate(old.facts["packages"].values()):
        folder = old.home.root / place
        package = read_package(folder, old.key, is_signed)
        assert package.to_bytes() == (folder / "package.json").read_bytes()
        line = Device(root / f"new-{number}", old.key).report(folder, HELD)
        assert json.loads(line)["release_id"] == package.release_id


def test_devices_remember_what_they_did(unpacked):
    old = unpacked["devices"]
    for name, known in old.facts["devices"].items():
        require_same(remembered(old.root / "accounts" / name, old.key), known)


def test_devices_report_once_or_stay_silent(unpacked, root):
    made = unpacked["devices"]
    shutil.copytree(made.root / "accounts", root / "accounts")
    package = {name: made.home.root / place for name, place in made.facts["packages"].items()}

    def report(name: str, release: str) -> str:
        device = Device(root / "accounts" / name, made.key)
        return device.report(package[release], HELD).decode()

    for name in ("reported", "both"):
        sent = made.facts["devices"][name]["sent"]
        assert report(name, "collecting") == sent[package["collecting"].name]
        with pytest.raises(ReportRefused, match="a device reports on one package"):
            report(name, "collecting_again")
    with pytest.raises(ReportRefused, match="lost in a crash"):
        report("lost", "collecting")
    with pytest.raises(ReportRefused, match="stays silent"):
        report("opted_in", "collecting")
    with pytest.raises(ReportRefused, match="was opted in until 2026-11-10"):
        report("opted_out", "collecting")
