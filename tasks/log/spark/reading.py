"""How Spark's workers read parts of files: DuckDB reads the lines, or the rows, that they have."""

import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import accumulate

import duckdb
import numpy as np
import pyarrow as pa

from tasks.log.raw.file_sql import Columns, Typed, reader_of, selected
from tasks.log.raw.files import Source
from tasks.log.raw.opening import parquet_of
from tasks.log.raw.parquet_times import near_batch
from tasks.log.spark.kernels import ROW, Batches, cursor, fetched, silent_worker
from tasks.log.spark.splits import ROWS_A_FILE, Chunk, Split, chunks_of, scan_split

ERRORS = pa.schema(
    {
        "file_id": pa.int64(),
        "line": pa.int64(),
        "error_type": pa.string(),
        "csv_line": pa.string(),
    }
)
# Rows of Parquet that DuckDB is given at once: each statement takes as long as some thousand.
_ROWS_AT_ONCE = 1 << 16
_FIND_ERRORS = """
select line, min(cast(error_type as varchar)) as error_type, any_value(csv_line) as csv_line
from chunk_errors
group by line
"""


@dataclass(frozen=True)
class ReadParts:
    """Read parts of files: the columns that are wanted as text, and each row's place."""

    source: Source
    columns: Columns
    typed: Typed
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Read the parts that each row of the batches names."""
        with silent_worker("reading"), cursor() as connection:
            for table in self._tables(connection, _splits_in(batches)):
                yield from table.cast(self.schema).to_batches()

    def _tables(
        self, connection: duckdb.DuckDBPyConnection, splits: list[Split]
    ) -> Iterator[pa.Table]:
        if self.source.dialect == "parquet":
            for rows, file, first in _together(self._rows(splits)):
                connection.register("chunk_rows", rows)
                yield _placed(self._texts(connection, "chunk_rows"), file, first)
                connection.unregister("chunk_rows")
            return
        for chunk in chunks_of(self.source, splits):
            table, _ = self.lines_of(connection, chunk)
            # Rows that follow those of a file may be the next one's: only their order counts.
            yield _placed(table, chunk.pieces[0].file, chunk.pieces[0].first)

    def lines_of(
        self, connection: duckdb.DuckDBPyConnection, chunk: Chunk
    ) -> tuple[pa.Table, pa.Table]:
        """Return the rows of a chunk, and the lines that are none."""
        with memory_file(connection, b"".join([chunk.header, *chunk.lines])) as path:
            reader = reader_of(self.source, "chunk_errors", path)
            connection.execute(f"create or replace temp view chunk_rows as select * from {reader}")
            table = self._texts(connection, "chunk_rows")
            broken = fetched(connection, _FIND_ERRORS)
            for name in ("chunk_errors", "chunk_errors_scans"):
                connection.execute(f"drop table if exists {name}")
        return table, broken

    def _rows(self, splits: list[Split]) -> Iterator[tuple[pa.RecordBatch, int, int]]:
        names = list(self.source.columns)
        listed = [[c] if isinstance(c, str) else c or [] for c in self.columns.values()]
        wanted = list(dict.fromkeys(name for some in listed for name in some)) or names[:1]
        for split in splits:
            with parquet_of(self.source.files[split.file]) as file:
                first = split.first
                for batch in file.iter_batches(row_groups=[split.start], columns=wanted):
                    yield near_batch(batch), split.file, first
                    first += batch.num_rows

    def _texts(self, connection: duckdb.DuckDBPyConnection, name: str) -> pa.Table:
        read = selected(self.source, self.columns, self.typed)
        return fetched(connection, f"select {read} from {name}")


def _together(
    found: Iterable[tuple[pa.RecordBatch, int, int]],
) -> Iterator[tuple[pa.Table, int, int]]:
    """Put rows that follow each other together, with the place of the first one."""
    held, n_rows, place = list[pa.RecordBatch](), 0, (0, 0)
    for batch, *where in found:
        if held and (n_rows >= _ROWS_AT_ONCE or batch.schema != held[0].schema):
            yield pa.Table.from_batches(held), *place
            held, n_rows = [], 0
        if not held:
            place = (where[0], where[1])
        held.append(batch)
        n_rows += batch.num_rows
    if held:
        yield pa.Table.from_batches(held), *place


@dataclass(frozen=True)
class FindBroken:
    """Find the lines of parts that do not split into the columns, with the reader of the others."""

    reader: ReadParts

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Read the parts that each row of the batches names."""
        with silent_worker("reading"), cursor() as connection:
            for chunk in chunks_of(self.reader.source, _splits_in(batches)):
                _, broken = self.reader.lines_of(connection, chunk)
                yield from _located(broken, chunk).to_batches()


@dataclass(frozen=True)
class ScanParts:
    """Scan the lines of parts, before a reader that understands quotes gets them."""

    source: Source
    schema: pa.Schema

    def __call__(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Scan the parts that each row of the batches names."""
        with silent_worker("counting lines"):
            rows = [asdict(scan_split(self.source, split)) for split in _splits_in(batches)]
            yield from pa.Table.from_pylist(rows, self.schema).to_batches()


def _splits_in(batches: Batches) -> list[Split]:
    """Return the parts that a task reads, in their order."""
    rows = [row for batch in batches for row in batch.drop_columns(["task"]).to_pylist()]
    return sorted((Split(**row) for row in rows), key=lambda split: split.number)


@contextmanager
def memory_file(connection: duckdb.DuckDBPyConnection, data: bytes) -> Iterator[str]:
    """Show bytes to DuckDB as a file that is on no disk."""
    import fsspec

    memory = fsspec.filesystem("memory")
    if not connection.filesystem_is_registered("memory"):
        connection.register_filesystem(memory)
    path = f"/{os.getpid()}"
    memory.pipe_file(path, data)
    try:
        yield f"memory://{path}"
    finally:
        memory.rm_file(path)


def _placed(table: pa.Table, file: int, first: int) -> pa.Table:
    start = file * ROWS_A_FILE + first
    return table.append_column(ROW, pa.array(np.arange(start, start + table.num_rows)))


def _located(found: pa.Table, chunk: Chunk) -> pa.Table:
    """Say in which line of its file each error is; the header is line 1 of a chunk."""
    starts = list(accumulate((piece.n_lines for piece in chunk.pieces[:-1]), initial=2))
    rows = []
    for row in found.to_pylist():
        place = bisect_right(starts, row["line"]) - 1
        piece = chunk.pieces[place]
        line = row["line"] - starts[place] + piece.first
        rows.append({**row, "file_id": piece.file, "line": line})
    return pa.Table.from_pylist(rows, ERRORS)
