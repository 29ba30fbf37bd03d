"""Whole releases on Spark: what is private stays inside, and a run that died goes on."""

import shutil

import pytest

from tasks.ledger.rules import Kind
from tasks.orchestration.tasks import StepFailed
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
from tasks.store.keys import Keyring
from tests.homes import new_home, steps_of
from tests.release.support import waive_gates

SECRET = "nobody but one person searches for this"
N_PEOPLE = 300


@pytest.fixture
def gates_waived(monkeypatch):
    waive_gates(monkeypatch.setattr)


@pytest.fixture
def log(tmp_path):
    return secret_log(tmp_path)


def secret_log(folder):
    """A log in which one person searched for what nobody else did."""
    rows = [
        (
            f"p{person}",
            f"Query {person % (turn + 2)}",
            f"2026-11-1{turn} 10:00:00",
            f"http://{turn}.com",
        )
        for person in range(N_PEOPLE)
        for turn in range(3)
    ]
    rows.append(("p7", SECRET, "2026-11-12 10:00:00", "http://secret.com"))
    lines = ["AnonID\tQuery\tQueryTime\tItemRank\tClickURL"]
    lines += ["\t".join((person, query, time, "1", url)) for person, query, time, url in rows]
    path = folder / "log.tsv"
    path.write_text("\n".join(lines) + "\n")
    return path


def homes(tmp_path):
    """Two homes with the same keys: what differs is where the SQL runs."""
    first = new_home(tmp_path / "duckdb", known_keys=True)
    shutil.copytree(first.root, tmp_path / "spark")
    return {"duckdb": first, "spark": new_home(tmp_path / "spark", known_keys=True)}


@pytest.mark.usefixtures("spark", "gates_waived")
def test_nothing_private_is_in_what_spark_writes_of_itself(log, tmp_path, events, capfd):
    """Keys and texts stand in tables and in what workers run, not in SQL, plans or events."""
    home = homes(tmp_path)["spark"]
    request = ReleaseRequest(
        log=log, epoch="2026-W46", optin_fraction=0.4, ignore_plan=True, engine="spark"
    )
    run_release(identify(request, home))
    said = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    assert "MapInArrow" in said  # the events tell what was done
    require_nothing_private(said + "".join(capfd.readouterr()), home)


def require_nothing_private(said, home):
    """See that no key of a home stands in a text, and nothing of who has a secret."""
    keys = Keyring.open(home)
    for key in (keys.account, keys.cohort, keys.release):
        for pad in key.pads():
            assert pad.hex() not in said.lower()
            assert repr(pad)[2:-1] not in said
    assert SECRET not in said
    assert "p7" not in said.split()


@pytest.mark.usefixtures("spark", "gates_waived")
def test_a_run_that_dies_goes_on_where_it_was_and_draws_once(log, tmp_path, monkeypatch):
    home = homes(tmp_path)["spark"]
    request = ReleaseRequest(
        log=log, epoch="2026-W46", optin_fraction=0.4, ignore_plan=True, engine="spark"
    )
    from tasks.log.spark.engine import SparkEngine

    whole, kept = SparkEngine._keep, []

    def dies(self, name, frame):
        kept.append(name)
        if name == "records" and kept.count("records") == 1:
            frame.write.parquet(str(self._results.begin(name)))
            raise KeyboardInterrupt  # after the rows, before the note
        whole(self, name, frame)

    monkeypatch.setattr(SparkEngine, "_keep", dies)
    with pytest.raises((KeyboardInterrupt, StepFailed)):
        run_release(identify(request, home))
    run_release(identify(request, home))
    assert kept.count("records") == 2, "rows without the note that they are whole are no result"
    kinds = [row.kind for row in steps_of(home)]
    assert kinds.count(Kind.RESERVED) == 1
    assert kinds.count(Kind.DRAW_STARTED) == kinds.count(Kind.DRAWN) == 3
