"""Read Parquet files with times, one of which may be too far away for DuckDB.

DuckDB 2.0 counts microseconds, and fails on a whole file for one time that does not fit, or that it
cannot write as text: then one person's clock would stop everybody's release. Here such a time is
read as none, and its row is bad. Files whose statistics say that no time is far are left to DuckDB:
it reads them with all cores, and in a third of the time. Times of 96 bits have no statistics, and
one of them may end DuckDB itself, so they are always read here.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.log.raw.files import Source
from tasks.log.raw.opening import parquet_of
from tasks.log.raw.parquet_types import schema_of

# The first and the last microsecond that DuckDB writes as text.
_FIRST_MICROSECOND = -9_223_372_022_400_000_000
_LAST_MICROSECOND = (1 << 63) - 2
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


Columns = Iterable[str | Sequence[str] | None]


def has_far_times(source: Source, columns: Columns) -> bool:
    """Whether one of these columns may hold a time that DuckDB would refuse its file for."""
    if source.dialect != "parquet":
        return False
    stored = schema_of(source.files[0])
    times = [name for name in _names(columns) if _may_be_far(stored.field(name).type)]
    return bool(times) and not all(_all_near(path, times, stored) for path in source.paths)


def _all_near(path: Path, times: list[str], stored: pa.Schema) -> bool:
    """Whether a file says of all its row groups that none of these times is far."""
    found = pq.read_metadata(path)
    paths = [found.schema.column(place).path for place in range(found.num_columns)]
    if any(paths.count(name) != 1 for name in times):  # a column inside of another looks alike
        return False
    return all(
        _says_near(found.row_group(group).column(paths.index(name)), stored.field(name).type)
        for group in range(found.num_row_groups)
        for name in times
    )


def _says_near(column: Any, kind: pa.DataType) -> bool:
    said = column.statistics
    if kind.unit == "s" or column.physical_type != "INT64" or said is None or not said.has_min_max:
        return False
    first, last = _near_units(kind)
    return bool(first <= said.min_raw <= said.max_raw <= last)


def _near_units(kind: pa.DataType) -> tuple[int, int]:
    """Return the first and the last time that DuckDB takes, in the unit of a type."""
    per_unit = _PER_UNIT[kind.unit]
    return -(-_FIRST_MICROSECOND // per_unit), _LAST_MICROSECOND // per_unit


def _names(columns: Columns) -> list[str]:
    """Return the different names, of which some may stand in lists."""
    listed = [[c] if isinstance(c, str) else c or [] for c in columns]
    return list(dict.fromkeys(name for names in listed for name in names))


def _may_be_far(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit in _PER_UNIT


def batches_of_near_times(source: Source, columns: Columns) -> pa.RecordBatchReader:
    """Return these columns of all files, with times in microseconds, and none that does not fit."""
    stored, names = schema_of(source.files[0]), _names(columns)
    schema = pa.schema([(name, _near_type(stored.field(name).type)) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        for path in source.paths:
            with parquet_of(path) as file:
                for batch in file.iter_batches(columns=names):
                    yield near_batch(batch.select(names)).cast(schema)

    return pa.RecordBatchReader.from_batches(schema, batches())


def near_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch with times in microseconds, and none that does not fit."""
    batch.validate(full=True)  # texts are UTF-8: DuckDB takes Arrow's word for it
    near = [_near(batch.column(name)) for name in batch.schema.names]
    return pa.RecordBatch.from_arrays(near, names=batch.schema.names)


def _near_type(kind: pa.DataType) -> pa.DataType:
    return pa.timestamp("us", kind.tz) if _may_be_far(kind) else kind


def _near(values: pa.Array) -> pa.Array:
    if not _may_be_far(values.type):
        return values
    units, (first, last) = values.cast(pa.int64()), _near_units(values.type)
    is_near = pc.and_(pc.greater_equal(units, first), pc.less_equal(units, last))
    return pc.if_else(is_near, values, None).cast(_near_type(values.type))
