"""Read the log into DuckDB, judge its rows, and measure its quality. Everything here is private."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from tasks.engine import DELIMITERS, DuckDBEngine, EngineFailed, open_warehouse
from tasks.home import write_whole
from tasks.log_files import BadInput
from tasks.quality import Verdict, judge
from tasks.run import Run, log_source, roster_source

# A longer query or url is nobody's popular one, and would not be published anyway.
MAX_TEXT_BYTES = 2_000
_BROKEN = pa.schema(
    {"file_id": pa.uint64(), "line": pa.uint64(), "reason": pa.string(), "person": pa.string()}
)


def ingest(run: Run) -> None:
    """Load the log and the roster into the release's warehouse."""
    if not run.needs_the_log:
        return
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        if engine.has("log_metrics"):  # written last: an earlier run came this far
            return
        load_log(engine, run)


def load_log(engine: DuckDBEngine, run: Run) -> None:
    """Fill the tables that the gate and the cohorts need."""
    columns, source = run.request.columns, log_source(run.request)
    engine.read(
        "raw_log",
        source,
        {
            "person": columns.person,
            "query": columns.query,
            "searched_at": columns.time,
            "url": columns.url,
            "optin": columns.optin,
        },
    )
    try:
        engine.step("stg_search_log", max_bytes=MAX_TEXT_BYTES, needs_time=columns.time is not None)
    except EngineFailed:
        raise BadInput(
            f"{run.request.log} breaks off or is not {source.dialect.upper()} text: DuckDB could "
            "not read it to its end. Check that every file is whole (gzip -t) and is what its "
            "suffix says."
        ) from None
    if source.dialect == "parquet":
        engine.put("broken_lines", _BROKEN.empty_table())
    else:
        engine.step(
            "broken_lines",
            delimiter=DELIMITERS[source.dialect],
            person_position=source.columns.index(columns.person) + 1,
        )
    engine.step("rejects")
    roster = roster_source(run.request)
    if roster is None:
        engine.step("members")
    else:
        engine.read("raw_roster", roster, {"person": "person", "optin": "optin"})
        engine.step("members", sql="roster_members")
    engine.step("log_metrics", now=datetime.now(UTC).replace(tzinfo=None))


def judge_log(run: Run) -> Verdict | None:
    """Judge the log's metrics; raise GateRefused before anybody is charged."""
    if not run.needs_the_log:
        return None
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        metrics = engine.fetch("log_metrics")
    verdict = judge("raw_log", metrics, {"max_bad_row_share": run.request.max_bad_row_share})
    write_quality(run, "raw_log", metrics.to_pylist()[0], verdict)
    return verdict.require()


def write_quality(run: Run, name: str, metrics: dict[str, object], verdict: Verdict) -> Path:
    """Keep what a gate saw and said, in the private zone."""
    path = run.home.quality / run.release_id / f"{name}.json"
    text = json.dumps(
        {
            "metrics": metrics,
            "passed": verdict.passed,
            "results": [asdict(result) for result in verdict.results],
        },
        indent=2,
        default=str,
    )
    write_whole(path, text.encode() + b"\n", mode=0o600)
    return path
