"""The steps of a release of clusters as Prefect tasks; those about numbers are shared."""

from prefect.artifacts import create_markdown_artifact

from tasks import kmeans, kmeans_product
from tasks.kmeans import KMeansRun
from tasks.orchestrated import identification, step
from tasks.product_orchestrated import judging


def _show_noise(run: KMeansRun) -> None:
    noise = kmeans_product.describe(run.reservation["parameters"])
    create_markdown_artifact(
        f"Both groups were measured in {run.request.n_iterations} iterations and stored. Noise: of "
        f"a count, scale {noise['sums_scale']} people; of a client's number, scale "
        f"{noise['report_scale']} times its range; a client names its own cluster with "
        f"probability {noise['truth']}.",
        key="hybriddp-noise",
        description=f"noise of {run.release_id}",
    )


identify = identification(kmeans.identify)
draw_clusters = step("draw clusters", kmeans.draw_clusters, _show_noise, writes_ledger=True)
judge_clusters = judging("judge the clusters", kmeans_product, "gate-clusters")
