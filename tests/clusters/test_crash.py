"""Clusters that are killed in the draw that both groups make together: both are there, or burnt."""

import pytest

from tests.clusters.support import request_for
from tests.release.faults import kill_and_go_on, points_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def points(log, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    return points_of(fast_folder / "recorded-clusters", request_for(log, epsilon=4.0))


@pytest.mark.parametrize(
    ("point", "is_burnt"),
    [
        pytest.param("before DRAW_STARTED points", False, marks=pytest.mark.long),
        ("after DRAW_STARTED points", True),
        pytest.param("after DRAW_STARTED answers", True, marks=pytest.mark.long),
        pytest.param("before replace cluster_reports.parquet", True, marks=pytest.mark.long),
        pytest.param("before DRAWN points", True, marks=pytest.mark.long),
        ("after DRAWN points", True),
        ("after DRAWN answers", False),
    ],
)
def test_killed_clusters_go_on_and_are_never_drawn_twice(points, log, fast_folder, point, is_burnt):
    place, wanted = points.index(point), request_for(log, epsilon=4.0)
    kill_and_go_on(fast_folder / f"clusters {place}", wanted, place, is_burnt=is_burnt)
