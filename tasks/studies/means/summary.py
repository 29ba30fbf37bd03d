"""What the studies of hybrid means say of themselves, read from their summaries."""

from collections.abc import Callable, Iterable
from typing import Any

from hybriddp.studies.means.runs import BY_FRACTION, OF_SO_MANY
from tasks.studies.means.sweeps import DATA_TITLES

Row = dict[str, Any]
Summary = list[Row]


def rows_of(summary: Summary, measure: str, **fields: object) -> Summary:
    """Return the rows with these fields and this measure."""
    return [
        row
        for row in summary
        if row.get(measure) is not None and all(row[name] == fields[name] for name in fields)
    ]


def extreme(choose: Callable[..., Row], rows: Summary, measure: str, form: str = ".2f") -> str:
    """Write the least or the largest value (`choose` is min or max), and where it is."""
    row = choose(rows, key=lambda row: row[measure])
    return f"{row[measure]:{form}} ({place(row)})"


def share_of(rows: Summary, is_counted: Callable[[Row], bool]) -> str:
    """Write how many of the rows are like that."""
    return f"{sum(map(is_counted, rows)) / len(rows):.0%}"


def place(row: Row) -> str:
    """Say which setting and which part of it a row is about."""
    name, number = str(row["item_kind"]), int(row["part"])
    words = f"{DATA_TITLES.get(name, name).split(', sd')[0]}, epsilon {row['epsilon']:g}"
    if row["kind"] == BY_FRACTION:
        return f"{words}, c {number / OF_SO_MANY:.2%}"
    return f"{words}, c {row['optin_fraction']:.1%}, n {number:,}"


def region(rows: Summary) -> str:
    """Say which epsilons and which c rows over c are about."""
    if not rows:
        return "no point"
    epsilons = _span((row["epsilon"] for row in rows), "g")
    fractions = _span((int(row["part"]) / OF_SO_MANY for row in rows), ".2%")
    return f"epsilon {epsilons}, c {fractions}"


def _span(values: Iterable[float], form: str) -> str:
    ends = sorted(values)
    low, high = (f"{value:{form}}" for value in (ends[0], ends[-1]))
    return low if low == high else f"{low} to {high}"
