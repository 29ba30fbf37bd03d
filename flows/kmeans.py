"""A release of the clusters that people's points form, from both groups (hybrid k-means)."""

from flows.sign_off import wait_for_sign_off
from tasks.kmeans_orchestrated import draw_clusters, identify, judge_clusters
from tasks.kmeans_request import KMeansRequest
from tasks.number_orchestrated import choose_people, ingest, judge_log
from tasks.orchestrated import check_inputs, discard_private_tables, reserve
from tasks.outcome import Outcome
from tasks.product_orchestrated import publish
from tasks.reasons import form_flow


@form_flow
def kmeans(request: KMeansRequest) -> Outcome:
    """Publish clusters of people's points; run again, it returns the same for free."""
    run = identify(request)
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_people(run)
    reserve(run)
    draw_clusters(run)
    discard_private_tables(run)
    judge_clusters(run)
    wait_for_sign_off(run)
    publish(run)
    return Outcome.published(run)
