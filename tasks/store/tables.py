"""Read tables that strangers publish: nothing is unpacked beyond what it can be."""

from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.store.reading import Unreadable

# What this project writes; others pack a thousand times tighter, which could fill the memory.
_CODECS = {"SNAPPY", "UNCOMPRESSED"}
# What Arrow raises on a file that lies; a column whose name is not UTF-8 is a UnicodeDecodeError.
_NO_PARQUET = (
    pa.ArrowException, OSError, ValueError, TypeError, LookupError, OverflowError, MemoryError,
)  # fmt: skip


def read_parquet(data: bytes) -> pa.Table:
    """Read a Parquet file that is known to be our own."""
    # Not pq.read_table: it imports Arrow's datasets, for folders of files.
    return pq.ParquetFile(pa.BufferReader(data)).read(use_threads=False)


def parse_parquet(data: bytes, name: str) -> pa.Table:
    """Parse a Parquet file that our own measurements are, or that they give."""
    try:
        return read_parquet(data)
    except _NO_PARQUET:
        raise Unreadable(f"{name} is not a Parquet file, or is damaged.") from None


def parse_twin(
    data: bytes, name: str, schema: pa.Schema, rows: list[Any], n_bytes: int
) -> pa.Table:
    """Parse the Parquet form of rows that are known from another form of so many bytes.

    A few kilobytes may say that they hold a billion rows, or one long text a million times; so
    nothing is unpacked that could not be those rows.
    """
    texts = [field.name for field in schema if field.type == pa.string()]
    try:
        file = pq.ParquetFile(pa.BufferReader(data), read_dictionary=texts)
        if _codecs(file.metadata) - _CODECS:
            raise Unreadable(f"{name} is packed in another way than releases are.")
        # A list may hold a million texts in every row, so types are compared before they are read.
        found = [_plain(field.type) for field in file.schema_arrow]
        if (file.schema_arrow.names, found) != (schema.names, schema.types):
            raise Unreadable(f"{name} has other columns than this version knows; update hybriddp.")
        if file.metadata.num_rows != len(rows):
            raise Unreadable(f"{name} and its other form do not say the same: not as many rows.")
        packed = file.read(use_threads=False)
        if sum(_text_bytes(packed[text]) for text in texts) > n_bytes:
            raise Unreadable(f"{name} and its other form do not say the same: longer texts.")
        return read_parquet(data)
    except _NO_PARQUET:
        raise Unreadable(f"{name} is not a Parquet file, or is damaged.") from None


def _plain(kind: pa.DataType) -> pa.DataType:
    """Return a column's type as it was published: texts are read as places in a list of them."""
    return pa.string() if kind == pa.dictionary(pa.int32(), pa.string()) else kind


def _codecs(facts: pq.FileMetaData) -> set[str]:
    return {
        facts.row_group(group).column(column).compression
        for group in range(facts.num_row_groups)
        for column in range(facts.num_columns)
    }


def _text_bytes(column: pa.ChunkedArray) -> int:
    """Return how long a column's texts are together, without writing them out."""
    if not pa.types.is_dictionary(column.type):
        return 0
    # In Python: as many rows as the other form has, and Arrow's functions take long to import.
    total = 0
    for chunk in column.chunks:
        lengths = [
            0 if text is None else len(text.encode()) for text in chunk.dictionary.to_pylist()
        ]
        total += sum(lengths[index] for index in chunk.indices.to_pylist() if index is not None)
    return total
