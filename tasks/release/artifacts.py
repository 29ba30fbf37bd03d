"""What a step shows to people: short texts, tables and pictures, of public facts only.

They land on Prefect's pages and in its database: parameters, sizes of groups, outputs of the
mechanisms. Never a count of rows, a name or a value of the log.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tasks.budget.paid import parts_in_words
from tasks.budget.showing.overview import runway
from tasks.gates.quality import Verdict
from tasks.ledger.charges import Charge
from tasks.publish.publish import published_folder
from tasks.publish.showing import in_drawing, in_markdown
from tasks.release.run import LogRun, Release

_SHOWN = 50
_BAR_HEIGHT, _CHART_WIDTH, _TEXT_WIDTH = 22, 720, 260


@dataclass(frozen=True, slots=True)
class Words:
    """A text, as Markdown."""

    key: str
    text: str


@dataclass(frozen=True, slots=True)
class Rows:
    """A table."""

    key: str
    rows: Sequence[Mapping[str, Any]]
    title: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, as SVG."""

    key: str
    svg: str
    title: str


Artifact = Words | Rows | Picture
Artifacts = Iterable[Artifact]


def identity(run: LogRun) -> Artifacts:
    """Say which release this is."""
    parameters = run.request.measurement_parameters()
    rows = [f"| {name} | {in_markdown(value)} |" for name, value in parameters.items()]
    yield Words(
        "release",
        f"Release `{run.release_id}`, attempt {run.attempt}: {run.request.product}, "
        f"{run.request.locale}, {run.request.epoch}.\n\n| parameter | value |\n|---|---|\n"
        + "\n".join(rows),
    )


def gate(key: str, release: Release, verdict: Verdict | None) -> Artifacts:
    """Say which expectations were judged, and how."""
    if verdict is None:
        return
    rows = [
        {
            "expectation": result.label,
            "passed": result.passed,
            "limits": ", ".join(f"{name} {value:g}" for name, value in result.limits),
            "why": result.why,
        }
        for result in verdict.results
    ]
    yield Rows(key, rows, f"Gate of {release.release_id}")


def budget(run: LogRun, _: Any) -> Artifacts:
    """Say what everybody paid, and how far the budget reaches."""
    rows = [
        f"| {group} | {'devices' if terms.members is None else terms.members} | "
        f"{Charge.of_terms(terms)} |"
        for group in run.groups
        for terms in [run.reservation.groups[group]]
    ]
    reach = runway(run.home)
    window = f"{reach.policy.window_days} days" if reach.policy.window_days else "a lifetime"
    yield Words(
        "budget-runway",
        "| group | people | each paid |\n|---|---|---|\n" + "\n".join(rows) + "\n\n"
        f"Cap over {window}: {reach.policy}. The most charged person has spent "
        f"{reach.largest}. {reach.words}"
        + (f" {parts_in_words(reach.policy)}" if reach.has_gaussian else ""),
    )


def preview(run: LogRun) -> Artifacts:
    """Show the head of what would be published, to whoever signs it off."""
    for name, table in run.product.propose(run, run.request.settings).tables.items():
        rows = table.slice(0, _SHOWN).to_pylist()
        yield Rows(name, rows, f"Head of {name}, {run.release_id}")


def label(run: LogRun, _: Any) -> Artifacts:
    """Show the label as it was published."""
    yield Words("label", (published_folder(run) / "label.md").read_text(encoding="utf-8"))


def intervals(key: str, rows: Sequence[dict[str, Any]], title: str) -> Picture:
    """Show numbers with their intervals as a picture."""
    return Picture(key, plot_intervals(rows), title)


def plot_intervals(rows: Sequence[dict[str, Any]]) -> str:
    """Draw probabilities with their intervals as SVG; no plotting library is worth its import."""
    longest = max((row["ci_high"] for row in rows), default=1.0) or 1.0
    height = _BAR_HEIGHT * (len(rows) + 1)
    unit = (_CHART_WIDTH - _TEXT_WIDTH - 20) / longest
    parts = []
    for position, row in enumerate(rows):
        middle = _BAR_HEIGHT * (position + 0.5)
        low, high, at = (
            _TEXT_WIDTH + unit * row[name] for name in ("ci_low", "ci_high", "probability")
        )
        name = in_drawing(f"{row['query']}  {row['url'].removeprefix('http://www.')}", 40)
        parts.append(
            f'<text x="{_TEXT_WIDTH - 8}" y="{middle + 4}" text-anchor="end">{name}</text>'
            f'<line x1="{low:.1f}" x2="{high:.1f}" y1="{middle}" y2="{middle}" stroke="#7a9cc6" '
            f'stroke-width="6"/><circle cx="{at:.1f}" cy="{middle}" r="4" fill="#1b3a5c"/>'
        )
    axis = _BAR_HEIGHT * len(rows) + 14
    parts.append(
        f'<text x="{_TEXT_WIDTH}" y="{axis}">0</text>'
        f'<text x="{_CHART_WIDTH - 20}" y="{axis}" text-anchor="end">{longest:.4f}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_CHART_WIDTH}" height="{height}" '
        f'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
        + "".join(parts)
        + "</svg>"
    )
