"""Verification of histograms: of every byte, and of what a publisher with the key could change."""

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.products.histograms.estimation.tables import describe
from tasks.products.histograms.parameters import ZealousParameters
from tasks.verify.checks import VerificationFailed
from tasks.verify.reading import described
from tasks.verify.verify import verify_publication, verify_release
from tests.groups import FILES
from tests.imports import require_light_verification
from tests.publish.checking.hostile import campaign
from tests.publish.checking.spoiling import Publisher, require_every_change_to_be_seen

PUBLIC = [
    *(f"{kind}.{form}" for kind in ITEM_KINDS for form in ("parquet", "jsonl")),
    "label.md", "manifest.json", "manifest.sig",
]  # fmt: skip


def test_an_honest_release_passes_with_and_without_its_measurements(run, folder, key):
    manifest, checks = verify_release(folder, key, measurements=run.folder)
    assert [check.name for check in checks][-1] == "recomputed"
    assert manifest.parameters.relaxation == "probabilistic"
    assert "recomputed" not in [check.name for check in verify_release(folder, key)[1]]
    beside = verify_publication(run.home, folder, key)
    assert [check for check in beside if check.name != "ledger"] == checks


def test_verifying_imports_nothing_that_takes_long(run, folder):
    require_light_verification(run.home, folder)


@pytest.mark.parametrize("name", PUBLIC)
def test_no_byte_can_be_changed_and_no_file_can_be_missing(folder, key, name):
    require_every_change_to_be_seen(folder / name, key)
    (folder / name).unlink()
    with pytest.raises(VerificationFailed, match=r"missing"):
        verify_release(folder, key)


def test_no_file_can_be_added_and_no_other_key_will_do(folder, key):
    other = Ed25519PrivateKey.generate().public_key().public_bytes_raw()
    with pytest.raises(VerificationFailed, match="signature"):
        verify_release(folder, other)
    (folder / "extra.txt").write_text("hello")
    with pytest.raises(VerificationFailed, match=r"does not list: extra\.txt"):
        verify_release(folder, key)


@pytest.fixture
def publisher(run, folder) -> Publisher:
    return Publisher(run, folder)


def refuse(run, folder, key, words):
    """See that only the measurements give it away."""
    verify_release(folder, key)
    with pytest.raises(VerificationFailed, match=words):
        verify_release(folder, key, measurements=run.folder)


def test_what_the_publisher_signs_again_unchanged_still_passes(run, publisher, folder, key):
    tables = {kind: publisher.table(kind, publisher.rows(kind)) for kind in ITEM_KINDS}
    publisher.sign(**tables)
    verify_release(folder, key, measurements=run.folder)


@pytest.mark.parametrize(
    ("part", "name", "value", "words"),
    [
        ("histograms", "threshold", 20, "noise and thresholds"),
        ("histograms", "first_threshold", 1, "noise and thresholds"),
        ("histograms", "noise_scale", (1.0).hex(), "noise and thresholds"),
        ("histograms", "margin_95", 5, "noise and thresholds"),
        ("histograms", "leak", "1e-12", "noise and thresholds"),
        ("guarantees", "people", 9, "noise and thresholds"),
        ("guarantees", "epsilon_nano", 5 * 10**8, "not what the parameters cost"),
        ("guarantees", "delta_atto", 10**10, "not what the parameters cost"),
    ],
)
def test_a_promise_that_does_not_fit_together_is_refused(
    publisher, folder, key, part, name, value, words
):
    """No measurements are needed to see it."""
    assert publisher.manifest[part]["pairs"][name] != value
    publisher.manifest[part]["pairs"][name] = value
    publisher.sign()
    with pytest.raises(VerificationFailed, match=words):
        verify_release(folder, key)


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("relaxation", "indistinguishable", "noise and thresholds"),
        ("relaxation", "none", "does not know in parameters"),
        ("items_per_user", 2, "noise and thresholds"),
        ("items_per_user", "1", "does not know in parameters"),
        ("epsilon", "1", "not what the parameters cost"),
        ("delta", "1e-9", "not what the parameters cost"),
        ("delta", "tiny", "does not know in parameters"),
    ],
)
def test_parameters_that_do_not_fit_the_promise_are_refused(
    publisher, folder, key, name, value, words
):
    publisher.manifest["parameters"][name] = value
    publisher.sign()
    with pytest.raises(VerificationFailed, match=words):
        verify_release(folder, key)


def test_a_better_promise_in_all_places_at_once_is_refused(run, publisher, folder, key):
    """A smaller epsilon with its own noise and thresholds, but these rows and this label."""
    manifest = publisher.manifest
    manifest["parameters"]["epsilon"] = "1/2"
    for terms in manifest["guarantees"].values():
        terms["epsilon_nano"] = 125_000_000
    terms = {kind: promised.terms for kind, promised in described(manifest).guarantees.items()}
    manifest["histograms"] = describe(ZealousParameters.read(manifest["parameters"]), terms)
    publisher.sign()
    with pytest.raises(VerificationFailed, match="shows an item at or below its threshold"):
        verify_release(folder, key)


def test_the_cap_holds_what_a_person_pays_for_all_histograms(publisher, folder, key):
    paid = sum(terms["epsilon_nano"] for terms in publisher.manifest["guarantees"].values())
    publisher.manifest["cap"]["cap_epsilon_nano"] = paid - 1
    publisher.sign()
    with pytest.raises(VerificationFailed, match="cap is below"):
        verify_release(folder, key)


def test_a_label_that_says_something_else_is_refused(publisher, folder, key):
    label = (folder / "label.md").read_text()
    publisher.write("label.md", label.replace("at most 1 ", "at most 2 ").encode())
    publisher.sign()
    with pytest.raises(VerificationFailed, match="does not say what the manifest promises"):
        verify_release(folder, key)
    publisher.manifest["code_version"] = "0.0.1"  # another version may say it in other words
    publisher.sign()
    verify_release(folder, key)


@pytest.mark.parametrize("kind", ITEM_KINDS)
def test_a_dropped_row_is_refused(run, publisher, folder, key, kind):
    rows = publisher.rows(kind)
    publisher.sign(**{kind: publisher.table(kind, rows[1:])})
    refuse(run, folder, key, "beyond those that were blocked|not what the measurements give")


def test_a_dropped_row_whose_texts_stand_elsewhere_cannot_be_passed_off_as_blocked(
    run, publisher, folder, key
):
    """A blocked query is blocked in every histogram."""
    publisher.manifest["blocked_items"] = 1
    publisher.sign(queries=publisher.table("queries", publisher.rows("queries")[1:]))
    refuse(run, folder, key, "beyond those that were blocked|not what the measurements give")


def test_a_query_that_vanished_everywhere_is_refused_unless_it_is_said_to_be_blocked(
    run, publisher, folder, key
):
    """Whether it was on a blocklist only the curator knows; that something was left out is told."""
    shown = {
        kind: [row for row in publisher.rows(kind) if "maps" not in row.values()]
        for kind in ITEM_KINDS
    }
    publisher.sign(**{kind: publisher.table(kind, rows) for kind, rows in shown.items()})
    refuse(run, folder, key, "missing beyond those that were blocked")
    publisher.manifest["blocked_items"] = 3
    publisher.sign()
    verify_release(folder, key, measurements=run.folder)


@pytest.mark.parametrize("kind", ITEM_KINDS)
def test_an_added_or_changed_row_or_another_order_is_refused(run, publisher, folder, key, kind):
    rows = publisher.rows(kind)
    first = next(name for name in rows[0] if name not in ("rank", "contributors"))
    for changed in (
        [*rows, {**rows[-1], first: "zzz"}],
        [{**rows[0], "contributors": rows[0]["contributors"] + 1}, *rows[1:]],
        rows[::-1],
    ):
        publisher.sign(**{kind: publisher.table(kind, changed)})
        refuse(run, folder, key, "not what the measurements give|beyond those that were blocked")


def test_forms_that_differ_and_wrong_numbers_of_rows_need_no_measurements(publisher, folder, key):
    publisher.manifest["rows"]["queries"] += 1
    publisher.sign()
    with pytest.raises(VerificationFailed, match="another number of rows"):
        verify_release(folder, key)
    publisher.manifest["rows"]["queries"] -= 1
    publisher.write("queries.jsonl", (folder / "queries.jsonl").read_bytes().replace(b"1", b"2", 1))
    publisher.sign()
    with pytest.raises(VerificationFailed, match="do not say the same"):
        verify_release(folder, key)


def test_a_table_with_another_column_is_refused(publisher, folder, key):
    table = publisher.table("queries", publisher.rows("queries"))
    publisher.sign(queries=table.append_column("people", table["contributors"]))
    with pytest.raises(VerificationFailed, match="other columns"):
        verify_release(folder, key)


@pytest.mark.parametrize("field", ["histograms", "blocked_items", "guarantees"])
def test_a_manifest_without_one_of_its_fields_is_refused(publisher, folder, key, field):
    del publisher.manifest[field]
    publisher.sign()
    with pytest.raises(VerificationFailed, match="schema"):
        verify_release(folder, key)


@pytest.mark.parametrize("kind", ITEM_KINDS)
def test_other_measurements_are_refused(run, folder, key, kind):
    path = run.folder / FILES[kind]
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(VerificationFailed, match=f"{FILES[kind]} is not the measurement"):
        verify_release(folder, key, measurements=run.folder)


def test_odd_but_signed_manifests_are_refused_in_words(run, folder):
    counted = campaign(folder, run.folder, "histograms", 60)
    assert counted["refused"] > 40
