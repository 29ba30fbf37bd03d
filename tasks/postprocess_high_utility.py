"""Strategy `high-utility`: every group's counts on the same cells, combined at once (ours)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from hybriddp import crosscheck, high_utility
from hybriddp.clients import client_mechanism, client_source
from hybriddp.crosscheck import CrossCheck
from hybriddp.estimate import Estimate, IntervalEstimate
from hybriddp.evidence import Source
from hybriddp.high_utility import Combined, FoundCounts, MeasuredCounts
from hybriddp.intervals import normal_interval
from tasks.groups import CLIENTS, HEADLIST, HISTOGRAM
from tasks.listing import Listing
from tasks.postprocess_common import Bounded, Facts, Levels, candidate_listing

INTERVAL_METHOD = (
    "the central 95 % of what all noisy counts and the list's own power law say together; for "
    "queries normal, from the variances of their records and of their other urls"
)

Measurements = Mapping[str, pa.Table]


def published_listing(measured: Measurements, facts: Facts) -> Listing:
    """Return the queries of S's list with the largest noisy counts."""
    return _found(measured, facts)[0]


def optin_levels(measured: Measurements, facts: Facts) -> Levels:
    """Return what S and T say of the records; of the other cells they alone say too little."""
    listing, combined, _ = _combined(measured, facts)
    optin = high_utility.optin_estimate(listing.head_list, combined)
    return Levels(optin, high_utility.query_estimate(listing.head_list, optin))


def client_levels(measured: Measurements, facts: Facts) -> Levels:
    """Return what the reports say, with the variances that the blend gives them."""
    listing, combined, clients = _combined(measured, facts)
    variances = clients.variance_at(np.clip(combined.cells.values, 0, 1))
    cells = Estimate(clients.values, np.asarray(variances))
    return Levels(cells, high_utility.query_estimate(listing.head_list, cells))


def blended_levels(measured: Measurements, facts: Facts) -> Levels:
    """Return what all groups say together; a query is the sum of its cells."""
    listing, combined, _ = _combined(measured, facts)
    cells = Estimate(combined.cells.values, combined.cells.variances)
    return Levels(cells, high_utility.query_estimate(listing.head_list, cells))


def projected_levels(blended: Levels, listing: Listing) -> Levels:
    """Make the cells a distribution, and the queries their sums."""
    cells = Estimate(high_utility.project(blended.records), blended.records.variances)
    return Levels(cells, high_utility.query_estimate(listing.head_list, cells))


def with_intervals(projected: Levels, measured: Measurements, facts: Facts) -> Bounded:
    """Take the intervals from the whole evidence."""
    known = _combined(measured, facts)[1].cells
    queries, bounded = projected.queries, high_utility.around(projected.records.values, known)
    return Bounded(
        bounded,
        IntervalEstimate(
            queries.values, queries.variances, *normal_interval(queries.values, queries.variances)
        ),
    )


def cross_check(measured: Measurements, facts: Facts) -> CrossCheck:
    """Compare S and T, which know that only high counts were seen, with the clients."""
    listing, combined, clients = _combined(measured, facts)
    records = listing.head_list.record_cells
    optin = combined.optin_records
    return crosscheck.cross_check(
        Estimate(optin.values, optin.variances),
        clients.at(records),
        combined.cells.values[records],
    )


def _found(measured: Measurements, facts: Facts) -> tuple[Listing, FoundCounts]:
    table, candidates = measured[HEADLIST], candidate_listing(measured[HEADLIST])
    records = zip(table["query"].to_pylist(), table["url"].to_pylist(), strict=True)
    count_of = dict(zip(records, table["noisy_count"].to_pylist(), strict=True))
    listed = zip(candidates.record_queries, candidates.record_urls, strict=True)
    counts = np.array([count_of[record] for record in listed], dtype=np.int64)
    head_list, params = candidates.head_list, facts.params
    is_kept = high_utility.likeliest_queries(head_list, counts, params.max_head_size)
    found = FoundCounts.of(
        counts, is_kept[head_list.query_of_record], params, facts.n_headlist_users
    )
    return candidates.trimmed(head_list.keep(is_kept)), found


def _measured(measured: Measurements, facts: Facts) -> MeasuredCounts | None:
    if not facts.params.has_histogram:
        return None
    noisy = measured[HISTOGRAM]["noisy_count"].to_numpy()
    return high_utility.read_measured(facts.params, noisy, facts.n_histogram_users)


def _combined(measured: Measurements, facts: Facts) -> tuple[Listing, Combined, Source]:
    listing, found = _found(measured, facts)
    mechanism = client_mechanism(listing.head_list, facts.params)
    clients = client_source(mechanism, measured[CLIENTS]["n_reports"].to_numpy())
    combined = high_utility.combine(
        listing.head_list, facts.params, found, _measured(measured, facts), clients
    )
    return listing, combined, clients
