"""A head list as a product: its files, its gates, its part of the manifest, its label."""

import math
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.gates.blocklist import blocked_queries, read_blocklist
from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.measured.stored import load_measurement
from tasks.products.files import Made
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.listing import count_clients
from tasks.products.head_list.estimation.processing import (
    estimated,
    published_listing,
    strategy_for,
)
from tasks.products.head_list.estimation.tables import Tables, build_tables
from tasks.products.head_list.label import describe_check, head_list_words, second_guarantee
from tasks.products.head_list.request import PublishSettings
from tasks.products.head_list.run import parameters_of
from tasks.release.run import Release
from tasks.verify.manifest import guarantees_of


def listed_queries(release: Release) -> list[str]:
    """Return the queries that would be published if none were blocked, or said to have left."""
    listed = published_listing(release).listed_queries
    if release.reservation.place is None:
        return listed
    return sorted({*listed, *_changes(release)["query"].to_list()})


def blocked(release: Release, settings: PublishSettings) -> list[str]:
    """Return the listed queries that are not to be published."""
    return sorted(blocked_queries(release, settings.blocklist, listed_queries))


def make(
    release: Release, settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build the tables from what the steps estimated, and say what is in them."""
    listing, levels, check = estimated(release)
    tables = build_tables(listing, levels, settings["decimals"], hidden)
    parameters = parameters_of(release)
    guarantees = guarantees_of(release.reservation.groups, head_list_words(parameters))
    reports = load_measurement(release, CLIENTS)
    guarantees[CLIENTS]["people"] = count_clients(reports, listing, parameters.params)
    second = second_guarantee(parameters.params, guarantees[CLIENTS]["people"])
    by_name, season = _of_season(release, tables, hidden)
    facts = {
        "guarantees": guarantees,
        **({} if second is None else {"second_guarantee": second}),
        **season,
        "interval_method": strategy_for(release).INTERVAL_METHOD,
        "cross_check": describe_check(check),
        "decimals": tables.decimals,
        "masses": tables.masses,
        "blocked_queries": tables.n_blocked,
    }
    return Made({**tables.by_name, **by_name}, facts, tables.decimals)


def _of_season(
    release: Release, tables: Tables, hidden: frozenset[str]
) -> tuple[dict[str, pa.Table], dict[str, Any]]:
    """Return what a week of a series publishes beside its list, and says of its season."""
    if release.reservation.place is None:
        return {}, {}
    # What seasons are made of takes long to import, and most releases are none.
    from tasks.products.head_list.series.changes import changes_table
    from tasks.products.head_list.series.reading import stated_season

    every = _changes(release)
    changes = changes_table(every, tables.decimals, hidden)
    n_hidden = len(every) - changes.num_rows
    stated = stated_season(release, tables.head_list) | {"hidden_changes": n_hidden}
    return {"changes": changes}, {"season": stated}


def _changes(release: Release) -> Any:
    from tasks.products.head_list.series.changes import written_changes

    return written_changes(release)


def judge(
    release: Release, made: Made, settings: PublishSettings, hidden: frozenset[str]
) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    blocklist = hidden | read_blocklist(settings.blocklist)
    return judge_tables(made, settings, blocklist, estimated(release)[2].p_value)


def judge_tables(
    made: Made, settings: PublishSettings, blocklist: frozenset[str], agreement: float
) -> Verdict:
    """Run the gates of both tables and of the whole."""
    head_list, masses = made.tables["head_list"], made.facts["masses"]
    queries = head_list["query"].to_pylist()
    rows = head_list["probability"].to_pylist()
    total = math.fsum([*rows, *masses["query_wildcards"].values(), masses["other_records"]])
    facts = {
        "total_mass": total,
        "n_rows": head_list.num_rows,
        "n_queries": len(set(queries)),
        "n_bytes": max(len(data) for data in made.files.values()),
        "n_blocked": sum(query in blocklist for query in queries),
        "order_is_fixed": _is_ordered(head_list),
        "agreement": agreement,
    }
    # Each printed number is off by at most half a unit of its last decimal.
    n_numbers = head_list.num_rows + len(masses["query_wildcards"]) + 1
    limits = {
        "mass_tolerance": (n_numbers + 1) * 0.5 * 10**-made.decimals,
        "max_bytes": float(settings.max_bytes),
        "min_agreement": settings.min_agreement,
    }
    verdicts = [
        *(judge_suite(name, table) for name, table in made.tables.items()),
        judge_suite("release", pa.Table.from_pylist([facts]), limits),
    ]
    together = Verdict(
        "published list", tuple(result for verdict in verdicts for result in verdict.results)
    )
    return together.require()


def _is_ordered(table: pa.Table) -> bool:
    keys = [(-row["probability"], row["query"], row["url"]) for row in table.to_pylist()]
    return keys == sorted(keys)
