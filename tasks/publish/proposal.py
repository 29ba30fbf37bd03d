"""What somebody who signs off sees: every row, drawn with its interval, and the label."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hybriddp.device.package import canonical_json
from tasks.products.request import Form
from tasks.publish.publication import (
    Facts,
    described_files,
    imagined,
    next_payload,
    wanted_facts,
)
from tasks.publish.showing import in_markdown, visible
from tasks.release.run import Release

Row = Mapping[str, Any]
_BAR = 32


@dataclass(frozen=True, slots=True)
class Proposal:
    """A release as it would be published now."""

    facts: Facts
    tables: Mapping[str, Sequence[Row]]
    label: str

    @property
    def digest(self) -> str:
        """Name the proposal: an answer about another one is no answer."""
        facts = {"settings": self.facts.settings, "blocked": self.facts.blocked}
        shown = {"facts": facts, "tables": {n: list(rows) for n, rows in self.tables.items()}}
        return hashlib.sha256(canonical_json(shown)).hexdigest()[:16]


def propose(release: Release, settings: Form) -> Proposal:
    """Build what would be published, whole; nothing is written."""
    facts = wanted_facts(release, settings)
    row = imagined(release, next_payload(release, facts, revision=1))
    files, _ = described_files(release, row)
    tables = release.product.propose(release, settings).tables
    return Proposal(
        facts,
        {name: table.to_pylist() for name, table in tables.items()},
        files["label.md"].decode(),
    )


def shown(value: object) -> str:
    """Return a cell as text that does nothing to whoever looks at it."""
    return "" if value is None else visible(value)


def measured(row: Row) -> tuple[float, float, float]:
    """Return the number that a row is about, between the ends of its interval if it has one."""
    names = list(row)
    texts = [place for place, name in enumerate(names) if isinstance(row[name], str)]
    # It stands before its interval; without one right after the texts, or after a number's name.
    place = texts[-1] + 1 if texts else 1
    name = names[place] if "ci_low" not in row else names[names.index("ci_low") - 1]
    value = float(row[name] or 0)
    return float(row.get("ci_low", value)), value, float(row.get("ci_high", value))


def as_intervals(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """Return rows in the form in which a head list is drawn."""
    drawn = []
    for row in rows:
        low, value, high = measured(row)
        text = "  ".join(shown(cell) for cell in row.values() if isinstance(cell, str))
        names = {"query": text or shown(next(iter(row.values()))), "url": ""}
        drawn.append(names | {"probability": value, "ci_low": low, "ci_high": high})
    return drawn


def bars(rows: Sequence[Row]) -> list[str]:
    """Draw every row's number and interval in plain characters: `--o---`."""
    numbers = [measured(row) for row in rows]
    longest = max((high for _, _, high in numbers), default=0) or 1

    def place(number: float) -> int:
        return min(max(round(number / longest * _BAR), 0), _BAR)

    drawn = []
    for low, value, high in numbers:
        line = " " * place(low) + "-" * (place(high) - place(low) + 1)
        drawn.append(line[: place(value)] + "o" + line[place(value) + 1 :])
    return drawn


def as_markdown(proposal: Proposal, words: str) -> str:
    """Return the whole proposal as one page."""
    parts = [words]
    for name, rows in proposal.tables.items():
        parts.append(f"## {name}: {len(rows)} rows\n\n" + _table(rows))
    return "\n\n".join([*parts, "## The label, as it would be published", proposal.label])


def _table(rows: Sequence[Row]) -> str:
    if not rows:
        return "It would be empty."
    lines = [_line([*rows[0], "plot"]), _line(["---"] * (len(rows[0]) + 1))]
    for row, bar in zip(rows, bars(rows), strict=True):
        cells = ["" if v is None else in_markdown(v) for v in row.values()]
        lines.append(_line([*cells, f"`{bar.replace(' ', '.')}`"]))
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
