"""From measurements to a distribution: free, deterministic, and the same for every auditor.

Nothing here reads the private zone or the ledger, so whoever has the measurements and the signed
manifest can do it again.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from hybriddp.arrays import FloatArray
from hybriddp.blend import blend
from hybriddp.denoise import ClientEstimate, denoise
from hybriddp.estimate import Estimate
from hybriddp.local import ClientMechanism
from hybriddp.optin import (
    HistogramMechanism,
    estimate_optin,
    estimate_queries,
    on_client_cells,
    trim,
)
from hybriddp.params import BlenderParams
from hybriddp.simplex import project
from tasks.listing import Listing


@dataclass(frozen=True, slots=True)
class Facts:
    """What post-processing needs beside the measurements; all of it is public."""

    params: BlenderParams
    n_histogram_users: int

    @property
    def noise_variance(self) -> float:
        """Variance of the histogram's noise."""
        return HistogramMechanism.for_budget(self.params.budget).noise.variance


@dataclass(frozen=True, slots=True)
class Levels:
    """The same quantity for records (cells, <*,*> last) and for queries (* last)."""

    records: Estimate
    queries: Estimate


def candidate_listing(head_list_draw: pa.Table) -> Listing:
    """Return the list that S named, before T trims it."""
    rows = zip(head_list_draw["query"].to_pylist(), head_list_draw["url"].to_pylist(), strict=True)
    return Listing.of(rows)


def trim_listing(
    head_list_draw: pa.Table, histogram: pa.Table, facts: Facts
) -> tuple[Listing, Estimate]:
    """Return the published list and T's estimate of its records."""
    candidates = candidate_listing(head_list_draw)
    counts = histogram["noisy_count"].to_numpy()
    estimate = estimate_optin(counts, facts.n_histogram_users, facts.noise_variance)
    head_list, kept = trim(
        candidates.head_list,
        estimate,
        facts.params.max_head_size,
        facts.n_histogram_users,
        facts.noise_variance,
    )
    return candidates.trimmed(head_list), kept


def denoise_reports(listing: Listing, reports: pa.Table, facts: Facts) -> ClientEstimate:
    """Return the clients' estimate."""
    mechanism = ClientMechanism.for_head_list(listing.head_list, facts.params)
    return denoise(
        mechanism.response,
        reports["n_reports"].to_numpy(),
        reports_per_client=facts.params.max_records_client,
    )


def blend_levels(
    listing: Listing, optin: Estimate, clients: ClientEstimate, facts: Facts
) -> Levels:
    """Combine both groups, for records and for queries."""
    head_list = listing.head_list
    optin_queries = estimate_queries(
        head_list, optin, facts.n_histogram_users, facts.noise_variance
    )
    return Levels(
        blend(on_client_cells(head_list, optin), clients.cells),
        blend(optin_queries, clients.queries),
    )


def project_levels(blended: Levels) -> Levels:
    """Make both a distribution; the variances stay those of the blend."""
    return Levels(_projected(blended.records), _projected(blended.queries))


def _projected(estimate: Estimate) -> Estimate:
    values: FloatArray = project(estimate.values)
    return Estimate(values, np.asarray(estimate.variances))
