"""The quality gates: every expectation can fail, and no verdict holds a value that was judged."""

import json
import logging
import os
import sys
import threading

import pyarrow as pa
import pytest

from hybriddp.errors import HybridDPError, InvalidParameter
from tasks.gates import quality, suites
from tasks.gates.quality import GateRefused, Result, Verdict, judge
from tasks.gates.suites import read_suite
from tests.repository import run_python

BETWEEN = "expect_column_values_to_be_between"
NOT_NULL = "expect_column_values_to_not_be_null"
NOT_BELOW = "expect_column_pair_values_a_to_be_greater_than_b"
ONE_ROW = "expect_table_row_count_to_equal"
SECRET = "planted-secret"
N_RAW_LOG = len(read_suite("raw_log").expectations)

FACTS = {
    "raw_log": {
        "n_rows": 5_000,
        "n_bad_rows": 3,
        "bad_row_share": 0.0006,
        "untimed_row_share": 0.0002,
        "n_members": 1_000,
        "n_active_members": 900,
        "empty_query_share": 0.02,
        "click_share": 0.5,
        "largest_member_share": 0.01,
        "distinct_query_share": 0.4,
        "outside_epoch_share": 0.9,
        "alike_id_share": 0.0,
    },
    "client_reports": {
        "n_reports_read": 1_000,
        "n_accepted": 990,
        "n_malformed": 1,
        "n_duplicate": 2,
        "n_foreign": 3,
        "n_out_of_list": 4,
        "bad_report_share": 0.01,
    },
    "release": {
        "total_mass": 0.9999,
        "n_rows": 3,
        "n_queries": 2,
        "n_bytes": 4_000,
        "n_blocked": 0,
        "order_is_fixed": True,
        "agreement": 0.3,
    },
    "histograms": {
        "n_rows": 12,
        "n_bytes": 4_000,
        "n_blocked": 0,
        "n_empty_texts": 0,
        "n_repeated": 0,
        "n_at_threshold": 0,
        "order_is_fixed": True,
    },
    "raw_numbers": {
        "n_rows": 1_000,
        "n_bad_rows": 1,
        "bad_row_share": 0.001,
        "untimed_row_share": 0.0002,
        "n_members": 100,
        "n_active_members": 90,
        "largest_member_share": 0.1,
        "keyless_member_share": 0.1,
        "clamped_share": 0.01,
        "outside_epoch_share": 0.9,
        "alike_id_share": 0.0,
    },
    "means": {
        "n_rows": 3,
        "n_bytes": 400,
        "n_repeated": 0,
        "n_impossible": 0,
        "n_crossed": 0,
        "order_is_fixed": True,
        "agreement": 0.3,
    },
    "clusters": {"n_missing": 0, "n_bytes": 400, "n_impossible": 0, "order_is_fixed": True},
}
# What may be null: one number of two groups compares nothing.
MAY_BE_NULL = {("means", "agreement")}
TABLES = {
    "head_list": {
        "rank": [1, 2, 3],
        "rank_low": [1, 1, 2],
        "rank_high": [2, 3, 3],
        "query": ["news", "mail", "news"],
        "url": ["a.example", "b.example", "b.example"],
        "probability": [0.5, 0.2, 0.2],
        "ci_low": [0.4, 0.1, 0.2],
        "ci_high": [0.6, 0.3, 0.2],
    },
    "trends": {
        "rank": [1, 2, 3],
        "rank_low": [1, 1, 2],
        "rank_high": [2, 3, 3],
        "query": ["news", "mail", "maps"],
        "probability": [0.5, 0.2, 0.2],
        "ci_low": [0.4, 0.1, 0.2],
        "ci_high": [0.6, 0.3, 0.2],
    },
    "changes": {
        "change": ["entered", "rose", "left"],
        "query": ["news", "mail", "maps"],
        "probability": [0.5, 0.2, 0.1],
        "previous": [None, 0.1, 0.2],
        "ratio_low": [None, 1.5, 0.2],
        "ratio_high": [None, 3.0, 0.9],
    },
}
SUITES = [*FACTS, *TABLES]


def frame(suite, **changes):
    """Return the suite's good frame with some columns replaced."""
    if suite in FACTS:
        return pa.table({name: [value] for name, value in (FACTS[suite] | changes).items()})
    return pa.table(TABLES[suite] | changes)


OUTSIDE = [
    ("raw_log", "n_rows", 0),
    ("raw_log", "n_bad_rows", -1),
    ("raw_log", "bad_row_share", 0.011),
    ("raw_log", "untimed_row_share", 0.011),
    ("raw_log", "n_members", 1),
    ("raw_log", "n_active_members", 1),
    ("raw_log", "empty_query_share", 0.21),
    ("raw_log", "click_share", 0.04),
    ("raw_log", "click_share", 1.01),
    ("raw_log", "largest_member_share", 0.51),
    ("raw_log", "distinct_query_share", 0.995),
    ("raw_log", "outside_epoch_share", 0.9991),
    ("raw_log", "alike_id_share", 1e-6),
    ("client_reports", "n_accepted", 1),
    ("client_reports", "n_malformed", -1),
    ("client_reports", "n_duplicate", -1),
    ("client_reports", "n_foreign", -1),
    ("client_reports", "n_out_of_list", -1),
    ("client_reports", "bad_report_share", 0.06),
    ("release", "total_mass", 0.99),
    ("release", "total_mass", 1.01),
    ("release", "n_queries", -1),
    ("release", "n_bytes", 0),
    ("release", "n_bytes", 1_000_001),
    ("release", "n_blocked", 1),
    ("release", "agreement", 1e-7),
    ("histograms", "n_rows", -1),
    ("histograms", "n_bytes", 0),
    ("histograms", "n_bytes", 50_000_001),
    ("histograms", "n_blocked", 1),
    ("histograms", "n_empty_texts", 1),
    ("histograms", "n_repeated", 1),
    ("histograms", "n_at_threshold", 1),
    ("raw_numbers", "n_rows", 0),
    ("raw_numbers", "n_bad_rows", -1),
    ("raw_numbers", "bad_row_share", 0.011),
    ("raw_numbers", "untimed_row_share", 0.011),
    ("raw_numbers", "n_members", 1),
    ("raw_numbers", "n_active_members", 1),
    ("raw_numbers", "largest_member_share", 0.51),
    ("raw_numbers", "keyless_member_share", 0.51),
    ("raw_numbers", "clamped_share", 0.51),
    ("raw_numbers", "outside_epoch_share", 0.9991),
    ("raw_numbers", "alike_id_share", 1e-6),
    ("means", "n_rows", 0),
    ("means", "n_bytes", 0),
    ("means", "n_bytes", 5_000_001),
    ("means", "n_repeated", 1),
    ("means", "n_impossible", 1),
    ("means", "n_crossed", 1),
    ("means", "agreement", 1e-7),
    ("clusters", "n_missing", 1),
    ("clusters", "n_bytes", 0),
    ("clusters", "n_bytes", 5_000_001),
    ("clusters", "n_impossible", 1),
]


def breaking_facts():
    """Yield suite, label and the one fact to change, for all that concerns one fact alone."""
    for suite, facts in FACTS.items():
        for name in facts:
            if (suite, name) not in MAY_BE_NULL:
                yield suite, f"{NOT_NULL}({name})", {name: None}
    for suite, name, value in OUTSIDE:
        yield suite, f"{BETWEEN}({name})", {name: value}


def broken_at_once():
    """Yield suite, labels and a frame in which each fact is changed once: first they are null."""
    batches: dict[tuple[str, int], tuple[set[str], dict[str, object]]] = {}
    for suite, label, change in breaking_facts():
        (name,) = change
        turn = 0
        while name in batches.setdefault((suite, turn), (set(), {}))[1]:
            turn += 1
        labels, changes = batches[suite, turn]
        labels.add(label)
        changes |= change
    for (suite, turn), (labels, changes) in batches.items():
        yield pytest.param(suite, labels, frame(suite, **changes), id=f"{suite}-{turn}")


def breaking_cases():
    """Yield suite, label of the expectation to break, broken frame, and what must break with it."""
    for suite in FACTS:
        yield suite, ONE_ROW, pa.concat_tables([frame(suite)] * 2), ()
    for suite, label, change in breaking_facts():
        yield suite, label, frame(suite, **change), ()
    yield (
        "client_reports",
        f"{NOT_BELOW}(n_reports_read, n_accepted)",
        frame("client_reports", n_accepted=1_001),
        (),
    )
    yield "release", f"{NOT_BELOW}(n_rows, n_queries)", frame("release", n_queries=4), ()
    yield (
        "release",
        "expect_column_values_to_be_in_set(order_is_fixed)",
        frame("release", order_is_fixed=False),
        (),
    )
    for suite in ("histograms", "means", "clusters"):
        yield (
            suite,
            "expect_column_values_to_be_in_set(order_is_fixed)",
            frame(suite, order_is_fixed=False),
            (),
        )
    for suite, table in TABLES.items():
        is_list = suite != "changes"
        yield from breaking_tables(suite, list(table)) if is_list else breaking_changes()


def breaking_changes():
    """Yield the same for the table of what changed."""
    suite, columns = "changes", list(TABLES["changes"])
    ordered = f"expect_table_columns_to_match_ordered_list({', '.join(columns)})"
    yield suite, ordered, frame(suite).select(columns[::-1]), ()
    for name in ("change", "query"):
        broken = frame(suite, **{name: [*TABLES[suite][name][:2], None]})
        yield suite, f"{NOT_NULL}({name})", broken, ()
    other = frame(suite, change=["entered", "rose", "fled"])
    yield suite, "expect_column_values_to_be_in_set(change)", other, ()
    twice = frame(suite, query=["news", "mail", "mail"])
    yield suite, "expect_column_values_to_be_unique(query)", twice, ()
    yield suite, f"{BETWEEN}(probability)", frame(suite, probability=[0.5, 1.5, 0.1]), ()
    yield suite, f"{BETWEEN}(previous)", frame(suite, previous=[None, -0.1, 0.2]), ()
    crossed = frame(suite, ratio_low=[None, 3.5, 0.2])
    yield suite, f"{NOT_BELOW}(ratio_high, ratio_low)", crossed, ()


def breaking_tables(suite, columns):
    """Yield the same for a table that is published."""
    ordered = f"expect_table_columns_to_match_ordered_list({', '.join(columns)})"
    is_whole = "expect_column_values_to_be_in_type_list(rank)"
    yield suite, ordered, frame(suite).select(columns[::-1]), ()
    yield suite, ordered, frame(suite).append_column("n_users", pa.array([1, 2, 3])), ()
    yield suite, is_whole, frame(suite, rank=[1.0, 2.0, 3.0]), ()
    for name in columns:
        broken = frame(suite, **{name: [*TABLES[suite][name][:2], None]})
        # pandas has no whole numbers with a gap: it turns them into floats.
        yield suite, f"{NOT_NULL}({name})", broken, (is_whole,) if name == "rank" else ()
    increasing = "expect_column_values_to_be_increasing(rank)"
    for ranks, label, also in [
        ([1, 2, 2], increasing, ()),
        ([1, 3, 2], increasing, ()),
        # Interval ends within the list that hold their rank keep it there too.
        ([0, 1, 2], f"{BETWEEN}(rank)", (f"{NOT_BELOW}(rank, rank_low)",)),
        ([1, 2, 4], f"{BETWEEN}(rank)", (f"{NOT_BELOW}(rank_high, rank)",)),
    ]:
        yield suite, label, frame(suite, rank=ranks), also
    if suite == "head_list":
        twice = "expect_compound_columns_to_be_unique(query, url)"
        yield suite, twice, frame(suite, query=["news", "mail", "mail"]), ()
        length = "expect_column_value_lengths_to_be_between(url)"
        yield suite, length, frame(suite, url=["", "b.example", "b.example"]), ()
    else:
        twice = "expect_column_values_to_be_unique(query)"
        yield suite, twice, frame(suite, query=["news", "mail", "mail"]), ()
    length = "expect_column_value_lengths_to_be_between(query)"
    yield suite, length, frame(suite, query=["news", "mail", ""]), ()
    decreasing = "expect_column_values_to_be_decreasing(probability)"
    for name, least, most in (
        ("rank_low", [0, 1, 2], [1, 1, 4]),
        ("rank_high", [0, 3, 3], [2, 3, 4]),
    ):
        label = f"{BETWEEN}({name})"
        outside = (f"{NOT_BELOW}(rank, rank_low)",) if name == "rank_low" else ()
        below = (f"{NOT_BELOW}(rank_high, rank)",) if name == "rank_high" else ()
        yield suite, label, frame(suite, **{name: least}), below
        yield suite, label, frame(suite, **{name: most}), outside
    yield suite, f"{NOT_BELOW}(rank, rank_low)", frame(suite, rank_low=[1, 3, 2]), ()
    yield suite, f"{NOT_BELOW}(rank_high, rank)", frame(suite, rank_high=[2, 1, 3]), ()
    above_low = f"{NOT_BELOW}(probability, ci_low)"
    below_high = f"{NOT_BELOW}(ci_high, probability)"
    # Intervals within [0, 1] that hold their values keep the values there too, so a probability
    # outside breaks the interval as well.
    too_big = frame(suite, probability=[1.5, 0.2, 0.2])
    yield suite, f"{BETWEEN}(probability)", too_big, (below_high,)
    negative = frame(suite, probability=[0.5, 0.2, -0.1])
    yield suite, f"{BETWEEN}(probability)", negative, (above_low,)
    yield suite, f"{BETWEEN}(ci_low)", frame(suite, ci_low=[0.4, 0.1, -0.1]), ()
    yield suite, f"{BETWEEN}(ci_high)", frame(suite, ci_high=[1.1, 0.3, 0.2]), ()
    yield suite, decreasing, frame(suite, probability=[0.5, 0.15, 0.2]), ()
    yield suite, above_low, frame(suite, ci_low=[0.4, 0.1, 0.21]), ()
    yield suite, below_high, frame(suite, ci_high=[0.6, 0.3, 0.19]), ()


CASES = list(breaking_cases())
# Judging takes a fifth of a second: each fact is broken alone, and each expectation of a table in
# more than one way, in `make campaign`.
ALONE = {(suite, label) for suite, label, _ in breaking_facts()}
AGAIN = {
    place
    for place, (suite, label, *_) in enumerate(CASES)
    if (suite, label) in ALONE or (suite, label) in [case[:2] for case in CASES[:place]]
}


def failed_labels(verdict):
    return {result.label for result in verdict.failed}


@pytest.mark.parametrize("suite", SUITES)
def test_good_frame_passes(suite):
    verdict = judge(suite, frame(suite))
    assert verdict.refusal() == ""
    assert verdict.passed
    assert len(verdict.results) == len(read_suite(suite).expectations)
    assert all(result.was_judged and result.why.endswith(".") for result in verdict.results)
    assert verdict.require() is verdict


@pytest.mark.parametrize(("suite", "labels", "broken"), list(broken_at_once()))
def test_facts_that_are_broken_at_once_fail_each_by_its_expectation(suite, labels, broken):
    verdict = judge(suite, broken)
    assert failed_labels(verdict) == labels
    assert all(result.was_judged for result in verdict.failed)


@pytest.mark.parametrize(
    ("suite", "label", "broken", "also"),
    [
        pytest.param(*case, id=f"{case[0]}-{case[1]}", marks=[pytest.mark.long] * (place in AGAIN))
        for place, case in enumerate(CASES)
    ],
)
def test_breaking_one_expectation_fails_that_one(suite, label, broken, also):
    verdict = judge(suite, broken)
    assert not verdict.passed
    assert failed_labels(verdict) == {label, *also}
    assert all(result.was_judged for result in verdict.failed)


def test_every_expectation_of_every_suite_has_a_breaking_case():
    assert {path.stem for path in suites.SUITES.glob("*.json")} == set(SUITES)
    for suite in SUITES:
        labels = [result.label for result in judge(suite, frame(suite)).results]
        assert len(labels) == len(set(labels))
        assert set(labels) == {label for name, label, *_ in CASES if name == suite}


@pytest.mark.parametrize("suite", TABLES)
@pytest.mark.parametrize("is_typed", [True, False])
def test_empty_list_passes(suite, is_typed):
    empty = frame(suite).slice(0, 0) if is_typed else pa.table({n: [] for n in TABLES[suite]})
    assert judge(suite, empty).passed


@pytest.mark.parametrize("suite", FACTS)
def test_frame_without_its_row_fails(suite):
    assert failed_labels(judge(suite, frame(suite).slice(0, 0))) == {ONE_ROW}


def test_tiny_log_at_every_limit_passes():
    assert judge(
        "raw_log",
        frame(
            "raw_log", n_rows=2, n_members=2, n_active_members=2, bad_row_share=0.01,
            empty_query_share=0.2, click_share=1.0, largest_member_share=0.5,
            distinct_query_share=0.5, outside_epoch_share=0.999,
        ),
    ).passed  # fmt: skip


def test_small_and_decimal_types_of_sql_engines_pass():
    table = frame("head_list")
    table = table.set_column(0, "rank", table["rank"].cast(pa.int32()))
    assert judge("head_list", table).passed
    row = frame("raw_log")
    row = row.set_column(0, "n_rows", row["n_rows"].cast(pa.decimal128(38, 0)))
    assert judge("raw_log", row).passed


def test_parameters_move_the_limits():
    dirty = frame("raw_log", bad_row_share=0.2)
    assert judge("raw_log", dirty, {"max_bad_row_share": 0.2}).passed
    strict = judge("raw_log", frame("raw_log"), {"max_bad_row_share": 0})
    shares = ("bad_row_share", "untimed_row_share")  # rows without a time are bad rows
    assert failed_labels(strict) == {f"{BETWEEN}({share})" for share in shares}
    assert "max_bad_row_share = 0:" in strict.refusal()
    loose = frame("release", total_mass=0.97)
    assert judge("release", loose, {"mass_tolerance": 0.05}).passed


@pytest.mark.parametrize(
    ("suite", "parameters", "named"),
    [
        ("raw_log", {"max_bad_rows": 1}, "max_bad_rows"),
        ("raw_log", {"max_bad_row_share": float("nan")}, "max_bad_row_share"),
        ("raw_log", {"max_bad_row_share": True}, "max_bad_row_share"),
        ("head_list", {"last_rank": 9}, "last_rank"),
        ("../pyproject", {}, "suite must be one of"),
    ],
)
def test_wrong_parameters_and_names_are_refused(suite, parameters, named):
    with pytest.raises(InvalidParameter, match=named):
        judge(suite, frame("raw_log"), parameters)


def test_only_an_arrow_table_is_judged():
    with pytest.raises(InvalidParameter, match=r"pyarrow\.Table") as raised:
        judge("raw_log", {"n_rows": [SECRET]})
    assert SECRET not in str(raised.value)


def test_expectation_that_raises_is_a_failure_with_its_own_wording():
    missing = judge("raw_log", frame("raw_log").drop_columns(["click_share"]))
    assert failed_labels(missing) == {f"{NOT_NULL}(click_share)", f"{BETWEEN}(click_share)"}
    assert not any(result.was_judged for result in missing.failed)
    assert missing.refusal().count("could not be judged") == 2


def test_gate_that_breaks_down_is_a_failure(monkeypatch):
    def break_down(*_):
        raise ValueError(SECRET)

    monkeypatch.setattr(quality, "_ask", break_down)
    verdict = judge("raw_log", frame("raw_log"))
    assert len(verdict.failed) == len(verdict.results) == N_RAW_LOG
    with pytest.raises(GateRefused) as raised:
        verdict.require()
    assert raised.value.__context__ is None
    assert SECRET not in str(raised.value)


def test_suite_with_fewer_results_than_expectations_fails(monkeypatch):
    monkeypatch.setattr(quality, "_ask", lambda *_: {})
    assert not judge("head_list", frame("head_list")).passed
    monkeypatch.setattr(quality, "_ask", lambda *_: dict.fromkeys(range(1, N_RAW_LOG), True))
    first = read_suite("raw_log").expectations[0]["type"]
    assert failed_labels(judge("raw_log", frame("raw_log"))) == {first}


def test_verdict_on_nothing_is_not_a_pass():
    assert not Verdict("raw_log", ()).passed
    with pytest.raises(GateRefused):
        Verdict("raw_log", ()).require()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"expectations": []}, "must expect something"),
        ({"name": "other"}, "named like its file"),
        ({"type": "expect_nothing_at_all"}, "expect_nothing_at_all"),
        ({"kwargs": {"column": "a", "max_valeu": 1}}, "max_valeu"),
        ({"kwargs": {"column": "a", "max_value": {"$PARAMETER": "most"}}}, "most"),
        ({"suite_parameters": {"unused": 1}}, "unused"),
        ({"meta": {}}, r"meta\.why"),
    ],
)
def test_broken_suite_is_refused_when_it_is_read(change, message, tmp_path, monkeypatch):
    item = {"type": BETWEEN, "kwargs": {"column": "a", "max_value": 1}, "meta": {"why": "So."}}
    item |= {key: value for key, value in change.items() if key in item}
    suite = {"name": "mine", "expectations": [item]}
    suite |= {key: value for key, value in change.items() if key not in item}
    (tmp_path / "mine.json").write_text(json.dumps(suite))
    monkeypatch.setattr(suites, "SUITES", tmp_path)
    with pytest.raises(InvalidParameter, match=message):
        judge("mine", pa.table({"a": [0]}))


SPOILT = {
    "raw_log": frame("raw_log", click_share=SECRET, n_members=SECRET, alike_id_share=SECRET),
    "client_reports": frame("client_reports", n_accepted=SECRET, n_foreign=SECRET),
    "release": frame("release", total_mass=SECRET, order_is_fixed=SECRET),
    "histograms": frame("histograms", n_rows=SECRET, n_blocked=SECRET, order_is_fixed=SECRET),
    "raw_numbers": frame("raw_numbers", n_rows=SECRET, clamped_share=SECRET),
    "clusters": frame("clusters", n_missing=SECRET, order_is_fixed=SECRET),
    "means": frame("means", n_rows=SECRET, agreement=SECRET, order_is_fixed=SECRET),
    "head_list": frame("head_list", query=[SECRET] * 3, url=[SECRET] * 3, rank=[SECRET] * 3),
    "trends": frame("trends", query=[SECRET] * 3, probability=[SECRET] * 3),
    "changes": frame("changes", query=[SECRET] * 3, change=[SECRET] * 3),
}


@pytest.mark.parametrize("suite", SUITES)
def test_planted_secret_never_comes_out(suite, capfd, caplog):
    with caplog.at_level(logging.DEBUG):
        verdict = judge(suite, SPOILT[suite])
    with pytest.raises(GateRefused) as raised:
        verdict.require()
    assert isinstance(raised.value, HybridDPError)
    assert str(raised.value) == verdict.refusal()
    assert raised.value.__context__ is None
    out, err = capfd.readouterr()
    assert (out, err) == ("", "")
    assert caplog.records == []
    said = f"{verdict!r} {verdict.refusal()} {caplog.text}"
    assert SECRET not in said
    for result in verdict.failed:
        assert result.label in said
        assert result.why in said


def test_no_measured_number_comes_out():
    row = frame("raw_log", n_rows=918_273, n_members=0.918_274, bad_row_share=0.918_275)
    verdict = judge("raw_log", row)
    assert len(verdict.failed) == 2
    assert "91827" not in f"{verdict!r} {verdict.refusal()}"


def test_result_names_what_it_is_about():
    assert Result("expect_x", (), True, "So.").label == "expect_x"
    assert Result("expect_x", ("a", "b"), True, "So.").label == "expect_x(a, b)"


def test_threads_do_not_mix_their_frames():
    good, bad = frame("release"), frame("release", n_blocked=1)
    verdicts = {}

    def work(index):
        verdicts[index] = judge("release", bad if index % 2 else good).passed

    threads = [threading.Thread(target=work, args=(index,)) for index in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert verdicts == {index: index % 2 == 0 for index in range(6)}


def test_great_expectations_is_imported_by_judging_only_and_phones_nobody():
    judge("release", frame("release"))
    assert os.environ["GX_ANALYTICS_ENABLED"] == "false"
    assert "great_expectations" in sys.modules
    assert run_python(
        "import sys, tasks.gates.quality\n"
        "print({'great_expectations', 'pandas'} & set(sys.modules))"
    ) == "set()\n"  # fmt: skip


def test_what_judging_spares_itself_is_imported_when_somebody_looks_into_it():
    """Also by a suite that would use it: what Great Expectations holds is the whole library."""
    shown = run_python(
        "import sys\n"
        "from tasks.gates.suites import great_expectations\n"
        "gx, _ = great_expectations()\n"
        "spared = {'altair.vegalite', 'scipy.stats._stats_py'}\n"
        "print(spared & set(sys.modules))\n"
        "from great_expectations.expectations.core import (\n"
        "    expect_column_kl_divergence_to_be_less_than as divergence)\n"
        "from scipy import stats\n"
        "print(divergence.stats is stats, stats.norm.cdf(0), divergence.alt.Chart.__name__)\n"
        "print(spared <= set(sys.modules))"
    )
    assert shown == "set()\nTrue 0.5 Chart\nTrue\n"


def test_databases_are_spared_to_judging_and_nobody_else():
    """Whoever needs one meanwhile, or later, has it: Prefect's threads do."""
    shown = run_python(
        "import importlib, sys, threading\n"
        "from tasks.gates import suites\n"
        "found = []\n"
        "with suites._lazily():\n"
        "    find = sys.meta_path[0].find_spec\n"
        "    other = threading.Thread(target=lambda: found.append(find('sqlalchemy')))\n"
        "    other.start()\n"
        "    other.join()\n"
        "print(found)\n"
        "suites.great_expectations()\n"
        "print('sqlalchemy' in sys.modules, importlib.import_module('sqlalchemy').__name__)"
    )
    assert shown == "[None]\nFalse sqlalchemy\n"
