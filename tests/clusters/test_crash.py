"""Clusters that are killed in the draw that both groups make together: both are there, or burnt."""

import signal
from pathlib import Path

import pytest

from tasks.home import Home
from tasks.keys import read_public_key
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.verify import verify_release
from tests.clusters.support import request_for
from tests.release.faults import read_lines, run_child, run_to_the_end, run_until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def points(log, fast_folder) -> list[str]:
    """Everything durable that a release does, in order."""
    root = fast_folder / "recorded-clusters"
    root.mkdir()
    assert run_child(run_until, root, request_for(log, epsilon=4.0), None, root / "points") == 0
    return read_lines(root / "points")


@pytest.mark.parametrize(
    ("point", "is_burnt"),
    [
        ("before DRAW_STARTED points", False),
        ("after DRAW_STARTED points", True),
        ("after DRAW_STARTED answers", True),
        ("before replace cluster_reports.parquet", True),
        ("before DRAWN points", True),
        ("after DRAWN points", True),
        ("after DRAWN answers", False),
    ],
)
def test_killed_clusters_go_on_and_are_never_drawn_twice(points, log, fast_folder, point, is_burnt):
    root, wanted = fast_folder / f"clusters {points.index(point)}", request_for(log, epsilon=4.0)
    root.mkdir()
    assert run_child(run_until, root, wanted, points.index(point)) == -signal.SIGKILL
    run_child(run_to_the_end, root, wanted)
    [outcome] = read_lines(root / "outcome")
    assert "failed" not in outcome, outcome.get("failed")
    assert (outcome["refused"] is not None) == is_burnt
    home = Home.open(root / "home")
    entries = Ledger(home.ledger).entries()
    assert sum(entry.kind is Kind.RESERVED for entry in entries) == 1 + is_burnt
    draws = [draw["attempt"] for draw in read_lines(root / "draws")]
    assert len(set(draws)) == len(draws)
    [last] = [entry for entry in entries if entry.kind is Kind.PUBLISHED]
    verify_release(
        Path(outcome["folder"]),
        read_public_key(home.public / "signing.pub"),
        measurements=home.measurement(last.release_id, last.attempt),
    )
