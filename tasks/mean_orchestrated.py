"""The steps of a release of means as Prefect tasks; those about numbers are shared."""

from prefect.artifacts import create_markdown_artifact

from tasks import mean, mean_product
from tasks.mean import MeanRun
from tasks.orchestrated import identification, step
from tasks.product_orchestrated import judging


def _show_noise(run: MeanRun) -> None:
    # Not what was drawn: a release of one number must not show a group's own sum anywhere.
    noise = mean_product.describe(run.reservation["parameters"])
    create_markdown_artifact(
        f"Drawn and stored. The noise of a sum has a standard deviation of {noise['sums_sd']}, "
        f"that of a report one of at most {noise['report_sd_at_most']}.",
        key="hybriddp-noise",
        description=f"noise of {run.release_id}",
    )


identify = identification(mean.identify)
draw_sums = step("draw sums", mean.draw_sums, writes_ledger=True)
draw_squares = step("draw squared differences", mean.draw_squares, writes_ledger=True)
draw_reports = step("draw client reports", mean.draw_reports, _show_noise, writes_ledger=True)
judge_means = judging("judge the means", mean_product, "gate-means")
