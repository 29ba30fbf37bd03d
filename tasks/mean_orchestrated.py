"""The steps of a release of means as Prefect tasks; those about numbers are shared."""

from datetime import UTC, datetime

import polars as pl
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from tasks import mean, mean_product
from tasks.artifacts import show_gate, show_identity
from tasks.home import Home
from tasks.mean import MeanRun
from tasks.mean_request import MeanRequest
from tasks.orchestrated import guarded, step
from tasks.publish import publish as publish_release
from tasks.publish import published_folder

_SHOWN = 50


@task(name="identify", cache_policy=NO_CACHE, persist_result=False)
def identify(request: MeanRequest) -> MeanRun:
    """Find out which release this is."""
    home = Home.open()
    # A retry days later must still mean the week that it was scheduled for.
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    run = guarded("identify", home, lambda: mean.identify(request.at(moment), home))
    show_identity(run)
    return run


def _show_noise(run: MeanRun) -> None:
    # Not what was drawn: a release of one number must not show a group's own sum anywhere.
    noise = mean_product.describe(run.reservation["parameters"])
    create_markdown_artifact(
        f"Drawn and stored. The noise of a sum has a standard deviation of {noise['sums_sd']}, "
        f"that of a report one of at most {noise['report_sd_at_most']}.",
        key="hybriddp-noise",
        description=f"noise of {run.release_id}",
    )


def _judge(run: MeanRun) -> None:
    show_gate(run, mean_product.judge_release(run, run.request.settings), "gate-means")


def _publish(run: MeanRun) -> None:
    publish_release(run, run.request.settings)


def _show_publication(run: MeanRun) -> None:
    folder = published_folder(run)
    rows = pl.read_parquet(folder / f"{mean_product.TABLE}.parquet").head(_SHOWN).to_dicts()
    create_table_artifact(rows, key="hybriddp-means", description=f"Means of {run.release_id}")
    create_markdown_artifact(
        (folder / "label.md").read_text(encoding="utf-8"),
        key="hybriddp-label",
        description=f"label of {run.release_id}",
    )


draw_sums = step("draw sums", mean.draw_sums, writes_ledger=True)
draw_squares = step("draw squared differences", mean.draw_squares, writes_ledger=True)
draw_reports = step("draw client reports", mean.draw_reports, _show_noise, writes_ledger=True)
judge_means = step("judge the means", _judge)
publish = step("publish", _publish, _show_publication, writes_ledger=True)
