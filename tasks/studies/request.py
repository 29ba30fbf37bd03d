"""What a reader asks of a study, and the steps that answer; the same for command and flow."""

import os
from pathlib import Path

from pydantic import Field, field_validator

from tasks.products.request import Form
from tasks.studies.catalogue import find_study
from tasks.studies.execute import QUICK_SEEDS, Progress, execute
from tasks.studies.model import Study
from tasks.studies.pages.page import write_index, write_page
from tasks.studies.pages.plots import write_plots
from tasks.studies.pages.tables import Tables, make_tables, write_tables


class StudyRequest(Form):
    """One study."""

    name: str = Field(description="A study, or a figure of a paper such as figure-13.")
    out: Path | None = Field(None, description="Folder; default: studies/NAME of the home.")
    seeds: int | None = Field(
        None, ge=1, le=10_000, description="Seeds; default the study's own, 2 in a quick run."
    )
    quick: bool = Field(False, description="Small populations, few settings: seconds.")
    workers: int = Field(1, ge=1, le=256, description="Processes to run in.")

    @field_validator("name")
    @classmethod
    def _is_known(cls, name: str) -> str:
        return find_study(name).name

    @property
    def study(self) -> Study:
        """The study that is meant."""
        return find_study(self.name)

    @property
    def folder(self) -> Path:
        """Where everything goes; quick runs stay apart from full ones."""
        home = Path(os.environ.get("HYBRIDDP_HOME") or "var")
        return self.out or home / "studies" / (f"{self.name}-quick" if self.quick else self.name)


def do_runs(request: StudyRequest, progress: Progress = lambda done, total: None) -> Tables:
    """Do the runs that are missing, and write the tables of all of them."""
    seeds = request.seeds or (QUICK_SEEDS if request.quick else request.study.seeds)
    results = execute(
        request.study,
        request.folder,
        seeds=seeds,
        is_quick=request.quick,
        workers=request.workers,
        progress=progress,
    )
    tables = make_tables(results, request.study.outcome)
    write_tables(tables, request.folder)
    return tables


def show(request: StudyRequest, tables: Tables) -> Path:
    """Draw the plots, write the study's page and the page over all studies beside it."""
    write_plots(request.study, tables.summary, request.folder)
    page = write_page(request.study, tables, request.folder, is_quick=request.quick)
    write_index(request.folder.parent)
    return page
