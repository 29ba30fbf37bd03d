"""A head list with its strings: the numbers that the library computes with, and what they mean."""

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.blender.clients import client_mechanism, reports_per_client
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.estimation.pipeline import Strategy, strategy_of
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import HybridDPError
from hybriddp.params import PAPER, BlenderParams
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM
from tasks.products.head_list.measuring.left_out_file import named_records

Cell = tuple[str | None, str | None]


@dataclass(frozen=True)
class Listing:
    """Query ids are positions in `queries`, url ids positions in `urls`; both are sorted."""

    queries: tuple[str, ...]
    urls: tuple[str, ...]
    head_list: HeadList

    @classmethod
    def of(cls, records: Iterable[tuple[str, str]]) -> "Listing":
        """Number the records in the order of their text, which has nothing to do with the log."""
        pairs = list(records)
        queries = tuple(sorted({query for query, _ in pairs}))
        urls = tuple(sorted({url for _, url in pairs}))
        query_id = {query: number for number, query in enumerate(queries)}
        url_id = {url: number for number, url in enumerate(urls)}
        head_list = HeadList.from_records(
            np.array([query_id[query] for query, _ in pairs], dtype=np.int64),
            np.array([url_id[url] for _, url in pairs], dtype=np.int64),
        )
        return cls(queries, urls, head_list)

    def trimmed(self, head_list: HeadList) -> "Listing":
        """Return the same strings with a shorter list."""
        return Listing(self.queries, self.urls, head_list)

    @cached_property
    def listed_queries(self) -> list[str]:
        """The text of each query, in the order of the list."""
        return [self.queries[number] for number in self.head_list.query_ids]

    @cached_property
    def record_queries(self) -> list[str]:
        """The query of each record."""
        return [self.listed_queries[position] for position in self.head_list.query_of_record]

    @cached_property
    def record_urls(self) -> list[str]:
        """The url of each record."""
        return [self.urls[number] for number in self.head_list.url_ids]

    @cached_property
    def cells(self) -> list[Cell]:
        """What each cell stands for; None is a wildcard."""
        starts, counts = self.head_list.cell_starts, self.head_list.url_counts
        cells: list[Cell] = [(None, None)] * self.head_list.n_cells
        for position, query in enumerate(self.listed_queries):
            cells[starts[position] + counts[position]] = (query, None)
        records = zip(self.record_queries, self.record_urls, strict=True)
        for cell, record in zip(self.head_list.record_cells, records, strict=True):
            cells[cell] = record
        return cells

    @cached_property
    def _cell_of(self) -> dict[Cell, int]:
        return {record: cell for cell, record in enumerate(self.cells)}

    def cell(self, query: str | None, url: str | None) -> int:
        """Return the cell of a listed record, or of a listed query's wildcard (url None)."""
        return self._cell_of[query, url]

    @cached_property
    def urls_by_query(self) -> dict[str, list[str]]:
        """The urls of each query in cell order: what a collection package carries."""
        grouped: dict[str, list[str]] = {query: [] for query in self.listed_queries}
        for query, url in zip(self.record_queries, self.record_urls, strict=True):
            grouped[query].append(url)
        return grouped

    def table(self) -> pa.Table:
        """Return the records as a table (query, url)."""
        return pa.table(
            {
                "query": pa.array(self.record_queries, pa.string()),
                "url": pa.array(self.record_urls, pa.string()),
            }
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured, as arrays for the library, with the texts that S named."""

    candidates: Listing
    draws: Draws

    @classmethod
    def of(
        cls, params: BlenderParams, sizes: Mapping[str, int], tables: Mapping[str, pa.Table]
    ) -> "Measured":
        """Read the tables of the draws that were made; clients come last."""
        table = named_records(tables[HEADLIST])
        named = list(zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True))
        candidates = Listing.of(named)
        noisy = measured = None
        if params.strategy != PAPER:
            count_of = dict(zip(named, table["noisy_count"].to_pylist(), strict=True))
            listed = zip(candidates.record_queries, candidates.record_urls, strict=True)
            noisy = np.array([count_of[record] for record in listed], dtype=np.int64)
        if params.is_weighted:
            measured = shares_of(tables[HEADLIST], candidates)
        elif params.has_histogram and HISTOGRAM in tables:
            measured = tables[HISTOGRAM]["noisy_count"].to_numpy()
        reports = tables[CLIENTS]["n_reports"].to_numpy() if CLIENTS in tables else None
        n_finders, n_measurers = sizes[HEADLIST], sizes.get(HISTOGRAM, 0)
        draws = Draws(candidates.head_list, noisy, n_finders, measured, n_measurers, reports)
        return cls(candidates, draws)

    def strategy(self, params: BlenderParams) -> Strategy[Draws]:
        """Return the steps of its estimation."""
        return strategy_of(params)

    def listing(self, params: BlenderParams) -> Listing:
        """Return the list as clients know it; their reports are not needed."""
        return self.candidates.trimmed(strategy_of(params).choose(params, self.draws))


# What the row of a weighted draw is that holds the concentration; it has no query.
CONCENTRATION = "(concentration)"


def shares_of(table: pa.Table, candidates: Listing, uncounted: Container[Cell] = ()) -> IntArray:
    """Return what was measured of every cell but <*,*>, and last the concentration.

    Args:
        uncounted: Records that have no noisy count, because a week of a season has just named them.
    """
    columns = (table[name].to_pylist() for name in ("query", "url", "noisy_share", "noisy_count"))
    rows = {(query, url): numbers for query, url, *numbers in zip(*columns, strict=True)}
    cells = [*candidates.cells[:-1], (None, CONCENTRATION)]
    has_count = {cell: None not in cell and cell not in uncounted for cell in cells}
    if (
        rows.keys() != has_count.keys()
        or len(rows) != table.num_rows
        or any(share is None or (count is not None) != has_count[cell]
               for cell, (share, count) in rows.items())
    ):  # fmt: skip
        raise HybridDPError("the measurement has other rows than a draw with weights makes.")
    return np.array([rows[cell][0] for cell in cells], dtype=np.int64)


def count_clients(reports: pa.Table, listing: Listing, params: BlenderParams) -> int:
    """Return how many clients reported; each reports equally many cells."""
    n_reports = int(reports["n_reports"].to_numpy().sum())
    mechanism = client_mechanism(listing.head_list, params)
    return n_reports // reports_per_client(mechanism)
