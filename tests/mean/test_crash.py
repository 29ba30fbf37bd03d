"""Means that are killed in a draw: what was drawn stays, what was begun is burnt."""

import signal
from pathlib import Path

import pytest

from tasks.home import Home
from tasks.keys import read_public_key
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.verify import verify_release
from tests.mean.support import request_for
from tests.release.faults import read_lines, run_child, run_to_the_end, run_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def wanted(log):
    return request_for(log)


@pytest.fixture(scope="module")
def points(wanted, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    root = fast_folder / "recorded-mean"
    root.mkdir()
    assert run_child(run_until, root, wanted, None, root / "points") == 0
    return read_lines(root / "points")


@pytest.mark.parametrize(
    ("point", "is_burnt", "n_drawn"),
    [
        ("before table result_keys", False, 0),
        ("before DRAW_STARTED sums", False, 0),
        ("after DRAW_STARTED sums", True, 0),
        ("before DRAWN sums", True, 0),
        ("after DRAWN sums", False, 1),
        ("before replace squared_differences.parquet", True, 1),
        ("after DRAW_STARTED numbers", True, 2),
        ("after DRAWN numbers", False, 3),
        ("after PUBLISHED", False, 3),
    ],
)
def test_killed_mean_goes_on_and_is_never_drawn_twice(
    points, wanted, fast_folder, point, is_burnt, n_drawn
):
    root = fast_folder / f"mean {points.index(point)}"
    root.mkdir()
    assert run_child(run_until, root, wanted, points.index(point)) == -signal.SIGKILL
    home = Home.open(root / "home")
    before = Ledger(home.ledger).entries()
    assert sum(entry.kind is Kind.DRAWN for entry in before) == n_drawn
    run_child(run_to_the_end, root, wanted)
    [outcome] = read_lines(root / "outcome")
    assert "failed" not in outcome, outcome.get("failed")
    assert (outcome["refused"] is not None) == is_burnt
    after = Ledger(home.ledger).entries()
    assert after[: len(before)] == before
    assert sum(entry.kind is Kind.RESERVED for entry in after) == 1 + is_burnt
    draws = [(draw["attempt"], draw["group"]) for draw in read_lines(root / "draws")]
    assert len(set(draws)) == len(draws)
    [last] = [entry for entry in after if entry.kind is Kind.PUBLISHED]
    verify_release(
        Path(outcome["folder"]),
        read_public_key(home.public / "signing.pub"),
        measurements=home.measurement(last.release_id, last.attempt),
    )
