"""The last steps of all releases but head lists, as Prefect tasks: the gate, and publication."""

from collections.abc import Callable
from typing import Any

from prefect.artifacts import create_markdown_artifact

from tasks import publish as publication
from tasks.artifacts import show_gate, show_table
from tasks.orchestrated import step
from tasks.products import Product
from tasks.run import Release

_SHOWN = 50


def judging(title: str, product: Product, key: str) -> Callable[[Any], Any]:
    """Make the task that judges what would be published, and shows its head."""

    def judge(run: Any) -> None:
        show_gate(run, product.judge_release(run, run.request.settings), key)
        # Before publication, because whoever signs off wants to see it.
        for name, table in product.preview(run, run.request.settings).items():
            rows = table.slice(0, _SHOWN).to_pylist()
            show_table(rows, name, f"Head of {name}, {run.release_id}")

    return step(title, judge)


def _publish(run: Any) -> None:
    publication.publish(run, run.request.settings)


def _show_label(run: Release) -> None:
    create_markdown_artifact(
        (publication.published_folder(run) / "label.md").read_text(encoding="utf-8"),
        key="hybriddp-label",
        description=f"label of {run.release_id}",
    )


publish = step("publish", _publish, _show_label, writes_ledger=True)
