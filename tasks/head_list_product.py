"""A head list as a product: its files, its gates, its part of the manifest, its label."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.blocklist import blocked_queries, read_blocklist
from tasks.groups import CLIENTS
from tasks.head_list_tables import Tables, build_tables
from tasks.label import write_label
from tasks.manifest import Content, describe_check, guarantees_of, head_list_words
from tasks.measured import load_measurement
from tasks.postprocess import count_clients, strategy_of
from tasks.processing import cross_check_of, facts_of, published_listing, read_published
from tasks.quality import Verdict, judge
from tasks.request import PublishSettings
from tasks.run import Release


def listed_queries(release: Release) -> list[str]:
    """Return the queries that would be published if none were blocked."""
    return published_listing(release).listed_queries


def blocked(release: Release, settings: PublishSettings) -> list[str]:
    """Return the listed queries that are not to be published."""
    return sorted(blocked_queries(release, settings.blocklist, listed_queries))


def content(release: Release, publication: Mapping[str, Any]) -> Content:
    """Build the files of a publication, and say what is in them."""
    decimals = publication["settings"]["decimals"]
    tables = tables_of(release, decimals, frozenset(publication["blocked"]))
    return Content(tables.files(), _facts(release, tables))


def _facts(release: Release, tables: Tables) -> dict[str, Any]:
    """Return the fields of a head list's manifest."""
    reserved = release.reservation
    guarantees = guarantees_of(reserved["groups"], head_list_words(reserved["parameters"]))
    reports, listing = load_measurement(release, CLIENTS), published_listing(release)
    guarantees[CLIENTS]["people"] = count_clients(reports, listing, release.params)
    return {
        "guarantees": guarantees,
        "interval_method": strategy_of(facts_of(release)).INTERVAL_METHOD,
        "cross_check": describe_check(cross_check_of(release)),
        "decimals": tables.decimals,
        "rows": {"head_list": tables.head_list.num_rows, "trends": tables.trends.num_rows},
        "masses": {
            "query_wildcards": tables.query_wildcards,
            "other_records": tables.other_records,
            "other_queries": tables.other_queries,
        },
        "blocked_queries": tables.n_blocked,
    }


def label(release: Release, facts: Mapping[str, Any]) -> str:
    """Say in plain words what was promised."""
    return write_label(facts, release.params)


def preview(release: Release, settings: PublishSettings) -> dict[str, pa.Table]:
    """Build the tables as they would be published, by name."""
    tables = tables_of(release, settings.decimals, frozenset(blocked(release, settings)))
    return {"head_list": tables.head_list, "trends": tables.trends}


def judge_release(release: Release, settings: PublishSettings) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    hidden = frozenset(blocked(release, settings))
    tables = tables_of(release, settings.decimals, hidden)
    agreement = cross_check_of(release).p_value
    return judge_tables(tables, settings, hidden | read_blocklist(settings.blocklist), agreement)


def judge_tables(
    tables: Tables, settings: PublishSettings, blocklist: frozenset[str], agreement: float
) -> Verdict:
    """Run the gates of both tables and of the whole."""
    queries = tables.head_list["query"].to_pylist()
    facts = {
        "total_mass": tables.total_mass,
        "n_rows": tables.head_list.num_rows,
        "n_queries": len(set(queries)),
        "n_bytes": max(len(data) for data in tables.files().values()),
        "n_blocked": sum(query in blocklist for query in queries),
        "order_is_fixed": _is_ordered(tables.head_list),
        "agreement": agreement,
    }
    # Each printed number is off by at most half a unit of its last decimal.
    n_numbers = tables.head_list.num_rows + len(tables.query_wildcards) + 1
    limits = {
        "mass_tolerance": (n_numbers + 1) * 0.5 * 10**-tables.decimals,
        "max_bytes": float(settings.max_bytes),
        "min_agreement": settings.min_agreement,
    }
    verdicts = [
        judge("head_list", tables.head_list),
        judge("trends", tables.trends),
        judge("release", pa.Table.from_pylist([facts]), limits),
    ]
    together = Verdict(
        "published list", tuple(result for verdict in verdicts for result in verdict.results)
    )
    return together.require()


def _is_ordered(table: pa.Table) -> bool:
    keys = [(-row["probability"], row["query"], row["url"]) for row in table.to_pylist()]
    return keys == sorted(keys)


def tables_of(release: Release, decimals: int, blocked: frozenset[str]) -> Tables:
    """Build the published tables, from the measurements."""
    listing, levels = read_published(release)
    return build_tables(listing, levels, decimals, blocked)
