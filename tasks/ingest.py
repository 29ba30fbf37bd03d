"""Read the log into DuckDB, judge its rows, and measure its quality. Everything here is private."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from tasks.engine import (
    DELIMITERS,
    FIELDS,
    QUOTES,
    DuckDBEngine,
    EngineFailed,
    OutOfSpace,
    open_warehouse,
)
from tasks.home import write_whole
from tasks.judgements import judged_reading, record_judgement
from tasks.log_files import BadInput, Source
from tasks.quality import Verdict, judge
from tasks.run import LogRun, SearchRun, log_source, release_id_of, roster_source

# A longer query or url is nobody's popular one, and would not be published anyway.
MAX_TEXT_BYTES = 2_000
_BROKEN = pa.schema(
    {"file_id": pa.uint64(), "line": pa.uint64(), "reason": pa.string(), "person": pa.string()}
)


def ingest(run: SearchRun) -> None:
    """Load a log of searches and the roster into the release's warehouse."""
    with unread_warehouse(run) as engine:
        if engine is not None:
            load_searches(engine, run)
            require_unchanged(run)
            engine.step("log_metrics", now=datetime.now(UTC).replace(tzinfo=None))


def load_searches(engine: DuckDBEngine, run: SearchRun) -> None:
    """Fill the tables that the gate and the cohorts need."""
    columns = run.request.columns
    named = {
        "person": columns.person,
        "query": columns.query,
        "searched_at": columns.time,
        "url": columns.url,
        "optin": columns.optin,
    }
    load_log(
        engine,
        run,
        named,
        lambda: engine.step(
            "stg_log",
            sql="stg_search_log",
            max_bytes=MAX_TEXT_BYTES,
            needs_time=columns.time is not None,
        ),
    )


@contextmanager
def unread_warehouse(run: LogRun) -> Iterator[DuckDBEngine | None]:
    """Open the warehouse to load a log into; None if an earlier run has done so.

    Whoever loads writes `log_metrics` last.
    """
    if not run.needs_the_log:
        yield None
        return
    with judged_reading(run), open_warehouse(run.home.warehouse(run.release_id)) as engine:
        yield None if engine.has("log_metrics") else engine


def load_log(
    engine: DuckDBEngine,
    run: LogRun,
    columns: Mapping[str, str | Sequence[str] | None],
    stage: Callable[[], None],
) -> None:
    """Read the log's columns, let `stage` judge its rows, and find out who is a member."""
    source = log_source(run.request)
    with _reading(run.request.log, source):
        engine.read("raw_log", source, columns)
        stage()
    if source.dialect == "parquet":
        engine.put("broken_lines", _BROKEN.empty_table())
    else:
        engine.step(
            "broken_lines",
            delimiter=DELIMITERS[source.dialect],
            quote=QUOTES[source.dialect],
            field=FIELDS[source.dialect],
            person_position=source.columns.index(run.request.columns.person) + 1,
        )
        engine.step("open_quotes")
        _refuse_line(
            engine.fetch("open_quotes"),
            source,
            "a quote opens and is not closed in its line, so other lines count as part of it. "
            "Write quotes inside of a text twice, or log in TSV, which knows no quotes.",
        )
        _refuse_values_over_lines(engine, source)
    engine.step("rejects")
    load_members(engine, run)


def require_unchanged(run: LogRun) -> None:
    """Refuse a log that is not any more what the release was named after."""
    if release_id_of(run.request, run.home) != run.release_id:
        raise BadInput(
            f"{run.request.log} or its roster changed while it was read; run again when it is "
            "complete. Nobody was charged."
        )


def load_members(engine: DuckDBEngine, run: LogRun) -> None:
    """Fill `members` from the roster, else from the ids in the log."""
    roster = roster_source(run.request)
    if roster is None:
        engine.step("members")
        return
    with _reading(roster.files[0], roster):
        engine.read("raw_roster", roster, {name: name for name in ("person", "optin")})
        engine.step("members", sql="roster_members")
    _refuse_values_over_lines(engine, roster)
    if roster.dialect != "parquet":
        engine.step("broken_roster_lines")
        _refuse_line(
            engine.fetch("broken_roster_lines"),
            roster,
            "the roster does not have a person and an opt-in there, so somebody is missing. "
            "Correct the line.",
        )


@contextmanager
def _reading(path: Path, source: Source) -> Iterator[None]:
    """Blame the files if they cannot be read to their end."""
    try:
        yield
    except OutOfSpace:
        raise
    except EngineFailed:
        raise BadInput(
            f"{path} breaks off, mixes line ends or is not {source.dialect.upper()}: DuckDB could "
            "not read it to its end. Check that every file is whole (gzip -t), is what its suffix "
            "says, and that its lines all end in the same way."
        ) from None


def _refuse_line(found: pa.Table, source: Source, problem: str) -> None:
    """Raise BadInput if a line was found, and say where it is, not what it holds."""
    for line in found.to_pylist():
        raise BadInput(f"{source.files[line['file_id']]}, near line {line['line']}: {problem}")


def _refuse_values_over_lines(engine: DuckDBEngine, source: Source) -> None:
    """Refuse files in which quotes join lines.

    Two quotes that nobody escaped make one value of all that is between them: a person whose text
    has them would take other people's rows away.
    """
    if engine.has_values_over_lines(source):
        raise BadInput(
            f"{source.files[0]}, or a file beside it, has a value in quotes that goes over several "
            "lines, so other lines may be part of it. Write quotes inside of a text twice and line "
            "ends as spaces, or log in TSV, which knows no quotes."
        )


def judge_log(run: LogRun, suite: str = "raw_log") -> Verdict | None:
    """Judge the log's metrics; raise GateRefused before anybody is charged."""
    if not run.needs_the_log:
        return None
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        metrics = engine.fetch("log_metrics")
    limits = {"max_bad_row_share": run.request.max_bad_row_share}
    record_judgement(run, suite, limits)  # before anybody knows the verdict
    verdict = judge(suite, metrics, limits)
    write_quality(run, suite, metrics.to_pylist()[0], verdict)
    return verdict.require()


def write_quality(run: LogRun, name: str, metrics: dict[str, object], verdict: Verdict) -> Path:
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
