"""What somebody sees who signs off, and what a withdrawal leaves, for any product."""

from pathlib import Path

from tasks.publish.proposal import as_intervals, as_markdown, bars, propose
from tasks.publish.shelf import read_rows
from tasks.publish.withdraw import withdraw
from tasks.release.artifacts import plot_intervals
from tasks.release.run import LogRun


def require_whole(run: LogRun, folder: Path) -> None:
    """See that a proposal is what was then published: every row, each drawn, and the label."""
    proposal = propose(run, run.request.settings)
    assert proposal.label == (folder / "label.md").read_text(encoding="utf-8")
    page = as_markdown(proposal, "Look.")
    assert proposal.label in page
    assert proposal.tables
    for name, rows in proposal.tables.items():
        assert [dict(row) for row in rows] == read_rows(folder, name)
        assert f"## {name}: {len(rows)} rows" in page
        assert all("o" in bar for bar in bars(rows))
        assert plot_intervals(as_intervals(rows)).count("<circle") == len(rows)


def require_a_notice_only(run: LogRun, folder: Path) -> None:
    """Withdraw a release, and see that nothing is left of it, nor anybody pointed to it."""
    assert withdraw(run.home, run.release_id, "a test") == [folder]
    assert {path.name for path in folder.iterdir()} == {"withdrawn.json", "withdrawn.sig"}
    assert not (folder.parent / "latest.json").exists()
