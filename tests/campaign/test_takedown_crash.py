"""Takedowns that die at every single point, for `make campaign`: minutes of killed processes."""

import pytest

from tests.publish.conftest import (  # noqa: F401 - fixtures
    _two_weeks_once,
    fast_folder,
    gates_waived,
    root,
    small_log,
    two_weeks,
)
from tests.publish.shelves import LATER, run_of
from tests.publish.test_takedown_crash import kill_and_finish, points_of


@pytest.mark.slow
@pytest.mark.usefixtures("gates_waived")
@pytest.mark.parametrize("act", ["withdraw", "block"])
def test_a_takedown_that_dies_anywhere_is_finished_by_the_next_one(
    two_weeks,  # noqa: F811
    small_log,  # noqa: F811
    root,  # noqa: F811
    act,
):
    run = run_of(two_weeks, small_log, LATER)
    (two_weeks.root / "blocked.txt").write_text("weather\n")
    for point in range(len(points_of(two_weeks.root, act, run.release_id, root))):
        kill_and_finish(two_weeks.root, act, run.release_id, root, point)
