"""A release of histograms: keywords, queries, pairs of queries and clicks (ZEALOUS)."""

from flows.sign_off import wait_for_sign_off
from tasks.orchestrated import (
    check_inputs,
    discard_private_tables,
    expect_a_list,
    ingest,
    judge_log,
    reserve,
)
from tasks.outcome import Outcome
from tasks.product_orchestrated import publish
from tasks.reasons import form_flow
from tasks.zealous_orchestrated import (
    choose_people,
    draw_histogram,
    identify,
    judge_histograms,
)
from tasks.zealous_request import ZealousRequest


@form_flow
def zealous(request: ZealousRequest) -> Outcome:
    """Publish which items of a log many people share; run again, it returns the same for free."""
    run = identify(request)
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_people(run)
    expect_a_list(run)
    reserve(run)
    for kind in run.request.kinds:
        draw_histogram[kind](run)
    discard_private_tables(run)
    judge_histograms(run)
    wait_for_sign_off(run)
    publish(run)
    return Outcome.published(run)
