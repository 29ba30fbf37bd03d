"""The rows of published tables: one JSON object a line, with exactly their columns."""

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from hybriddp.reader.manifest import parse_json
from hybriddp.reader.refusals import Reason, refused

_MAX_ROW_BYTES = 2**20


@dataclass(frozen=True, slots=True)
class Record:
    """A query and a url that people clicked for it, and how likely a record is this one."""

    rank: int
    rank_low: int
    rank_high: int
    query: str
    url: str
    probability: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Query:
    """A query, and how likely a record is one of it, whatever its url."""

    rank: int
    rank_low: int
    rank_high: int
    query: str
    probability: float
    ci_low: float
    ci_high: float


@dataclass(frozen=True, slots=True)
class Change:
    """What entered, left, rose or fell since the week before; what is not known is None."""

    change: str
    query: str
    probability: float | None
    previous: float | None
    ratio_low: float | None
    ratio_high: float | None


Row = TypeVar("Row", Record, Query, Change)


def _text(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    try:
        value.encode()  # half a surrogate pair is no character
    except UnicodeEncodeError:
        return False
    return True


def _rank(value: Any) -> bool:
    return type(value) is int and 1 <= value <= 10**12


def _share(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= 1


def _share_if_known(value: Any) -> bool:
    return value is None or _share(value)


def _ratio_if_known(value: Any) -> bool:
    return value is None or (type(value) in (int, float) and 0 <= value < float("inf"))


def _kind_of_change(value: Any) -> bool:
    return value in ("entered", "left", "rose", "fell")


_RANKS = dict.fromkeys(("rank", "rank_low", "rank_high"), _rank)
_SHARES = dict.fromkeys(("probability", "ci_low", "ci_high"), _share)
_FORMS: Mapping[type, Mapping[str, Callable[[Any], bool]]] = {
    Record: {**_RANKS, "query": _text, "url": _text, **_SHARES},
    Query: {**_RANKS, "query": _text, **_SHARES},
    Change: {
        "change": _kind_of_change,
        "query": _text,
        **dict.fromkeys(("probability", "previous"), _share_if_known),
        **dict.fromkeys(("ratio_low", "ratio_high"), _ratio_if_known),
    },
}


def _fits(row: Mapping[str, Any], forms: Mapping[str, Callable[[Any], bool]]) -> bool:
    return row.keys() == forms.keys() and all(form(row[name]) for name, form in forms.items())


def read_rows(kind: type[Row], data: bytes, name: str, n_rows: int | None) -> tuple[Row, ...]:
    """Read a table, which has as many rows as its manifest says."""
    forms, found = _FORMS[kind], []
    # Not splitlines() of a text: it may hold characters that Unicode takes for line ends.
    lines = io.BytesIO(data)
    while line := lines.readline(_MAX_ROW_BYTES + 1):
        row = parse_json(line, name) if len(line) <= _MAX_ROW_BYTES else None
        if not isinstance(row, dict) or not _fits(row, forms):
            raise refused(
                Reason.MALFORMED,
                f"{name} holds a line that is no row of such a table: other columns or values.",
                name,
            )
        found.append(kind(**row))
    if len(found) != n_rows:
        raise refused(
            Reason.MALFORMED, f"{name} has another number of rows than the manifest says.", name
        )
    return tuple(found)


def columns_of(kind: type[Row], rows: tuple[Row, ...]) -> dict[str, list[Any]]:
    """Return rows as columns, in the order in which they are published."""
    return {field.name: [getattr(row, field.name) for row in rows] for field in fields(kind)}
