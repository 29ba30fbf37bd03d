"""docs/data-flow.md is what a release does: its walk and its counts are traced, not told."""

import re

import pytest

from bench.data_flow import Visit, changes_of_layer, first_meetings
from tests.repository import ROOT, run_python

PAGE = ROOT / "docs" / "data-flow.md"
TRACE = (
    "from bench.data_flow import as_text, trace_this_version; print(as_text(trace_this_version()))"
)
TOLD = re.compile(r"^\| (\d+) \| \[`([\w.]+)`\]\(\.\./([\w/.]+)\) \|", flags=re.MULTILINE)


def counts_told(words: str) -> int:
    # The table that is compared has a column of limits.
    counted = rf"^\| {words} \| \d+ \| (\d+) \| \d* ?\|"
    (count,) = re.findall(counted, PAGE.read_text(), flags=re.MULTILINE)
    return int(count)


@pytest.mark.slow
def test_the_page_walks_as_a_release_does():
    """In a process of its own, because what this one has cached would not be visited again."""
    *walked, met, visits = (line.split("\t") for line in run_python(TRACE).splitlines())
    told = TOLD.findall(PAGE.read_text())
    assert [(file, name) for _, name, file in told] == [(file, name) for _, file, name in walked]
    assert [int(number) for number, _, _ in told] == list(range(1, len(walked) + 1))
    assert met == ["met", str(counts_told("functions met")),
                   str(counts_told("changes of layer between them"))]  # fmt: skip
    assert visits == ["visits", str(counts_told("visits, again in each step")),
                      str(counts_told("changes of layer between those"))]  # fmt: skip


def test_what_is_met_again_counts_once_and_layers_change_in_order():
    visits = [Visit("a", "tasks/x.py", "f"), Visit("a", "sql/log/y.sql", "y"),
              Visit("b", "tasks/x.py", "f"), Visit("b", "hybriddp/z.py", "g")]  # fmt: skip
    assert changes_of_layer(visits) == 3
    assert first_meetings(visits) == [visits[0], visits[1], visits[3]]
    assert changes_of_layer(first_meetings(visits)) == 2
