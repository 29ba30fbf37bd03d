"""Numbers of people from a log: read, judged, one for each person. Everything here is private."""

import json
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from tasks.gates.quality import Verdict
from tasks.log.cohorts import hex_below, keyed_accounts, read_participants, rotation_limits
from tasks.log.engine import Engine
from tasks.log.ingest import judge_log as judge_metrics
from tasks.log.ingest import load_log, unread_warehouse
from tasks.log.raw.files import BadInput
from tasks.log.warehouse import open_warehouse
from tasks.products.numbers.request import COUNT, NumbersRequest
from tasks.release.run import LogRun, require_unchanged
from tasks.store.home import write_whole

# What the key is called if there is only one.
EVERYBODY = "all"
MAX_KEYS = 250


@dataclass(frozen=True)
class NumbersRun(LogRun):
    """One run of a release about numbers."""

    request: NumbersRequest


@dataclass(frozen=True, slots=True, eq=False)
class CohortValues:
    """The numbers of a group's people, in an order that depends on nobody's data."""

    key_names: list[str]
    keys: IntArray  # (n_people,)
    values: FloatArray  # (n_people, n_columns)


def ingest(run: NumbersRun) -> None:
    """Load a log's numbers and the roster into the release's warehouse."""
    with unread_warehouse(run) as engine:
        if engine is not None:
            load_numbers(engine, run)
            require_unchanged(run)
            engine.step("numbers/number_metrics", into="log_metrics")


def load_numbers(engine: Engine, run: NumbersRun) -> None:
    """Fill the tables that the gate and the groups need."""
    numbers, columns = run.request.numbers, run.request.columns
    named = {
        "person": columns.person,
        "optin": columns.optin,
        "searched_at": columns.time,
        "numbers": run.request.number_columns,
    }
    is_counted = [number.per_person == COUNT for number in numbers]
    load_log(engine, run, named, "numbers/stg_numbers", uppers=_uppers(run), is_counted=is_counted)
    _load_keys(engine, run)
    rules = [number.per_person for number in numbers]
    engine.each_group(
        "numbers/person_numbers", "stg_log", "person", uppers=_uppers(run), per_person=rules
    )


def _uppers(run: NumbersRun) -> list[float]:
    return [number.upper for number in run.request.numbers]


def _load_keys(engine: Engine, run: NumbersRun) -> None:
    """Fill `member_keys`: which member belongs to which result."""
    if run.request.key_column is None:  # which needs a roster
        engine.step("numbers/one_key", into="member_keys", key=EVERYBODY)
    else:
        engine.step("numbers/member_keys")


def judge_log(run: NumbersRun) -> Verdict | None:
    """Judge the log's metrics; raise GateRefused before anybody is charged."""
    return judge_metrics(run, "raw_numbers")


def choose_people(run: NumbersRun) -> None:
    """Put every member who serves into their groups."""
    if not run.needs_the_log:
        return
    with open_warehouse(run) as engine:
        if not engine.has("result_keys"):  # written last: an earlier run came this far
            _choose(engine, run)
        n_keys = engine.fetch("result_keys").num_rows
    if n_keys > MAX_KEYS:
        raise BadInput(
            f"the roster's column {run.request.key_column} has more than {MAX_KEYS} different "
            "values; put some together. Nobody was charged."
        )


def _choose(engine: Engine, run: NumbersRun) -> None:
    keyed_accounts(engine, run)
    request = run.request
    by_hash = request.optin_source.startswith("hash ")
    engine.step(
        "numbers/number_candidates",
        into="candidates",
        optin_by_hash=by_hash,
        optin_below=hex_below(request.optin_share) if by_hash else "",
        optin_groups=list(request.optin_groups),
        client_groups=list(request.client_groups),
        # One result for everybody has no key of few people; what is no parameter decides nothing.
        min_people=request.min_group_size if request.key_column else 1,
        **rotation_limits(run),
    )
    engine.step("numbers/result_keys")


def cohort_values(run: NumbersRun, group: str) -> CohortValues:
    """Return the numbers of everybody who was sealed into a group."""
    with open_warehouse(run) as engine:
        read_participants(engine, run)
        columns = []
        for place in range(1, len(run.request.numbers) + 1):
            engine.step("numbers/cohort_values", cohort=group, place=place)
            table = engine.fetch("cohort_values")
            columns.append(table["value"].to_numpy())
        names = engine.fetch("result_keys")["key"].to_pylist()
    keys = table["key"].to_numpy().astype(np.int64)
    return CohortValues(names, keys, np.stack(columns, axis=1))


def note_clamped(run: NumbersRun, group: str, n_people: int, n_clamped: int) -> None:
    """Write down in the private zone how many numbers of a group counted as a limit."""
    path = run.home.quality / run.release_id / f"clamped_{group}.json"
    noted = json.dumps({"people": n_people, "clamped": n_clamped})
    write_whole(path, noted.encode() + b"\n", mode=0o600)
