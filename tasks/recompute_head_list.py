"""A head list from its measurements and signed parameters alone, as whoever audits makes it."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.checks import VerificationFailed
from tasks.groups import CLIENTS, groups_of, read_params
from tasks.head_list_tables import Tables, build_tables
from tasks.manifest import describe_check
from tasks.postprocess import count_clients, publish_levels, strategy_of
from tasks.postprocess_common import Facts


def recomputed_files(
    manifest: Mapping[str, Any], tables: Mapping[str, pa.Table], measured: Mapping[str, pa.Table]
) -> dict[str, bytes]:
    """Do the whole post-processing again; compare what is no file, return what is."""
    published = set(tables["trends"]["query"].to_pylist())
    facts = _facts(manifest)
    listing = strategy_of(facts).published_listing(measured, facts)
    if count_clients(measured[CLIENTS], listing, facts.params) != facts.group_sizes[CLIENTS]:
        raise VerificationFailed("the guarantees speak of other clients than have reported.")
    again = recompute(manifest, measured, published)
    if describe_check(strategy_of(facts).cross_check(measured, facts)) != manifest["cross_check"]:
        raise VerificationFailed("the cross-check is not the one that the measurements give.")
    if again.n_blocked != manifest["blocked_queries"]:
        raise VerificationFailed(
            "queries are missing from the list beyond those that were blocked."
        )
    masses = {
        "query_wildcards": again.query_wildcards,
        "other_records": again.other_records,
        "other_queries": again.other_queries,
    }
    if masses != manifest["masses"]:
        raise VerificationFailed("the wildcard masses are not those that the measurements give.")
    return again.files()


def recompute(
    manifest: Mapping[str, Any], measurements: Mapping[str, pa.Table], published: set[str]
) -> Tables:
    """Do the whole post-processing again, from measurements and signed parameters alone."""
    listing, levels = publish_levels(measurements, _facts(manifest))
    blocked = frozenset(listing.listed_queries) - published
    return build_tables(listing, levels, manifest["decimals"], blocked)


def _facts(manifest: Mapping[str, Any]) -> Facts:
    params = read_params(manifest["parameters"])
    return Facts(params, {g: manifest["guarantees"][g]["people"] for g in groups_of(params)})
