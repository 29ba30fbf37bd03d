"""A release of the mean of a number that every person has, from both groups (hybrid means)."""

from flows.sign_off import wait_for_sign_off
from tasks.mean_orchestrated import (
    draw_reports,
    draw_squares,
    draw_sums,
    identify,
    judge_means,
)
from tasks.mean_request import MeanRequest
from tasks.number_orchestrated import choose_people, ingest, judge_log
from tasks.orchestrated import check_inputs, discard_private_tables, reserve
from tasks.outcome import Outcome
from tasks.product_orchestrated import publish
from tasks.reasons import form_flow


@form_flow
def mean(request: MeanRequest) -> Outcome:
    """Publish a mean of people's numbers; run again, it returns the same for free."""
    run = identify(request)
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_people(run)
    reserve(run)
    draw_sums(run)
    draw_squares(run)
    draw_reports(run)
    discard_private_tables(run)
    judge_means(run)
    wait_for_sign_off(run)
    publish(run)
    return Outcome.published(run)
