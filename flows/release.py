"""A release: the pipeline, top to bottom."""

from prefect import flow

from flows.sign_off import wait_for_sign_off
from tasks.orchestrated import (
    blend,
    check_groups_agree,
    choose_cohorts,
    collect_reports,
    denoise,
    discard_private_tables,
    draw_head_list,
    draw_optin_histogram,
    estimate_intervals,
    identify,
    ingest,
    judge_log,
    judge_release,
    project,
    publish,
    publish_package,
    reserve,
    trim_head_list,
)
from tasks.outcome import Outcome
from tasks.reasons import reasoned
from tasks.request import ReleaseRequest


@flow(name="release", persist_result=False)
@reasoned
def release(request: ReleaseRequest) -> Outcome:
    """Publish the head of a search log; run again, it returns the same release for free."""
    run = identify(request)
    ingest(run)
    judge_log(run)
    choose_cohorts(run)
    reserve(run)
    draw_head_list(run)
    draw_optin_histogram(run)
    trim_head_list(run)
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
