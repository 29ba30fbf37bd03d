"""Histograms that are killed in a draw: what was drawn stays, what was begun is burnt.

`tests/release/test_crash.py` kills a release at every point; the steps that are different here are
those between the charge and the last draw.
"""

import pytest

from tasks.ledger.rules import Kind
from tasks.publish.shelf import read_rows
from tests.release.faults import kill_and_go_on, points_of
from tests.zealous.support import PUBLISHED, request_for

pytestmark = pytest.mark.slow

KINDS = ("queries", "clicks")


@pytest.fixture(scope="module")
def request_of_two(log):
    return request_for(log, histograms=KINDS)


@pytest.fixture(scope="module")
def points(request_of_two, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    return points_of(fast_folder / "recorded-histograms", request_of_two)


@pytest.mark.parametrize(
    ("point", "is_burnt", "n_drawn"),
    [
        pytest.param("after RESERVED", False, 0, marks=pytest.mark.long),
        pytest.param("before table item_counts", False, 0, marks=pytest.mark.long),
        ("before DRAW_STARTED queries", False, 0),
        pytest.param("after DRAW_STARTED queries", True, 0, marks=pytest.mark.long),
        ("before replace queries_histogram.parquet", True, 0),
        pytest.param("before DRAWN queries", True, 0, marks=pytest.mark.long),
        ("after DRAWN queries", False, 1),
        ("before table shown_numbers", False, 1),
        pytest.param("after DRAW_STARTED clicks", True, 1, marks=pytest.mark.long),
        pytest.param("after DRAWN clicks", False, 2, marks=pytest.mark.long),
        pytest.param("after PUBLISHED", False, 2, marks=pytest.mark.long),
    ],
)
def test_killed_histograms_go_on_and_are_never_drawn_twice(
    points, request_of_two, fast_folder, point, is_burnt, n_drawn
):
    place = points.index(point)
    before, folder = kill_and_go_on(
        fast_folder / f"histograms {place}", request_of_two, place, is_burnt=is_burnt
    )
    assert sum(entry.kind is Kind.DRAWN for entry in before) == n_drawn
    assert {(row["query"],) for row in read_rows(folder, "queries")} == PUBLISHED["queries"]
