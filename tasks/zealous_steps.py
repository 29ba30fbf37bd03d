"""The steps of a release of histograms, in order; `flows/zealous.py` runs them as Prefect tasks."""

from pathlib import Path

from tasks.collapse import require_a_word
from tasks.draws import discard_private_tables, leaving_no_copy
from tasks.forecast import expect_a_list
from tasks.ingest import ingest, judge_log
from tasks.preflight import check_inputs
from tasks.publish import publish
from tasks.reserve import reserve
from tasks.zealous import ZealousRun, choose_people, draw_histogram
from tasks.zealous_product import judge_release


@leaving_no_copy
def run_zealous(run: ZealousRun) -> Path:
    """Run every step in this process, without Prefect."""
    check_inputs(run)
    ingest(run)
    judge_log(run)
    choose_people(run)
    expect_a_list(run)
    reserve(run)
    for kind in run.request.kinds:
        draw_histogram(run, kind)
    discard_private_tables(run)
    judge_release(run, run.request.settings)
    require_a_word(run)
    return publish(run, run.request.settings)
