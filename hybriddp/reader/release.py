"""A release that was checked, as plain data in memory: it reads no file and asks no clock."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from heapq import nsmallest
from importlib import import_module
from typing import Any

from hybriddp.device.normalise import normalise_query
from hybriddp.errors import InvalidParameter, require_count, require_one_of
from hybriddp.reader.manifest import Manifest
from hybriddp.reader.rows import Change, Query, Record, columns_of

_FRAMES = ("polars", "pandas")


@dataclass(frozen=True, slots=True)
class Completion:
    """A query that begins with what was typed, and where people went who asked it."""

    row: Query
    urls: tuple[Record, ...]

    @property
    def query(self) -> str:
        """The query."""
        return self.row.query

    @property
    def probability(self) -> float:
        """How likely a record is one of it."""
        return self.row.probability


@dataclass(frozen=True)
class Release:
    """A head list as its publisher signed it; iterating gives its records, the likeliest first."""

    manifest: Manifest
    label: str  # the promise in plain words, as Markdown
    records: tuple[Record, ...]
    queries: tuple[Query, ...]
    changed: tuple[Change, ...]  # without a table of changes, none

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        said = self.manifest
        return (
            f"<Release {said.product}/{said.locale} {said.epoch}, sequence {said.sequence}: "
            f"{len(self.records)} records of {len(self.queries)} queries>"
        )

    def lookup(self, prefix: str, limit: int = 10) -> tuple[Completion, ...]:
        """Return the likeliest queries that begin with a prefix, as a browser would complete it.

        The prefix is normalised as the publisher normalised the queries.
        """
        require_count(limit, "limit")
        wanted = normalise_query(prefix)

        def beginning(place: int) -> str:
            return self.queries[place].query[: len(wanted)]

        first = bisect_left(self._by_text, wanted, key=beginning)
        last = bisect_right(self._by_text, wanted, lo=first, key=beginning)
        # Places are in the publisher's order: the likeliest first.
        found = (self.queries[place] for place in nsmallest(limit, self._by_text[first:last]))
        return tuple(Completion(row, self._urls.get(row.query, ())) for row in found)

    def urls(self, query: str) -> tuple[Record, ...]:
        """Return the records of a query, the likeliest url first; none if it is not listed."""
        return self._urls.get(normalise_query(query), ())

    def changes(self) -> tuple[Change, ...]:
        """Return what entered, left, rose and fell; nothing if the release has no such table."""
        return self.changed

    def frame(self, table: str = "head_list") -> Any:
        """Return `head_list`, `trends` or `changes` as a DataFrame of polars, or else of pandas."""
        tables = {
            "head_list": lambda: columns_of(Record, self.records),
            "trends": lambda: columns_of(Query, self.queries),
            "changes": lambda: columns_of(Change, self.changed),
        }
        require_one_of(table, "table", tables)
        for name in _FRAMES:
            try:
                library = import_module(name)
            except ModuleNotFoundError:
                continue
            return library.DataFrame(tables[table]())
        raise InvalidParameter(
            "frame() needs polars or pandas, and neither is installed; run `pip install polars`, "
            "or iterate over the release, which needs neither."
        )

    @cached_property
    def _by_text(self) -> list[int]:
        """The places of all queries, in the order of their texts."""
        return sorted(range(len(self.queries)), key=lambda place: self.queries[place].query)

    @cached_property
    def _urls(self) -> Mapping[str, tuple[Record, ...]]:
        found: dict[str, list[Record]] = {}
        for record in self.records:
            found.setdefault(record.query, []).append(record)
        return {query: tuple(records) for query, records in found.items()}
