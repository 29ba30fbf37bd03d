"""Logs of every layout, read on Spark: the same members, rows, groups and records as on DuckDB."""

import datetime as dt
import gzip
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tasks.log.engine import DuckDBEngine, Engine
from tasks.log.ingest import load_searches
from tasks.log.normalisation import normalise_records
from tasks.log.raw.files import BadInput
from tasks.log.spark import splits
from tasks.products.head_list.measuring.cohorts import assign_groups
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tests.engines import empty_database
from tests.homes import new_home
from tests.log.isolation import LAYOUTS, SEARCH_COLUMNS, changed, rows_of
from tests.log.test_ids import ADVERSARIAL

TABLES = (
    "stg_log", "broken_lines", "members", "folded_ids", "log_metrics", "accounts", "candidates",
    "records", "searches",
)  # fmt: skip


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    return new_home(tmp_path_factory.mktemp("home"), known_keys=True)


def found_by(engine: Engine, run: HeadListRun) -> dict[str, Any]:
    """Return what a release finds in its log before anybody pays, in an order of its own."""
    load_searches(engine, run)
    engine.step("log/log_metrics")
    assign_groups(engine, run)
    engine.step("head_list/chosen_records", max_records_optin=5, max_records_client=2)
    engine.map("chosen_records", normalise_records, "records")
    engine.step("head_list/weighted/searched")
    engine.map("searched", normalise_records, "searches")
    return {name: sorted(map(repr, engine.fetch(name).to_pylist())) for name in TABLES}


def said_by(engine, home, log, there=(), **asked):
    """Return what DuckDB finds in a log, and what Spark does, which may be given other files."""
    who = {} if "roster" in asked or "columns" in asked else {"optin_fraction": 0.5}
    here = {"log": log, "epoch": "2026-W46", **who, **asked}
    elsewhere = here | dict(zip(("log", "roster"), there, strict=False)) | {"engine": "spark"}
    said = []
    with empty_database() as connection:
        for one, given in ((DuckDBEngine(connection), here), (engine, elsewhere)):
            run = HeadListRun(home, "0" * 32, 1, ReleaseRequest(**given))
            try:
                said.append(found_by(one, run))
            except BadInput as refusal:
                said.append({"refused": str(refusal)})
    return said


def compare(engine, home, log, there=(), **asked):
    """Both engines say the same, be it that the log cannot be read; return what."""
    said = said_by(engine, home, log, there, **asked)
    assert said[1].keys() == said[0].keys()
    for name, rows in said[0].items():
        assert said[1][name] == rows, name
    return said[0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_anybodys_bytes(layout, engine, home, tmp_path, same_rng, monkeypatch):
    """Cut into parts of a hundred lines, of which one in twenty has bytes that confuse a reader."""
    monkeypatch.setattr(splits, "SPLIT_BYTES", 8_000)
    rows = rows_of(SEARCH_COLUMNS)
    tried = [changed(row, same_rng) if same_rng.random() < 0.05 else row for row in rows]
    written = LAYOUTS[layout]
    while True:
        log = written.write(tmp_path, "log", SEARCH_COLUMNS, tried)
        found = compare(engine, home, log, columns={"optin": "optin"})
        if "refused" not in found:
            break
        # One such row is enough; what the others do is asked without it.
        line = int(found["refused"].partition("line ")[2].partition(":")[0])
        tried[(line - 2) // (2 if b"\r\n\r\n" in written.end else 1)] = rows[0]
    assert len(found["records"]) > 100
    assert len(found["broken_lines"]) > 0 or layout == "parquet"


def test_ids_of_every_kind_many_small_files_and_one_of_nothing_but_its_header(
    engine, home, tmp_path
):
    folder = tmp_path / "log"
    folder.mkdir()
    header = "\t".join(SEARCH_COLUMNS[:5]) + "\n"
    (folder / "empty.tsv").write_text(header)
    ids = [text for text in ADVERSARIAL if not set(text) & set("\t\r\n")]
    for number, person in enumerate(ids):
        row = f"{person}\tQuery {number % 4}\t2026-11-1{number % 7} 10:00:00\t1\thttp://u.com\n"
        (folder / f"part-{number:03}.tsv").write_text(header + row, encoding="utf-8")
    found = compare(engine, home, folder, exact_ids=True)
    assert len(found["stg_log"]) == len(ids)


def test_parquet_of_every_type_in_many_row_groups(engine, home, tmp_path):
    n = 3_000
    times = np.datetime64("2026-11-10T10:00:00", "us") + np.arange(n) * np.timedelta64(7, "s")
    for unit, kind, zone in (
        ("s", pa.int8(), None), ("ms", pa.uint16(), "Europe/Berlin"),
        ("us", pa.int32(), None), ("ns", pa.int64(), "Europe/Berlin"),
    ):  # fmt: skip
        folder = tmp_path / unit
        folder.mkdir()
        table = pa.table({
            "AnonID": pa.array(np.arange(n) % 41, kind),
            "Query": [f"query {row % 9}" for row in range(n)],
            "QueryTime": pa.array(times).cast(pa.timestamp(unit, zone)),
            "ClickURL": [None if row % 5 == 0 else f"http://{row % 3}.com" for row in range(n)],
        })  # fmt: skip
        pq.write_table(table, folder / "log.parquet", row_group_size=700)
        found = compare(engine, home, folder)
        assert len(found["members"]) == 41
    assert len(found["stg_log"]) == n


def test_times_of_96_bits_from_other_centuries(engine, home, tmp_path):
    """Counted in 64 bits, those of the year 2611 are in our epoch, and whoever searched then."""
    wrapped = dt.timedelta(microseconds=2**64 // 1_000)
    near, n = dt.datetime(2026, 11, 12, 8, 0, 0, 250_000), 60
    times = [near + wrapped * (row % 3 - 1) for row in range(n)]
    table = pa.table({
        "AnonID": [f"p{row % 12}" for row in range(n)], "Query": ["q"] * n,
        "QueryTime": pa.array(times, pa.timestamp("us")), "ClickURL": ["http://u.com"] * n,
    })  # fmt: skip
    pq.write_table(table, tmp_path / "log.parquet", use_deprecated_int96_timestamps=True)
    found = compare(engine, home, tmp_path / "log.parquet")
    assert len(found["members"]) == 4
    assert sum("outside the epoch" in row for row in found["stg_log"]) == 40


@pytest.mark.parametrize("harm", ["cut", "altered"])
def test_a_damaged_file_is_told_as_such(harm, engine, home, tmp_path):
    data = b"AnonID\tQuery\tQueryTime\tItemRank\tClickURL\n" + b"".join(
        b"p%d\tq%d\t2026-11-12 08:00:00\t1\thttp://u.com\n" % (row, row * row)
        for row in range(5_000)
    )
    packed = bytearray(gzip.compress(data))
    (tmp_path / "log.tsv.gz").write_bytes(
        packed[: len(packed) // 2] if harm == "cut" else packed[:-8] + b"\0\0\0\0" + packed[-4:]
    )
    found = compare(engine, home, tmp_path / "log.tsv.gz")
    assert "breaks off or is damaged" in found["refused"]


def test_a_home_may_have_any_name(spark, home, tmp_path):
    from tasks.log.spark.engine import SparkEngine
    from tasks.log.spark.session import new_session

    folder = tmp_path / "a[b] {c,d}* home"
    folder.mkdir()
    log = tmp_path / "log.tsv"
    log.write_text("AnonID\tQuery\tQueryTime\tClickURL\np\tq\t2026-11-12 08:00:00\thttp://u\n")
    found = compare(SparkEngine(folder, new_session()), home, log)
    assert len(found["records"]) > 0


def test_one_person_with_most_rows_and_a_roster(engine, home, tmp_path):
    """Among them the same row thousands of times, and people of the roster without any."""
    people = ["heavy"] * 20_000 + [f"p{number}" for number in range(400)]
    log, roster = tmp_path / "log.parquet", tmp_path / "roster.csv"
    n = len(people)
    queries = [f"query {row % 13 if row % 2 else 0}" for row in range(n)]
    columns = {"AnonID": people, "Query": queries, "QueryTime": ["2026-11-12 08:00:00"] * n,
               "ClickURL": ["http://u.com"] * n}  # fmt: skip
    pq.write_table(pa.table(columns), log, row_group_size=6_000)
    listed = "".join(
        f"{person},{number % 2}\n" for number, person in enumerate([*people[-400:], "absent"])
    )
    roster.write_text(f"person,optin\n{listed}heavy,1\n")
    found = compare(engine, home, log, roster=roster)
    assert len(found["members"]) == 402
