"""Spark as the engine: joins and groups on a cluster, rows and texts in DuckDB on its workers.

Every result is stored before the next step reads it, as tables of DuckDB are, so a run that died
goes on where it was. Nothing but counts, public names and metrics comes back to the driver, and who
takes part, because the ledger is there.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.log.engine import SQL, Kernel
from tasks.log.groups import groups_of, whole_groups
from tasks.log.raw.file_sql import TEXTS, Columns, Typed
from tasks.log.raw.files import Source
from tasks.log.spark.frames import PLACE, mapped, raw_schema, silent, with_place
from tasks.log.spark.kernels import ROW, MapRows, RowsInDuckDB, schema_of
from tasks.log.spark.portable import portable, whole_numbers_in
from tasks.log.spark.reading import ERRORS, FindBroken, ReadParts, ScanParts
from tasks.log.spark.results import Results, alone_in
from tasks.log.spark.session import lent_session
from tasks.log.spark.splits import SCANNED, Scanned, Split, put_together, splits_of, tasks_of
from tasks.store.modes import CLOSED_FOLDER
from tasks.store.working_copies import hold

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_HIDDEN = (ROW, PLACE)


class SparkEngine:
    """Spark, with the results of one release in a folder that all workers see."""

    def __init__(self, folder: Path, spark: "SparkSession") -> None:
        self._results = Results(folder)
        self._spark, self._silent = spark, partial(silent, spark)
        self._shown: set[str] = set()  # views of this session
        self._put: dict[str, pa.Table] = {}  # small tables that steps on workers may need
        self._schemas: dict[str, pa.Schema] = {}
        self._scans: dict[Source, tuple[int, list[Split]]] = {}  # of text files

    # Files and tables that somebody gives.

    def count_records(self, source: Source) -> int:
        """Return how many lines of text files are people's; refuse lines that make others."""
        with self._silent("counting lines"):
            n_records, _ = self._scanned(source)
            return n_records

    def read(self, name: str, source: Source, columns: Columns, typed: Typed = TEXTS) -> None:
        """Make files visible to SQL: for each name a column of theirs as text, a list, or nulls."""
        with self._silent(name):
            splits = splits_of(source) if source.dialect == "parquet" else self._scanned(source)[1]
            reader = ReadParts(source, columns, typed, raw_schema(source, columns, typed))
            self._show(name, self._on_parts(splits, reader, reader.schema), reader.schema)
            if source.dialect != "parquet":
                broken = self._on_parts(splits, FindBroken(reader), ERRORS)
                self._show(f"{name}_errors", broken, ERRORS)

    def read_sealed(self, name: str, files: Sequence[Path]) -> None:
        """Make Parquet files visible to SQL as they are, with the stem of each name as `file`."""
        # They lie in a part of the private zone where no worker looks.
        with self._silent(name):
            place = self._results.begin(name)
            place.mkdir(mode=CLOSED_FOLDER)
            for path in files:
                table = pq.read_table(path)
                file = pa.array([path.stem] * table.num_rows, pa.string())
                pq.write_table(table.append_column("file", file), place / path.name)
            self._show(name, self._stored(str(place)), pa.schema([]))

    def put(self, name: str, table: pa.Table) -> None:
        """Make an Arrow table visible to SQL, without storing it."""
        with self._silent(name):
            self._put[name] = table
            self._show(name, self._spark.createDataFrame(table), table.schema)

    # Steps.

    def step(self, file: str, *, into: str | None = None, **params: Any) -> None:
        """Run a file below `sql/` and keep its result, by default under the file's own name."""
        with self._silent(file):
            step = portable(file, whole_numbers_in(params))
            for name in step.tables:
                self._require_shown(name)
            named = {name: value for name, value in params.items() if f":{name}" in step.text}
            result = self._spark.sql(step.text, args=named)
            if step.is_ordered:
                result = with_place(result)
            self._keep(into or Path(file).name, result)

    def each_row(
        self, file: str, of: str, *, beside: Sequence[str] = (), into: str | None = None,
        **params: Any,
    ) -> None:  # fmt: skip
        """Run a file below `sql/` that looks at each row of `of` alone, and keep its result."""
        with self._silent(file):
            given = self._frame(of).drop(PLACE)
            tables = {name: self._put[name] for name in beside}
            kernel = self._kernel(file, of, params, beside=tables, keeps_place=ROW in given.columns)
            self._keep(into or Path(file).name, mapped(given, kernel, kernel.schema))

    def each_group(self, file: str, of: str, by: str, **params: Any) -> None:
        """Run a file below `sql/` that looks at the rows with each value of `by` alone."""
        with self._silent(file):
            given = self._frame(of).repartition(by).sortWithinPartitions(by).drop(*_HIDDEN)
            kernel = self._kernel(file, of, params, together=partial(groups_of, column=by))
            self._keep(Path(file).name, mapped(given, kernel, kernel.schema))

    def map(self, name: str, kernel: Kernel, result: str, *, whole: str | None = None) -> None:
        """Apply a kernel to a result, batch by batch, and keep what comes out."""
        with self._silent(result):
            given = self._frame(name)
            if whole is not None:
                # All rows of one value on one worker, in their order.
                given = given.repartition(whole).sortWithinPartitions(whole, PLACE)
            given = given.drop(*_HIDDEN)
            schema = kernel(pa.RecordBatch.from_pylist([], schema=self._visible(name))).schema
            together = None if whole is None else partial(whole_groups, column=whole)
            self._keep(result, mapped(given, MapRows(kernel, schema, together), schema))

    # Results.

    def fetch(self, name: str) -> pa.Table:
        """Return a result."""
        with self._silent(name):
            table = self._frame(name).toArrow()
            if PLACE in table.column_names:
                table = table.sort_by(PLACE)
            elif ROW in table.column_names:
                table = table.sort_by(ROW)
            return table.drop_columns([name for name in _HIDDEN if name in table.column_names])

    def seal(self, name: str, path: Path) -> None:
        """Write a result as a Parquet file on the driver, in its order."""
        with self._silent(name):
            pq.write_table(self.fetch(name), path, compression="zstd")

    def count(self, name: str) -> int:
        """Return how many rows a result has."""
        with self._silent(name):
            return int(self._frame(name).count())

    def has(self, name: str) -> bool:
        """Whether a result of this name is kept."""
        return self._results.has(name)

    def forget(self) -> None:
        """Take everything out of sight, for whoever uses the session next."""
        for name in self._shown:
            self._spark.catalog.dropTempView(name)

    # How.

    def _kernel(self, file: str, of: str, params: Mapping[str, Any], **rest: Any) -> RowsInDuckDB:
        """Return what runs a step on workers, with the schema of its result."""
        text = (SQL / f"{file}.sql").read_text(encoding="utf-8")
        kernel = RowsInDuckDB(file, text, of, params, **rest)
        schema = schema_of(kernel, self._visible(of))
        if kernel.keeps_place:
            schema = schema.append(pa.field(ROW, pa.int64()))
        return replace(kernel, schema=schema)

    def _scanned(self, source: Source) -> tuple[int, list[Split]]:
        if source not in self._scans:
            splits = splits_of(source)
            found = self._on_parts(splits, ScanParts(source, SCANNED), SCANNED).toArrow()
            scans = [Scanned(**row) for row in found.to_pylist()]
            self._scans[source] = put_together(source, splits, scans)
        return self._scans[source]

    def _on_parts(
        self, splits: Sequence[Split], kernel: Callable[..., Any], schema: pa.Schema
    ) -> "DataFrame":
        tasks = tasks_of(splits)
        rows = [(*astuple(split), task) for split, task in zip(splits, tasks, strict=True)]
        parts = self._spark.createDataFrame(rows, Split.SCHEMA)
        spread = parts.repartitionByRange(max(tasks, default=0) + 1, "task")
        return mapped(spread, kernel, schema)

    def _keep(self, name: str, frame: "DataFrame") -> None:
        place = self._results.begin(name)
        frame.write.parquet(str(place))
        self._results.finish(name, place)
        self._shown.discard(name)
        self._schemas.pop(name, None)

    def _show(self, name: str, frame: "DataFrame", schema: pa.Schema) -> None:
        frame.createOrReplaceTempView(name)
        self._shown.add(name)
        self._schemas[name] = schema

    def _require_shown(self, name: str) -> None:
        if name not in self._shown:
            self._show(name, self._stored(self._results.place(name)), self._schema(name))

    def _frame(self, name: str) -> "DataFrame":
        self._require_shown(name)
        return self._spark.table(name)

    def _visible(self, name: str) -> pa.Schema:
        return pa.schema([field for field in self._schema(name) if field.name not in _HIDDEN])

    def _schema(self, name: str) -> pa.Schema:
        if name not in self._schemas:
            from pyspark.sql.pandas.types import to_arrow_schema

            stored = self._stored(self._results.place(name)).schema
            self._schemas[name] = to_arrow_schema(stored, timezone="UTC")
        return self._schemas[name]

    def _stored(self, place: str) -> "DataFrame":
        # A home may have any name: its characters are no pattern.
        return self._spark.read.option("__globPaths__", "false").parquet(place)


@contextmanager
def open_spark(folder: Path) -> Iterator[SparkEngine]:
    """Open the results of a release at work."""
    hold(folder)
    place = folder / "spark"
    with alone_in(place), lent_session() as spark:
        engine = SparkEngine(place, spark)
        yield engine
        engine.forget()
