"""What the columns of Parquet files are: whether a value has one spelling, and which are times."""

from collections.abc import Callable, Iterable
from functools import cache

import pyarrow as pa

from tasks.log.raw.opening import LogFile, each, parquet_of
from tasks.log.raw.stores import StoredFile
from tasks.release.refusals import BadInput
from tasks.store.machine import MachineFailed, machine_fault

_PLAIN_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_date,
    pa.types.is_time,
    pa.types.is_timestamp,
    pa.types.is_null,
)
# What engines read alike; Arrow keeps more types in a file, which others read as what they are made
# of: a duration as its number of ticks.
_NUMBER_TYPES = (
    *_PLAIN_TYPES,
    pa.types.is_float32,
    pa.types.is_float64,
    pa.types.is_decimal128,
)


def plain_columns(
    file: LogFile, texts: tuple[str, ...], numbers: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the names of a file's columns; refuse what has no one spelling, or is no number."""
    schema = schema_of(file)
    for field in schema:
        if field.name in texts and not _is_one_of(_PLAIN_TYPES, field.type):
            raise BadInput(
                f"{file} holds {field.name} as {field.type}, which has no one spelling; "
                "write it as text, or as whole numbers."
            )
        if field.name in numbers and not _is_one_of(_NUMBER_TYPES, field.type):
            raise BadInput(
                f"{file} holds {field.name} as {field.type}, which is not read as a number; write "
                "it as whole numbers, or as floating point of 32 or 64 bits."
            )
    return tuple(schema.names)


def times_in(file: LogFile) -> frozenset[str]:
    """Return the columns that hold times as such, without a time zone."""
    return frozenset(field.name for field in schema_of(file) if _is_plain_time(field.type))


def integers_in(file: LogFile) -> frozenset[str]:
    """Return the columns that hold whole numbers which fit into 64 bits with a sign."""
    return frozenset(field.name for field in schema_of(file) if _is_integer(field.type))


def _is_integer(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) and kind != pa.uint64())


def _is_plain_time(kind: pa.DataType) -> bool:
    return pa.types.is_timestamp(kind) and kind.tz is None and kind.unit in ("ms", "us")


def require_same_types(files: tuple[LogFile, ...], wanted: Iterable[str]) -> None:
    """Refuse files of different types: DuckDB casts all of them to those of the first file.

    The texts 0142 and 142.4 would become the person 142, and a time would lose its zone.
    """
    first, *others = each(schema_of, files)
    for file, schema in zip(files[1:], others, strict=True):
        for column in wanted:
            one, other = first.field(column).type, schema.field(column).type
            if one != other:
                raise BadInput(
                    f"{file} holds {column} as {other}, but {files[0].name} as {one}, so equal "
                    "values could differ and different ones be equal; write that column with one "
                    "type in all files."
                )


def _is_one_of(kinds: Iterable[Callable[[pa.DataType], bool]], kind: pa.DataType) -> bool:
    """Whether values are of such a type. Of a plain one each has one spelling: 7 and 7.0 would be
    two people.
    """
    if pa.types.is_dictionary(kind):
        return _is_one_of(kinds, kind.value_type)
    return any(is_such(kind) for is_such in kinds)


def schema_of(file: LogFile) -> pa.Schema:
    """Return the columns of a file, and what they hold."""
    return (_stored_schema if isinstance(file, StoredFile) else _read_schema)(file)


def _read_schema(file: LogFile) -> pa.Schema:
    try:
        with parquet_of(file) as found:
            schema: pa.Schema = found.schema_arrow
            return schema
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and (fault := machine_fault(error)):
            raise MachineFailed(f"{file}: {fault}") from None
        raise BadInput(f"{file} is not a Parquet file, or is damaged.") from None


# As in `tasks.log.raw.files`: a store is asked once for what has the same mark.
_stored_schema = cache(_read_schema)
