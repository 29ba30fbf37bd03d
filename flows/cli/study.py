"""`hybriddp study`: the papers' figures and our own questions, on synthetic users.

The command runs the steps of flows/study.py by itself: a quick study takes less time than Prefect
needs to start.
"""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from flows.console.terminal import Console, JsonOption, Table, explained, say, say_json
from tasks.release.refusals import BadInput
from tasks.studies.catalogue import STUDIES
from tasks.studies.pages.page import verdict
from tasks.studies.pages.tables import Tables
from tasks.studies.request import StudyRequest, do_runs, show


@explained
def study(
    name: Annotated[
        str | None,
        typer.Argument(help="A study, or a figure: figure-13, zeal-figure-2, mean20-figure-1."),
    ] = None,
    list_all: Annotated[bool, typer.Option("--list", help="Say which studies there are.")] = False,
    out: Annotated[Path | None, typer.Option(help="Folder; default: var/studies/NAME.")] = None,
    seeds: Annotated[
        int | None,
        typer.Option(help="Seeds; default: those of the paper or 20, and 2 in a quick run."),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small populations, few settings: seconds.")
    ] = False,
    workers: Annotated[int, typer.Option(help="Processes to run in.")] = 1,
    as_json: JsonOption = False,
) -> None:
    """Run a study on synthetic users; run it again to go on where it was stopped."""
    if list_all:
        _list(as_json)
        return
    if name is None:
        raise BadInput("name a study; --list says which there are.")
    request = StudyRequest(name=name, out=out, seeds=seeds, quick=quick, workers=workers)
    tables, page = _run(request, Console(stderr=True, quiet=as_json))
    if as_json:
        say_json({"study": request.name, "page": str(page)})
    else:
        say(f"{verdict(tables)}\nPage: {page}")


def _run(request: StudyRequest, console: Console) -> tuple[Tables, Path]:
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("runs"),
        TimeRemainingColumn(),
        console=console,
    ) as progress:
        bar = progress.add_task(f"Study {request.name}", total=None)
        tables = do_runs(
            request, lambda done, total: progress.update(bar, completed=done, total=total)
        )
    with console.status("Drawing plots"):
        return tables, show(request, tables)


def _list(as_json: bool) -> None:
    if as_json:
        found = {
            name: {"title": study.title, "figures": study.figures}
            for name, study in STUDIES.items()
        }
        say_json({"studies": found})
        return
    table = Table("study", "question", "in the papers")
    for name, study in STUDIES.items():
        table.add_row(name, study.question, ", ".join(study.figures) or "-")
    Console().print(table)
