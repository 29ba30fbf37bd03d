"""The pipeline of means, top to bottom."""

from typing import Any

from hybriddp.mean.estimation import KeyAgreement, KeyMean
from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.draws import MeanRun, design_of, draw_reports, draw_squares, draw_sums
from tasks.products.mean.draws import identify as identify
from tasks.products.mean.processing import write_agreement, write_groups, write_means
from tasks.products.mean.tables import describe, describe_check
from tasks.products.numbers.steps import BEFORE_THE_CHARGE
from tasks.release.artifacts import Artifacts, Rows, Words
from tasks.release.run import Release
from tasks.release.step import Step
from tasks.release.steps import DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging

_SHOWN = 50


def show_noise(run: MeanRun, _: Any) -> Artifacts:
    """Say how noisy it is; not what was drawn.

    A release of one number must not show a group's own sum anywhere.
    """
    noise = describe(design_of(run))
    yield Words(
        "noise",
        f"Drawn and stored. The noise of a sum has a standard deviation of {noise['sums_sd']}, "
        f"that of a report one of at most {noise['report_sd_at_most']}.",
    )


def _show_means(run: Release, means: list[KeyMean]) -> Artifacts:
    """Show every mean as it is estimated; groups' own means stay where they were written."""
    rows = [
        {"key": of.key, "mean": f"{of.estimate.value:.6g}",
         "95 % interval": f"{of.estimate.low:.6g} - {of.estimate.high:.6g}",
         "weight of opt-in people": f"{of.estimate.weight:.4f}"}
        for of in means[:_SHOWN]
    ]  # fmt: skip
    yield Rows("blended-means", rows, f"Means of {run.release_id}")


def _show_agreement(_run: Release, agreements: list[KeyAgreement]) -> Artifacts:
    """Say whether the groups agree."""
    check = describe_check(agreements)
    if check["p_value"] is None:
        yield Words("cross-check", "Whether opt-in people and clients agree was not compared.")
        return
    yield Words(
        "cross-check",
        f"Opt-in people and clients agree with p <= {check['p_value']}; keys that were compared: "
        f"{check['compared']}. A tiny p means that the groups are not alike, that somebody sends "
        "false reports, or a mistake.",
    )


# From the measurements to means; processing a release again begins here.
ESTIMATION = (
    Step("estimate each group", write_groups, is_free=True),
    Step("blend the groups", write_means, _show_means, is_free=True),
    Step("cross-check the groups", write_agreement, _show_agreement, is_free=True),
)
STEPS = (
    *BEFORE_THE_CHARGE,
    RESERVE,
    Step("draw sums", draw_sums, draws=(SUMS,)),
    Step("draw squared differences", draw_squares, draws=(SQUARES,)),
    Step("draw client reports", draw_reports, show_noise, draws=(NUMBERS,)),
    DISCARD,
    *ESTIMATION,
    judging("judge the means", "gate-means"),
    SIGN_OFF,
    PUBLISH,
)
