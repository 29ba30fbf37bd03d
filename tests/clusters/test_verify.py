"""Verification of clusters: of every byte, and of what a publisher with the key could change."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.verify.checks import VerificationFailed
from tasks.verify.verify import verify_publication, verify_release
from tests.groups import FILES
from tests.imports import require_light_verification
from tests.publish.checking.hostile import campaign
from tests.publish.checking.spoiling import Publisher, require_every_change_to_be_seen

PUBLIC = [
    *(f"{name}.{form}" for name in ("clusters", "centres") for form in ("parquet", "jsonl")),
    "label.md", "manifest.json", "manifest.sig",
]  # fmt: skip


@pytest.fixture
def publisher(run, folder):
    return Publisher(run, folder)


def test_honest_release_passes_with_its_measurements(run, folder, key):
    checks = verify_publication(run.home, folder, key)
    assert len(checks) == 9
    assert checks[-1].name == "recomputed"


def test_verifying_imports_nothing_that_takes_long(run, folder):
    require_light_verification(run.home, folder)


@pytest.mark.parametrize("name", PUBLIC)
def test_no_byte_can_be_changed(folder, key, name):
    require_every_change_to_be_seen(folder / name, key)


def refused(publisher, key, match, **tables):
    publisher.sign(**{name: publisher.table(name, rows) for name, rows in tables.items()})
    with pytest.raises(VerificationFailed, match=match):
        verify_release(publisher.folder, key)


def test_a_cheaper_promise_than_the_parameters_cost_is_seen(publisher, key):
    publisher.manifest["guarantees"]["points"]["epsilon_nano"] -= 1
    refused(publisher, key, "not what the parameters cost")


def test_other_parameters_than_the_noise_has_are_seen(publisher, key):
    publisher.manifest["parameters"]["n_iterations"] += 1
    refused(publisher, key, "noise is not the one")


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("clusters", "share", 1.5),
        ("clusters", "cluster", 7),
        ("centres", "centre", -3.0),
        ("centres", "centre", 500.0),
        ("centres", "column", "other"),
    ],
)
def test_rows_that_no_measurement_gives_are_seen(publisher, key, table, column, value):
    rows = publisher.rows(table)
    rows[0][column] = value
    refused(publisher, key, "no measurement gives", **{table: rows})


def test_a_missing_cluster_is_seen(publisher, key):
    refused(publisher, key, "no measurement gives", clusters=publisher.rows("clusters")[:-1])


def test_a_centre_that_was_moved_a_little_is_recomputed(publisher, key, run):
    rows = publisher.rows("centres")
    rows[0]["centre"] = round(rows[0]["centre"] + 0.001, 4)
    publisher.sign(centres=publisher.table("centres", rows))
    verify_release(publisher.folder, key)
    with pytest.raises(VerificationFailed, match="not what the measurements give"):
        verify_release(publisher.folder, key, measurements=run.folder)


def test_clients_who_did_not_answer_are_not_counted(publisher, key, run):
    publisher.manifest["guarantees"]["answers"]["people"] += 1
    publisher.sign(centres=publisher.table("centres", publisher.rows("centres")))
    verify_release(publisher.folder, key)
    with pytest.raises(VerificationFailed, match="other clients than have answered"):
        verify_release(publisher.folder, key, measurements=run.folder)


def test_another_measurement_is_seen(publisher, key, run):
    path = run.folder / FILES["answers"]
    table = pq.read_table(path)
    pq.write_table(table.set_column(2, "count", pa.array([0] * table.num_rows)), path)
    with pytest.raises(VerificationFailed, match="not the measurement"):
        verify_release(publisher.folder, key, measurements=run.folder)


def test_odd_but_signed_manifests_are_refused_in_words(run, folder):
    counted = campaign(folder, run.folder, "clusters", 60)
    assert counted["refused"] > 40
