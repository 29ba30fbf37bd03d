"""The seam between our SQL and the engine that runs it; DuckDB is the engine.

A step is one file of `sql/`, run as `create table <name> as <file>`. Parameters are bound,
never pasted, and secrets come in as tables: SQL text lands in plans, logs and errors.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import duckdb
import numpy as np
import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.log_files import Source
from tasks.plain_paths import plain_path, require_plain_folder
from tasks.working_copies import hold, remove

SQL = Path(__file__).parents[1] / "sql"
Kernel = Callable[[pa.RecordBatch], pa.RecordBatch]

# Under 4 GB for the whole process: DuckDB spills what does not fit.
_MEMORY_LIMIT = "2GB"
_ROWS_PER_BATCH = 1 << 17
# A longer line is rejected by the reader; a query of a megabyte is read, and rejected by name.
_MAX_LINE_BYTES = 4_000_000
DELIMITERS = {"tsv": "\t", "csv": ","}
# AOL's format knows no quotes: one in a query is a character like any other.
QUOTES = {"tsv": "", "csv": '"'}
# One column of a line, with the delimiter behind it.
FIELDS = {"tsv": "([^\t]*)\t", "csv": '("(?:[^"]|"")*"|[^,]*),'}


class EngineFailed(HybridDPError):
    """A step of SQL failed; engines quote rows in their errors, so the reason is its class only."""


class OutOfSpace(EngineFailed):
    """A step needs more memory or disk than there is; the data is not to blame."""


class Engine(Protocol):
    """What the tasks ask of an engine."""

    def read(
        self, name: str, source: Source, columns: Mapping[str, str | Sequence[str] | None]
    ) -> None:
        """Make files visible to SQL: for each name a column of theirs as text, a list, or nulls.

        Lines of text that do not split into the columns are listed in `<name>_errors` by whoever
        reads the others.
        """

    def has_values_over_lines(self, source: Source) -> bool:
        """Whether a value of a text file goes on in the next line, as quotes allow."""

    def read_sealed(self, name: str, files: Sequence[Path]) -> None:
        """Make Parquet files visible to SQL as they are, with the stem of each name as `file`."""

    def seal(self, name: str, path: Path) -> None:
        """Write a result as a Parquet file, in its order."""

    def put(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table visible to SQL, without storing it."""

    def step(self, name: str, *, sql: str | None = None, **params: Any) -> None:
        """Run a file of `sql/` (by default the one of this name) and keep its result."""

    def fetch(self, name: str) -> pa.Table:
        """Return a result."""

    def map(self, name: str, kernel: Kernel, result: str, *, whole: str | None = None) -> None:
        """Apply a kernel to a result, batch by batch, and keep what comes out.

        Rows that agree in the column `whole` come in one batch; rows must be in its order.
        """

    def has(self, name: str) -> bool:
        """Whether a result of this name is kept."""


class DuckDBEngine:
    """DuckDB on one file."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        self._connection = connection

    def read(
        self, name: str, source: Source, columns: Mapping[str, str | Sequence[str] | None]
    ) -> None:
        """Make files visible to SQL: for each name a column of theirs as text, a list, or nulls."""
        selected = ", ".join(
            f"{_text(source, column)} as {wanted}" for wanted, column in columns.items()
        )
        reader = _reader(source, errors=f"{name}_errors")
        with _silent(name):
            self._connection.execute(
                f"create or replace temp view {name} as select {selected} from {reader}"
            )

    def has_values_over_lines(self, source: Source) -> bool:
        """Whether a value of a text file goes on in the next line, as quotes allow."""
        if not QUOTES.get(source.dialect):
            return False
        values = ", ".join(_column(source, column) for column in source.columns)
        with _silent("values over lines"):
            found = self._connection.execute(
                f"select 1 from {_reader(source)} where contains(concat({values}), chr(10)) limit 1"
            ).fetchall()
        return bool(found)

    def read_sealed(self, name: str, files: Sequence[Path]) -> None:
        """Make Parquet files visible to SQL as they are, with the stem of each name as `file`."""
        with _silent(name):
            self._connection.execute(
                f"create or replace temp view {name} as select * exclude (filename), "
                f"parse_filename(filename, true) as file "
                f"from read_parquet({_paths(files)}, filename = true, hive_partitioning = false)"
            )

    def seal(self, name: str, path: Path) -> None:
        """Write a result as a Parquet file, in its order."""
        with _silent(name):
            self._connection.execute(
                f"copy {name} to {_quoted(plain_path(path))} (format parquet, compression zstd)"
            )

    def put(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table visible to SQL, without storing it."""
        with _silent(name):
            self._connection.register(name, table)

    def step(self, name: str, *, sql: str | None = None, **params: Any) -> None:
        """Run a file of `sql/` (by default the one of this name) and keep its result."""
        text = (SQL / f"{sql or name}.sql").read_text(encoding="utf-8")
        with _silent(name):
            self._connection.execute(f"create or replace table {name} as {text}", params)

    def fetch(self, name: str) -> pa.Table:
        """Return a result."""
        with _silent(name):
            return self._connection.table(name).to_arrow_table()

    def map(self, name: str, kernel: Kernel, result: str, *, whole: str | None = None) -> None:
        """Apply a kernel to a result, batch by batch, and keep what comes out."""
        with _silent(result):
            # A cursor reads while the connection writes.
            source = self._connection.cursor().table(name).to_arrow_reader(_ROWS_PER_BATCH)
            nothing = pa.RecordBatch.from_pylist([], schema=source.schema)
            batches = source if whole is None else _whole_groups(source, whole)
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
        with _silent(name):
            # DuckDB counts a result as unfinished until it was fetched to its end.
            found = self._connection.execute(
                "select 1 from duckdb_tables() where table_name = $name", {"name": name}
            ).fetchall()
        return bool(found)


def _whole_groups(batches: Iterable[pa.RecordBatch], column: str) -> Iterator[pa.RecordBatch]:
    """Cut batches in the order of a column anew, so that its equal values stay together."""
    held: list[pa.RecordBatch] = []
    last = None
    for batch in batches:
        values = batch.column(column).to_numpy()
        if len(values) == 0:
            continue
        # A group in two pieces would be a person who gives twice what they may.
        if np.any(np.diff(values) < 0) or (last is not None and values[0] < last):
            raise EngineFailed(f"rows are not in the order of {column}; nothing was counted.")
        start = int(np.searchsorted(values, values[-1]))  # of a group that may go on
        if start > 0 or (last is not None and values[0] > last):
            yield pa.concat_batches([*held, batch[:start]])
            held = []
        held.append(batch[start:])
        last = values[-1]
    if held:
        yield pa.concat_batches(held)


def _reader(source: Source, errors: str | None = None) -> str:
    """Return DuckDB's table function for these files; every column of text is read as text.

    Lines that cannot be read go to the table `errors`, or nowhere.
    """
    # A folder named AnonID=7 must not become a column.
    paths = f"{_paths(source.files)}, hive_partitioning = false"
    if source.dialect == "parquet":
        return f"read_parquet({paths})"
    types = ", ".join(f"{_column(source, column)}: 'VARCHAR'" for column in source.columns)
    quote = _quoted(QUOTES[source.dialect])
    # In parallel, DuckDB takes a quoted value that lies where two threads meet for rows.
    parallel = "false" if QUOTES[source.dialect] else "true"
    rejected = "ignore_errors = true"
    if errors is not None:
        rejected = (
            f"store_rejects = true, rejects_table = '{errors}', rejects_scan = '{errors}_scans', "
            "rejects_limit = 0"
        )
    return (
        f"read_csv({paths}, delim = {_quoted(DELIMITERS[source.dialect])}, header = true, "
        f"quote = {quote}, escape = {quote}, columns = {{{types}}}, auto_detect = false, "
        f"{rejected}, max_line_size = {_MAX_LINE_BYTES}, parallel = {parallel})"
    )


def _text(source: Source, column: str | Sequence[str] | None) -> str:
    """Return what reads a column as text in SQL; of several columns, a list of texts."""
    if column is None or isinstance(column, str):
        return f"cast({_column(source, column) if column else 'null'} as varchar)"
    return f"[{', '.join(_text(source, name) for name in column)}]"


def _column(source: Source, column: str) -> str:
    """Return the name of a column in SQL; text files may have names that DuckDB would refuse."""
    if source.dialect == "parquet":
        return _quoted(column, '"')
    return f"column_{source.columns.index(column)}"


def _paths(files: Sequence[Path]) -> str:
    """Return a list of paths in SQL."""
    return f"[{', '.join(_quoted(plain_path(file)) for file in files)}]"


def _quoted(text: str, mark: str = "'") -> str:
    return mark + text.replace(mark, mark + mark) + mark


@contextmanager
def _silent(step: str) -> Iterator[None]:
    """Turn an engine's error into one that quotes nothing."""
    try:
        yield
    except duckdb.OutOfMemoryException:
        raise OutOfSpace(
            f"step {step} ran out of memory or disk; free some space, or give the machine more."
        ) from None
    except duckdb.Error as error:
        raise EngineFailed(
            f"step {step} failed in DuckDB ({type(error).__name__}); its message may quote the log "
            "and is not shown. Run `hybriddp doctor`, then look at the log with DuckDB yourself."
        ) from None


@contextmanager
def open_warehouse(folder: Path) -> Iterator[DuckDBEngine]:
    """Open the DuckDB file of a release at work; everything that it spills stays beside it."""
    require_plain_folder(folder)
    hold(folder)
    plain = plain_path(folder)
    try:
        connection = duckdb.connect(
            f"{plain}/warehouse.duckdb",
            config={
                "memory_limit": _MEMORY_LIMIT,
                "temp_directory": f"{plain}/spill",
                "preserve_insertion_order": True,
                # Tables live for minutes: choosing how to compress them costs more than it saves.
                "force_compression": "uncompressed",
                "autoinstall_known_extensions": False,
                "autoload_known_extensions": False,
            },
        )
    except duckdb.Error:
        raise EngineFailed(
            f"the warehouse in {folder} is in use or damaged; wait for the other run of this "
            "release, or remove the folder: it is made again from the log."
        ) from None
    try:
        yield DuckDBEngine(connection)
    finally:
        connection.close()


@contextmanager
def open_memory(spill: Path) -> Iterator[DuckDBEngine]:
    """Open an engine without a file, for questions about the ledger's own Parquet files.

    What does not fit into memory goes below the folder `spill`, and is removed.
    """
    folder = spill / uuid.uuid4().hex  # DuckDB makes it if it needs it
    connection = duckdb.connect(
        ":memory:",
        config={
            "memory_limit": _MEMORY_LIMIT,
            "temp_directory": f"{plain_path(spill.parent)}/{spill.name}/{folder.name}",
        },
    )
    try:
        yield DuckDBEngine(connection)
    finally:
        connection.close()
        remove(folder)
