"""The steps after the draw of clusters: each reads what was written before, and writes its file.

What is published is what the last of them wrote.
"""

import numpy as np
import polars as pl

from hybriddp.arrays import FloatArray
from hybriddp.kmeans.estimation import (
    Cluster,
    ClusterDesign,
    MeasuredTables,
    find_clusters,
    name_clusters,
    trace_centres,
)
from tasks.measured.derived import read_derived, write_derived, written_or
from tasks.measured.stored import load_measurement
from tasks.products.clusters import POINTS
from tasks.products.clusters.parameters import ClusterParameters
from tasks.products.clusters.tables import measured_from
from tasks.release.run import Release

TRACE, FOUND = "centre_trace", "found_clusters"


def parameters_of(release: Release) -> ClusterParameters:
    """Return the exact parameters that were reserved."""
    return ClusterParameters.read(release.reservation.parameters)


def write_trace(release: Release) -> FloatArray:
    """Write the centres of every iteration, the first ones included, in parts of each range."""
    design = parameters_of(release).design
    trace = trace_centres(design, _measured(release, design))
    iterations, clusters = np.indices(trace.shape[:2]).reshape(2, -1)
    columns = dict(zip(_names(design, "centre"), trace.reshape(-1, trace.shape[2]).T, strict=True))
    frame = pl.DataFrame({"iteration": iterations, "cluster": clusters, **columns})
    write_derived(release, TRACE, frame)
    return trace


def write_clusters(release: Release) -> list[Cluster]:
    """Write the clusters, largest first, in the units of their columns."""
    design = parameters_of(release).design
    found = name_clusters(design, _measured(release, design), _read_trace(release, design))
    names = ["share", "share_error", *_names(design, "centre"), *_names(design, "error")]
    rows = [(of.share, of.share_error, *of.centre, *of.errors) for of in found]
    schema = dict.fromkeys(names, pl.Float64)
    write_derived(release, FOUND, pl.DataFrame(rows, schema=schema, orient="row"))
    return found


def estimated(release: Release) -> list[Cluster]:
    """Return what the steps wrote; compute it where they have not, as of an old release."""
    design = parameters_of(release).design
    return written_or(
        lambda: _read_clusters(release, design),
        lambda: find_clusters(design, _measured(release, design)),
    )


def _measured(release: Release, design: ClusterDesign) -> MeasuredTables:
    tables = {group: load_measurement(release, group) for group in release.groups}
    return measured_from(design, tables, release.group_size(POINTS))


def _read_trace(release: Release, design: ClusterDesign) -> FloatArray:
    frame = read_derived(release, TRACE).select(_names(design, "centre"))
    shape = design.n_iterations + 1, design.n_clusters, len(design.uppers)
    return np.ascontiguousarray(frame.to_numpy()).reshape(shape)


def _read_clusters(release: Release, design: ClusterDesign) -> list[Cluster]:
    last = 2 + len(design.uppers)
    rows = read_derived(release, FOUND).iter_rows()
    return [Cluster(row[0], row[1], row[2:last], row[last:]) for row in rows]


def _names(design: ClusterDesign, what: str) -> list[str]:
    return [f"{what}_{place + 1}" for place in range(len(design.uppers))]
