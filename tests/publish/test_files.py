"""What is published: rounding, order, intervals, label, plot."""

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.estimation.intervals import normal_interval
from hybriddp.blender.estimation.levels import Bounded
from tasks.products.files import files_of
from tasks.products.head_list.estimation.listing import Listing
from tasks.products.head_list.estimation.tables import build_tables

RECORDS = [("a", "x"), ("a", "y"), ("b", "x"), ("é", "ü")]


def total_mass(made) -> float:
    """Rows plus what is on no row; 1 but for rounding."""
    rows = made.head_list["probability"].to_pylist()
    return math.fsum([*rows, *made.query_wildcards.values(), made.other_records])


def bounded(values, variance=1e-6):
    values, variances = np.array(values), np.full(len(values), variance)
    return IntervalEstimate(values, variances, *normal_interval(values, variances))


def tables(records, queries, *, decimals=6, blocked=frozenset(), variance=1e-6):
    levels = Bounded(bounded(records, variance), bounded(queries, variance))
    return build_tables(Listing.of(RECORDS), levels, decimals, blocked)


# Cells: <a,x> <a,y> <a,*> <b,x> <b,*> <é,ü> <é,*> <*,*>
CELLS = [0.1, 0.3, 0.05, 0.1, 0.0, 0.2, 0.0, 0.25]
QUERIES = [0.45, 0.1, 0.2, 0.25]


def test_rows_are_ranked_by_probability_then_text():
    made = tables(CELLS, QUERIES)
    rows = made.head_list.to_pylist()
    assert [(r["rank"], r["query"], r["url"]) for r in rows] == [
        (1, "a", "y"), (2, "é", "ü"), (3, "a", "x"), (4, "b", "x"),
    ]  # fmt: skip
    assert made.query_wildcards == {"a": 0.05, "b": 0.0, "é": 0.0}
    assert total_mass(made) == pytest.approx(1)
    assert [r["query"] for r in made.trends.to_pylist()] == ["a", "é", "b"]


def test_ties_are_ordered_by_query_then_url():
    # Cells: <ab,x> <ab,y> <ab,*> <ba,x> <ba,*> <*,*>
    equal, queries = bounded([0.2, 0.2, 0.1, 0.2, 0.1, 0.2]), bounded([0.5, 0.3, 0.2])
    listing = Listing.of([("ba", "x"), ("ab", "y"), ("ab", "x")])
    made = build_tables(listing, Bounded(equal, queries), 6, frozenset())
    ordered = [(row["query"], row["url"]) for row in made.head_list.to_pylist()]
    assert ordered == [("ab", "x"), ("ab", "y"), ("ba", "x")]


def test_blocked_queries_vanish_but_their_mass_stays():
    made = tables(CELLS, QUERIES, blocked=frozenset({"a"}))
    assert {row["query"] for row in made.head_list.to_pylist()} == {"b", "é"}
    assert made.other_records == pytest.approx(0.25 + 0.1 + 0.3 + 0.05)
    assert made.other_queries == pytest.approx(0.7)
    assert (made.n_blocked, total_mass(made)) == (1, pytest.approx(1))


def test_same_numbers_give_the_same_bytes_and_both_forms_agree():
    first, second = (files_of(tables(CELLS, QUERIES).by_name, 6) for _ in range(2))
    assert first == second
    lines = [json.loads(line) for line in first["head_list.jsonl"].splitlines()]
    assert lines == tables(CELLS, QUERIES).head_list.to_pylist()
    assert "é".encode() in first["head_list.jsonl"]


def test_an_element_that_nobody_knows_has_the_whole_interval():
    (row, *_) = tables(CELLS, QUERIES, variance=np.inf).head_list.to_pylist()
    assert (row["ci_low"], row["ci_high"]) == (0, 1)


@given(
    st.lists(st.floats(0, 1), min_size=8, max_size=8).filter(lambda v: sum(v) > 0.01),
    st.integers(2, 12),
    st.floats(0, 0.1),
)
def test_intervals_hold_their_probability_after_rounding(weights, decimals, variance):
    cells = np.array(weights) / sum(weights)
    made = tables(cells, [1, 0, 0, 0], decimals=decimals, variance=variance)
    for row in made.head_list.to_pylist():
        assert 0 <= row["ci_low"] <= row["probability"] <= row["ci_high"] <= 1
    assert abs(total_mass(made) - 1) <= 9 * 0.5 * 10**-decimals + 1e-12
    ranked = made.head_list["probability"].to_pylist()
    assert ranked == sorted(ranked, reverse=True)


def test_label_says_who_trusted_whom_and_what_is_not_promised(folder):
    label = (folder / "label.md").read_text()
    for words in (
        "the curator (simulated)", "| 4 | 1e-05 |", "| 4 | 0 |", "in the log of this epoch is not",
        "epsilon 12, delta 0.0001", "What it does not promise",
    ):  # fmt: skip
        assert words in label


def test_plot_is_svg_with_escaped_text():
    from tasks.release.artifacts import plot_intervals

    row = {"query": "<b>&", "url": "u", "probability": 0.2, "ci_low": 0.1, "ci_high": 0.3}
    drawing = ET.fromstring(plot_intervals([row]))
    assert any("<b>&" in (element.text or "") for element in drawing.iter())
    ET.fromstring(plot_intervals([]))
