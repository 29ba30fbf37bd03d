"""Verification of means: of every byte, and of what a publisher with the key could change."""

import pytest

from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import verify_publication, verify_release
from tests.groups import FILES
from tests.imports import require_light_verification
from tests.publish.checking.hostile import campaign
from tests.publish.checking.spoiling import Publisher, require_every_change_to_be_seen

PUBLIC = ["means.parquet", "means.jsonl", "label.md", "manifest.json", "manifest.sig"]


def test_honest_release_passes_with_its_measurements(run, folder, key):
    names = [check.name for check in verify_publication(run.home, folder, key)]
    assert names[-1] == "recomputed"
    assert len(names) == 9


def test_verifying_imports_nothing_that_takes_long(run, folder):
    # Intervals of Laplace noise are roots that scipy finds; others would change published bytes.
    roots = frozenset() if run.request.one_number else frozenset({"scipy.optimize", "numpy.f2py"})
    require_light_verification(run.home, folder, roots)


@pytest.mark.parametrize("name", PUBLIC)
def test_no_byte_can_be_changed(folder, key, name):
    require_every_change_to_be_seen(folder / name, key)


@pytest.fixture
def publisher(run, folder):
    return Publisher(run, folder)


def refused(publisher, key, match, run=None):
    publisher.sign(means=publisher.table("means", publisher.rows("means")))
    with pytest.raises(VerificationFailed, match=match):
        verify_release(publisher.folder, key, measurements=run.folder if run else None)


def test_a_cheaper_promise_than_the_parameters_cost_is_seen(publisher, key):
    publisher.manifest["guarantees"]["sums"]["epsilon_nano"] -= 1
    refused(publisher, key, "not what the parameters cost")


@pytest.mark.parametrize("name", ["role", "trusts", "neighbours"])
def test_a_promise_in_other_words_is_seen_unless_another_version_made_it(publisher, key, name):
    publisher.manifest["guarantees"]["numbers"][name] = "nobody"
    refused(publisher, key, "not in the words")
    publisher.manifest["code_version"] = "0.0.1"
    publisher.sign(means=publisher.table("means", publisher.rows("means")))
    verify_release(publisher.folder, key)


def test_other_parameters_than_the_noise_has_are_seen(publisher, key):
    publisher.manifest["parameters"]["upper"] = "1"
    refused(publisher, key, "noise is not the one|no measurement gives")


def test_other_people_than_the_table_counts_are_seen(publisher, key):
    publisher.manifest["guarantees"]["numbers"]["people"] += 1
    refused(publisher, key, "other people")


def test_the_cap_holds_what_people_of_two_groups_pay_in_all(publisher, key):
    """Those who gave their number for the sums gave it for the squares, too, and paid for both."""
    groups = publisher.manifest["guarantees"]
    if "squares" in groups:
        groups["squares"]["people"] += 1
        refused(publisher, key, "same people do not have as many")
        groups["squares"]["people"] -= 1
    paid = [groups[group]["epsilon_nano"] for group in ("sums", "squares") if group in groups]
    publisher.manifest["cap"]["cap_epsilon_nano"] = sum(paid) - 1
    refused(publisher, key, "cap is below")


def test_other_noise_than_the_parameters_need_is_seen(publisher, key):
    publisher.manifest["noise"]["sums_sd"] = "0.1"
    refused(publisher, key, "noise is not the one")


def test_a_smaller_second_guarantee_is_seen(publisher, key):
    stated = publisher.manifest["second_guarantee"]
    other = {"coalition": "0", "epsilon_optin": "0.1", "epsilon_clients": "0.1", "delta": "1e-05"}
    publisher.manifest["second_guarantee"] = [other, *stated[1:]] if stated else [other]
    refused(publisher, key, "second guarantee is not the one")


def test_other_group_sizes_change_the_second_guarantee_or_the_recomputation(publisher, key, run):
    rows = publisher.rows("means")
    rows[0]["clients"] += 10_000
    publisher.sign(means=publisher.table("means", rows))
    with pytest.raises(VerificationFailed, match=r"second guarantee|other people"):
        verify_release(publisher.folder, key, measurements=run.folder)


@pytest.mark.parametrize(("column", "moved"), [("mean", 50.0), ("ci_low", 9.9), ("ci_high", -9.9)])
def test_rows_that_no_measurement_gives_are_seen_without_measurements(
    publisher, key, column, moved
):
    rows = publisher.rows("means")
    rows[0][column] = round(rows[0][column] + moved, 4)
    publisher.sign(means=publisher.table("means", rows))
    with pytest.raises(VerificationFailed, match="no measurement gives"):
        verify_release(publisher.folder, key)


def test_a_row_that_stands_twice_is_seen(publisher, key):
    rows = publisher.rows("means")
    publisher.sign(means=publisher.table("means", [rows[0], *rows]))
    with pytest.raises(
        VerificationFailed, match=r"no measurement gives|other people|second guarantee"
    ):
        verify_release(publisher.folder, key)


def test_a_mean_that_was_moved_a_little_is_recomputed(publisher, key, run):
    rows = publisher.rows("means")
    rows[0]["mean"] = round((rows[0]["mean"] + rows[0]["ci_high"]) / 2, 4)
    publisher.sign(means=publisher.table("means", rows))
    verify_release(publisher.folder, key)
    with pytest.raises(VerificationFailed, match="not what the measurements give"):
        verify_release(publisher.folder, key, measurements=run.folder)


def test_another_cross_check_or_measurement_is_seen(publisher, key, run):
    publisher.manifest["cross_check"] = {"compared": 1, "p_value": "0.77"}
    refused(publisher, key, "cross-check", run)
    path = run.folder / FILES["sums"]
    path.write_bytes(path.read_bytes() + b" ")
    refused(publisher, key, "not the measurement that the manifest names", run)


def test_odd_but_signed_manifests_are_refused_in_words(run, folder):
    counted = campaign(folder, run.folder, "means", 60)
    assert counted["refused"] > 40
