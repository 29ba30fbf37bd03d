"""The pipeline of a head list, top to bottom."""

from dataclasses import replace
from functools import partial
from typing import Any

from tasks.gates.forecast import expect_a_list
from tasks.log.ingest import ingest, judge_log
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM, JOINING, THE_LIST, artifacts
from tasks.products.head_list.estimation.processing import (
    blend_estimates,
    check_groups_agree,
    denoise_reports,
    estimate_intervals,
    project_estimates,
    trim_head_list,
)
from tasks.products.head_list.forecast import forecast_of
from tasks.products.head_list.measuring.cohorts import choose_cohorts
from tasks.products.head_list.measuring.collection import publish_package
from tasks.products.head_list.measuring.draws import (
    draw_client_reports,
    draw_head_list,
    draw_optin_histogram,
)
from tasks.products.head_list.measuring.left_out import settle_list
from tasks.products.head_list.measuring.reports import collect_reports
from tasks.products.head_list.run import HeadListRun
from tasks.products.head_list.run import identify as identify
from tasks.products.searches.artifacts import show_forecast, show_ingest
from tasks.release.artifacts import gate
from tasks.release.run import Release
from tasks.release.step import Step
from tasks.release.steps import (
    CHECK_INPUTS,
    DISCARD,
    PUBLISH,
    RESERVE,
    SIGN_OFF,
    is_measured,
    judging,
)


def measure_clients(run: HeadListRun) -> None:
    """Draw the clients' reports, or take those of devices, if they have come."""
    if run.has_devices:
        collect_reports(run)
    else:
        draw_client_reports(run)


def _nothing(_run: HeadListRun) -> None:
    """Settle the list without asking; the next step refuses what needs a person's word."""


def _has_devices(run: HeadListRun) -> bool:
    return run.has_devices


def _show_reports(run: HeadListRun, _: Any) -> Any:
    return () if run.is_collecting else artifacts.reports(run, None)


def find_changes(release: Release) -> Any:
    """Say what entered, left, rose and fell since the week before."""
    # What seasons are made of takes long to import, and most releases are none.
    from tasks.products.head_list.series.changes import find_and_write

    return find_and_write(release)


def _is_week_and_measured(run: Release) -> bool:
    return run.reservation.place is not None and is_measured(run)


# From the measurements to a distribution; processing a release again begins here.
_ESTIMATION = tuple(
    Step(title, work, show, applies=is_measured, is_free=True)
    for title, work, show in (
        ("denoise", denoise_reports, artifacts.estimates("client-records")),
        ("blend", blend_estimates, artifacts.estimates("blended-records")),
        ("project", project_estimates, artifacts.estimates("projected-records")),
        ("estimate intervals", estimate_intervals, artifacts.estimates("published-records")),
        ("cross-check the groups", check_groups_agree, artifacts.cross_check),
    )
)
CHANGES = Step(
    "find changes", find_changes, artifacts.changes, applies=_is_week_and_measured, is_free=True
)
ESTIMATION = (*_ESTIMATION, CHANGES)
TRIM = Step("trim head list", trim_head_list, artifacts.histogram, is_free=True)

STEPS = (
    CHECK_INPUTS,
    Step("ingest", ingest, show_ingest),
    Step("judge the log", judge_log, partial(gate, "gate-raw-log")),
    Step("choose cohorts", choose_cohorts, artifacts.cohorts),
    Step("predict the list", partial(expect_a_list, forecast_of), show_forecast),
    RESERVE,
    Step("draw head list", draw_head_list, artifacts.head_list_draw, draws=(JOINING, HEADLIST)),
    Step("sign-off of the list", _nothing, asks=THE_LIST),
    Step("settle the list", settle_list, writes_ledger=True),
    Step("draw opt-in histogram", draw_optin_histogram, draws=(HISTOGRAM,)),
    TRIM,
    Step("publish collection package", publish_package, artifacts.package,
         applies=_has_devices, is_free=True),
    Step("collect client reports", measure_clients, _show_reports, draws=(CLIENTS,)),
    DISCARD,
    *ESTIMATION,
    judging("judge the published list", "gate-published-list"),
    SIGN_OFF,
    replace(PUBLISH, show=artifacts.publication),
)  # fmt: skip
