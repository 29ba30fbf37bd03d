"""From measurements to a distribution: free, deterministic, and the same for every auditor.

Nothing here reads the private zone or the ledger, so whoever has the measurements and the signed
manifest can do it again. Every function takes the measurements and returns one step's result;
`tasks/postprocess_paper.py` and `tasks/postprocess_high_utility.py` are the two strategies.
"""

from collections.abc import Mapping
from typing import Protocol

import pyarrow as pa

from hybriddp.clients import client_mechanism, reports_per_client
from hybriddp.crosscheck import CrossCheck
from hybriddp.params import PAPER, BlenderParams
from tasks import postprocess_high_utility, postprocess_paper
from tasks.listing import Listing
from tasks.postprocess_common import Bounded, Facts, Levels

Measurements = Mapping[str, pa.Table]


class Strategy(Protocol):
    """The steps of one strategy; each reads the measurements alone."""

    INTERVAL_METHOD: str

    def published_listing(self, measured: Measurements, facts: Facts) -> Listing:
        """Return the list as clients know it; the clients' reports are not needed."""

    def optin_levels(self, measured: Measurements, facts: Facts) -> Levels:
        """Return what the opt-in groups say."""

    def client_levels(self, measured: Measurements, facts: Facts) -> Levels:
        """Return what the clients say."""

    def blended_levels(self, measured: Measurements, facts: Facts) -> Levels:
        """Return what all groups say together."""

    def projected_levels(self, blended: Levels, listing: Listing) -> Levels:
        """Return the nearest distributions."""

    def with_intervals(self, projected: Levels, measured: Measurements, facts: Facts) -> Bounded:
        """Add 95 % intervals."""

    def cross_check(self, measured: Measurements, facts: Facts) -> CrossCheck:
        """Compare the opt-in groups with the clients, record by record."""


def strategy_of(facts: Facts) -> Strategy:
    """Return the steps of a release's strategy."""
    return postprocess_paper if facts.params.strategy == PAPER else postprocess_high_utility


def count_clients(reports: pa.Table, listing: Listing, params: BlenderParams) -> int:
    """Return how many clients reported; each reports equally many cells."""
    n_reports = int(reports["n_reports"].to_numpy().sum())
    mechanism = client_mechanism(listing.head_list, params)
    return n_reports // reports_per_client(mechanism)


def publish_levels(measured: Measurements, facts: Facts) -> tuple[Listing, Bounded]:
    """Do every step again, from the measurements to what is published."""
    strategy = strategy_of(facts)
    listing = strategy.published_listing(measured, facts)
    projected = strategy.projected_levels(strategy.blended_levels(measured, facts), listing)
    return listing, strategy.with_intervals(projected, measured, facts)
