"""The steps of a release of clusters as Prefect tasks; those about numbers are shared."""

from datetime import UTC, datetime

import polars as pl
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from tasks import kmeans, kmeans_product
from tasks.artifacts import show_gate, show_identity
from tasks.home import Home
from tasks.kmeans import KMeansRun
from tasks.kmeans_request import KMeansRequest
from tasks.orchestrated import guarded, step
from tasks.publish import publish as publish_release
from tasks.publish import published_folder

_SHOWN = 100


@task(name="identify", cache_policy=NO_CACHE, persist_result=False)
def identify(request: KMeansRequest) -> KMeansRun:
    """Find out which release this is."""
    home = Home.open()
    # A retry days later must still mean the week that it was scheduled for.
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    run = guarded("identify", home, lambda: kmeans.identify(request.at(moment), home))
    show_identity(run)
    return run


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


def _judge(run: KMeansRun) -> None:
    show_gate(run, kmeans_product.judge_release(run, run.request.settings), "gate-clusters")


def _publish(run: KMeansRun) -> None:
    publish_release(run, run.request.settings)


def _show_publication(run: KMeansRun) -> None:
    folder = published_folder(run)
    for name in kmeans_product.SCHEMAS:
        rows = pl.read_parquet(folder / f"{name}.parquet").head(_SHOWN).to_dicts()
        create_table_artifact(
            rows, key=f"hybriddp-{name}", description=f"{name} of {run.release_id}"
        )
    create_markdown_artifact(
        (folder / "label.md").read_text(encoding="utf-8"),
        key="hybriddp-label",
        description=f"label of {run.release_id}",
    )


draw_clusters = step("draw clusters", kmeans.draw_clusters, _show_noise, writes_ledger=True)
judge_clusters = step("judge the clusters", _judge)
publish = step("publish", _publish, _show_publication, writes_ledger=True)
