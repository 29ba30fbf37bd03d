"""Read Parquet files with times, one of which may be too far away for DuckDB.

DuckDB 2.0 counts microseconds, and fails on a whole file for one time that does not fit, or that it
cannot write as text: then one person's clock would stop everybody's release. Here such a time is
read as none, and its row is bad.
"""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tasks.log.raw.files import Source

# The first and the last microsecond that DuckDB writes as text.
_FIRST_MICROSECOND = -9_223_372_022_400_000_000
_LAST_MICROSECOND = (1 << 63) - 2
_PER_UNIT = {"s": 1_000_000, "ms": 1_000, "us": 1}


Columns = Iterable[str | Sequence[str] | None]


def has_far_times(source: Source, columns: Columns) -> bool:
    """Whether one of these columns may hold a time that DuckDB would refuse its file for."""
    if source.dialect != "parquet":
        return False
    stored = pq.read_schema(source.files[0])
    return any(_may_be_far(stored.field(name).type) for name in _names(columns))


def _names(columns: Columns) -> list[str]:
    """Return the different names, of which some may stand in lists."""
    listed = [[c] if isinstance(c, str) else c or [] for c in columns]
    return list(dict.fromkeys(name for names in listed for name in names))


def _may_be_far(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.unit in _PER_UNIT


def batches_of_near_times(source: Source, columns: Columns) -> pa.RecordBatchReader:
    """Return these columns of all files, with times in microseconds, and none that does not fit."""
    stored, names = pq.read_schema(source.files[0]), _names(columns)
    schema = pa.schema([(name, _near_type(stored.field(name).type)) for name in names])

    def batches() -> Iterator[pa.RecordBatch]:
        for path in source.files:
            with pq.ParquetFile(path) as file:
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
    per_unit = _PER_UNIT[values.type.unit]
    units = values.cast(pa.int64())
    is_near = pc.and_(
        pc.greater_equal(units, -(-_FIRST_MICROSECOND // per_unit)),
        pc.less_equal(units, _LAST_MICROSECOND // per_unit),
    )
    return pc.if_else(is_near, values, None).cast(_near_type(values.type))
