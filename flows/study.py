"""A study on synthetic users: runs, tables, plots, a page."""

from pathlib import Path

from tasks.orchestration.reasons import form_flow
from tasks.studies.orchestrated import do_runs, leave_page, show
from tasks.studies.request import StudyRequest


@form_flow
def study(request: StudyRequest) -> Path:
    """Answer one question on synthetic users; run again, it does only what is missing."""
    tables = do_runs(request)
    page = show(request, tables)
    leave_page(request, tables, page)
    return page
