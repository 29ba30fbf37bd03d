"""The steps that all releases about people's numbers begin with, as Prefect tasks."""

from prefect.artifacts import create_markdown_artifact

from tasks import number_log
from tasks.artifacts import show_gate
from tasks.number_log import NumbersRun
from tasks.orchestrated import step
from tasks.showing import in_markdown


def _show_ingest(run: NumbersRun) -> None:
    numbers = "; ".join(
        f"the {number.per_person} of {in_markdown(number.column)}, between 0 and {number.upper:g}"
        for number in run.request.numbers
    )
    create_markdown_artifact(
        f"Read {in_markdown(run.request.log.name)} into DuckDB. Of each person: {numbers}.",
        key="hybriddp-ingest",
        description=f"ingest of {run.release_id}",
    )


def _judge_log(run: NumbersRun) -> None:
    show_gate(run, number_log.judge_log(run), "gate-raw-numbers")


def _show_people(run: NumbersRun) -> None:
    request = run.request
    by = f" A result for each {in_markdown(request.key_column)}." if request.key_column else ""
    create_markdown_artifact(
        f"Opted in: {request.optin_source}. Rotation: slot "
        f"{run.epoch.index % request.rotation} of {request.rotation}.{by}",
        key="hybriddp-people",
        description=f"people of {run.release_id}",
    )


ingest = step("ingest", number_log.ingest, _show_ingest)
judge_log = step("judge the log", _judge_log)
choose_people = step("choose people", number_log.choose_people, _show_people)
