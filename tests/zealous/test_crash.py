"""Histograms that are killed in a draw: what was drawn stays, what was begun is burnt.

`tests/release/test_crash.py` kills a release at every point; the steps that are different here are
those between the charge and the last draw.
"""

import signal
from pathlib import Path

import pytest

from tasks.home import Home
from tasks.keys import read_public_key
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.shelf import read_rows
from tasks.verify import verify_release
from tests.release.faults import read_lines, run_child, run_to_the_end, run_until
from tests.zealous.support import PUBLISHED, request_for

pytestmark = pytest.mark.slow

KINDS = ("queries", "clicks")


@pytest.fixture(scope="module")
def request_of_two(log):
    return request_for(log, histograms=KINDS)


@pytest.fixture(scope="module")
def points(request_of_two, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    root = fast_folder / "recorded-histograms"
    root.mkdir()
    assert run_child(run_until, root, request_of_two, None, root / "points") == 0
    return read_lines(root / "points")


@pytest.mark.parametrize(
    ("point", "is_burnt", "n_drawn"),
    [
        ("after RESERVED", False, 0),
        ("before table item_counts", False, 0),
        ("before DRAW_STARTED queries", False, 0),
        ("after DRAW_STARTED queries", True, 0),
        ("before replace queries_histogram.parquet", True, 0),
        ("before DRAWN queries", True, 0),
        ("after DRAWN queries", False, 1),
        ("before table shown_numbers", False, 1),
        ("after DRAW_STARTED clicks", True, 1),
        ("after DRAWN clicks", False, 2),
        ("after PUBLISHED", False, 2),
    ],
)
def test_killed_histograms_go_on_and_are_never_drawn_twice(
    points, request_of_two, fast_folder, point, is_burnt, n_drawn
):
    root = fast_folder / f"histograms {points.index(point)}"
    root.mkdir()
    assert run_child(run_until, root, request_of_two, points.index(point)) == -signal.SIGKILL
    home = Home.open(root / "home")
    before = Ledger(home.ledger).entries()
    assert sum(entry.kind is Kind.DRAWN for entry in before) == n_drawn
    run_child(run_to_the_end, root, request_of_two)
    [outcome] = read_lines(root / "outcome")
    assert "failed" not in outcome, outcome.get("failed")
    assert (outcome["refused"] is not None) == is_burnt
    after = Ledger(home.ledger).entries()
    assert after[: len(before)] == before
    assert sum(entry.kind is Kind.RESERVED for entry in after) == 1 + is_burnt
    draws = [(draw["attempt"], draw["group"]) for draw in read_lines(root / "draws")]
    assert len(set(draws)) == len(draws)
    folder = Path(outcome["folder"])
    [last] = [entry for entry in after if entry.kind is Kind.PUBLISHED]
    verify_release(
        folder,
        read_public_key(home.public / "signing.pub"),
        measurements=home.measurement(last.release_id, last.attempt),
    )
    assert {(row["query"],) for row in read_rows(folder, "queries")} == PUBLISHED["queries"]
