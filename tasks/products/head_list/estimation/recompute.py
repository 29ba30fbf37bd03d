"""A head list from its measurements and signed parameters alone, as whoever audits makes it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from hybriddp.blender.estimation.crosscheck import CrossCheck
from hybriddp.blender.estimation.levels import Bounded
from hybriddp.blender.estimation.pipeline import Strategy, check_list, estimate_list
from hybriddp.params import BlenderParams
from tasks.products.files import files_of
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.listing import Listing, Measured, count_clients
from tasks.products.head_list.estimation.tables import build_tables
from tasks.products.head_list.label import HeadListManifest, describe_check
from tasks.products.head_list.parameters import groups_of
from tasks.verify.checks import LeftOut, VerificationFailed
from tasks.verify.manifest import code_version

if TYPE_CHECKING:
    from tasks.products.head_list.series.measured import MeasuredSeason


def estimated_from(
    params: BlenderParams, measured: "Measured | MeasuredSeason"
) -> tuple[Listing, Bounded, CrossCheck]:
    """Do every step from the measurements to what is published, at once."""
    strategy: Strategy[Any] = measured.strategy(params)  # of just these draws
    listing = measured.listing(params)
    estimates = estimate_list(strategy, params, listing.head_list, measured.draws)
    check = check_list(strategy, params, measured.draws, estimates)
    return listing, estimates.bounded, check


def recomputed_files(
    manifest: HeadListManifest,
    tables: Mapping[str, pa.Table],
    measured: Mapping[str, pa.Table],
    left_out: LeftOut,
) -> dict[str, bytes]:
    """Do the whole post-processing again; compare what is no file, return what is."""
    params, found = manifest.parameters.params, _measured(manifest, measured)
    listing, bounded, check = estimated_from(params, found)
    if count_clients(measured[CLIENTS], listing, params) != manifest.guarantees[CLIENTS].people:
        raise VerificationFailed("the guarantees speak of other clients than have reported.")
    if describe_check(check) != manifest.cross_check.model_dump():
        raise VerificationFailed("the cross-check is not the one that the measurements give.")
    _require_own_words(manifest, found)
    missing = frozenset(listing.listed_queries) - set(tables["trends"]["query"].to_pylist())
    blocked = missing if left_out.now is None else left_out.now
    again = build_tables(listing, bounded, manifest.decimals, blocked)
    if again.n_blocked != manifest.blocked_queries:
        raise VerificationFailed(
            "queries are missing from the list beyond those that were blocked."
        )
    if again.masses != manifest.masses.model_dump():
        raise VerificationFailed("the wildcard masses are not those that the measurements give.")
    tables_again = again.by_name
    if manifest.season is not None:
        from tasks.products.head_list.series.verify import changes_again

        tables_again["changes"] = changes_again(manifest, found, tables, left_out, blocked)
    return files_of(tables_again, again.decimals)


def _require_own_words(manifest: HeadListManifest, found: "Measured | MeasuredSeason") -> None:
    """See that intervals are called what they are; other versions may say it otherwise."""
    method = found.strategy(manifest.parameters.params).INTERVAL_METHOD
    if manifest.code_version == code_version() and manifest.interval_method != method:
        raise VerificationFailed("the intervals are not of the kind that the manifest says.")


def _measured(
    manifest: HeadListManifest, tables: Mapping[str, pa.Table]
) -> "Measured | MeasuredSeason":
    """Read the tables, which are those of all weeks if it is a week of a season."""
    params = manifest.parameters.params
    if manifest.season is not None:
        from tasks.products.head_list.series.verify import season_again

        return season_again(manifest, tables)
    sizes = {group: manifest.guarantees[group].people for group in groups_of(params)}
    return Measured.of(params, sizes, tables)
