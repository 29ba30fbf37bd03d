"""The steps of a release, in order; `flows/release.py` runs the same ones as Prefect tasks.

Every step takes the run, reads what earlier steps wrote, and writes its own artifact. A step that
finds its work done does nothing, so a release can be run again from the start after any failure.
"""

from pathlib import Path

from tasks.cohorts import choose_cohorts
from tasks.collapse import require_a_word
from tasks.collection import publish_package
from tasks.draws import (
    discard_private_tables,
    draw_client_reports,
    draw_head_list,
    draw_optin_histogram,
    leaving_no_copy,
)
from tasks.forecast import expect_a_list
from tasks.head_list_product import judge_release
from tasks.ingest import ingest, judge_log
from tasks.left_out import settle_list
from tasks.preflight import check_inputs
from tasks.processing import (
    blend_estimates,
    check_groups_agree,
    denoise_reports,
    estimate_intervals,
    project_estimates,
    trim_head_list,
)
from tasks.publish import publish
from tasks.reports import collect_reports
from tasks.reserve import reserve
from tasks.run import Run

__all__ = [
    "blend_estimates", "check_groups_agree", "check_inputs", "choose_cohorts", "denoise_reports",
    "discard_private_tables", "draw_client_reports", "draw_head_list", "draw_optin_histogram",
    "estimate_intervals", "expect_a_list", "ingest", "judge_log", "judge_release",
    "measure_clients", "project_estimates", "publish", "publish_package", "require_a_word",
    "reserve", "run_release", "settle_list", "trim_head_list",
]  # fmt: skip


def measure_clients(run: Run) -> bool:
    """Draw the clients' reports, or take those of devices; False means: still collecting."""
    if run.has_devices:
        return collect_reports(run)
    draw_client_reports(run)
    return True


@leaving_no_copy
def run_release(run: Run) -> Path | None:
    """Run every step in this process, without Prefect; None means: still collecting."""
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_cohorts(run)
    expect_a_list(run)
    reserve(run)
    draw_head_list(run)
    settle_list(run)
    draw_optin_histogram(run)
    trim_head_list(run)
    if run.has_devices:
        publish_package(run)
    is_measured = measure_clients(run)
    discard_private_tables(run)
    if not is_measured:
        return None
    denoise_reports(run)
    blend_estimates(run)
    project_estimates(run)
    estimate_intervals(run)
    check_groups_agree(run)
    judge_release(run, run.request.settings)
    require_a_word(run)
    return publish(run, run.request.settings)
