"""The three draws of a release: the only doors between private data and measurements."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pyarrow as pa

from hybriddp.arrays import IntArray
from hybriddp.headlist import HeadListMechanism
from hybriddp.local import ClientMechanism
from hybriddp.optin import HistogramMechanism
from tasks.engine import DuckDBEngine, open_warehouse
from tasks.listing import Listing
from tasks.measurements import draw_once, load_measurement
from tasks.postprocess import candidate_listing
from tasks.processing import published_listing
from tasks.run import CLIENTS, HEADLIST, HISTOGRAM, Run
from tasks.spending import sealed_file


def draw_head_list(run: Run) -> pa.Table:
    """Name the records that enough people of S hold."""
    mechanism = HeadListMechanism.for_budget(run.params.budget)

    def count() -> pa.Table:
        with _cohort_records(run) as engine:
            engine.step("headlist_counts")
            return engine.fetch("headlist_counts")

    def draw(occurring: pa.Table) -> pa.Table:
        is_named = mechanism.draw(occurring["n_users"].to_numpy())
        return occurring.select(["query", "url"]).filter(pa.array(is_named)).combine_chunks()

    return draw_once(run, HEADLIST, mechanism.event, count, draw)


def draw_optin_histogram(run: Run) -> pa.Table:
    """Count the people of T on the listed records, with noise."""
    mechanism = HistogramMechanism.for_budget(run.params.budget)
    listing = candidate_listing(load_measurement(run, HEADLIST))

    def count() -> IntArray:
        cells = _count_cells(run, listing, HISTOGRAM, run.group_size(HISTOGRAM))
        by_record = cells[listing.head_list.record_cells]
        return np.append(by_record, cells.sum() - by_record.sum())

    def draw(counts: IntArray) -> pa.Table:
        columns = {
            "query": [*listing.record_queries, None],
            "url": [*listing.record_urls, None],
            "noisy_count": mechanism.draw(counts),
        }
        return pa.table(columns, schema=_HISTOGRAM)

    return draw_once(run, HISTOGRAM, mechanism.event, count, draw)


def draw_client_reports(run: Run) -> pa.Table:
    """Let every simulated client report through LocalAlg; keep only how often each cell came."""
    params, listing = run.params, published_listing(run)
    mechanism = ClientMechanism.for_head_list(listing.head_list, params)
    n_clients, per_client = run.group_size(CLIENTS), params.max_records_client

    def count() -> IntArray:
        return _count_cells(run, listing, CLIENTS, n_clients * per_client)

    def draw(counts: IntArray) -> pa.Table:
        # Who reported what is not kept, so only how many records lie on each cell matters here.
        cells = np.repeat(np.arange(len(counts)), counts)
        reports = mechanism.draw(cells.reshape(n_clients, per_client))
        return reports_table(np.bincount(reports.reshape(-1), minlength=len(counts)))

    return draw_once(run, CLIENTS, mechanism.event, count, draw)


_HISTOGRAM = pa.schema([("query", pa.string()), ("url", pa.string()), ("noisy_count", pa.int64())])


def reports_table(counts: IntArray) -> pa.Table:
    """Return the sealed form of reports: for every cell, how often it was reported."""
    return pa.table({"cell": np.arange(len(counts)), "n_reports": counts.astype(np.int64)})


def discard_private_tables(run: Run) -> None:
    """Remove the log's tables once nothing will be drawn from them any more."""
    if not run.needs_the_log:
        shutil.rmtree(run.home.warehouse(run.release_id), ignore_errors=True)


@contextmanager
def _cohort_records(run: Run) -> Iterator[DuckDBEngine]:
    """Open the warehouse with the records of the people who were sealed into the release."""
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        sealed = sealed_file(run.home, run.reservation["participation"])
        engine.read_sealed("sealed", [sealed])
        engine.step("cohort_records")
        yield engine


def _count_cells(run: Run, listing: Listing, group: str, n_records: int) -> IntArray:
    """Count a group's records on the listing's cells; whatever is on no other is on <*,*>."""
    with _cohort_records(run) as engine:
        engine.put("listed", listing.table())
        engine.step("listed_counts", cohort=group)
        found = engine.fetch("listed_counts").to_pylist()
    counts = np.zeros(listing.head_list.n_cells, dtype=np.int64)
    for row in found:
        counts[listing.cell(row["query"], row["url"])] = row["n_records"]
    counts[-1] = n_records - counts.sum()
    return counts
