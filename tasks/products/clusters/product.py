"""Clusters as a product: their files, their gate, their part of the manifest, their label."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tasks.gates.quality import Verdict
from tasks.gates.quality import judge as judge_suite
from tasks.measured.stored import load_measurement
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.estimates import Cluster, find_clusters, mechanism_of
from tasks.products.files import Made, files_of, rounded
from tasks.verify.manifest import guarantees_of, words_of

if TYPE_CHECKING:  # verifying needs no request, and they take long to import
    from tasks.products.clusters.request import ClusterSettings
    from tasks.release.run import Release

CLUSTERS, CENTRES = "clusters", "centres"
SCHEMAS = {
    CLUSTERS: pa.schema(
        {"cluster": pa.int64(), "share": pa.float64(), "standard_error": pa.float64()}
    ),
    CENTRES: pa.schema(
        {
            "cluster": pa.int64(),
            "column": pa.string(),
            "centre": pa.float64(),
            "standard_error": pa.float64(),
        }
    ),
}
WORDS = words_of(
    roles={
        POINTS: "gave their point to the curator, who added up clusters",
        ANSWERS: "reported a noisy point, and named their cluster time and again",
    },
    trusts={POINTS: "the curator", ANSWERS: "the curator (simulated)"},
)

Tables = Mapping[str, pa.Table]


def blocked(release: "Release", settings: "ClusterSettings") -> list[str]:
    """Return nothing: no text of anybody's is published."""
    return []


def clusters_of(release: "Release") -> list[Cluster]:
    """Return what is published, before rounding."""
    measured = {group: load_measurement(release, group) for group in release.groups}
    parameters = release.reservation.parameters
    return find_clusters(parameters, measured, release.group_size(POINTS))


def build_tables(
    parameters: Mapping[str, Any], clusters: Sequence[Cluster], decimals: int
) -> dict[str, pa.Table]:
    """Number clusters in their order, and round."""
    columns = [point["column"] for point in parameters["points"]]
    sizes, centres = [], []
    for number, cluster in enumerate(clusters, start=1):
        sizes.append(
            {
                "cluster": number,
                "share": rounded(cluster.share, decimals),
                "standard_error": rounded(cluster.share_error, decimals),
            }
        )
        for column, centre, error in zip(columns, cluster.centre, cluster.errors, strict=True):
            centres.append(
                {
                    "cluster": number,
                    "column": column,
                    "centre": rounded(centre, decimals),
                    "standard_error": None if error is None else rounded(error, decimals),
                }
            )
    return {
        CLUSTERS: pa.Table.from_pylist(sizes, schema=SCHEMAS[CLUSTERS]),
        CENTRES: pa.Table.from_pylist(centres, schema=SCHEMAS[CENTRES]),
    }


def make(
    release: "Release", settings: Mapping[str, Any], hidden: frozenset[str], version: int
) -> Made:
    """Build the tables, and say what is in them."""
    parameters, decimals = release.reservation.parameters, settings["decimals"]
    facts = {
        "guarantees": guarantees_of(release.reservation.groups, WORDS),
        "noise": describe(parameters),
        "decimals": decimals,
    }
    return Made(build_tables(parameters, clusters_of(release), decimals), facts, decimals)


def describe(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the noise: of a count in people, of a report in parts of the range, and lies."""
    mechanism = mechanism_of(parameters)
    return {
        "sums_scale": f"{float(Fraction(mechanism.curator_scale, mechanism.grid)):.6g}",
        "report_scale": f"{float(Fraction(mechanism.report_scale, mechanism.grid)):.6g}",
        "truth": f"{float(mechanism.response.p_truth):.6g}",
    }


def judge(
    release: "Release", made: Made, settings: "ClusterSettings", hidden: frozenset[str]
) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    facts = judged_facts(release.reservation.parameters, made.tables, settings.decimals)
    limits = {"max_bytes": float(settings.max_bytes)}
    return judge_suite("clusters", pa.Table.from_pylist([facts]), limits).require()


def judged_facts(parameters: Mapping[str, Any], tables: Tables, decimals: int) -> dict[str, Any]:
    """Return the facts about the tables that the gate judges."""
    sizes, centres = tables[CLUSTERS].to_pylist(), tables[CENTRES].to_pylist()
    columns = [point["column"] for point in parameters["points"]]
    uppers = {p["column"]: float(Fraction(p["upper"])) for p in parameters["points"]}
    half = 0.5 * 10**-decimals  # rounding may pass a limit by so much
    numbers = range(1, parameters["n_clusters"] + 1)
    expected = [(number, column) for number in numbers for column in columns]
    shares = [row["share"] for row in sizes]
    return {
        "n_missing": abs(len(sizes) - len(numbers)) + abs(len(centres) - len(expected)),
        "n_bytes": max(len(data) for data in files_of(tables, decimals).values()),
        "n_impossible": sum(not -half <= share <= 1 + half for share in shares)
        + sum(
            row["column"] not in uppers
            or not -half <= row["centre"] <= uppers[row["column"]] + half
            for row in centres
        ),
        "order_is_fixed": shares == sorted(shares, reverse=True)
        and [row["cluster"] for row in sizes] == list(numbers)
        and [(row["cluster"], row["column"]) for row in centres] == expected,
    }
