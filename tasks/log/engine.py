"""The seam between our SQL and the engine that runs it; DuckDB is the engine.

A step is one file of `sql/`, run as `create table <name> as <file>`. Parameters are bound,
never pasted, and secrets come in as tables: SQL text lands in plans, logs and errors.
"""

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import pyarrow as pa

from tasks.log.duck.instances import attached, cursor_of, start
from tasks.log.duck.interrupts import stoppable
from tasks.log.failures import EngineFailed, OutOfSpace, silent
from tasks.log.groups import whole_groups
from tasks.log.raw.file_sql import TEXTS, Columns, Typed, paths_of, quoted, reader_of, selected
from tasks.store.machine import machine_fault_in
from tasks.store.paths import plain_path, require_plain_folder
from tasks.store.working_copies import hold, remove

if TYPE_CHECKING:
    from tasks.log.raw.files import Source

SQL = Path(__file__).parents[2] / "sql"
Kernel = Callable[[pa.RecordBatch], pa.RecordBatch]

_ROWS_PER_BATCH = 1 << 17


class Engine(Protocol):
    """What the tasks ask of an engine."""

    def read(self, name: str, source: "Source", columns: Columns, typed: Typed = TEXTS) -> None:
        """Make files visible to SQL: for each name a column of theirs as text, a list, or nulls.

        Columns that are `typed` come as they are. Lines of text that do not split into the columns
        are listed in `<name>_errors` by whoever reads the others.
        """

    def read_sealed(self, name: str, files: Sequence[Path]) -> None:
        """Make Parquet files visible to SQL as they are, with the stem of each name as `file`."""

    def seal(self, name: str, path: Path) -> None:
        """Write a result as a Parquet file, in its order."""

    def put(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table visible to SQL, without storing it."""

    def step(self, file: str, *, into: str | None = None, **params: Any) -> None:
        """Run a file below `sql/` and keep its result, by default under the file's own name."""

    def each_row(
        self, file: str, of: str, *, beside: Sequence[str] = (), into: str | None = None,
        **params: Any,
    ) -> None:  # fmt: skip
        """Do the same for a step that looks at each row of `of` alone, in the order of its rows.

        It may see some small tables that were put `beside`. Such a step may say anything: it runs
        in DuckDB, whatever the engine is.
        """

    def each_group(self, file: str, of: str, by: str, **params: Any) -> None:
        """Do the same for a step that looks at the rows of `of` with each value of `by` alone."""

    def count_records(self, source: "Source") -> int:
        """Return how many lines of text files are people's; refuse lines that make others."""

    def fetch(self, name: str) -> pa.Table:
        """Return a result."""

    def count(self, name: str) -> int:
        """Return how many rows a result has."""

    def map(self, name: str, kernel: Kernel, result: str, *, whole: str | None = None) -> None:
        """Apply a kernel to a result, batch by batch, and keep what comes out.

        Rows that agree in the column `whole` come in one batch; rows must be in its order.
        """

    def has(self, name: str) -> bool:
        """Whether a result of this name is kept."""


class DuckDBEngine:
    """DuckDB on one file, or in memory."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def read(self, name: str, source: "Source", columns: Columns, typed: Typed = TEXTS) -> None:
        """Make files visible to SQL: for each name a column of theirs as text, a list, or nulls."""
        # Importing it takes long, and whoever looks at the ledger reads no log.
        from tasks.log.raw.parquet_times import batches_of_near_times, has_far_times

        reader = reader_of(source, f"{name}_errors")
        with silent(name):
            if has_far_times(source, columns.values()):
                reader = f"{name}_batches"
                self._connection.register(reader, batches_of_near_times(source, columns.values()))
            self._connection.execute(
                f"create or replace temp view {name} as "
                f"select {selected(source, columns, typed)} from {reader}"
            )

    def read_sealed(self, name: str, files: Sequence[Path]) -> None:
        """Make Parquet files visible to SQL as they are, with the stem of each name as `file`."""
        with silent(name):
            self._connection.execute(
                f"create or replace temp view {name} as select * exclude (filename), "
                f"parse_filename(filename, true) as file "
                f"from read_parquet({paths_of(files)}, filename = true, hive_partitioning = false)"
            )

    def seal(self, name: str, path: Path) -> None:
        """Write a result as a Parquet file, in its order."""
        with silent(name):
            self._run(
                f"copy {name} to {quoted(plain_path(path))} (format parquet, compression zstd)"
            )

    def put(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table visible to SQL, without storing it."""
        with silent(name):
            self._connection.register(name, table)

    def step(self, file: str, *, into: str | None = None, **params: Any) -> None:
        """Run a file below `sql/` and keep its result, by default under the file's own name."""
        text, name = (SQL / f"{file}.sql").read_text(encoding="utf-8"), into or Path(file).name
        with silent(name):
            self._run(f"create or replace table {name} as {text}", params)

    def each_row(
        self, file: str, of: str, *, beside: Sequence[str] = (), into: str | None = None,
        **params: Any,
    ) -> None:  # fmt: skip
        """Do the same for a step that looks at each row of `of` alone."""
        self.step(file, into=into, **params)

    def each_group(self, file: str, of: str, by: str, **params: Any) -> None:
        """Do the same for a step that looks at the rows with each value of `by` alone."""
        self.step(file, **params)

    def count_records(self, source: "Source") -> int:
        """Return how many lines of text files are people's; refuse lines that make others."""
        from tasks.log.raw.lines import count_records  # as in `read`

        return count_records(source)

    def fetch(self, name: str) -> pa.Table:
        """Return a result."""
        with silent(name):
            connection = self._connection
            return stoppable(lambda: connection.table(name).to_arrow_table(), connection.interrupt)

    def count(self, name: str) -> int:
        """Return how many rows a result has."""
        with silent(name):
            ((n_rows,),) = self._connection.execute(f"select count(*) from {name}").fetchall()
        return int(n_rows)

    def map(self, name: str, kernel: Kernel, result: str, *, whole: str | None = None) -> None:
        """Apply a kernel to a result, batch by batch, and keep what comes out."""
        # A cursor reads while the connection writes.
        with silent(result), cursor_of(self._connection) as reading:
            source = reading.table(name).to_arrow_reader(_ROWS_PER_BATCH)
            nothing = pa.RecordBatch.from_pylist([], schema=source.schema)
            batches = source if whole is None else whole_groups(source, whole)
            # A rerun takes a result that it finds for whole, so it gets its name last. (Not by a
            # transaction: in DuckDB 2.0 a table that was filled in one from Arrow reads as empty.)
            partial = f"{result}_unfinished"
            self._connection.execute(f"drop table if exists {partial}")
            for position, batch in enumerate(chain([nothing], batches)):
                mapped = pa.Table.from_batches([kernel(batch)])
                self._connection.register("mapped_batch", mapped)
                verb = f"insert into {partial}" if position else f"create table {partial} as"
                self._connection.execute(f"{verb} select * from mapped_batch")
                self._connection.unregister("mapped_batch")
            self._connection.execute(f"drop table if exists {result}")
            self._connection.execute(f"alter table {partial} rename to {result}")

    def has(self, name: str) -> bool:
        """Whether a result of this name is kept."""
        with silent(name):
            # DuckDB counts a result as unfinished until it was fetched to its end.
            found = self._connection.execute(
                "select 1 from duckdb_tables() where table_name = $name", {"name": name}
            ).fetchall()
        return bool(found)

    def _run(self, statement: str, params: Mapping[str, Any] | None = None) -> None:
        stoppable(lambda: self._connection.execute(statement, params), self._connection.interrupt)


@contextmanager
def open_duckdb(folder: Path) -> Iterator[DuckDBEngine]:
    """Open the DuckDB file of a release at work; everything that it spills stays beside it."""
    require_plain_folder(folder)
    number = hold(folder)
    with ExitStack() as stack:
        try:
            connection = stack.enter_context(attached(plain_path(folder), number))
        except duckdb.Error as error:
            if fault := machine_fault_in(str(error)):
                raise OutOfSpace(f"{folder}: {fault}") from None
            raise EngineFailed(
                f"the warehouse in {folder} is in use or damaged; wait for the other run of this "
                "release, or remove the folder: it is made again from the log."
            ) from None
        try:
            yield DuckDBEngine(connection)
        finally:
            with silent("writing the warehouse"):
                stack.close()


@contextmanager
def open_memory(spill: Path) -> Iterator[DuckDBEngine]:
    """Open an engine without a file, for questions about the ledger's own Parquet files.

    What does not fit into memory goes below the folder `spill`, and is removed.
    """
    folder = spill / uuid.uuid4().hex  # DuckDB makes it if it needs it
    connection = start(f"{plain_path(spill.parent)}/{spill.name}/{folder.name}")
    try:
        yield DuckDBEngine(connection)
    finally:
        connection.close()
        remove(folder)
