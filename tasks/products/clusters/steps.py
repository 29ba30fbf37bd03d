"""The pipeline of clusters, top to bottom."""

from typing import Any

from tasks.products.clusters import ANSWERS, POINTS
from tasks.products.clusters.draws import KMeansRun, draw_clusters
from tasks.products.clusters.draws import identify as identify
from tasks.products.clusters.product import describe
from tasks.products.numbers.steps import BEFORE_THE_CHARGE
from tasks.release.artifacts import Artifacts, Words
from tasks.release.step import Step
from tasks.release.steps import DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging


def _show_noise(run: KMeansRun, _: Any) -> Artifacts:
    noise = describe(run.reservation.parameters)
    yield Words(
        "noise",
        f"Both groups were measured in {run.request.n_iterations} iterations and stored. Noise: of "
        f"a count, scale {noise['sums_scale']} people; of a client's number, scale "
        f"{noise['report_scale']} times its range; a client names its own cluster with "
        f"probability {noise['truth']}.",
    )


ESTIMATION = ()  # tables are made from the measurements at once
STEPS = (
    *BEFORE_THE_CHARGE,
    RESERVE,
    # Neither group can be measured without the other's noisy tables.
    Step("draw clusters", draw_clusters, _show_noise, draws=(POINTS, ANSWERS)),
    DISCARD,
    judging("judge the clusters", "gate-clusters"),
    SIGN_OFF,
    PUBLISH,
)
