"""The pipeline of histograms, top to bottom."""

from functools import partial
from typing import Any

from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.gates.forecast import expect_a_list
from tasks.log.ingest import ingest, judge_log
from tasks.measured.stored import load_measurement
from tasks.products.histograms.draws import (
    ZealousRun,
    choose_people,
    draw_histogram,
    mechanism_of,
)
from tasks.products.histograms.draws import identify as identify
from tasks.products.histograms.estimation.processing import write_rankings
from tasks.products.histograms.estimation.tables import Ranked
from tasks.products.histograms.forecast import forecast_of
from tasks.products.searches.artifacts import show_forecast, show_ingest
from tasks.release.artifacts import Artifacts, Words, gate
from tasks.release.run import Release
from tasks.release.step import Step
from tasks.release.steps import CHECK_INPUTS, DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging


def _show_people(run: ZealousRun, _: Any) -> Artifacts:
    request = run.request
    yield Words(
        "people",
        f"Taking part: {request.optin_source}. Rotation: slot "
        f"{run.epoch.index % request.rotation} of {request.rotation}. Each person contributes at "
        f"most {request.items_per_user} items to each histogram.",
    )


def _draw(kind: str, run: ZealousRun) -> None:
    draw_histogram(run, kind)


def _is_asked_for(kind: str, run: ZealousRun) -> bool:
    return kind in run.request.kinds


def _show_histogram(kind: str, run: ZealousRun, _: Any) -> Artifacts:
    mechanism, named = mechanism_of(run, kind), load_measurement(run, kind)
    yield Words(
        f"{kind}-draw",
        f"{named.num_rows} {kind} of at least {mechanism.first_threshold} contributors had a noisy "
        f"count above {mechanism.threshold} (discrete Laplace noise of scale "
        f"{mechanism.noise.scale:.4g}).",
    )


def _show_rankings(_run: Release, found: dict[str, Ranked]) -> Artifacts:
    """Say how long each histogram is; what is in it may be blocked."""
    rows = "\n".join(f"| {kind} | {len(ranked):,} |" for kind, ranked in found.items())
    yield Words("ranked-items", f"| histogram | items |\n|---|---|\n{rows}")


# From the measurements to histograms; processing a release again begins here.
ESTIMATION = (Step("rank the items", write_rankings, _show_rankings, is_free=True),)
STEPS = (
    CHECK_INPUTS,
    Step("ingest", ingest, show_ingest),
    Step("judge the log", judge_log, partial(gate, "gate-raw-log")),
    Step("choose people", choose_people, _show_people),
    Step("predict the list", partial(expect_a_list, forecast_of), show_forecast),
    RESERVE,
    # Each is drawn and stored by itself; clicks look at the published queries.
    *(
        Step(f"draw {kind}", partial(_draw, kind), partial(_show_histogram, kind),
             applies=partial(_is_asked_for, kind), draws=(kind,))
        for kind in ITEM_KINDS
    ),
    DISCARD,
    *ESTIMATION,
    judging("judge the histograms", "gate-histograms"),
    SIGN_OFF,
    PUBLISH,
)  # fmt: skip
