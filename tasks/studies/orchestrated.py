"""The steps of a study as Prefect tasks; retried freely, for finished runs are kept."""

import base64
from pathlib import Path

from prefect.artifacts import create_markdown_artifact

from tasks.orchestration.reasons import reasoned_task
from tasks.studies import request as steps
from tasks.studies.pages.page import verdict
from tasks.studies.pages.tables import Tables
from tasks.studies.request import StudyRequest


@reasoned_task(name="do the runs", retries=2, retry_delay_seconds=1)
def do_runs(request: StudyRequest) -> Tables:
    """Do what is missing; what is stored already is not done again."""
    return steps.do_runs(request)


@reasoned_task(name="show the study", retries=2, retry_delay_seconds=1)
def show(request: StudyRequest, tables: Tables) -> Path:
    """Draw plots and write pages."""
    return steps.show(request, tables)


@reasoned_task(name="leave the page", retries=2, retry_delay_seconds=1)
def leave_page(request: StudyRequest, tables: Tables, page: Path) -> None:
    """Leave the study's page with the run."""
    create_markdown_artifact(
        as_markdown(request, tables, page),
        key="hybriddp-study",
        description=f"{request.study.title}: {verdict(tables)}",
    )


def as_markdown(request: StudyRequest, tables: Tables, page: Path) -> str:
    """Return the study's page for Prefect: question, outcome, plots and limits."""
    study = request.study
    parts = [f"# {study.title}", study.question, f"**{verdict(tables)}**", study.reading]
    for plot in study.plots:
        picture = page.parent / f"{plot.name}.svg"
        if picture.is_file():
            data = base64.b64encode(picture.read_bytes()).decode()
            parts.append(f"![{plot.title}](data:image/svg+xml;base64,{data})")
    parts += [f"- {limit}" for limit in study.limits]
    size = " of a quick run" if request.quick else ""
    parts.append(f"The page{size} with all numbers is in `{page.parent}`, on the worker's machine.")
    return "\n\n".join(parts)
