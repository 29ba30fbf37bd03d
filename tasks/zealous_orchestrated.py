"""The steps of a release of histograms as Prefect tasks; those about the log are shared."""

from datetime import UTC, datetime
from functools import partial

import polars as pl
from prefect import task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.cache_policies import NO_CACHE
from prefect.runtime import flow_run

from hybriddp.search_log import ITEM_KINDS
from tasks import zealous, zealous_product
from tasks.artifacts import show_gate, show_identity
from tasks.home import Home
from tasks.measurements import load_measurement
from tasks.orchestrated import guarded, step
from tasks.publish import publish as publish_release
from tasks.publish import published_folder
from tasks.zealous import ZealousRun
from tasks.zealous_request import ZealousRequest

_SHOWN = 20


@task(name="identify", cache_policy=NO_CACHE, persist_result=False)
def identify(request: ZealousRequest) -> ZealousRun:
    """Find out which release this is."""
    home = Home.open()
    # A retry days later must still mean the week that it was scheduled for.
    moment = flow_run.scheduled_start_time or datetime.now(UTC)
    run = guarded("identify", home, lambda: zealous.identify(request.at(moment), home))
    show_identity(run)
    return run


def _show_people(run: ZealousRun) -> None:
    request = run.request
    create_markdown_artifact(
        f"Taking part: {request.optin_source}. Rotation: slot "
        f"{run.epoch.index % request.rotation} of {request.rotation}. Each person counts with at "
        f"most {request.items_per_user} items in each histogram.",
        key="hybriddp-people",
        description=f"people of {run.release_id}",
    )


def _draw(kind: str, run: ZealousRun) -> None:
    zealous.draw_histogram(run, kind)


def _show_histogram(kind: str, run: ZealousRun) -> None:
    mechanism, named = zealous.mechanism_of(run, kind), load_measurement(run, kind)
    create_markdown_artifact(
        f"{named.num_rows} {kind} of at least {mechanism.first_threshold} people had a noisy count "
        f"above {mechanism.threshold} (discrete Laplace noise of scale "
        f"{mechanism.noise.scale:.4g}).",
        key=f"hybriddp-{kind}-draw",
        description=f"{kind} of {run.release_id}",
    )


def _judge(run: ZealousRun) -> None:
    show_gate(run, zealous_product.judge_release(run, run.request.settings), "gate-histograms")


def _publish(run: ZealousRun) -> None:
    publish_release(run, run.request.settings)


def _show_publication(run: ZealousRun) -> None:
    folder = published_folder(run)
    for kind in run.request.kinds:
        rows = pl.read_parquet(folder / f"{kind}.parquet").head(_SHOWN).to_dicts()
        create_table_artifact(
            rows, key=f"hybriddp-{kind}", description=f"Head of {kind}, {run.release_id}"
        )
    create_markdown_artifact(
        (folder / "label.md").read_text(encoding="utf-8"),
        key="hybriddp-label",
        description=f"label of {run.release_id}",
    )


choose_people = step("choose people", zealous.choose_people, _show_people)
# One task a histogram: each is drawn and stored by itself.
draw_histogram = {
    kind: step(
        f"draw {kind}", partial(_draw, kind), partial(_show_histogram, kind), writes_ledger=True
    )
    for kind in ITEM_KINDS
}
judge_histograms = step("judge the histograms", _judge)
publish = step("publish", _publish, _show_publication, writes_ledger=True)
