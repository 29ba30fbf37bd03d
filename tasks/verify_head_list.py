"""Is a published head list what its measurements give? From public facts alone."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.checks import VerificationFailed, require_prices
from tasks.groups import CLIENTS, groups_of, prices_of, read_params
from tasks.label import write_label
from tasks.manifest import Words, describe_check, head_list_words
from tasks.manifest_form import (
    Form,
    exact_number,
    fields,
    keyed,
    number,
    one_of,
    short,
    size,
    whole,
)
from tasks.postprocess import count_clients, publish_levels, strategy_of
from tasks.postprocess_common import Facts
from tasks.reading import is_text
from tasks.release_files import HEAD_LIST, TRENDS, Tables, build_tables

FIELDS: dict[str, Form] = {
    "interval_method": short,
    "cross_check": fields(
        {"records": size, "chi_square": short, "p_value": short, "suspicious_records": size}
    ),
    "decimals": whole(0, 12),
    "masses": fields(
        {
            "query_wildcards": keyed(is_text, number, 10_000),
            "other_records": number,
            "other_queries": number,
        }
    ),
    "blocked_queries": size,
}
PARAMETERS: dict[str, Form] = {
    "max_head_size": whole(1, 10_000),
    "headlist_user_fraction": exact_number,
    "query_budget_fraction": exact_number,
    "max_records_client": whole(1, 1_000),
    "clients": one_of("simulate", "reports"),
}


def schemas(manifest: Mapping[str, Any]) -> dict[str, pa.Schema]:
    """Return the columns of every published table."""
    return {"head_list": HEAD_LIST, "trends": TRENDS}


def groups(manifest: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the groups whose measurements the list was made from."""
    return groups_of(read_params(manifest["parameters"]))


def check_promise(manifest: Mapping[str, Any], tables: Mapping[str, pa.Table]) -> None:
    """See that the guarantees are what the parameters cost."""
    require_prices(manifest, prices_of(read_params(manifest["parameters"])))


def words(manifest: Mapping[str, Any]) -> Words:
    """Return what is said of each group."""
    said = head_list_words(manifest["parameters"])
    return {group: said[group] for group in groups(manifest)}


def label(manifest: Mapping[str, Any]) -> str:
    """Write the label again."""
    return write_label(manifest, read_params(manifest["parameters"]))


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
