"""The steps of a release of clusters, in order; `flows/kmeans.py` runs them as Prefect tasks."""

from pathlib import Path

from tasks.draws import discard_private_tables, leaving_no_copy
from tasks.kmeans import KMeansRun, draw_clusters
from tasks.kmeans_product import judge_release
from tasks.number_log import choose_people, ingest, judge_log
from tasks.preflight import check_inputs
from tasks.publish import publish
from tasks.reserve import reserve


@leaving_no_copy
def run_kmeans(run: KMeansRun) -> Path:
    """Run every step in this process, without Prefect."""
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_people(run)
    reserve(run)
    draw_clusters(run)
    discard_private_tables(run)
    judge_release(run, run.request.settings)
    return publish(run, run.request.settings)
