"""A study's tables: `runs`, `summary` and `comparison`, as CSV and Parquet."""

import io
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.studies.blender.runs import BLENDED, Row
from hybriddp.studies.blender.summary import compare, summarise
from tasks.store.home import write_whole
from tasks.studies.pages.measures import JUDGED, MEASURES
from tasks.studies.store import Job

Table = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Tables:
    """Rows of a study, in a fixed order."""

    runs: Table  # one for each setting, part and seed
    summary: Table  # means over the seeds
    comparison: Table  # high-utility minus paper, paired by seed
    outcome: str = ""  # what a study says of itself, if it does not compare the two strategies


def make_tables(
    results: Sequence[tuple[Job, list[Row]]], conclude: Callable[[Table], str] | None = None
) -> Tables:
    """Flatten, average and compare what the runs measured."""
    runs = [
        {"study": job.study, **asdict(job.setting), "part": row["part"], "seed": job.seed, **row}
        for job, rows in results
        for row in rows
    ]
    # The order of settings and seeds in the tables must not depend on how the jobs were sorted.
    setting_keys = ["study", *asdict(results[0][0].setting), "part"] if results else ["study"]
    measures = [name for name in MEASURES if any(name in run for run in runs)]
    runs.sort(key=lambda run: _order(run, setting_keys))
    judged = {name: MEASURES[name].more_is_better for name in JUDGED if name in measures}
    published = [run for run in runs if run["part"] == BLENDED]
    summary = summarise(runs, setting_keys, measures)
    return Tables(
        runs,
        summary,
        compare(
            published,
            [key for key in setting_keys if key not in ("method", "part")],
            judged,
            base=PAPER,
            other=HIGH_UTILITY,
        ),
        conclude(summary) if conclude is not None else "",
    )


def _order(run: dict[str, Any], keys: list[str]) -> tuple[Any, ...]:
    return (*(_by_number(run[key]) if key == "part" else run[key] for key in keys), run["seed"])


def _by_number(part: str) -> tuple[int, str]:
    """Order parts that are numbers as such, behind those that are words."""
    return (int(part), "") if part.isdecimal() else (-1, part)


def write_tables(tables: Tables, folder: Path) -> list[Path]:
    """Write every table that has rows in both formats."""
    written = []
    for name in ("runs", "summary", "comparison"):
        rows = getattr(tables, name)
        if not rows:
            continue
        table = pa.Table.from_pylist(rows)
        as_csv, as_parquet = io.BytesIO(), io.BytesIO()
        pyarrow.csv.write_csv(table, as_csv)
        pyarrow.parquet.write_table(table, as_parquet)
        for suffix, buffer in (("csv", as_csv), ("parquet", as_parquet)):
            path = folder / f"{name}.{suffix}"
            write_whole(path, buffer.getvalue())
            written.append(path)
    return written
