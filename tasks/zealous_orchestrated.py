"""The steps of a release of histograms as Prefect tasks; those about the log are shared."""

from functools import partial

from prefect.artifacts import create_markdown_artifact

from hybriddp.item_kinds import ITEM_KINDS
from tasks import zealous, zealous_product
from tasks.measured import load_measurement
from tasks.orchestrated import identification, step
from tasks.product_orchestrated import judging
from tasks.zealous import ZealousRun


def _show_people(run: ZealousRun) -> None:
    request = run.request
    create_markdown_artifact(
        f"Taking part: {request.optin_source}. Rotation: slot "
        f"{run.epoch.index % request.rotation} of {request.rotation}. Each person contributes at "
        f"most {request.items_per_user} items to each histogram.",
        key="hybriddp-people",
        description=f"people of {run.release_id}",
    )


def _draw(kind: str, run: ZealousRun) -> None:
    zealous.draw_histogram(run, kind)


def _show_histogram(kind: str, run: ZealousRun) -> None:
    mechanism, named = zealous.mechanism_of(run, kind), load_measurement(run, kind)
    create_markdown_artifact(
        f"{named.num_rows} {kind} of at least {mechanism.first_threshold} contributors had a noisy "
        f"count above {mechanism.threshold} (discrete Laplace noise of scale "
        f"{mechanism.noise.scale:.4g}).",
        key=f"hybriddp-{kind}-draw",
        description=f"{kind} of {run.release_id}",
    )


identify = identification(zealous.identify)
choose_people = step("choose people", zealous.choose_people, _show_people)
# One task a histogram: each is drawn and stored by itself.
draw_histogram = {
    kind: step(
        f"draw {kind}", partial(_draw, kind), partial(_show_histogram, kind), writes_ledger=True
    )
    for kind in ITEM_KINDS
}
judge_histograms = judging("judge the histograms", zealous_product, "gate-histograms")
