"""The steps that all releases about people's numbers begin with."""

from functools import partial
from typing import Any

from tasks.products.numbers.log import NumbersRun, choose_people, ingest, judge_log
from tasks.publish.showing import in_markdown
from tasks.release.artifacts import Artifacts, Words, gate
from tasks.release.step import Step
from tasks.release.steps import CHECK_INPUTS


def _show_ingest(run: NumbersRun, _: Any) -> Artifacts:
    numbers = "; ".join(
        f"the {number.per_person} of {in_markdown(number.column)}, between 0 and {number.upper:g}"
        for number in run.request.numbers
    )
    name = in_markdown(run.request.log.name)
    yield Words("ingest", f"Read {name} into DuckDB. Of each person: {numbers}.")


def _show_people(run: NumbersRun, _: Any) -> Artifacts:
    request = run.request
    by = f" A result for each {in_markdown(request.key_column)}." if request.key_column else ""
    yield Words(
        "people",
        f"Opted in: {request.optin_source}. Rotation: slot "
        f"{run.epoch.index % request.rotation} of {request.rotation}.{by}",
    )


BEFORE_THE_CHARGE = (
    CHECK_INPUTS,
    Step("ingest", ingest, _show_ingest),
    Step("judge the log", judge_log, partial(gate, "gate-raw-numbers")),
    Step("choose people", choose_people, _show_people),
)
