"""From a log's files to the charge: what is read, what is left out, and what stops a release."""

import csv
import datetime as dt
import gzip
import io
import struct
import traceback
from collections import Counter
from functools import partial

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from tasks.budget.reserve import reserve
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.log.engine import DuckDBEngine, open_duckdb
from tasks.log.failures import EngineFailed, OutOfSpace
from tasks.log.ingest import ingest, judge_log
from tasks.log.raw.files import BadInput, Source
from tasks.log.raw.parquet_times import has_far_times
from tasks.log.warehouse import open_warehouse
from tasks.products.head_list.measuring.cohorts import choose_cohorts
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.products.request import LogColumns
from tests.engines import empty_database
from tests.homes import new_home, steps_of

SECRET = "planted-secret"
NAMES = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL")
TIME = "2026-11-10 07:17:12"
PEOPLE = [str(100 + i) for i in range(30)]
# Two rows a person; a quote, a comma, a hash and other scripts are text.
QUERIES = ["news", 'the "news"', "a, b", "#1", "caf\u00e9", f"my {SECRET}"]
ROWS = [
    row
    for i, person in enumerate(PEOPLE)
    for row in (
        (person, QUERIES[i % len(QUERIES)], TIME, "1", "http://a.example"),
        (person, "no click", TIME, "", ""),
    )
]


def tsv(rows, names=NAMES, end="\n"):
    """Return rows as AOL writes them."""
    return "".join("\t".join(row) + end for row in [names, *rows]).encode()


def csv_text(rows, names=NAMES):
    """Return rows as CSV."""
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    return text.getvalue().encode()


def parquet_bytes(columns, **how):
    """Return a Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, **how)
    return sink.getvalue().to_pybytes()


def columns_of(rows):
    """Return rows as named columns."""
    return dict(zip(NAMES, map(list, zip(*rows, strict=True)), strict=True))


LOG = tsv(ROWS)


def new_run(folder, files, *, path="", **settings):
    """Write a log, and return a run of its release in a home with known keys."""
    home = new_home(folder / "home", known_keys=True)
    for name, data in files.items():
        file = folder / "files" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
    if "roster" in settings:
        settings["roster"] = folder / "files" / settings["roster"]
    known = {"optin_fraction": 0.6, "headlist_user_fraction": 0.5} | settings
    log = folder / "files" / (path or next(iter(files)))
    return identify(ReleaseRequest(log=log, epoch="2026-W46", **known), home)


@pytest.fixture
def make_run(tmp_path):
    """Return `new_run` in a folder of this test's own."""
    return partial(new_run, tmp_path)


def up_to_the_charge(run, *, is_judged=False):
    """Run the steps until people have paid; judging takes longer than all the others."""
    ingest(run)
    if is_judged:
        judge_log(run)
    choose_cohorts(run)
    reserve(run)
    return run


def rows_of(run, table):
    """Return a table of the release's warehouse."""
    with open_warehouse(run) as engine:
        return engine.fetch(table).to_pylist()


def records(run):
    """Return the chosen records, with their accounts."""
    return Counter(tuple(row.values()) for row in rows_of(run, "records"))


def group_sizes(run):
    """Return how many people of each group were charged."""
    groups = run.reservation.groups
    return {group: groups[group].members for group in groups}


@pytest.fixture
def refusal(make_run, tmp_path):
    """Return a function that runs a release which must be refused, and says why it was.

    Nobody was charged, nothing was made, and neither the message nor an error that Python would
    print above it quotes the log.
    """

    def refuse(kind, files, **settings):
        with pytest.raises(kind) as caught:
            up_to_the_charge(make_run(files, **settings), is_judged=True)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        home = new_home(tmp_path / "home")
        assert steps_of(home) == []
        assert list(home.participation.iterdir()) == []
        assert list(home.measurements.iterdir()) == []
        assert [file.name for file in home.public.iterdir()] == ["signing.pub"]
        return str(caught.value)

    return refuse


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """What becomes of the plain log: records, and sizes of groups."""
    made = new_run(tmp_path_factory.mktemp("plain"), {"log.tsv": LOG})
    run = up_to_the_charge(made, is_judged=True)
    return records(run), group_sizes(run)


def test_plain_log(plain):
    found, sizes = plain
    assert found.total() == sum(sizes.values())  # one record each
    assert {query for _, _, query, _ in found} == {query.lower() for query in QUERIES}
    assert sum(sizes.values()) == len(PEOPLE)
    assert min(sizes.values()) >= 2


HALF = len(ROWS) // 2
OTHER_NAMES = ("who is it", "what, exactly", "when", "", "where")
OTHER_COLUMNS = LogColumns(
    person="who is it", query="what, exactly", time="when", url="where", optin=None
)
INTEGER_IDS = columns_of(ROWS) | {"AnonID": [int(row[0]) for row in ROWS]}
TIMES = pa.array([TIME] * len(ROWS)).cast(pa.timestamp("us"))


@pytest.mark.parametrize(
    ("files", "settings"),
    [
        pytest.param({"log.tsv.gz": gzip.compress(LOG)}, {}, id="gzip"),
        pytest.param(
            {"log.txt.gz": gzip.compress(LOG[:500]) + gzip.compress(LOG[500:])}, {}, id="two gzips"
        ),
        pytest.param(
            {
                "log/part-1.tsv.gz": gzip.compress(tsv(ROWS[:HALF])),
                "log/part-2.tsv.gz": gzip.compress(tsv(ROWS[HALF:])),
                "log/_SUCCESS": b"",
            },
            {"path": "log"},
            id="folder of gzips",
        ),
        pytest.param({"log.tsv": tsv(ROWS, end="\r\n")}, {}, id="CRLF"),
        pytest.param(
            {"log/a.tsv": tsv(ROWS[:HALF], end="\r\n"), "log/b.tsv": tsv(ROWS[HALF:])},
            {"path": "log"},
            id="a file with CRLF, one with LF",
        ),
        pytest.param({"log.tsv": b"\xef\xbb\xbf" + LOG}, {}, id="byte order mark"),
        pytest.param({"log.tsv": LOG[:-1]}, {}, id="no last line end"),
        pytest.param({"log.tsv": LOG.replace(b"\n", b"\n\n")}, {}, id="blank lines"),
        pytest.param({"log.csv": csv_text(ROWS)}, {}, id="CSV"),
        pytest.param(
            {"log.csv.gz": gzip.compress(b"\xef\xbb\xbf" + csv_text(ROWS, OTHER_NAMES))},
            {"columns": OTHER_COLUMNS},
            id="CSV with other names",
        ),
        pytest.param({"log.parquet": parquet_bytes(columns_of(ROWS))}, {}, id="Parquet"),
        pytest.param({"log.parquet": parquet_bytes(INTEGER_IDS)}, {}, id="Parquet, integer ids"),
        pytest.param(
            {
                "log.parquet": parquet_bytes(
                    columns_of(ROWS)
                    | {
                        "QueryTime": TIMES,
                        "Query": pa.array([row[1] for row in ROWS]).dictionary_encode(),
                        "ClickURL": pa.array([row[4] or None for row in ROWS], pa.large_string()),
                    }
                )
            },
            {},
            id="Parquet, other types",
        ),
        pytest.param(
            {"lo*g?.tsv": LOG, "lo-and-g2.tsv": tsv([("999", *ROWS[0][1:])])},
            {},
            id="name like a pattern",
        ),
        pytest.param({'it\'s a "log".tsv': LOG}, {}, id="name with quotes"),
        pytest.param({"AnonID=7/log.tsv": LOG}, {}, id="folder like a partition"),
        pytest.param(
            {"AnonID=7/log.parquet": parquet_bytes(INTEGER_IDS)}, {}, id="Parquet in a partition"
        ),
    ],
)
def test_same_log_in_other_clothes(make_run, plain, files, settings):
    run = up_to_the_charge(make_run(files, **settings))
    assert (records(run), group_sizes(run)) == plain
    (reserved,) = steps_of(run.home)
    assert reserved.kind is Kind.RESERVED


def test_log_without_times(make_run, plain):
    rows = [(person, query, rank, url) for person, query, _, rank, url in ROWS]
    log = tsv(rows, ("AnonID", "Query", "ItemRank", "ClickURL"))
    run = up_to_the_charge(make_run({"log.tsv": log}, columns=LogColumns(time=None)))
    assert (records(run), group_sizes(run)) == plain


def bad_line(person, *fields):
    """Return a line of the log, as bytes."""
    return b"\t".join([person, *(f.encode() if isinstance(f, str) else f for f in fields)]) + b"\n"


BAD_LINES = {
    "zero byte": ("\0", TIME, "1", "http://a"),
    "too long": ("x" * 1_000_000, TIME, "1", "http://a"),
    "line size over maximum": ("x" * 4_500_000, TIME, "1", "http://a"),
    "invalid encoding": (b"\xff", TIME, "1", "http://a"),
    "missing columns": (SECRET,),
    "too many columns": (SECRET, TIME, "1", "http://a", "more"),
    "no time": (SECRET, "", "1", "http://a"),
    "not a time": (SECRET, "infinity", "1", "http://a"),
}


def test_bad_rows_are_left_out_with_their_reasons_and_name_members(make_run, plain):
    """In the middle of the log, each on the only line of a newcomer."""
    bad = [bad_line(b"newcomer: " + reason.encode(), *BAD_LINES[reason]) for reason in BAD_LINES]
    head, tail = tsv(ROWS[:HALF]), tsv(ROWS[HALF:]).partition(b"\n")[2]
    run = up_to_the_charge(
        make_run({"log.tsv": head + b"".join(bad) + tail}, max_bad_row_share=0.2)
    )
    assert sorted(row["reason"] for row in rows_of(run, "rejects")) == sorted(BAD_LINES)
    newcomers = {row["person"] for row in rows_of(run, "members")} - set(PEOPLE)
    assert newcomers == {f"newcomer: {reason}" for reason in BAD_LINES}
    found, sizes = plain
    assert records(run) == found  # nobody else is concerned, and <*,*> is no row
    assert sum(group_sizes(run).values()) == sum(sizes.values()) + len(BAD_LINES)


MOMENT = 1_794_295_032  # 2026-11-10 07:17:12
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def parquet_with_times(kind, far, **changed):
    """Return the log as Parquet, and one row of a newcomer at a time that far away."""
    rows = columns_of([*ROWS, ("newcomer", "news", TIME, "1", "http://a.example")])
    times = [MOMENT * PER_SECOND[kind.unit]] * len(ROWS)
    return parquet_bytes(rows | {"QueryTime": pa.array([*times, far], kind)} | changed)


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize(
    ("unit", "far"),
    [
        ("s", 1 << 50), ("s", -(1 << 50)), ("ms", 1 << 62), ("ms", -(1 << 62)),
        ("us", (1 << 63) - 1), ("us", 5 - (1 << 63)), ("us", 1 - (1 << 63)), ("ns", (1 << 63) - 1),
    ],
)  # fmt: skip
def test_a_time_too_far_away_is_one_bad_row_of_a_parquet_file(make_run, plain, unit, far, zone):
    log = parquet_with_times(pa.timestamp(unit, zone), far)
    run = up_to_the_charge(make_run({"log.parquet": log}, max_bad_row_share=0.1))
    (reject,) = rows_of(run, "rejects")
    assert reject["reason"] in ("no time", "not a time")
    found, sizes = plain
    assert records(run) == found
    assert sum(group_sizes(run).values()) == sum(sizes.values()) + 1


def test_parquet_with_times_is_read_as_without(make_run, plain):
    """Also texts that are numbers of a dictionary."""
    kind = pa.timestamp("ms", "Asia/Tokyo")
    words = pa.array([row[1] for row in [*ROWS, ROWS[0]]])
    coded = pa.DictionaryArray.from_arrays(
        pc.index_in(words, value_set=words.unique()).cast(pa.int8()), words.unique()
    )
    log = parquet_with_times(kind, 0, Query=coded)  # the newcomer's row is of another epoch
    run = up_to_the_charge(make_run({"log.parquet": log}, max_outside_epoch_share=0.5))
    assert (records(run), group_sizes(run)) == plain


@pytest.mark.parametrize(
    ("nanoseconds", "day", "n_bad"), [(28_800 * 10**9, 109_192_579, 1), (0, 0, 0)]
)
def test_a_time_of_96_bits_that_ends_duckdb_is_one_row(make_run, plain, nanoseconds, day, n_bad):
    """DuckDB 2.0.0 ends itself on the first of these, whoever's row it is in."""
    moment = dt.datetime.fromtimestamp(MOMENT, dt.UTC).replace(tzinfo=None)
    rows = columns_of([*ROWS, ("newcomer", "news", TIME, "1", "http://a.example")])
    far = moment + dt.timedelta(days=99, seconds=1)  # found again in the file, and made another
    times = pa.array([*[moment] * len(ROWS), far], pa.timestamp("us"))
    log = parquet_bytes(
        rows | {"QueryTime": times},
        use_deprecated_int96_timestamps=True, compression="none", use_dictionary=False,
    )  # fmt: skip
    old = far - dt.datetime(1970, 1, 1)
    stored = struct.pack("<qI", old.seconds * 10**9, old.days + 2_440_588)
    assert log.count(stored) == 1
    log = log.replace(stored, struct.pack("<qI", nanoseconds, day))
    run = up_to_the_charge(
        make_run({"log.parquet": log}, max_outside_epoch_share=0.5, max_bad_row_share=0.1)
    )
    assert len(rows_of(run, "rejects")) == n_bad  # else it is of another epoch
    found, sizes = plain
    assert records(run) == found
    assert sum(group_sizes(run).values()) == sum(sizes.values()) + n_bad


@pytest.mark.parametrize("says", [True, False], ids=["with statistics", "without"])
@pytest.mark.parametrize("far", [0, 1 << 62])
def test_only_files_that_may_hold_far_times_are_read_row_by_row(tmp_path, says, far):
    path = tmp_path / "log.parquet"
    times = pa.array([MOMENT * 1_000, None, far], pa.timestamp("ms"))
    pq.write_table(
        pa.table({"t": times, "inside": [{"t": 1}, None, {"t": 2}]}), path, write_statistics=says
    )
    source = Source((path,), "parquet", ("t", "inside"))
    assert has_far_times(source, ["t"]) == (far > 0 or not says)
    assert not has_far_times(source, [None])


@pytest.mark.parametrize("name", ["log.tsv", "log.csv"])
def test_what_is_typed_before_the_id_makes_nobody_a_member(make_run, plain, name):
    """A delimiter in a query shifts the columns behind it, so that any word stands for the id."""
    header, *rows = [(q, p, t, r, u) for p, q, t, r, u in [NAMES, *ROWS]]
    forged = ("typed", "victim", PEOPLE[0], TIME, "1", "http://a")
    log = {"log.tsv": tsv, "log.csv": csv_text}[name]([*rows, forged], header)
    run = up_to_the_charge(make_run({name: log}, max_bad_row_share=0.1))
    assert [row["reason"] for row in rows_of(run, "rejects")] == ["too many columns"]
    assert (records(run), group_sizes(run)) == plain


@pytest.mark.parametrize("reason", ["missing columns", "zero byte", "not a time"])
def test_too_many_bad_rows_stop_the_release_before_any_charge(refusal, reason):
    """One of 61 is more than the one in a hundred that is the limit by default."""
    message = refusal(GateRefused, {"log.tsv": LOG + bad_line(b"newcomer", *BAD_LINES[reason])})
    assert "bad_row_share" in message


@pytest.mark.parametrize("time", ["10/11/2026 07:17", "1794295032", "10 Nov 2026", ""])
def test_times_in_another_format_are_named_with_the_formats_that_are_read(refusal, time):
    rows = [(person, query, time, rank, url) for person, query, _, rank, url in ROWS]
    message = refusal(GateRefused, {"log.tsv": tsv(rows)})
    assert "untimed_row_share" in message
    assert "from the column QueryTime, or the one that --columns names as time" in message
    assert "2026-11-16 10:30:00, with a T, fractions of a second or a zone (Z, +01:00)" in message
    assert "Nobody was charged." in message
    assert not time or time not in message


@pytest.mark.parametrize("time", ["2026-11-10T07:17:12.5Z", "2026-11-10 08:17:12+01:00"])
def test_the_formats_that_are_named_are_read(make_run, plain, time):
    rows = [(person, query, time, rank, url) for person, query, _, rank, url in ROWS]
    run = up_to_the_charge(make_run({"log.tsv": tsv(rows)}))
    assert (records(run), group_sizes(run)) == plain


def test_row_of_nobody_is_bad_and_makes_no_member(make_run, plain):
    log = LOG + bad_line(b" ", "news", TIME, "1", "http://a")
    run = up_to_the_charge(make_run({"log.tsv": log}, max_bad_row_share=0.1))
    assert [row["reason"] for row in rows_of(run, "rejects")] == ["no person"]
    assert (records(run), group_sizes(run)) == plain


def test_row_of_an_endless_id_is_bad_and_makes_no_member(make_run, plain):
    """Broken or not, so that what is typed behind it decides nothing."""
    endless = ("a" + "\u0301\u0323" * 100_000).encode()
    bad = [bad_line(endless, query, TIME, "1", "http://a") for query in ("news", b"\xff")]
    run = make_run({"log.tsv": LOG + b"".join(bad)}, max_bad_row_share=0.1)
    up_to_the_charge(run, is_judged=True)
    reasons = sorted(row["reason"] for row in rows_of(run, "rejects"))
    assert reasons == ["id too long", "invalid encoding"]
    assert (records(run), group_sizes(run)) == plain


def test_empty_query_is_left_out_and_is_not_bad(make_run, plain):
    log = LOG + bad_line(b"newcomer", "", TIME, "1", "http://a")
    run = up_to_the_charge(make_run({"log.tsv": log}, max_bad_row_share=0), is_judged=True)
    assert [row["reason"] for row in rows_of(run, "rejects")] == ["empty query"]
    assert records(run) == plain[0]


def test_limit_on_bad_rows_is_inclusive(make_run):
    bad = [(PEOPLE[0], SECRET)] * 15  # of 75 lines: a fifth
    up_to_the_charge(make_run({"log.tsv": tsv(ROWS + bad)}, max_bad_row_share=0.2), is_judged=True)


def test_one_bad_row_over_the_limit(refusal):
    bad = [(PEOPLE[0], SECRET)] * 16
    message = refusal(GateRefused, {"log.tsv": tsv(ROWS + bad)}, max_bad_row_share=0.2)
    assert "max_bad_row_share = 0.2" in message


def test_another_limit_goes_on_with_what_was_read(make_run, plain):
    files = {"log.tsv": tsv([*ROWS, (PEOPLE[0], SECRET)])}
    first = make_run(files)
    with pytest.raises(GateRefused):
        up_to_the_charge(first, is_judged=True)
    again = make_run(files, max_bad_row_share=0.5)
    assert again.release_id == first.release_id
    assert records(up_to_the_charge(again, is_judged=True)) == plain[0]


def test_duplicate_rows_give_nobody_more_records(make_run, plain):
    copies = [row for row in ROWS if row[0] == PEOPLE[0]] * 20
    run = up_to_the_charge(make_run({"log.tsv": tsv(ROWS + copies)}))
    assert (records(run), group_sizes(run)) == plain


def roster_text(people):
    """Return a roster of (person, optin)."""
    return csv_text(people, ("person", "optin"))


def test_roster_says_who_takes_part(make_run):
    """Twelve members, four of them without rows; the other people of the log are ignored."""
    members = [*PEOPLE[:8], "900", "901", "902", "903"]
    roster = [(person, "yes" if i % 2 else "no") for i, person in enumerate(members)]
    files = {"log.tsv": LOG, "roster.csv": roster_text(roster)}
    run = up_to_the_charge(make_run(files, roster="roster.csv"))
    assert {row["person"] for row in rows_of(run, "members")} == set(members)
    assert sum(group_sizes(run).values()) == 12
    assert group_sizes(run)["C"] == 6
    accounts = {row["person"]: row["account"] for row in rows_of(run, "candidates")}
    assert {key[0] for key in records(run)} == {accounts[person] for person in PEOPLE[:8]}


def test_parquet_roster_with_integer_ids(make_run):
    roster = parquet_bytes({"person": list(range(100, 112)), "optin": [True, False] * 6})
    files = {"log.tsv": LOG, "roster.parquet": roster}
    sizes = group_sizes(up_to_the_charge(make_run(files, roster="roster.parquet")))
    assert sum(sizes.values()) == 12
    assert sizes["C"] == 6


def test_optin_column(make_run):
    rows = [(*row, "Yes" if int(row[0]) < 112 else "") for row in ROWS]
    files = {"log.tsv": tsv(rows, (*NAMES, "in"))}
    run = up_to_the_charge(make_run(files, columns=LogColumns(optin="in")))
    assert group_sizes(run)["C"] == 18


def test_log_without_rows_is_refused(refusal):
    assert "n_rows" in refusal(GateRefused, {"log.tsv": tsv([])})
    assert "n_rows" in refusal(GateRefused, {"log.csv": csv_text([])})


def test_roster_without_members_is_refused(refusal):
    files = {"log.tsv": LOG, "roster.csv": roster_text([])}
    assert "n_members" in refusal(GateRefused, files, roster="roster.csv")


# Longer than what is looked at before the log is read.
LONG_GZIP = gzip.compress(tsv([*ROWS, *(("7", f"{i**3}", TIME, "", "") for i in range(20_000))]))
BAD_UTF8 = pa.StringArray.from_buffers(
    len(ROWS),
    pa.array(list(range(len(ROWS) + 1)), pa.int32()).buffers()[1],
    pa.py_buffer(b"\xff" * len(ROWS)),
)
# Two quotes of one person that nobody escaped: everybody's lines between them are one value, and
# with a column too many they are one broken line.
CSV_HEAD = csv_text([])
CSV_LINES = f"200,others,{TIME},1,http://b.com\r\n".encode() * 30
JOINED = CSV_HEAD + b'100,"a\r\n' + CSV_LINES + f'b",{TIME},1,http://a.com\r\n'.encode()
JOINED_AND_BROKEN = JOINED.replace(b"http://a.com", b"http://a.com,more")
OPEN_QUOTE = csv_text(ROWS).replace(b"100,no click", b'100,"no click')


@pytest.mark.parametrize(
    ("files", "settings", "said"),
    [
        pytest.param({"log.tsv": b""}, {}, "is empty", id="empty"),
        pytest.param({"log.tsv": LOG.partition(b"\n")[2]}, {}, "lacks the columns", id="no header"),
        pytest.param({"log.tsv": bytes(range(256))}, {}, "UTF-8", id="binary"),
        pytest.param({"log.tsv.gz": gzip.compress(LOG)[:40]}, {}, "gzip", id="short gzip"),
        pytest.param({"log.tsv.gz": LONG_GZIP[:-20]}, {}, "gzip -t", id="truncated gzip"),
        pytest.param(
            {"log.tsv.gz": LONG_GZIP[:-1]}, {}, "gzip -t", id="gzip without its last byte"
        ),
        pytest.param(
            {"log/a.tsv": LOG, "log/b.csv": csv_text(ROWS)}, {"path": "log"}, "mixes", id="mixed"
        ),
        pytest.param(
            {"log.tsv": LOG.replace(b"ItemRank", b"query")}, {}, "column twice", id="column twice"
        ),
        pytest.param(
            {"log.tsv": LOG + LOG.replace(b"\n", b"\r\n")},
            {},
            "line 62: line ends",
            id="mixed line ends",
        ),
        pytest.param(
            {"log.tsv": LOG + bad_line(b"7", f"a\r{SECRET}", TIME, "1", "")},
            {},
            "line 62: line ends",
            id="bare carriage return",
        ),
        pytest.param({"log.csv": OPEN_QUOTE}, {}, "line 3: a quote opens", id="open quote"),
        pytest.param({"log.csv": JOINED}, {}, "line 2: a quote opens", id="quotes around others"),
        pytest.param(
            {"log.csv": JOINED_AND_BROKEN},
            {},
            "line 2: a quote opens",
            id="broken around others",
        ),
        pytest.param(
            {"log.tsv": LOG, "roster.csv": b'person,optin\n100,1\n"101\n102",1\n'},
            {"roster": "roster.csv"},
            "line 3: a quote opens",
            id="roster's quotes around others",
        ),
        pytest.param(
            {"log.parquet": parquet_bytes(columns_of(ROWS))[:-9]}, {}, "Parquet", id="cut Parquet"
        ),
        pytest.param(
            {"log.parquet": parquet_bytes(columns_of(ROWS) | {"Query": BAD_UTF8})},
            {},
            "PARQUET",
            id="Parquet, invalid text",
        ),
        pytest.param(
            {
                "log.parquet": parquet_bytes(
                    columns_of(ROWS) | {"Query": BAD_UTF8, "QueryTime": TIMES}
                )
            },
            {},
            "PARQUET",
            id="Parquet, invalid text and times",
        ),
        pytest.param(
            {"log.tsv": LOG, "roster.csv": b"person,optin\n100,1\nplanted-secret\n"},
            {"roster": "roster.csv"},
            "roster.csv, near line 3",
            id="broken roster",
        ),
        pytest.param(
            {"log.tsv": LOG, "roster.csv": b"person,optin\n100,1\n" + b"1" * 1_001 + b",1\n"},
            {"roster": "roster.csv"},
            "roster.csv, row 2: the person's id is longer than 1,000 bytes",
            id="endless id in the roster",
        ),
        pytest.param(
            {"log.tsv": LOG, "roster.tsv": b"person\toptin\n100\t1\r101\t1\n"},
            {"roster": "roster.tsv"},
            "roster.tsv, line 2: line ends",
            id="roster with a bare carriage return",
        ),
        pytest.param(
            {"log.tsv": LOG, "roster.csv": b"person,consent\n100,1\n"},
            {"roster": "roster.csv"},
            "lacks the column optin",
            id="roster with other columns",
        ),
    ],
)
def test_files_that_cannot_be_used_are_refused_in_words(refusal, files, settings, said):
    assert said in refusal(BadInput, files, **settings)


def test_result_that_was_not_finished_is_not_there():
    """A rerun takes a result that it finds for whole, so half of one must not stay."""

    def fail_on_rows(batch):
        if batch.num_rows:
            raise KeyboardInterrupt
        return batch

    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        connection.execute("create table numbers as select range as n from range(300_000)")
        with pytest.raises(KeyboardInterrupt):
            engine.map("numbers", fail_on_rows, "mapped")
        assert not engine.has("mapped")
        engine.map("numbers", lambda batch: batch, "mapped")
        assert engine.fetch("mapped").equals(engine.fetch("numbers"))


@pytest.mark.parametrize("rows_per_batch", [2_048, 4_096])
def test_a_person_comes_whole_however_many_batches_they_fill(monkeypatch, rows_per_batch):
    """Who came in two pieces would give twice as many items as they may."""
    monkeypatch.setattr("tasks.log.engine._ROWS_PER_BATCH", rows_per_batch)
    lengths = [1, 2_047, 2_048, 5, 9_000, 1, 1, 2_040, 2_048, 4_096]  # some end where a batch does
    people = np.repeat(np.arange(len(lengths)), lengths)
    seen = []

    def see(batch):
        seen.extend(np.unique(batch.column("person").to_numpy()))
        return batch

    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        connection.register("given", pa.table({"person": people}))
        connection.execute("create table rows as select * from given")
        engine.map("rows", see, "mapped", whole="person")
        assert seen == list(range(len(lengths)))
        assert engine.fetch("mapped")["person"].to_numpy().tolist() == people.tolist()
        connection.register("given", pa.table({"person": [*people, 3]}))
        connection.execute("create or replace table rows as select * from given")
        with pytest.raises(EngineFailed, match="not in the order of person"):
            engine.map("rows", see, "mapped", whole="person")


def test_engine_errors_quote_nothing():
    with duckdb.connect(config={"memory_limit": "10MB", "temp_directory": ""}) as connection:
        engine = DuckDBEngine(connection)
        engine.put("participation", pa.table({"account": [SECRET], "cohort": ["S"]}))
        with pytest.raises(EngineFailed) as caught:
            engine.step("ledger/account_groups", account=SECRET)
        assert SECRET not in "".join(traceback.format_exception(caught.value))
        connection.execute(
            "create view cohort_records as select 'S' as cohort, '' as url, "
            "repeat(range::varchar, 1000) as query from range(1_000_000)"
        )
        with pytest.raises(OutOfSpace, match="memory or disk"):
            engine.step("head_list/headlist_counts")


def test_damaged_warehouse_is_named(tmp_path):
    (tmp_path / "warehouse.duckdb").write_bytes(b"damaged" * 1_000)
    with pytest.raises(EngineFailed, match="in use or damaged"), open_duckdb(tmp_path):
        pass
