"""Clusters as tables: as they are measured, and as they are published, from public facts."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.kmeans.estimation import Cluster, ClusterDesign, MeasuredTables
from hybriddp.kmeans.tables import GroupTables
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.parameters import ClusterParameters
from tasks.products.files import files_of, rounded
from tasks.verify.manifest import words_of

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


def table_of(tables: GroupTables) -> pa.Table:
    """Return a group's tables of all iterations as one: a row for each iteration and cluster."""
    n_iterations, n_clusters, n_dimensions = tables.sums.shape
    iterations, clusters = np.indices((n_iterations, n_clusters)).reshape(2, -1)
    sums = tables.sums.reshape(-1, n_dimensions)
    return pa.table(
        {"iteration": iterations, "cluster": clusters, "count": tables.counts.ravel()}
        | {f"sum_{dimension + 1}": sums[:, dimension] for dimension in range(n_dimensions)}
    )


def measured_from(design: ClusterDesign, measured: Tables, n_optin: int) -> MeasuredTables:
    """Return what the measurements of both groups were made from."""
    trusted, local = (_tables_from(design, measured[group]) for group in (POINTS, ANSWERS))
    return MeasuredTables(trusted, local, n_optin)


def _tables_from(design: ClusterDesign, table: pa.Table) -> GroupTables:
    shape = design.n_iterations, design.n_clusters
    sums = [table[f"sum_{place + 1}"].to_numpy() for place in range(len(design.uppers))]
    return GroupTables(
        table["count"].to_numpy().reshape(shape), np.stack(sums, axis=-1).reshape(*shape, -1)
    )


def build_tables(
    columns: Sequence[str], clusters: Sequence[Cluster], decimals: int
) -> dict[str, pa.Table]:
    """Number clusters in their order, and round."""
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


def describe(design: ClusterDesign) -> dict[str, Any]:
    """Return the noise: of a count in people, of a report in parts of the range, and lies."""
    mechanism = design.mechanism
    return {
        "sums_scale": f"{float(Fraction(mechanism.curator_scale, mechanism.grid)):.6g}",
        "report_scale": f"{float(Fraction(mechanism.report_scale, mechanism.grid)):.6g}",
        "truth": f"{float(mechanism.response.p_truth):.6g}",
    }


def judged_facts(parameters: ClusterParameters, tables: Tables, decimals: int) -> dict[str, Any]:
    """Return the facts about the tables that the gate judges."""
    sizes, centres = tables[CLUSTERS].to_pylist(), tables[CENTRES].to_pylist()
    uppers = {point.column: float(point.upper) for point in parameters.points}
    half = 0.5 * 10**-decimals  # rounding may pass a limit by so much
    numbers = range(1, parameters.n_clusters + 1)
    expected = [(number, column) for number in numbers for column in parameters.columns]
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
