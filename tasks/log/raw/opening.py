"""A file of a log, on this machine or in a store, and how its readers open it."""

import io
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.log.raw.stores import AT_ONCE, StoredFile

LogFile = Path | StoredFile
Given = TypeVar("Given", bound=LogFile)
Made = TypeVar("Made")


def is_zipped(file: LogFile) -> bool:
    """Whether a name says that a file is compressed."""
    return file.name.lower().endswith(".gz")


def size_of(file: LogFile) -> int:
    """Return how many bytes a file has."""
    return file.size if isinstance(file, StoredFile) else file.stat().st_size


def opened(file: LogFile, at_once: int = 1 << 20) -> io.BufferedReader:
    """Open a file; a store is asked for so many bytes in one request."""
    return file.open(at_once) if isinstance(file, StoredFile) else file.open("rb")


@contextmanager
def bytes_of(file: LogFile) -> Iterator[pa.NativeFile]:
    """Open a text file, plain or gzip, as a stream of what is in it."""
    compression = "gzip" if is_zipped(file) else None
    if isinstance(file, StoredFile):
        with file.open() as plain, pa.input_stream(plain, compression=compression) as stream:
            yield stream
    else:
        with pa.input_stream(file, compression=compression) as stream:
            yield stream


@contextmanager
def parquet_of(file: LogFile) -> Iterator[pq.ParquetFile]:
    """Open a Parquet file."""
    # Old times count nanoseconds in 96 bits. Counted in 64, as Arrow would, those of other
    # centuries become times of this one.
    times = {"coerce_int96_timestamp_unit": "us"}
    if isinstance(file, StoredFile):
        with file.open() as plain, pq.ParquetFile(plain, **times) as found:
            yield found
    else:
        with pq.ParquetFile(file, **times) as found:
            yield found


def each(function: Callable[[Given], Made], files: Sequence[Given]) -> list[Made]:
    """Apply a function to files, in their order; those in a store do not wait for each other."""
    if not any(isinstance(file, StoredFile) for file in files):
        return [function(file) for file in files]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(function, files))
