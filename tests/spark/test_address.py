"""What may stand in HYBRIDDP_SPARK, and what is shown of it."""

import pytest

from tasks.log.spark import cluster
from tasks.log.spark.address import ADDRESS, NoSpark, address, is_remote, shown_address
from tasks.store.doctor import _spark
from tests.homes import new_home

SECRET = "SECRETTOKEN"
KNOWN = {
    "": "local[*]",
    "local": "local",
    " local[2] ": "local[2]",
    "local[2,3]": "local[2,3]",
    "spark://host:7077": "spark://host:7077",
    "spark://a.example:7077,b.example:7077": "spark://a.example:7077,b.example:7077",
    "spark://[::1]:7077": "spark://[::1]:7077",
    "yarn": "yarn",
    "k8s://https://host:443": "k8s://https://host:443",
    "sc://host": "sc://host",
    f"sc://host:15002/;token={SECRET};user_id=bob": "sc://host:15002",
}
UNKNOWN = (
    f"spark://user:{SECRET}@host:7077", f"sc://{SECRET}@host:15002", f"http://{SECRET}", "local[x]",
    f"local[2] {SECRET}", "spark://host", "spark://host:70777", "sc://", f"{SECRET}\nlocal[2]",
    f"sc://host:15002/path;token={SECRET}", "sc://host:99999/;token=a",
)  # fmt: skip


@pytest.mark.parametrize("given", KNOWN)
def test_an_address_is_known_and_shows_its_machine_alone(given, monkeypatch):
    monkeypatch.setenv(ADDRESS, given)
    assert shown_address() == KNOWN[given]
    assert address() == (given.strip() or "local[*]")
    assert is_remote() == given.startswith("sc://")


@pytest.mark.parametrize("given", UNKNOWN)
def test_what_spark_would_not_know_is_refused_unquoted(given, monkeypatch, tmp_path):
    monkeypatch.setenv(ADDRESS, given)
    with pytest.raises(NoSpark, match="no address of Spark; it must look like") as refused:
        address()
    found = _spark(new_home(tmp_path))
    assert not found.is_well
    assert SECRET not in f"{refused.value}{found}"


@pytest.mark.parametrize(
    ("said", "lost"),
    [
        (
            "ModuleNotFoundError: No module named 'duckdb'",
            "the Python of its workers has no duckdb",
        ),
        ("No module named 'tasks.log'", None),
        ("ModuleNotFoundError: No module named 'somebodys_query'", None),
    ],
)
def test_workers_without_our_packages_are_no_verdict_on_a_log(said, lost, monkeypatch):
    """And what a message may quote of a log is not taken for a package."""
    monkeypatch.setattr(cluster, "_answers", lambda _: True)
    found = cluster.what_was_lost(None, Exception(f"PythonException: a trace\n{said}\n"))
    assert found == lost or found.startswith(f"{lost} (")
