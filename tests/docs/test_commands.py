"""What the pages of docs/ show can be typed; their releases run without Prefect."""

from pathlib import Path

import pytest

from tests.docs.pages import PAGES, blocks
from tests.docs.plainly import run_command
from tests.flow.logs import write_searches
from tests.repository import ROOT, run_python

pytestmark = pytest.mark.slow

# A page begins with what its commands need; the ledger's and the auditors' look at what was made.
ORDER = (
    "own-log.md", "products/series.md", "products/head-list.md", "products/histograms.md",
    "products/means.md", "products/clusters.md", "operate.md", "check-a-release.md", "reader.md",
    "devices.md", "method.md", "studies.md",
)  # fmt: skip
# Their commands rehearse for a quarter of a minute, and need a cluster; shorter ones are in
# `tests/planning/test_planner.py` and `tests/spark`.
NOT_RUN = ("planner.md", "spark.md")
SAID = {
    "hybriddp release --log searches.tsv": "2 records of 2 queries",
    "hybriddp search": "weather  0.",
    "hybriddp zealous": "2 queries of more than",
    "hybriddp mean": "US       ",
    "hybriddp kmeans": "cluster  share",
    "hybriddp verify": "is what its publisher signed",
    "hybriddp ledger verify": "form one chain",
    "hybriddp study --list": "equal-privacy",
}


def write_visits(folder: Path) -> None:
    """Write the files of the pages on means and clusters: two visits of everybody, two clouds."""
    visits, roster = ["UserId,VisitTime,DwellSeconds,Pages"], ["person,optin,country"]
    for person in range(2_000):
        seconds, pages = ((300, 5), (900, 15))[person // 2 % 2]
        country = ("DE", "FR", "US")[person % 3]
        roster.append(f"u{person},{int(person % 5 == 0)},{country}")
        visits += [f"u{person},2026-11-10 0{hour}:00:00,{seconds},{pages}" for hour in (8, 9)]
    (folder / "visits.csv").write_text("\n".join([*visits, ""]))
    (folder / "roster.csv").write_text("\n".join([*roster, ""]))


def test_every_page_with_commands_is_run():
    shown = {page.relative_to(ROOT / "docs").as_posix() for page in PAGES
             if page.is_relative_to(ROOT / "docs") and blocks(page, "sh", "python")}  # fmt: skip
    assert shown == {*ORDER, *NOT_RUN}


def test_commands_and_code_of_all_pages_run_one_after_the_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for log in ("searches.tsv", "optin.tsv"):
        write_searches(tmp_path / log, 3_000)
    write_visits(tmp_path)
    waiting = dict(SAID)
    for name in ORDER:
        for language, text in blocks(ROOT / "docs" / name, "sh", "python"):
            if language == "python":
                said = run_python(text)
                assert name != "method.md" or said.startswith("[1 2 3 4 5] [0.")
                assert name != "reader.md" or "\nweather 0." in said
                continue
            for line in text.splitlines():
                done = run_command(line)
                assert done.exit_code == 0, (name, line, done.output)
                for command, words in SAID.items():
                    if line.startswith(command):
                        assert words in done.output, (line, done.output)
                        waiting.pop(command, None)
    assert waiting == {}
    assert len(list((tmp_path / "devices" / "public" / "search" / "all").glob("*/label.md"))) == 1
