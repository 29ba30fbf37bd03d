"""Clusters as a product: their files, their gate, their part of the manifest, their label."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tasks.clusters import Cluster, find_clusters, mechanism_of
from tasks.groups import ANSWERS, POINTS
from tasks.kmeans_label import write_label
from tasks.manifest import Content, guarantees_of, words_of
from tasks.measured import load_measurement
from tasks.quality import Verdict, judge
from tasks.release_files import jsonl_bytes, parquet_bytes, rounded

if TYPE_CHECKING:  # verifying needs no request, and they take long to import
    from tasks.kmeans_request import ClusterSettings
    from tasks.run import Release

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
    parameters = release.reservation["parameters"]
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


def files_of(tables: Tables, decimals: int) -> dict[str, bytes]:
    """Return the data files by name."""
    files = {}
    for name, table in tables.items():
        files[f"{name}.parquet"] = parquet_bytes(table)
        files[f"{name}.jsonl"] = jsonl_bytes(table, decimals)
    return files


def content(release: "Release", publication: Mapping[str, Any]) -> Content:
    """Build the files of a publication, and say what is in them."""
    parameters, decimals = release.reservation["parameters"], publication["settings"]["decimals"]
    tables = build_tables(parameters, clusters_of(release), decimals)
    facts = {
        "guarantees": guarantees_of(release.reservation["groups"], WORDS),
        "noise": describe(parameters),
        "decimals": decimals,
        "rows": {name: table.num_rows for name, table in tables.items()},
    }
    return Content(files_of(tables, decimals), facts)


def describe(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the noise: of a count in people, of a report in parts of the range, and lies."""
    mechanism = mechanism_of(parameters)
    return {
        "sums_scale": f"{float(Fraction(mechanism.curator_scale, mechanism.grid)):.6g}",
        "report_scale": f"{float(Fraction(mechanism.report_scale, mechanism.grid)):.6g}",
        "truth": f"{float(mechanism.response.p_truth):.6g}",
    }


def label(release: "Release", facts: Mapping[str, Any]) -> str:
    """Say in plain words what was promised."""
    return write_label(facts)


def preview(release: "Release", settings: "ClusterSettings") -> dict[str, pa.Table]:
    """Build the tables as they would be published, by name."""
    parameters = release.reservation["parameters"]
    return build_tables(parameters, clusters_of(release), settings.decimals)


def judge_release(release: "Release", settings: "ClusterSettings") -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    tables = preview(release, settings)
    facts = judged_facts(release.reservation["parameters"], tables, settings.decimals)
    limits = {"max_bytes": float(settings.max_bytes)}
    return judge("clusters", pa.Table.from_pylist([facts]), limits).require()


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
