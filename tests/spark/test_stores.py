"""Logs in an object store, read by Spark's workers: what is found in the same files on a disk."""

import shutil
import threading

import pyarrow.parquet as pq
import pytest

from tasks.budget.sums.files import sealed_file
from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Kind
from tasks.log.ingest import ingest
from tasks.log.raw.addresses import Address
from tasks.log.raw.files import BadInput, inspect
from tasks.log.spark import splits
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
from tasks.store.machine import MachineFailed
from tests.homes import new_home, steps_of
from tests.log.isolation import LAYOUTS, PEOPLE, SEARCH_COLUMNS, rows_of
from tests.release.support import waive_gates
from tests.spark.stores import KEYS, a_store, forget_clients, workers_see
from tests.spark.test_logs import compare

NAMES = (
    "a b", "100%", "%41", "{ü}#?", "e\u0301", "plus+&=", "q'\"", "new\tline", "back\\slash", "*[a]",
    "s3:", "..", "~", "日本",
)  # fmt: skip
HEADER = "\t".join(SEARCH_COLUMNS[:5]).encode() + b"\n"
SECRET = b"planted-secret"
ROW = b"p1\t" + SECRET + b"\t2026-11-12 10:00:00\t1\thttp://" + SECRET + b"\n"


@pytest.fixture(scope="module")
def store():
    with a_store() as started:
        yield started


@pytest.fixture
def seen_by_workers(spark, store):
    workers_see(spark, store)


def request_for(log, **asked):
    asked = {"optin_fraction": 0.5, "engine": "spark", "ignore_plan": True} | asked
    return ReleaseRequest(log=log, epoch="2026-W46", **asked)


@pytest.mark.usefixtures("seen_by_workers")
@pytest.mark.parametrize("layout", ["tsv", "tsv-crlf-gzip", "csv-quoted", "parquet"])
def test_a_log_is_the_same_in_a_store(layout, engine, store, tmp_path, monkeypatch):
    """In several files with odd names, cut into parts, with broken lines and with a roster."""
    monkeypatch.setattr(splits, "SPLIT_BYTES", 4_000)
    home, written = new_home(tmp_path / "home", known_keys=True), LAYOUTS[layout]
    folder, rows = tmp_path / "log", rows_of(SEARCH_COLUMNS)
    folder.mkdir()
    if layout != "parquet":
        rows[1][1] += b"\xff"
    for number, name in enumerate(["a b%20", "{ü}#?", "z"]):
        written.write(folder, name, SEARCH_COLUMNS, rows[number::3])
    roster = tmp_path / "roster.csv"
    roster.write_text("person,optin\n" + "".join(f"{p},{i % 2}\n" for i, p in enumerate(PEOPLE)))
    bucket = f"{layout}-log"
    log = store.copy(folder, f"{bucket}/some folder")
    listed = store.copy(roster, f"{bucket}/roster.csv")
    found = compare(engine, home, folder, (log, listed), roster=roster)
    assert len(found["records"]) > 100
    assert len(found["broken_lines"]) == (layout != "parquet")


def test_every_name_of_an_object_is_read_alone_and_in_its_folder(store, tmp_path):
    folder = tmp_path / "log"
    folder.mkdir()
    for name in NAMES:
        (folder / f"{name}.tsv").write_bytes(HEADER + name.encode() + b"\tq\t\t\t\n")
    (folder / "_SUCCESS").write_bytes(b"")
    there = inspect(Address.parse(store.copy(folder, "names/log")), ["Query"], "log")
    here = inspect(folder, ["Query"], "log")
    assert [file.name for file in there.files] == [file.name for file in here.files]
    assert there.digest() == here.digest()
    for file in there.files:
        assert inspect(Address.parse(str(file)), ["Query"], "log").files == (file,)


def refused(kind, log, home):
    """Return why a release is refused; nobody was charged, and nothing is quoted."""
    with pytest.raises(kind) as caught:
        ingest(identify(request_for(log), home))
    assert steps_of(home) == []
    for private in (SECRET.decode(), *KEYS.values()):
        assert private not in str(caught.value)
    return str(caught.value)


def dies(method, path):
    raise ConnectionError


def test_what_a_store_refuses_is_said_in_plain_words(store, tmp_path, monkeypatch):
    home = new_home(tmp_path)
    log = store.write("refusals/log.tsv", HEADER + ROW)
    for gone in ("s3://refusals/other.tsv", "s3://no-such-bucket/log.tsv", "s3://no-such-bucket"):
        assert refused(BadInput, gone, home).startswith(f"{gone} is not there")
    store.write("refusals/empty/_SUCCESS", b"")
    assert "holds no file" in refused(BadInput, "s3://refusals/empty", home)
    assert "is empty" in refused(BadInput, store.write("refusals/none.tsv", b""), home)
    with store.disturbed(dies):
        assert "the store does not answer" in refused(MachineFailed, log, home)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "nobody")
    forget_clients()
    assert "the store refuses access" in refused(BadInput, log, home)
    monkeypatch.undo()
    forget_clients()


@pytest.mark.usefixtures("seen_by_workers")
@pytest.mark.parametrize("fails_at", ["count_records", "read"])
def test_a_store_that_dies_in_mid_read(fails_at, store, tmp_path, monkeypatch, capfd):
    home, dead = new_home(tmp_path), threading.Event()
    log = store.write("dying/log.tsv", HEADER + ROW)

    def switched_off(method, path):
        if dead.is_set():
            raise ConnectionError

    before(monkeypatch, fails_at, dead.set)
    with store.disturbed(switched_off):
        assert "the store does not answer" in refused(MachineFailed, log, home)
    assert SECRET.decode() not in "".join(capfd.readouterr())


def test_workers_whom_a_store_does_not_know(spark, store, tmp_path):
    log = store.write("theirs/log.tsv", HEADER + ROW)
    workers_see(spark, store, AWS_ACCESS_KEY_ID="nobody")
    assert "but not by Spark's workers" in refused(BadInput, log, new_home(tmp_path))


@pytest.mark.usefixtures("seen_by_workers")
def test_an_object_that_changes_between_its_count_and_its_reading(store, tmp_path, monkeypatch):
    """Its length and its lines are the same, so nobody would miss any."""
    home, log = new_home(tmp_path), store.write("changing/log.tsv", HEADER + ROW)
    before(
        monkeypatch,
        "read",
        lambda: store.write("changing/log.tsv", HEADER + ROW.replace(b"p1", b"p2")),
    )
    assert refused(BadInput, log, home).startswith(f"{log} changed while it was read")


def before(monkeypatch, method, happens):
    """Let something happen before the engine does something."""
    from tasks.log.spark.engine import SparkEngine  # only where there is Spark

    usual = getattr(SparkEngine, method)

    def disturbed(self, *given):
        happens()
        return usual(self, *given)

    monkeypatch.setattr(SparkEngine, method, disturbed)


@pytest.mark.usefixtures("seen_by_workers")
def test_a_release_of_a_store_is_that_of_a_disk_and_spark_writes_no_credentials(
    store, spark, tmp_path, events, capfd, monkeypatch
):
    waive_gates(monkeypatch.setattr)
    rows = [
        f"p{n}\tQuery {n % (turn + 2)}\t2026-11-1{turn} 10:00:00\t1\thttp://{turn}.com\n".encode()
        for n in range(300)
        for turn in range(3)
    ]
    path, sealed = tmp_path / "log.tsv", []
    path.write_bytes(HEADER + b"".join(rows))
    first = new_home(tmp_path / "duckdb", known_keys=True)
    shutil.copytree(first.root, tmp_path / "spark")
    homes = (first, new_home(tmp_path / "spark", known_keys=True))
    address = store.copy(path, "whole/log.tsv")
    for home, log, engine in zip(homes, (path, address), ("duckdb", "spark"), strict=True):
        run = identify(request_for(log, optin_fraction=0.4, engine=engine), home)
        run_release(run)
        (row,) = (row for row in steps_of(home) if row.kind is Kind.RESERVED)
        said = row.said(Reserved)
        people = pq.read_table(sealed_file(home, said.participation))
        sealed.append((run.release_id, said.groups, said.parameters, people))
    assert sealed[0] == sealed[1]
    written = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    written += "".join(capfd.readouterr())
    written += " ".join(map(str, spark.sparkContext._jsc.hadoopConfiguration().iterator()))
    for name in KEYS:
        assert KEYS[name] not in written, name
