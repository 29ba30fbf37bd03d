"""Means, standard errors and paired verdicts, on numbers that can be checked by hand."""

import pytest

from hybriddp.studies.blender.summary import Mean, compare, mean_of, summarise


def test_mean_has_a_standard_error_from_two_values_on():
    assert mean_of([1.0, 3.0]) == Mean(2.0, 1.0, 2)  # sqrt(2)/sqrt(2)
    assert mean_of([5.0]) == Mean(5.0, None, 1)
    assert mean_of([None, float("nan")]) is None
    assert mean_of([None, 4.0, 4.0]) == Mean(4.0, 0.0, 2)


def test_summary_has_one_row_for_each_setting():
    rows = [{"e": e, "seed": s, "l1": e + s} for e in (1, 2) for s in (0, 2)]
    first, second = summarise(rows, ["e"], ["l1", "absent"])
    assert first == {"e": 1, "n": 2, "l1": 2.0, "l1_se": 1.0, "absent": None, "absent_se": None}
    assert second["l1"] == 3.0


def rows_of(paper, ours, measure="l1"):
    return [
        {"e": 1, "method": method, "seed": seed, measure: value}
        for method, values in (("paper", paper), ("ours", ours))
        for seed, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("ours", "more_is_better", "verdict"),
    [
        ([0.9, 1.9, 3.0], False, "better"),
        ([0.9, 1.9, 3.0], True, "worse"),
        ([1.5, 1.5, 3.3], False, "no difference"),
    ],
)
def test_verdict_needs_two_standard_errors_of_the_paired_difference(ours, more_is_better, verdict):
    rows = rows_of([1.0, 2.0, 3.05], ours)
    (line,) = compare(rows, ["e"], {"l1": more_is_better}, base="paper", other="ours")
    assert line["verdict"] == verdict
    assert line["n"] == 3


def test_only_seeds_that_both_have_are_compared():
    rows = rows_of([1.0, 2.0, None], [1.0, 2.5, 9.0])[:-1]
    (line,) = compare(rows, ["e"], {"l1": False}, base="paper", other="ours")
    assert (line["n"], line["difference"]) == (2, 0.25)
    (alone,) = compare(rows_of([1.0], [2.0]), ["e"], {"l1": False}, base="paper", other="ours")
    assert alone["verdict"] == "one seed"
    assert compare(rows[:3], ["e"], {"l1": False}, base="paper", other="ours") == []
