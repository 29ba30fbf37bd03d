"""What runs on Spark's workers: our SQL and our functions, on a part of the rows, in DuckDB.

Steps that look at each row alone run here as they are, in the engine that they were written for.
Errors leave a worker without their words, which may quote rows and would stand in Spark's logs.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import duckdb
import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.log.duck.instances import start
from tasks.log.engine import Kernel
from tasks.log.failures import EngineFailed

# The place of a row among all rows of the files, which SQL calls as DuckDB does.
ROW = "rowid"
Batches = Iterable[pa.RecordBatch]


@contextmanager
def silent_worker(what: str) -> Iterator[None]:
    """Let nothing leave a worker but the class of what went wrong."""
    try:
        yield
    except (HybridDPError, GeneratorExit):
        raise
    except BaseException as error:
        raise EngineFailed(f"{what} failed on a worker ({type(error).__name__}).") from None


@cache
def _instance(process: int) -> duckdb.DuckDBPyConnection:
    """Return this worker's DuckDB, which has one thread: Spark starts a worker for each core."""
    return start("", threads=1, memory_limit="1GB")


def cursor() -> duckdb.DuckDBPyConnection:
    """Connect to this worker's DuckDB."""
    return _instance(os.getpid()).cursor()


def fetched(
    connection: duckdb.DuckDBPyConnection, text: str, params: Mapping[str, Any] | None = None
) -> pa.Table:
    """Return what a query finds."""
    found: pa.Table = connection.sql(text, params=params or {}).to_arrow_table()
    return found


@dataclass(frozen=True)
class RowsInDuckDB:
    """A step that looks at each row alone, or at each group that comes `together`.

    What stands beside is the same for all rows.
    """

    file: str
    text: str
    of: str
    params: Mapping[str, Any]
    beside: Mapping[str, pa.Table] = field(default_factory=dict)
    keeps_place: bool = False
    together: Callable[[Batches], Batches] | None = None
    schema: pa.Schema = field(default_factory=lambda: pa.schema([]))

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run it on batches of rows."""
        with silent_worker(f"step {self.file}"), cursor() as connection:
            for batch in self.together(batches) if self.together else batches:
                yield from self._run(connection, pa.Table.from_batches([batch])).to_batches()

    def _run(self, connection: duckdb.DuckDBPyConnection, rows: pa.Table) -> pa.Table:
        given = rows.drop_columns([ROW]) if self.keeps_place else rows
        for name, table in {self.of: given, **self.beside}.items():
            connection.register(name, table)
        result = fetched(connection, self.text, self.params)
        for name in (self.of, *self.beside):
            connection.unregister(name)
        if self.keeps_place:
            if result.num_rows != rows.num_rows:
                raise EngineFailed(f"step {self.file} does not look at each row alone.")
            result = result.append_column(ROW, rows.column(ROW))
        return result.cast(self.schema)


def schema_of(step: RowsInDuckDB, given: pa.Schema) -> pa.Schema:
    """Return the schema of what a step makes of such rows."""
    with cursor() as connection:
        for name, table in {step.of: given.empty_table(), **step.beside}.items():
            connection.register(name, table)
        schema: pa.Schema = fetched(connection, step.text, step.params).schema
        return schema


@dataclass(frozen=True)
class MapRows:
    """Apply a kernel of ours; rows that agree in `whole` come together, and in order."""

    kernel: Kernel
    schema: pa.Schema
    together: Callable[[Batches], Batches] | None = None

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Run it on batches of rows."""
        with silent_worker("a kernel"):
            for batch in self.together(batches) if self.together else batches:
                yield from (
                    pa.Table.from_batches([self.kernel(batch)]).cast(self.schema).to_batches()
                )
