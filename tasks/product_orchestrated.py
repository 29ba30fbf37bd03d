"""The last steps of all releases but head lists, as Prefect tasks: the gate, and publication."""

from collections.abc import Callable, Iterable
from typing import Any

import polars as pl
from prefect.artifacts import create_markdown_artifact, create_table_artifact

from tasks.artifacts import show_gate
from tasks.orchestrated import step
from tasks.publish import publish, published_folder
from tasks.quality import Verdict
from tasks.run import Release

_SHOWN = 50


def judging(
    title: str, judge_release: Callable[[Any, Any], Verdict], key: str
) -> Callable[[Any], Any]:
    """Make the task that judges what would be published."""

    def judge(run: Any) -> None:
        show_gate(run, judge_release(run, run.request.settings), key)

    return step(title, judge)


def publishing(tables: Callable[[Any], Iterable[str]]) -> Callable[[Any], Any]:
    """Make the task that publishes, and shows the head of these tables and the label."""

    def work(run: Any) -> None:
        publish(run, run.request.settings)

    return step("publish", work, lambda run: _show(run, tables(run)), writes_ledger=True)


def _show(run: Release, tables: Iterable[str]) -> None:
    folder = published_folder(run)
    for name in tables:
        rows = pl.read_parquet(folder / f"{name}.parquet").head(_SHOWN).to_dicts()
        create_table_artifact(
            rows, key=f"hybriddp-{name}", description=f"Head of {name}, {run.release_id}"
        )
    create_markdown_artifact(
        (folder / "label.md").read_text(encoding="utf-8"),
        key="hybriddp-label",
        description=f"label of {run.release_id}",
    )
