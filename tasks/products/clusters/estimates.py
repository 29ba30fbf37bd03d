"""From measured tables of clusters to what is published: pure, and the same for auditors."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from hybriddp.arrays import FloatArray
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.kmeans.start import first_centres
from hybriddp.kmeans.summary import ClusterSummary, describe_clusters
from hybriddp.kmeans.tables import Clustering, GroupTables, trace_of_tables
from hybriddp.params import Budget
from tasks.products.clusters import ANSWERS, POINTS

Measurements = Mapping[str, pa.Table]


class Cluster(NamedTuple):
    """One cluster, in the units of its columns; an error is None where nobody had a say."""

    share: float
    share_error: float
    centre: tuple[float, ...]
    errors: tuple[float | None, ...]


def mechanism_of(parameters: Mapping[str, Any]) -> KMeansMechanism:
    """Rebuild the mechanism from public parameters."""
    return KMeansMechanism.for_budget(
        Budget(Fraction(parameters["epsilon"])),
        n_clusters=parameters["n_clusters"],
        n_iterations=parameters["n_iterations"],
        n_dimensions=len(parameters["points"]),
        grid=parameters["grid"],
        debias=parameters["debias"],
    )


def first_centres_of(parameters: Mapping[str, Any]) -> FloatArray:
    """Return the first centres: public, and the same for every release of this shape."""
    return first_centres(parameters["n_clusters"], len(parameters["points"]), parameters["grid"])


def table_of(tables: GroupTables) -> pa.Table:
    """Return a group's tables of all iterations as one: a row for each iteration and cluster."""
    n_iterations, n_clusters, n_dimensions = tables.sums.shape
    iterations, clusters = np.indices((n_iterations, n_clusters)).reshape(2, -1)
    sums = tables.sums.reshape(-1, n_dimensions)
    return pa.table(
        {"iteration": iterations, "cluster": clusters, "count": tables.counts.ravel()}
        | {f"sum_{dimension + 1}": sums[:, dimension] for dimension in range(n_dimensions)}
    )


def tables_from(table: pa.Table, parameters: Mapping[str, Any]) -> GroupTables:
    """Return what `table_of` was made from."""
    shape = parameters["n_iterations"], parameters["n_clusters"]
    sums = [table[f"sum_{place + 1}"].to_numpy() for place in range(len(parameters["points"]))]
    return GroupTables(
        table["count"].to_numpy().reshape(shape), np.stack(sums, axis=-1).reshape(*shape, -1)
    )


def find_clusters(
    parameters: Mapping[str, Any], measured: Measurements, n_optin: int
) -> list[Cluster]:
    """Walk from the first centres to the last ones, and describe the clusters, largest first."""
    setting = mechanism_of(parameters).tables
    trusted, local = (tables_from(measured[group], parameters) for group in (POINTS, ANSWERS))
    trace = trace_of_tables(trusted, local, first_centres_of(parameters), setting)
    summary = describe_clusters(Clustering(trace, trusted, local), setting, n_trusted=n_optin)
    uppers = np.array([float(Fraction(point["upper"])) for point in parameters["points"]])
    found = [_cluster(summary, place, uppers) for place in range(parameters["n_clusters"])]
    return sorted(found, key=lambda cluster: (-cluster.share, cluster.centre))


def _cluster(summary: ClusterSummary, place: int, uppers: FloatArray) -> Cluster:
    errors = summary.centre_errors[place] * uppers
    return Cluster(
        float(summary.sizes[place]),
        float(summary.size_errors[place]),
        tuple((summary.centres[place] * uppers).tolist()),
        tuple(float(error) if np.isfinite(error) else None for error in errors),
    )
