"""The pipeline of means, top to bottom."""

from typing import Any

from tasks.products.mean import NUMBERS, SQUARES, SUMS
from tasks.products.mean.draws import MeanRun, draw_reports, draw_squares, draw_sums
from tasks.products.mean.draws import identify as identify
from tasks.products.mean.product import describe
from tasks.products.numbers.steps import BEFORE_THE_CHARGE
from tasks.release.artifacts import Artifacts, Words
from tasks.release.step import Step
from tasks.release.steps import DISCARD, PUBLISH, RESERVE, SIGN_OFF, judging


def show_noise(run: MeanRun, _: Any) -> Artifacts:
    """Say how noisy it is; not what was drawn.

    A release of one number must not show a group's own sum anywhere.
    """
    noise = describe(run.reservation.parameters)
    yield Words(
        "noise",
        f"Drawn and stored. The noise of a sum has a standard deviation of {noise['sums_sd']}, "
        f"that of a report one of at most {noise['report_sd_at_most']}.",
    )


ESTIMATION = ()  # tables are made from the measurements at once
STEPS = (
    *BEFORE_THE_CHARGE,
    RESERVE,
    Step("draw sums", draw_sums, draws=(SUMS,)),
    Step("draw squared differences", draw_squares, draws=(SQUARES,)),
    Step("draw client reports", draw_reports, show_noise, draws=(NUMBERS,)),
    DISCARD,
    judging("judge the means", "gate-means"),
    SIGN_OFF,
    PUBLISH,
)
