"""Strategy `paper`: T trims and measures the list, clients report in two stages (JPC19)."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from hybriddp import crosscheck
from hybriddp.blend import blend
from hybriddp.crosscheck import CrossCheck
from hybriddp.denoise import ClientEstimate, denoise
from hybriddp.estimate import Estimate, IntervalEstimate
from hybriddp.evidence import Fixed
from hybriddp.intervals import normal_interval
from hybriddp.local import ClientMechanism
from hybriddp.optin import (
    HistogramMechanism,
    estimate_optin,
    estimate_queries,
    on_client_cells,
    trim,
)
from hybriddp.simplex import project
from tasks.groups import CLIENTS, HEADLIST, HISTOGRAM
from tasks.listing import Listing
from tasks.postprocess_common import Bounded, Facts, Levels, candidate_listing

INTERVAL_METHOD = "normal, from the variance of the blend, 95 %"

Measurements = Mapping[str, pa.Table]


def published_listing(measured: Measurements, facts: Facts) -> Listing:
    """Return the likeliest queries of S's list, as T measured them."""
    return _trimmed(measured, facts)[0]


def optin_levels(measured: Measurements, facts: Facts) -> Levels:
    """Return T's estimates, on the clients' cells."""
    listing, records = _trimmed(measured, facts)
    n_users, noise_variance = facts.n_histogram_users, _noise_variance(facts)
    return Levels(
        on_client_cells(listing.head_list, records),
        estimate_queries(listing.head_list, records, n_users, noise_variance),
    )


def client_levels(measured: Measurements, facts: Facts) -> Levels:
    """Return the denoised reports."""
    estimate = _denoised(published_listing(measured, facts), measured, facts)
    return Levels(estimate.cells, estimate.queries)


def blended_levels(measured: Measurements, facts: Facts) -> Levels:
    """Weigh both groups by their precision."""
    optin, clients = optin_levels(measured, facts), client_levels(measured, facts)
    return Levels(blend(optin.records, clients.records), blend(optin.queries, clients.queries))


def projected_levels(blended: Levels, listing: Listing) -> Levels:
    """Make both a distribution; the variances stay those of the blend."""
    return Levels(_projected(blended.records), _projected(blended.queries))


def with_intervals(projected: Levels, measured: Measurements, facts: Facts) -> Bounded:
    """Add normal intervals."""
    return Bounded(_bounded(projected.records), _bounded(projected.queries))


def cross_check(measured: Measurements, facts: Facts) -> CrossCheck:
    """Compare T with the clients."""
    records = published_listing(measured, facts).head_list.record_cells
    optin, clients = optin_levels(measured, facts).records, client_levels(measured, facts).records
    blended = blend(optin, clients).values
    return crosscheck.cross_check(
        Estimate(optin.values[records], optin.variances[records]),
        Fixed(clients.values, clients.variances).at(records),
        blended[records],
    )


def _noise_variance(facts: Facts) -> float:
    return HistogramMechanism.for_budget(facts.params.budget).noise.variance


def _trimmed(measured: Measurements, facts: Facts) -> tuple[Listing, Estimate]:
    candidates = candidate_listing(measured[HEADLIST])
    n_users, noise_variance = facts.n_histogram_users, _noise_variance(facts)
    counts = measured[HISTOGRAM]["noisy_count"].to_numpy()
    head_list, kept = trim(
        candidates.head_list,
        estimate_optin(counts, n_users, noise_variance),
        facts.params.max_head_size,
        n_users,
        noise_variance,
    )
    return candidates.trimmed(head_list), kept


def _denoised(listing: Listing, measured: Measurements, facts: Facts) -> ClientEstimate:
    mechanism = ClientMechanism.for_head_list(listing.head_list, facts.params)
    return denoise(
        mechanism.response,
        measured[CLIENTS]["n_reports"].to_numpy(),
        reports_per_client=facts.params.max_records_client,
    )


def _projected(estimate: Estimate) -> Estimate:
    return Estimate(project(estimate.values), np.asarray(estimate.variances))


def _bounded(estimate: Estimate) -> IntervalEstimate:
    return IntervalEstimate(
        estimate.values, estimate.variances, *normal_interval(estimate.values, estimate.variances)
    )
