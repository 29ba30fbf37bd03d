"""One canonical form of an id, the same in SQL and in Python, and spellings of one human found."""

import unicodedata

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from tasks.budget.accounts import account_of
from tasks.budget.showing.overview import set_membership
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Founded, Nothing
from tasks.ledger.rules import Entry, Kind
from tasks.log.cohorts import keyed_accounts
from tasks.log.engine import DuckDBEngine
from tasks.log.folded_ids import folded, with_folded_ids
from tasks.log.ids import FIRST_FORM, NEWEST_FORM, canonical, id_form_of, in_sql
from tasks.log.raw.file_sql import DELIMITERS, FIELDS, QUOTES
from tasks.log.raw.files import Source
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tasks.store.keys import Keyring
from tests.engines import empty_database
from tests.examples import few
from tests.homes import new_home

ADVERSARIAL = [
    "142", " 142", "142\t", "\ufeff142", "142\ufeff", "\u00a0142\u2003", "\u2028142\u0085", "0142",
    "jos\u00e9", "jose\u0301", "JOSE\u0301", "\ud55c", "\u1112\u1161\u11ab", "q\u0323\u0307",
    "q\u0307\u0323", "\u212b", "\u00c5", "A\u030a", "\u1e9b\u0323", "\ufb01", "fi", "\u0958",
    "\u200b142", "14 2", "a\0b", "\U0001f469\u200d\U0001f467", "\U00011347\U0001133e", " ",
    "\ufeff", "\u0301", " \u0301a", "\u0358\u0301", "\x1c7\x1f", "\v\f7\r\n",
]  # fmt: skip
MARKS = "\u0301\u0323\u030a\u0358 \u00a0\u2003\ufeff\t\u0085"
TEXTS = st.text(st.sampled_from("aeA\u00e9\u212b\ud55c\u1112\u1161\u11ab0" + MARKS), max_size=6)
LOG_COLUMNS = {
    "person": "AnonID", "query": "Query", "searched_at": None, "url": None, "optin": None
}  # fmt: skip
LOG_RULES = {
    "epoch_start": "2026-11-09",
    "epoch_end": "2026-11-16",
    "needs_time": False,
    "max_bytes": 99,
}


def line_rules(dialect):
    """Return how the id is read off a line that begins with it."""
    return {
        "delimiter": DELIMITERS[dialect],
        "quote": QUOTES[dialect],
        "field": FIELDS[dialect],
        "is_person_first": True,
    }


def in_duckdb(texts, form):
    """Return ids as the log's, the roster's and the broken lines' SQL has them."""
    with empty_database() as connection:
        engine, ids = DuckDBEngine(connection), in_sql(form)
        raw = {"person": texts, "optin": [None] * len(texts), "key": [None] * len(texts)}
        raw = {name: pa.array(values, pa.string()) for name, values in raw.items()}
        engine.put("raw_roster", pa.table(raw))
        engine.step("log/stg_roster", max_key_bytes=9, **ids)
        names = {"query": "person", "searched_at": "optin", "url": "optin"}
        log = pa.table(raw | {name: raw[column] for name, column in names.items()})
        engine.put("raw_log", log)
        engine.step("log/stg_search_log", into="stg_log", **LOG_RULES, **ids)
        lines = {"file_id": [0] * len(texts), "line": range(len(texts))}
        lines |= {"error_type": ["TOO MANY COLUMNS"] * len(texts), "csv_line": texts}
        engine.put("raw_log_errors", pa.table(lines))
        engine.step("log/broken_lines", **line_rules("tsv"), **ids)
        connection.execute("create table in_order as select * from broken_lines order by line")
        return [
            engine.fetch(table)["person"].to_pylist()
            for table in ("stg_roster", "stg_log", "in_order")
        ]


@pytest.mark.parametrize("form", [FIRST_FORM, NEWEST_FORM])
@pytest.mark.property
@settings(max_examples=few(8, in_a_campaign=100))
@given(texts=st.lists(TEXTS | st.text(max_size=4), max_size=20))
def test_sql_and_python_have_the_same_ids(form, texts):
    texts = [*ADVERSARIAL, *(text for text in texts if text.isprintable() or "\t" not in text)]
    expected = [canonical(text, form) for text in texts]
    roster, log, broken = in_duckdb(texts, form)
    assert roster == log == expected
    # A broken line ends its id at the delimiter, which TSV has no way to write into one.
    assert [b for b, text in zip(broken, texts, strict=True) if "\t" not in text] == [
        e for e, text in zip(expected, texts, strict=True) if "\t" not in text
    ]


ID_FIELDS = {
    "tsv": [
        b"?", b" w1 ", b'"w1"', b"\xef\xbb\xbfw1", "jose\u0301\u00a0".encode(), b"\x0bw1", b"w1",
    ],
    "csv": [
        b"w1", b" w1 ", b'"w1"', b' "w1"', b'"w1" ', b'" w1 "', b'"w""1"', b'"w,1"', b'"w,1" ',
        b' "w,1"', b'w""1', b'w"1"', b"\tw1", "\u00a0w1".encode(), '"jose\u0301\u2003"'.encode(),
        b'""', b'"w2"',
    ],
}  # fmt: skip
OVERSIZE = b"x" * 4_100_000


@pytest.mark.parametrize("form", [FIRST_FORM, NEWEST_FORM])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\n\n", b"\r\n\r\n\r\n"])
@pytest.mark.parametrize("dialect", ID_FIELDS)
def test_a_line_that_cannot_be_read_names_whom_it_would_name(dialect, end, form, tmp_path):
    """What people type behind their id makes no second member of them."""
    delimiter, ids = DELIMITERS[dialect].encode(), ID_FIELDS[dialect]
    queries = [b"news", b"caf\xe9", b"too" + delimiter + b"many"]
    rows = [(field, query) for field in ids for query in queries]
    lines = map(delimiter.join, [(b"AnonID", b"Query"), *rows, (ids[-1], OVERSIZE)])
    file = tmp_path / f"log.{dialect}"
    file.write_bytes(end.join(lines) + end)
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        engine.read("raw_log", Source((file,), dialect, ("AnonID", "Query")), LOG_COLUMNS)
        engine.step("log/stg_search_log", into="stg_log", **LOG_RULES, **in_sql(form))
        engine.step("log/broken_lines", **line_rules(dialect), **in_sql(form))
        good = [person or "" for person in engine.fetch("stg_log")["person"].to_pylist()]
        broken = sorted(engine.fetch("broken_lines").to_pylist(), key=lambda row: row["line"])
    assert len(good) == len(ids)
    twice = [person for person in good for _ in range(2)]
    assert [row["person"] for row in broken] == [*twice, good[-1]]


def test_an_id_names_somebody_up_to_a_thousand_bytes_as_it_is_written():
    """An accent takes two bytes; and what a longer one is in Unicode's forms is never computed."""
    marks, hours = "\u0301\u0323", 1_000_000
    fitting = ["x" * 1_000, f"  {'x' * 1_000} ", "\u00e9" * 500, "a" + marks * 249]
    longer = ["x" * 1_001, "x" + "\u00e9" * 500, "a" + marks * 250, "a" + marks * hours]
    expected = [*map(canonical, fitting), *[None] * len(longer)]
    assert in_duckdb([*fitting, *longer], NEWEST_FORM) == [expected] * 3


@given(TEXTS | st.text())
def test_canonical_ids_stay_what_they_are(text):
    once = canonical(text)
    assert canonical(once) == once
    assert canonical(f"\ufeff {text}\u2003\t") == once
    assert canonical(unicodedata.ucd_3_2_0.normalize("NFD", text)) == once


def test_form_1_is_what_version_0_1_0_did():
    """Its trim() knew space separators alone, and no normalisation; accounts depend on it."""
    with empty_database() as connection:
        for text in ADVERSARIAL:
            ((trimmed,),) = connection.execute("select trim($text)", {"text": text}).fetchall()
            assert canonical(text, FIRST_FORM) == trimmed


@pytest.mark.parametrize("text", ADVERSARIAL)
def test_accounts_are_the_same_in_sql_and_in_python(text, tmp_path):
    home = new_home(tmp_path)
    run = HeadListRun(home, "0" * 32, 1, ReleaseRequest(log="log.tsv", epoch="2026-W46"))
    members = pa.table({"person": [canonical(text)], "is_optin": [True]})
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        engine.put("members", members)
        keyed_accounts(engine, run)
        (row,) = engine.fetch("accounts").to_pylist()
    assert row["account"] == account_of(Keyring.open(home), text)


def row(kind, id_form):
    """Return a row whose form of ids counts only if it is the founding one."""
    said = Founded(keys={}, id_form=id_form, adopted=False) if kind is Kind.FOUNDED else Nothing()
    return Entry(1, "", kind, "", 1, "", said, "", "")


@pytest.mark.parametrize(
    ("kinds", "form"),
    [
        ((), NEWEST_FORM),
        (("POLICY",), NEWEST_FORM),
        (("RESERVED",), FIRST_FORM),
        (("POLICY", "OPTED_OUT"), FIRST_FORM),
        (("FOUNDED", "RESERVED"), "nfc-trim-2"),
        (("RESERVED", "FOUNDED", "RESERVED"), "nfc-trim-2"),
    ],
)
def test_a_ledger_keeps_the_form_that_it_began_with(kinds, form):
    assert id_form_of([row(Kind(kind), "nfc-trim-2") for kind in kinds]) == form


def test_a_form_of_the_future_is_refused():
    with pytest.raises(InvalidParameter, match="id_form must be one of"):
        id_form_of([row(Kind.FOUNDED, "nfc-trim-9")])


def test_who_opted_out_under_one_spelling_is_out_under_all(tmp_path):
    home = new_home(tmp_path)
    entry = set_membership(home, "jose\u0301 ", Kind.OPTED_OUT)
    account = account_of(Keyring.open(home), "\ufeffjos\u00e9")
    assert entry.draw == account.hex()
    assert Ledger(home.ledger).entries()[-1].kind is Kind.OPTED_OUT


@pytest.mark.parametrize(
    "spellings",
    [
        ("142", "0142", "142.0", "142.", "0142.00", "\uff11\uff14\uff12", "1 42", "142\u200b"),
        ("jos\u00e9", "JOS\u00c9", "Jos\u00e9", "\ufeffjos\u00e9", "jo s\u00e9"),
        ("strasse", "stra\u00dfe", "STRASSE"),
        ("\ufb01x", "FIX"),
        ("0", "00", "0.0"),
    ],
)
def test_spellings_of_one_id_fold_to_one(spellings):
    ids = pa.RecordBatch.from_pydict({"person": pa.array(spellings)})
    in_arrow = with_folded_ids(ids).column("folded").to_pylist()
    assert len(set(in_arrow)) == 1
    assert in_arrow == [folded(text) for text in spellings]


@given(st.lists(st.text() | st.text("0123. \t+-eAa\x00\x7f", max_size=6), max_size=30))
def test_arrow_folds_as_python_does(texts):
    batch = pa.RecordBatch.from_pydict({"person": pa.array(texts, pa.string())})
    assert with_folded_ids(batch).column("folded").to_pylist() == [folded(t) for t in texts]


def test_different_ids_stay_different():
    different = ["142", "1420", "14.2", "a142", "142a", "1.420", "-142", "142.5", "josef", "jose"]
    assert len({folded(text) for text in different}) == len(different)
