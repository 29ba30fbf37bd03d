"""Which functions one row of a log meets on its way to the published list: traced, not told.

`python -m bench.data_flow` prints the walk that docs/data-flow.md tells, and a test compares both.
The rule of what counts stands there; it is the same for every version of the code.
"""

import dataclasses
import inspect
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import polars as pl
import pyarrow as pa

ROOT = Path(__file__).parents[1]
LAYERS = ("flows/", "tasks/", "hybriddp/")
# A third of the people search for it, so it is listed.
QUERY = "weather"
TABLES = (pa.Table, pa.RecordBatch, pa.Array, pa.ChunkedArray, pl.DataFrame, np.ndarray)
# What is done about a row, and not with it: charges, keys, places, signals; noise, and a forecast
# from a public profile, which are handed none.
BESIDE = (
    "tasks/ledger/", "tasks/budget/", "tasks/store/", "sql/ledger/", "hybriddp/noise/",
    "tasks/log/duck/interrupts.py", "sql/head_list/counted_people.sql",
    "hybriddp/planning/", "tasks/gates/forecast.py", "tasks/products/head_list/forecast.py",
)  # fmt: skip
# What SQL calls, in threads that are not Python's.
CALLED_BY_SQL = {"canonical_id(": ("tasks/log/ids.py", "canonical_ids")}
# How deep in a list or an object data is looked for.
_DEPTH = 3


class Visit(NamedTuple):
    """A function, or a file of SQL, that has the row, or what it became, in its hands."""

    step: str  # the function of the pipeline's step
    file: str
    name: str

    @property
    def layer(self) -> str:
        """One of flows, tasks, hybriddp and sql."""
        return self.file.partition("/")[0]


@dataclasses.dataclass
class _Call:
    """A call that may turn out to be a visit when it returns."""

    visit: Visit
    is_one: bool


class Tracer:
    """Notes visits while a release runs."""

    def __init__(
        self,
        handles: tuple[type, ...],
        root: Path = ROOT,
        beside: tuple[str, ...] = BESIDE,
        called_by_sql: Mapping[str, tuple[str, str]] = CALLED_BY_SQL,
        is_wide: bool = False,
    ) -> None:
        """Trace the code below a root.

        Args:
            handles: Types through which the log is reached: its files, and its tables.
            is_wide: Count public functions wherever their caller is.
        """
        self._is_wide = is_wide
        self._handles, self._root, self._beside = handles, f"{root}/", beside
        self._called_by_sql = called_by_sql
        self._calls: list[_Call] = []
        self._open: dict[int, _Call] = {}
        self._step: _Call | None = None
        self._files: dict[CodeType, str | None] = {}

    @contextmanager
    def tracing(self) -> Iterator[None]:
        """Note what is called meanwhile, in every thread that Python starts."""
        threading.setprofile(self._note)
        sys.setprofile(self._note)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(None)

    @property
    def visits(self) -> list[Visit]:
        """All visits in order; one in a step, however many batches or rows that has."""
        return list(dict.fromkeys(call.visit for call in self._calls if call.is_one))

    def _note(self, frame: FrameType, event: str, result: Any) -> None:
        file = self._file_of(frame.f_code) if event in ("call", "return") else None
        if file is None:
            return
        if event == "return":
            call = self._open.pop(id(frame), None)
            if call is not None and not call.is_one and self._carries(result):
                self._count(call)
            return
        name, caller = frame.f_code.co_qualname, "" if self._is_wide else self._caller(frame)
        if frame.f_back is not None and frame.f_back.f_code.co_name == "run_release":
            self._step = _Call(Visit(name, file, name), is_one=False)
            if not file.startswith(self._beside):
                self._calls.append(self._step)
                self._open[id(frame)] = self._step
        elif self._step is not None and not file.startswith(self._beside):
            if name.endswith("Engine.step"):
                self._note_sql(frame.f_locals)
            elif _is_met(frame, file, caller) and (file, name) not in self._called_by_sql.values():
                call = _Call(Visit(self._step.visit.step, file, name), is_one=False)
                self._calls.append(call)
                self._open[id(frame)] = call
                if any(map(self._carries, _arguments(frame))):
                    self._count(call)

    def _count(self, call: _Call) -> None:
        """Count a visit, and with it the step in which somebody has the row."""
        call.is_one = True
        if self._step is not None:
            self._step.is_one = True

    def _note_sql(self, given: Mapping[str, Any]) -> None:
        assert self._step is not None
        name = given.get("file") or given.get("sql") or given["name"]
        file = f"sql/{name}.sql"
        if file.startswith(self._beside):
            return
        text = Path(self._root, file).read_text(encoding="utf-8")
        called = [place for sign, place in self._called_by_sql.items() if sign in text]
        for place in [(file, Path(file).stem), *called]:
            call = _Call(Visit(self._step.visit.step, *place), is_one=False)
            self._calls.append(call)
            self._count(call)

    def _file_of(self, code: CodeType) -> str | None:
        if code not in self._files:
            path = code.co_filename.removeprefix(self._root)
            is_ours = path != code.co_filename and path.startswith(LAYERS)
            self._files[code] = path if is_ours else None
        return self._files[code]

    def _caller(self, frame: FrameType) -> str:
        """Return the file of ours that calls, over whatever lies between."""
        before = frame.f_back
        while before is not None:
            file = self._file_of(before.f_code)
            if file is not None:
                return file
            before = before.f_back
        return ""

    def _carries(self, value: Any, depth: int = _DEPTH) -> bool:
        """Whether there is data in a value, or a way to it."""
        if isinstance(value, (*TABLES, *self._handles)):
            return True
        if isinstance(value, bytes):
            return QUERY.encode() in value
        inside: Any = ()
        if isinstance(value, dict):
            inside = value.values()
        elif isinstance(value, list | tuple):
            inside = value
        elif dataclasses.is_dataclass(value) and not isinstance(value, type):
            inside = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
        return depth > 0 and any(self._carries(part, depth - 1) for part in inside)


def _is_met(frame: FrameType, file: str, caller: str) -> bool:
    """Whether whoever reads the caller has to look elsewhere for it.

    Not: helpers in the caller's own file, what the library calls inside of itself, what is written
    inside of another function, and what looks like an attribute.
    """
    if file == caller or (file.startswith("hybriddp/") and caller.startswith("hybriddp/")):
        return False
    names = frame.f_code.co_qualname.split(".")
    return not any(name.startswith(("_", "<")) for name in names) and not _is_attribute(frame)


def _is_attribute(frame: FrameType) -> bool:
    *path, name = frame.f_code.co_qualname.split(".")
    if not path:
        return False
    owner: Any = frame.f_globals.get(path[0])
    for part in path[1:]:
        owner = getattr(owner, part, None)
    found = inspect.getattr_static(owner, name, None)
    return not (callable(found) or isinstance(found, classmethod | staticmethod))


def _arguments(frame: FrameType) -> list[Any]:
    code = frame.f_code
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    return [frame.f_locals.get(name) for name in names if name not in ("self", "cls")]


def first_meetings(visits: Sequence[Visit]) -> list[Visit]:
    """Return the visits to what was not met before: what a reader of the walk has to read."""
    met: dict[tuple[str, str], Visit] = {}
    for visit in visits:
        met.setdefault((visit.file, visit.name), visit)
    return list(met.values())


def changes_of_layer(visits: Sequence[Visit]) -> int:
    """Return how often the next one is in another layer."""
    layers = [visit.layer for visit in visits]
    return sum(before != after for before, after in pairwise(layers))


def write_log(path: Path) -> Path:
    """Write a click for each of 600 people, on three queries in turn."""
    rows = [
        f"{person}\t{query}\t2026-11-10 00:00:00\t1\thttp://{query}.com"
        for person in range(600)
        for query in [(QUERY, "news", "maps")[person % 3]]
    ]
    path.write_text("\n".join(["AnonID\tQuery\tQueryTime\tItemRank\tClickURL", *rows]) + "\n")
    return path


def trace_release(run_release: Callable[[], Any], tracer: Tracer) -> list[Visit]:
    """Run a release and return what its rows visit."""
    with tracer.tracing():
        run_release()
    return tracer.visits


def trace_this_version(*, is_wide: bool = False) -> list[Visit]:
    """Trace a small release of a head list, without Prefect."""
    from tasks.gates import quality, suites
    from tasks.log.engine import DuckDBEngine
    from tasks.log.raw.files import Source
    from tasks.products.head_list.request import ReleaseRequest
    from tasks.products.head_list.run import identify
    from tasks.release.walk import run_release
    from tasks.store.keys import make_home

    with tempfile.TemporaryDirectory() as folder:
        request = ReleaseRequest(
            log=write_log(Path(folder, "log.tsv")),
            epoch="2026-W46",
            optin_fraction=0.3,
            headlist_user_fraction=0.75,
            ignore_plan=True,
        )
        run = identify(request, make_home(Path(folder, "home")))
        # Great Expectations takes longer than all steps together; here it would pass everything.
        with (
            patch.object(suites, "_is_known", lambda _: True),
            patch.object(quality, "_ask", _pass),
        ):
            return trace_release(
                lambda: run_release(run), Tracer((DuckDBEngine, Source), is_wide=is_wide)
            )


def _pass(suite: Any, *_: Any) -> dict[int, bool]:
    return dict.fromkeys(range(len(suite.expectations)), True)


def as_text(visits: Sequence[Visit]) -> str:
    """Return the walk, one first meeting a line, and its counts."""
    met = first_meetings(visits)
    lines = [f"{visit.step}\t{visit.file}\t{visit.name}" for visit in met]
    return "\n".join([*lines, f"met\t{len(met)}\t{changes_of_layer(met)}",
                      f"visits\t{len(visits)}\t{changes_of_layer(visits)}"])  # fmt: skip


if __name__ == "__main__":
    sys.stdout.write(as_text(trace_this_version(is_wide="--wide" in sys.argv)) + "\n")
