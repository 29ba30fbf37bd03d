"""What the studies of ZEALOUS say of themselves, read from their summaries."""

from typing import Any

Summary = list[dict[str, Any]]


def found(summary: Summary, measure: str, **fields: object) -> float | None:
    """Return the mean of a measure in the first row with these fields, if there is one."""
    for row in summary:
        if all(row[name] == value for name, value in fields.items()):
            value: float | None = row[measure]
            return value
    return None


def shown(value: float | None, form: str) -> str:
    """Write a mean, or a dash where a quick study has none."""
    return "-" if value is None else format(value, form)


def nearest(summary: Summary, column: str, wanted: float) -> float:
    """Return the value of a column that is nearest to the wanted one; quick studies have few."""
    values: set[float] = {row[column] for row in summary}
    return min(values, key=lambda value: (abs(value - wanted), value))
