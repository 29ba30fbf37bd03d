"""The pipeline of clusters, top to bottom."""

from typing import Any

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.kmeans.estimation import Cluster
from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.draws import KMeansRun, draw_clusters
from tasks.products.clusters.draws import identify as identify
from tasks.products.clusters.processing import parameters_of, write_clusters, write_trace
from tasks.products.clusters.tables import describe
from tasks.products.numbers.steps import BEFORE_THE_CHARGE
from tasks.release.artifacts import Artifacts, Rows, Words
from tasks.release.run import Release
from tasks.release.step import Step
from tasks.release.steps import DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging


def _show_noise(run: KMeansRun, _: Any) -> Artifacts:
    noise = describe(parameters_of(run).design)
    yield Words(
        "noise",
        f"Both groups were measured in {run.request.n_iterations} iterations and stored. Noise: of "
        f"a count, scale {noise['sums_scale']} people; of a client's number, scale "
        f"{noise['report_scale']} times its range; a client names its own cluster with "
        f"probability {noise['truth']}.",
    )


def _show_trace(_run: Release, trace: FloatArray) -> Artifacts:
    """Say how far centres moved: whether more iterations would have found other clusters."""
    moved = np.abs(np.diff(trace, axis=0)).max(axis=(1, 2))
    steps = ", ".join(f"{distance:.4f}" for distance in moved)
    yield Words(
        "centre-trace",
        f"The centre that moved most went this far in each iteration, in parts of a column's "
        f"range: {steps}.",
    )


def _show_clusters(run: Release, clusters: list[Cluster]) -> Artifacts:
    columns = parameters_of(run).columns
    rows = [
        {
            "cluster": number,
            "share": f"{of.share:.4f} ± {of.share_error:.4f}",
            "centre": "; ".join(map(_coordinate, columns, of.centre, of.errors)),
        }
        for number, of in enumerate(clusters, start=1)
    ]
    yield Rows("found-clusters", rows, f"Clusters of {run.release_id}")


def _coordinate(column: str, centre: float, error: float | None) -> str:
    margin = "" if error is None else f" ± {error:.2g}"
    return f"{column} {centre:.6g}{margin}"


# From the measurements to clusters; processing a release again begins here.
ESTIMATION = (
    Step("trace the centres", write_trace, _show_trace, is_free=True),
    Step("describe the clusters", write_clusters, _show_clusters, is_free=True),
)
STEPS = (
    *BEFORE_THE_CHARGE,
    RESERVE,
    # Neither group can be measured without the other's noisy tables.
    Step("draw clusters", draw_clusters, _show_noise, draws=(POINTS, ANSWERS)),
    DISCARD,
    *ESTIMATION,
    judging("judge the clusters", "gate-clusters"),
    SIGN_OFF,
    PUBLISH,
)
