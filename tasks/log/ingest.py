"""Read the log into DuckDB, judge its rows, and measure its quality. Everything here is private."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pyarrow as pa

from tasks.gates.judgements import judged_reading, record_judgement
from tasks.gates.quality import GateRefused, Verdict, judge
from tasks.log.engine import Engine
from tasks.log.failures import EngineFailed, EngineLost, OutOfSpace
from tasks.log.folded_ids import with_folded_ids
from tasks.log.ids import MAX_ID_BYTES, id_form_of, in_sql
from tasks.log.raw.addresses import Place
from tasks.log.raw.file_sql import DELIMITERS, FIELDS, QUOTES
from tasks.log.raw.files import BadInput, Source
from tasks.log.raw.lines import require_every_line
from tasks.log.raw.opening import LogFile
from tasks.log.warehouse import open_warehouse
from tasks.release.run import LogRun, SearchRun, log_source, require_unchanged, roster_source
from tasks.store.home import write_whole

# A longer query or url is nobody's popular one, and would not be published anyway.
MAX_TEXT_BYTES = 2_000
# Nor is a longer name that of a key which results are published for.
MAX_KEY_BYTES = 200
_BROKEN = pa.schema(
    {"file_id": pa.int64(), "line": pa.int64(), "reason": pa.string(), "person": pa.string()}
)


def ingest(run: SearchRun) -> None:
    """Load a log of searches and the roster into the release's warehouse."""
    with unread_warehouse(run) as engine:
        if engine is not None:
            load_searches(engine, run)
            require_unchanged(run)
            engine.step("log/log_metrics")


def load_searches(engine: Engine, run: SearchRun) -> None:
    """Fill the tables that the gate and the cohorts need."""
    columns = run.request.columns
    named = {
        "person": columns.person,
        "query": columns.query,
        "searched_at": columns.time,
        "url": columns.url,
        "optin": columns.optin,
    }
    load_log(engine, run, named, "log/stg_search_log", max_bytes=MAX_TEXT_BYTES)


@contextmanager
def unread_warehouse(run: LogRun) -> Iterator[Engine | None]:
    """Open the warehouse to load a log into; None if an earlier run has done so.

    Whoever loads writes `log_metrics` last.
    """
    if not run.needs_the_log:
        yield None
        return
    with judged_reading(run), open_warehouse(run) as engine:
        # A warehouse of an older version lacks tables: of version 0.1.0 its metrics say nothing of
        # epochs and spellings.
        is_read = all(map(engine.has, ("log_metrics", "folded_ids", "active_people")))
        yield None if is_read else engine


def load_log(
    engine: Engine,
    run: LogRun,
    columns: Mapping[str, str | Sequence[str] | None],
    staging: str,
    **rules: Any,
) -> None:
    """Read the log's columns, judge its rows by the SQL `staging`, and find out who is a member."""
    source, ids = log_source(run.request), in_sql(id_form_of(run.ledger.entries()))
    start, end = run.epoch.period
    needs_time = run.request.columns.time is not None
    rules |= {"epoch_start": start, "epoch_end": end, "needs_time": needs_time}
    with _as_found(source), _every_line(engine, source, "stg_log", "broken_lines"):
        with _reading(run.request.log, source):
            typed = {"person": source.integers, "searched_at": source.times}
            engine.read("raw_log", source, columns, typed)
            engine.each_row(staging, "raw_log", into="stg_log", **rules, **ids)
        if source.dialect == "parquet":
            engine.put("broken_lines", _BROKEN.empty_table())
        else:
            engine.each_row(
                "log/broken_lines",
                "raw_log_errors",
                delimiter=DELIMITERS[source.dialect],
                quote=QUOTES[source.dialect],
                field=FIELDS[source.dialect],
                is_person_first=source.columns[0] == run.request.columns.person,
                **ids,
            )
    engine.step("log/rejects")
    engine.step(run.active_people)
    load_members(engine, run, ids)
    engine.step("log/named_ids", has_roster=run.request.roster is not None)
    engine.map("named_ids", with_folded_ids, "folded_ids")


def load_members(engine: Engine, run: LogRun, ids: Mapping[str, Any]) -> None:
    """Fill `members` from the roster, else from the ids in the log."""
    roster = roster_source(run.request)
    if roster is None:
        engine.step("log/members")
        return
    wanted = {"person": "person", "optin": "optin", "key": run.request.key_column}
    with _as_found(roster), _every_line(engine, roster, "stg_roster"):
        with _reading(roster.files[0], roster):
            engine.read("raw_roster", roster, wanted)
            engine.each_row("log/stg_roster", "raw_roster", max_key_bytes=MAX_KEY_BYTES, **ids)
        if roster.dialect != "parquet":
            engine.step("log/broken_roster_lines")
            _refuse_line(
                engine.fetch("broken_roster_lines"),
                roster,
                "the roster does not have a person and an opt-in there, so somebody is missing. "
                "Correct the line.",
            )
    engine.step("log/long_roster_ids")
    place = engine.fetch("long_roster_ids")["n_rows"][0].as_py()
    if place:
        raise BadInput(
            f"{run.request.roster}, row {place}: the person's id is longer than "
            f"{MAX_ID_BYTES:,} bytes, so somebody is missing. Correct the row."
        )
    engine.step("log/roster_members", into="members")


@contextmanager
def _every_line(engine: Engine, source: Source, *results: str) -> Iterator[None]:
    """See that a text file can be read line by line, and that every line is in a result then."""
    if source.dialect == "parquet":
        yield
        return
    n_records = engine.count_records(source)
    yield
    require_every_line(source, n_records, sum(map(engine.count, results)))


@contextmanager
def _as_found(source: Source) -> Iterator[None]:
    """Ask a store for the reason if its files cannot be read: workers say a class and no more."""
    try:
        yield
    except (BadInput, EngineFailed) as error:
        source.require_as_found()
        if source.is_stored and isinstance(error, EngineFailed):
            raise BadInput(
                f"{source.files[0].parent} can be read from here, but not by Spark's workers: see "
                "that the environment of each says where the store is and who may read it "
                "(docs/spark.md), and that every file is whole and is what its suffix says. "
                "Nobody was charged."
            ) from None
        raise


@contextmanager
def _reading(path: Place | LogFile, source: Source) -> Iterator[None]:
    """Blame the files if they cannot be read to their end."""
    try:
        yield
    except (OutOfSpace, EngineLost):
        raise
    except EngineFailed:
        if source.is_stored:
            raise
        raise BadInput(
            f"{path} breaks off or is not {source.dialect.upper()}: DuckDB could not read it to "
            "its end. Check that every file is whole (gzip -t) and is what its suffix says."
        ) from None


def _refuse_line(found: pa.Table, source: Source, problem: str) -> None:
    """Raise BadInput if a line was found, and say where it is, not what it holds."""
    for line in found.to_pylist():
        raise BadInput(f"{source.files[line['file_id']]}, near line {line['line']}: {problem}")


def judge_log(run: LogRun, suite: str = "raw_log") -> Verdict | None:
    """Judge the log's metrics; raise GateRefused before anybody is charged."""
    if not run.needs_the_log:
        return None
    with open_warehouse(run) as engine:
        metrics = engine.fetch("log_metrics")
    limits = {
        "max_bad_row_share": run.request.max_bad_row_share,
        "max_outside_epoch_share": run.request.max_outside_epoch_share,
        "max_alike_id_share": 1.0 if run.request.exact_ids else 0.0,
    }
    record_judgement(run, suite, limits)  # before anybody knows the verdict
    verdict = judge(suite, metrics, limits)
    write_quality(run, suite, metrics.to_pylist()[0], verdict)
    if not verdict.passed:
        raise GateRefused(f"{verdict.refusal()} Nobody was charged.")
    return verdict


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
