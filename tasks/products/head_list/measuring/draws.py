"""The three draws of a release: the only doors between private data and measurements."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.blender.clients import client_mechanism, count_reports
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.mechanisms import finding_mechanism, measured_vector, measuring_mechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.params import PAPER
from tasks.log.cohorts import read_participants
from tasks.log.engine import Engine
from tasks.log.warehouse import open_warehouse
from tasks.measured.drawing import draw_once
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM
from tasks.products.head_list.estimation.listing import Listing
from tasks.products.head_list.estimation.processing import (
    chosen_listing,
    measured_of,
    published_listing,
)
from tasks.products.head_list.measuring.left_out import require_settled
from tasks.products.head_list.measuring.weighted import draw_weighted_list
from tasks.products.head_list.run import HeadListRun, params_of


def draw_head_list(run: HeadListRun) -> pa.Table:
    """Name the records that enough people of S hold, as the strategy publishes them."""
    if run.request.series is not None:
        # What seasons draw with takes long to import, and most releases are none.
        from tasks.products.head_list.series.draws import draw_week

        return draw_week(run)
    if params_of(run).is_weighted:
        return draw_weighted_list(run)
    is_paper, mechanism = params_of(run).strategy == PAPER, finding_mechanism(params_of(run))
    assert isinstance(mechanism, HeadListMechanism)

    def count() -> pa.Table:
        with _cohort_records(run) as engine:
            engine.step("head_list/headlist_counts")
            return engine.fetch("headlist_counts")

    def draw(occurring: pa.Table) -> pa.Table:
        named = mechanism.draw(occurring["n_units"].to_numpy())
        table = occurring.select(["query", "url"]).filter(pa.array(named.is_named))
        if not is_paper:
            table = table.append_column("noisy_count", pa.array(named.noisy_counts))
        return table.combine_chunks()

    return draw_once(run, HEADLIST, mechanism.event, count, draw)


def draw_optin_histogram(run: HeadListRun) -> pa.Table | None:
    """Count the people of T on the list, with noise; None if nobody is in T."""
    if HISTOGRAM not in run.groups:
        return None
    require_settled(run)
    if params_of(run).strategy == PAPER:
        return _draw_on_records(run)
    return _draw_on_cells(run)


def _draw_on_records(run: HeadListRun) -> pa.Table:
    """Count on everything that S named; what is not listed counts as <*,*> (JPC19 figure 4)."""
    mechanism, listing = measuring_mechanism(params_of(run)), measured_of(run).candidates
    assert isinstance(mechanism, HistogramMechanism)

    def count() -> IntArray:
        cells = _count_cells(run, listing, HISTOGRAM, run.group_size(HISTOGRAM))
        by_record = cells[listing.head_list.record_cells]
        return np.append(by_record, cells.sum() - by_record.sum())

    def draw(counts: IntArray) -> pa.Table:
        texts = [*zip(listing.record_queries, listing.record_urls, strict=True), (None, None)]
        return _histogram_table(texts, mechanism.draw(counts))

    return draw_once(run, HISTOGRAM, mechanism.event, count, draw)


def _draw_on_cells(run: HeadListRun) -> pa.Table:
    """Count on the clients' own cells, in units; with several units a person, repeats too."""
    params, listing = params_of(run), chosen_listing(run)
    mechanism = measuring_mechanism(params)
    assert isinstance(mechanism, HistogramMechanism)

    def count() -> IntArray:
        n_units = run.group_size(HISTOGRAM) * params.max_records_optin
        units = _count_cells(run, listing, HISTOGRAM, n_units)
        has_repeats = params.max_records_optin > 1
        repeats = _count_repeats(run, listing, HISTOGRAM) if has_repeats else 0
        return measured_vector(params, units, repeats)

    def draw(counts: IntArray) -> pa.Table:
        has_repeats = len(counts) > len(listing.cells)
        texts = [*listing.cells, *([(None, REPEATS)] if has_repeats else [])]
        return _histogram_table(texts, mechanism.draw(counts))

    return draw_once(run, HISTOGRAM, mechanism.event, count, draw)


def draw_client_reports(run: HeadListRun) -> pa.Table:
    """Let every simulated client report as its device would; keep only how often each cell came."""
    params, listing = params_of(run), published_listing(run)
    mechanism = client_mechanism(listing.head_list, params)
    n_clients, per_client = run.group_size(CLIENTS), params.max_records_client

    def count() -> IntArray:
        return _count_cells(run, listing, CLIENTS, n_clients * per_client)

    def draw(counts: IntArray) -> pa.Table:
        # Who reported what is not kept, so only how many records lie on each cell matters here.
        cells = np.repeat(np.arange(len(counts)), counts)
        shape = (n_clients, per_client) if per_client > 1 else (n_clients,)
        reports = count_reports(mechanism, mechanism.draw(cells.reshape(shape)))
        return reports_table(reports, listing if run.request.series is not None else None)

    return draw_once(run, CLIENTS, mechanism.event, count, draw)


_HISTOGRAM = pa.schema([("query", pa.string()), ("url", pa.string()), ("noisy_count", pa.int64())])
# What the last row of a histogram is that counts repeats; no url looks like this.
REPEATS = "(repeats)"


def _histogram_table(
    texts: Sequence[tuple[str | None, str | None]], noisy_counts: IntArray
) -> pa.Table:
    columns = {
        "query": [query for query, _ in texts],
        "url": [url for _, url in texts],
        "noisy_count": noisy_counts,
    }
    return pa.table(columns, schema=_HISTOGRAM)


def reports_table(counts: IntArray, listing: Listing | None = None) -> pa.Table:
    """Return the sealed form of reports: for every cell, how often it was reported.

    Later weeks of a series read them, too, so there each cell has its text, which was published.
    """
    columns = {"cell": np.arange(len(counts)), "n_reports": counts.astype(np.int64)}
    if listing is None:
        return pa.table(columns)
    texts = {
        name: pa.array([cell[place] for cell in listing.cells], pa.string())
        for place, name in enumerate(("query", "url"))
    }
    return pa.table({**columns, **texts})


@contextmanager
def _cohort_records(run: HeadListRun) -> Iterator[Engine]:
    """Open the warehouse with the records of the people who were sealed into the release.

    The first draw finds them, and the others find them there.
    """
    people: dict[str, Any] = {
        "participation": run.reservation.participation,
        "attempt": run.attempt,
    }
    with open_warehouse(run) as engine:
        is_there = engine.has("counted_people")
        if not is_there or engine.fetch("counted_people").to_pylist() != [people]:
            read_participants(engine, run)
            engine.step("head_list/cohort_records")
            engine.step("head_list/counted_people", **people)  # last: the records are whole
        yield engine


def _count_cells(run: HeadListRun, listing: Listing, group: str, n_records: int) -> IntArray:
    """Count a group's records on the listing's cells; whatever is on no other is on <*,*>."""
    with _cohort_records(run) as engine:
        engine.put("listed", listing.table())
        engine.step("head_list/listed_counts", cohort=group)
        found = engine.fetch("listed_counts").to_pylist()
    counts = np.zeros(listing.head_list.n_cells, dtype=np.int64)
    for row in found:
        counts[listing.cell(row["query"], row["url"])] = row["n_records"]
    counts[-1] = n_records - counts.sum()
    return counts


def _count_repeats(run: HeadListRun, listing: Listing, group: str) -> int:
    """Count the units that lie on the same listed record as the first of their person."""
    with _cohort_records(run) as engine:
        engine.put("listed", listing.table())
        engine.step("head_list/repeated_units", cohort=group)
        return int(engine.fetch("repeated_units")["n_repeats"][0].as_py())
