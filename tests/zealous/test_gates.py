"""The quality gates of histograms, with the real suites: before any charge, before publishing."""

import json

import pyarrow as pa
import pytest
from pydantic import ValidationError

import tasks.products.histograms.product
from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.histograms.draws import identify
from tasks.products.histograms.estimation.tables import judged_facts, schema_of
from tasks.products.histograms.request import HistogramSettings, ZealousRequest
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tests.homes import steps_of
from tests.zealous.support import ledger_rows, request_for, write_log

SECRET = "planted secret"


def rows_of(n_people):
    return [
        (f"n{number}", f"q{number % 3}", "2026-11-10 10:00:00", "http://a")
        for number in range(n_people)
    ]


@pytest.mark.parametrize(
    ("bad", "expectation"),
    [
        (("n1", SECRET, "not a time", "http://a"), "bad_row_share"),
        (("N1", SECRET, "2026-11-10 10:00:00", "http://a"), "alike_id_share"),
    ],
)
def test_a_bad_log_is_refused_before_anybody_is_charged(root, home, bad, expectation):
    log = write_log(root / "log.tsv", [*rows_of(90), *[bad] * 10])
    with pytest.raises(GateRefused, match=expectation) as raised:
        run_release(identify(request_for(log), home))
    assert SECRET not in str(raised.value)
    assert steps_of(home) == []
    assert list(home.participation.iterdir()) == []
    assert not list(home.measurements.iterdir())
    assert not list(home.public.glob("*/*"))


def test_a_log_that_may_have_bad_rows_passes_and_a_refused_publication_costs_nothing_more(
    root, home
):
    """The second gate judges noisy tables only: what it refuses can be published differently."""
    bad = [("n1", SECRET, "not a time", "http://a")] * 10
    log = write_log(root / "log.tsv", [*rows_of(300), *bad])
    kinds = ("queries", "pairs")
    asked = request_for(log, max_bad_row_share=0.2, max_bytes=10, histograms=kinds)
    with pytest.raises(GateRefused, match=r"n_bytes.*max_bytes = 10"):
        run_release(identify(asked, home))
    assert not list(home.public.glob("*/*"))
    before = [e.kind for e in Ledger(home.ledger).entries()]
    assert before.count(Kind.DRAWN) == 2
    folder = run_release(identify(asked.model_copy(update={"max_bytes": 10_000}), home))
    assert [e.kind for e in Ledger(home.ledger).entries()] == [*before, Kind.PUBLISHED]
    assert json.loads((folder / "manifest.json").read_bytes())["rows"] == {"queries": 3, "pairs": 0}


def test_the_published_release_passes_its_gate_and_so_does_an_empty_one(run):
    assert run.product.judge(run, run.request.settings).passed
    blocklist = run.home.root / "blocked.txt"
    blocklist.write_text("weather\nnews today\nmaps\nnews\ntoday\n")
    assert run.product.judge(run, HistogramSettings(blocklist=blocklist)).passed
    with pytest.raises(GateRefused, match="max_bytes"):
        run_reprocess(ReprocessRequest(release_id=run.release_id, max_bytes=9), run.home)
    assert ledger_rows(run.home, Kind.REVISED) == []


def test_a_table_that_ignores_the_blocklist_is_refused(run, monkeypatch):
    """If building the tables ever forgot it, the gate would see it."""
    blocklist = run.home.root / "blocked.txt"
    blocklist.write_text(" Maps\n")
    build = tasks.products.histograms.product.build_table
    forgetful = lambda kind, table, *_: build(kind, table, frozenset())  # noqa: E731
    monkeypatch.setattr(tasks.products.histograms.product, "build_table", forgetful)
    with pytest.raises(GateRefused, match="n_blocked") as raised:
        run.product.judge(run, HistogramSettings(blocklist=blocklist))
    assert "maps" not in str(raised.value).lower()


ROWS = {
    "queries": [
        {"rank": 1, "query": "a", "contributors": 9},
        {"rank": 2, "query": "b", "contributors": 8},
    ],
    "clicks": [
        {"rank": 1, "query": "a", "url": "u", "contributors": 7},
        {"rank": 2, "query": "a", "url": "v", "contributors": 7},
    ],
}


def facts(blocklist=frozenset(), **changes):
    """Return the facts about two small tables with some rows replaced; thresholds are 7 and 6."""
    tables = {
        kind: pa.Table.from_pylist(rows, schema=schema_of(kind))
        for kind, rows in (ROWS | changes).items()
    }
    thresholds = {"queries": {"threshold": 7}, "clicks": {"threshold": 6}}
    return judged_facts(tables, thresholds, blocklist)


def test_facts_that_the_gate_judges_are_those_of_all_tables():
    good = facts()
    assert {name: value for name, value in good.items() if name != "n_bytes"} == {
        "n_rows": 4, "n_blocked": 0, "n_empty_texts": 0, "n_repeated": 0, "n_at_threshold": 0,
        "order_is_fixed": True,
    }  # fmt: skip
    first, second = ROWS["clicks"]
    for name, value, changed in [
        ("n_repeated", 1, facts(clicks=[first, first])),
        ("n_empty_texts", 1, facts(clicks=[first, second | {"url": ""}])),
        ("n_empty_texts", 1, facts(clicks=[first, second | {"query": ""}])),
        ("n_at_threshold", 1, facts(clicks=[first, second | {"contributors": 6}])),
        ("order_is_fixed", False, facts(clicks=[second, first])),
        ("order_is_fixed", False, facts(queries=ROWS["queries"][::-1])),
        ("n_blocked", 3, facts(frozenset({"a"}))),
        ("n_blocked", 0, facts(frozenset({"u"}))),  # a url is no query
    ]:
        assert changed[name] == value, name


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"columns": {"time": None}}, "pairs need times: name the column of times, or leave pairs"),
        ({"histograms": ("queries", "queries")}, "must name each kind once"),
        ({"histograms": ()}, "at least 1 item"),
        ({"histograms": ("words",)}, "keywords.*queries.*pairs.*clicks"),
        ({"relaxation": "exact"}, "probabilistic.*indistinguishable"),
        ({"items_per_user": 0}, "greater than or equal to 1"),
        ({"session_gap_minutes": 0}, "greater than or equal to 1"),
        ({"session_gap_minutes": 1_441}, "less than or equal to 1440"),
        ({"epsilon": 0}, "greater than 0"),
        ({"epsilon": 51}, "less than or equal to 50"),
        ({"delta": 0}, "greater than 0"),
        ({"delta": 1}, "less than 1"),
        ({"decimals": 3}, "not permitted"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_requests_that_make_no_sense_are_refused_in_words(root, asked, words):
    with pytest.raises(ValidationError, match=f"(?s){words}"):
        request_for(root / "log.tsv", **asked)


def test_a_request_without_times_may_ask_for_all_but_pairs(root):
    kinds = tuple(kind for kind in ITEM_KINDS if kind != "pairs")
    request = request_for(root / "log.tsv", columns={"time": None}, histograms=kinds)
    assert isinstance(request, ZealousRequest)
    assert request.kinds == kinds
