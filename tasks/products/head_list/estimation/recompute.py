"""A head list from its measurements and signed parameters alone, as whoever audits makes it."""

from collections.abc import Mapping

import pyarrow as pa

from hybriddp.blender.estimation.pipeline import check_groups, estimate
from tasks.products.files import files_of
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.listing import Measured, count_clients
from tasks.products.head_list.estimation.tables import build_tables
from tasks.products.head_list.label import HeadListManifest, describe_check
from tasks.products.head_list.parameters import groups_of
from tasks.verify.checks import VerificationFailed


def recomputed_files(
    manifest: HeadListManifest, tables: Mapping[str, pa.Table], measured: Mapping[str, pa.Table]
) -> dict[str, bytes]:
    """Do the whole post-processing again; compare what is no file, return what is."""
    params = manifest.parameters.params
    sizes = {group: manifest.guarantees[group].people for group in groups_of(params)}
    found = Measured.of(params, sizes, measured)
    estimates = estimate(params, found.draws)
    listing = found.candidates.trimmed(estimates.head_list)
    if count_clients(measured[CLIENTS], listing, params) != sizes[CLIENTS]:
        raise VerificationFailed("the guarantees speak of other clients than have reported.")
    agreement = describe_check(check_groups(params, found.draws, estimates))
    if agreement != manifest.cross_check.model_dump():
        raise VerificationFailed("the cross-check is not the one that the measurements give.")
    blocked = frozenset(listing.listed_queries) - set(tables["trends"]["query"].to_pylist())
    again = build_tables(listing, estimates.bounded, manifest.decimals, blocked)
    if again.n_blocked != manifest.blocked_queries:
        raise VerificationFailed(
            "queries are missing from the list beyond those that were blocked."
        )
    if again.masses != manifest.masses.model_dump():
        raise VerificationFailed("the wildcard masses are not those that the measurements give.")
    return files_of(again.by_name, again.decimals)
