"""A release: the pipeline, top to bottom."""

from flows.list_sign_off import wait_for_list_sign_off
from flows.sign_off import wait_for_sign_off
from tasks.orchestrated import (
    blend,
    check_groups_agree,
    check_inputs,
    choose_cohorts,
    collect_reports,
    denoise,
    discard_private_tables,
    draw_head_list,
    draw_optin_histogram,
    estimate_intervals,
    expect_a_list,
    identify,
    ingest,
    judge_log,
    judge_release,
    project,
    publish,
    publish_package,
    reserve,
    settle_list,
    trim_head_list,
)
from tasks.outcome import Outcome
from tasks.reasons import form_flow
from tasks.request import ReleaseRequest


@form_flow
def release(request: ReleaseRequest) -> Outcome:
    """Publish the head of a search log; run again, it returns the same release for free."""
    run = identify(request)
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_cohorts(run)
    expect_a_list(run)
    reserve(run)
    draw_head_list(run)
    wait_for_list_sign_off(run)
    settle_list(run)
    draw_optin_histogram(run)
    trim_head_list(run)
    if run.has_devices:
        publish_package(run)
    is_measured = collect_reports(run)
    discard_private_tables(run)
    if not is_measured:
        return Outcome.collecting(run)
    denoise(run)
    blend(run)
    project(run)
    estimate_intervals(run)
    check_groups_agree(run)
    judge_release(run)
    wait_for_sign_off(run)
    publish(run)
    return Outcome.published(run)
