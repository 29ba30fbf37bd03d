"""The tables of a published list: rounded, ranked, in a fixed order."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.estimation.intervals import rank_intervals
from hybriddp.blender.estimation.levels import Bounded
from tasks.products.files import rounded
from tasks.products.head_list.estimation.columns import HEAD_LIST, TRENDS
from tasks.products.head_list.estimation.listing import Listing


@dataclass(frozen=True, slots=True)
class Tables:
    """What is published: two tables, and the masses of the wildcards, which are no rows."""

    head_list: pa.Table
    trends: pa.Table
    query_wildcards: dict[str, float]  # <q,*>: the query with another url
    other_records: float  # <*,*>: every other query, blocked ones included
    other_queries: float
    n_blocked: int
    decimals: int

    @property
    def by_name(self) -> dict[str, pa.Table]:
        """The tables, as their files are called."""
        return {"head_list": self.head_list, "trends": self.trends}

    @property
    def masses(self) -> dict[str, Any]:
        """What is on no row."""
        return {
            "query_wildcards": self.query_wildcards,
            "other_records": self.other_records,
            "other_queries": self.other_queries,
        }


def build_tables(
    listing: Listing, levels: Bounded, decimals: int, blocked: frozenset[str]
) -> Tables:
    """Round, order and rank the distribution; leave blocked queries out, but keep their mass."""
    cells, records = listing.cells, levels.records
    rows = [
        (query, url, cell)
        for cell, (query, url) in enumerate(cells)
        if query is not None and url is not None and query not in blocked
    ]
    shown = [cell for _, _, cell in rows]
    wildcards = {
        query: cell
        for cell, (query, url) in enumerate(cells)
        if query is not None and url is None and query not in blocked
    }
    hidden = np.ones(len(cells), dtype=np.bool_)
    hidden[[*shown, *wildcards.values()]] = False
    head_list = _ranked(
        [{"query": query, "url": url} for query, url, _ in rows],
        _part(records, shown),
        decimals,
        HEAD_LIST,
    )
    kept = [i for i, query in enumerate(listing.listed_queries) if query not in blocked]
    trends = _ranked(
        [{"query": listing.listed_queries[i]} for i in kept],
        _part(levels.queries, kept),
        decimals,
        TRENDS,
    )
    listed_mass = math.fsum(levels.queries.values[kept].tolist())
    return Tables(
        head_list,
        trends,
        {
            query: rounded(float(records.values[cell]), decimals)
            for query, cell in sorted(wildcards.items())
        },
        rounded(math.fsum(records.values[hidden].tolist()), decimals),
        rounded(max(1 - listed_mass, 0.0), decimals),
        len(listing.listed_queries) - len(kept),
        decimals,
    )


def _part(estimate: IntervalEstimate, positions: list[int]) -> IntervalEstimate:
    return IntervalEstimate(
        estimate.values[positions],
        estimate.variances[positions],
        estimate.low[positions],
        estimate.high[positions],
    )


def _ranked(
    texts: list[dict[str, str]], estimate: IntervalEstimate, decimals: int, schema: pa.Schema
) -> pa.Table:
    """Order rows by probability as published, then by text, so that ties have one order."""
    ranks = zip(*rank_intervals(estimate.values, estimate.variances), strict=True)
    bounds = zip(estimate.values, estimate.low, estimate.high, strict=True)
    rows: list[dict[str, Any]] = [
        {"rank_low": int(first), "rank_high": int(last)} | text | _interval(*bound, decimals)
        for text, bound, (first, last) in zip(texts, bounds, ranks, strict=True)
    ]
    rows.sort(key=lambda row: (-row["probability"], row["query"], row.get("url", "")))
    for rank, row in enumerate(rows, start=1):
        # Among equal probabilities the text decides, which no interval knows.
        row["rank"] = rank
        row["rank_low"], row["rank_high"] = min(row["rank_low"], rank), max(row["rank_high"], rank)
    return pa.Table.from_pylist(rows, schema=schema)


def _interval(value: float, low: float, high: float, decimals: int) -> dict[str, float]:
    probability = rounded(float(value), decimals)
    # Rounding must not push an end over the probability that it belongs to.
    return {
        "probability": probability,
        "ci_low": min(rounded(float(low), decimals), probability),
        "ci_high": max(rounded(float(high), decimals), probability),
    }
