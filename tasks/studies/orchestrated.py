"""The steps of a study as Prefect tasks; retried freely, for finished runs are kept."""

from pathlib import Path

from prefect import task
from prefect.cache_policies import NO_CACHE

from tasks.studies import request as steps
from tasks.studies.request import StudyRequest
from tasks.studies.tables import Tables


@task(name="do the runs", retries=2, retry_delay_seconds=1, cache_policy=NO_CACHE)
def do_runs(request: StudyRequest) -> Tables:
    """Do what is missing; what is stored already is not done again."""
    return steps.do_runs(request)


@task(name="show the study", retries=2, retry_delay_seconds=1, cache_policy=NO_CACHE)
def show(request: StudyRequest, tables: Tables) -> Path:
    """Draw plots and write pages."""
    return steps.show(request, tables)
