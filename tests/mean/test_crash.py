"""Means that are killed in a draw: what was drawn stays, what was begun is burnt."""

import pytest

from tasks.ledger.rules import Kind
from tests.mean.support import request_for
from tests.release.faults import kill_and_go_on, points_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wanted(log):
    return request_for(log)


@pytest.fixture(scope="module")
def points(wanted, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    return points_of(fast_folder / "recorded-mean", wanted)


@pytest.mark.parametrize(
    ("point", "is_burnt", "n_drawn"),
    [
        pytest.param("before table result_keys", False, 0, marks=pytest.mark.long),
        ("before DRAW_STARTED sums", False, 0),
        ("after DRAW_STARTED sums", True, 0),
        pytest.param("before DRAWN sums", True, 0, marks=pytest.mark.long),
        ("after DRAWN sums", False, 1),
        ("before replace squared_differences.parquet", True, 1),
        pytest.param("after DRAW_STARTED numbers", True, 2, marks=pytest.mark.long),
        pytest.param("after DRAWN numbers", False, 3, marks=pytest.mark.long),
        pytest.param("after PUBLISHED", False, 3, marks=pytest.mark.long),
    ],
)
def test_killed_mean_goes_on_and_is_never_drawn_twice(
    points, wanted, fast_folder, point, is_burnt, n_drawn
):
    place = points.index(point)
    before, _ = kill_and_go_on(fast_folder / f"mean {place}", wanted, place, is_burnt=is_burnt)
    assert sum(entry.kind is Kind.DRAWN for entry in before) == n_drawn
