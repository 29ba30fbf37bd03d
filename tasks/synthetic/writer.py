"""Write a search log, whole or not at all: as Parquet, or as TSV in the format of AOL's log."""

import gzip
import io
import os
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from hybriddp.errors import InvalidParameter, require

SCHEMA = pa.schema(
    [
        pa.field("AnonID", pa.int64(), nullable=False),
        pa.field("Query", pa.string(), nullable=False),
        pa.field("QueryTime", pa.timestamp("s"), nullable=False),
        pa.field("ItemRank", pa.int16()),
        pa.field("ClickURL", pa.string()),
    ]
)

_Write = Callable[[pa.RecordBatch], None]


@dataclass(frozen=True, slots=True)
class LogSummary:
    """What was written."""

    rows: int
    users: int
    bytes: int


@contextmanager
def _open_parquet(file: io.BufferedIOBase) -> Iterator[_Write]:
    # Texts rarely repeat within a row group and ids ascend, so dictionaries would only cost time.
    with pq.ParquetWriter(
        file,
        SCHEMA,
        use_dictionary=["ItemRank"],
        column_encoding={name: "DELTA_BINARY_PACKED" for name in ("AnonID", "QueryTime")},
    ) as writer:
        yield writer.write_batch


@contextmanager
def _open_tsv(file: io.BufferedIOBase) -> Iterator[_Write]:
    options = pa.csv.WriteOptions(
        include_header=False,  # pyarrow would quote it
        delimiter="\t",
        quoting_style="none",
        batch_size=8_192,  # rows per write: faster than the default, and still in the cache
    )
    file.write(("\t".join(SCHEMA.names) + "\n").encode())
    with pa.csv.CSVWriter(file, SCHEMA, write_options=options) as writer:
        yield writer.write_batch


@contextmanager
def _open_gzip_tsv(file: io.BufferedIOBase) -> Iterator[_Write]:
    # No name and no time in the header: same arguments, same bytes.
    with (
        gzip.GzipFile(filename="", mode="wb", compresslevel=1, fileobj=file, mtime=0) as zipped,
        _open_tsv(zipped) as write,
    ):
        yield write


_OPENERS = {
    ".parquet": _open_parquet,
    ".tsv": _open_tsv,
    ".txt": _open_tsv,
    ".tsv.gz": _open_gzip_tsv,
    ".txt.gz": _open_gzip_tsv,
}


def _opener_for(target: Path) -> Callable[[io.BufferedIOBase], AbstractContextManager[_Write]]:
    require(target.parent.is_dir(), "the log's directory must exist", target.parent, "create it")
    for suffix, opener in _OPENERS.items():
        if target.name.lower().endswith(suffix):
            return opener
    raise InvalidParameter(
        f"the log's name must end in a known suffix, got {target.name!r}; "
        f"use one of {', '.join(_OPENERS)}."
    )


@contextmanager
def _appearing_whole(path: Path) -> Iterator[io.BufferedIOBase]:
    """Open a file that takes its name only when it is complete, and vanishes on failure."""
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        with partial.open("xb") as file:
            yield file
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def write_batches(
    batches: Iterable[pa.RecordBatch],
    n_users: int,
    path: str | os.PathLike[str],
    progress: Callable[[int], None] | None = None,
) -> LogSummary:
    """Write the log of n_users users to path, batch by batch, in the format of its suffix.

    The file appears when it is complete, and replaces what was there. Memory is that of one batch.

    Args:
        progress: Called after each batch with the number of rows just written.
    """
    target = Path(path)
    opener = _opener_for(target)
    n_rows = 0
    with _appearing_whole(target) as file:
        with opener(file) as write:
            for batch in batches:
                n_written = len(batch)
                write(batch)
                del batch  # before the next one is made
                n_rows += n_written
                if progress is not None:
                    progress(n_written)
        n_bytes = file.tell()
    return LogSummary(rows=n_rows, users=n_users, bytes=n_bytes)
