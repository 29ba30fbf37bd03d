"""Find out what a log's files are before anything reads them whole.

Messages name files and columns that were asked for, never a line: a file without a header has
somebody's row where its header should be.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from hybriddp.errors import HybridDPError
from tasks.log.raw.addresses import Address, Place
from tasks.log.raw.header import header_of, refuse_other_delimiter, what_is_there
from tasks.log.raw.opening import LogFile, each, opened
from tasks.log.raw.parquet_types import integers_in, plain_columns, require_same_types, times_in
from tasks.log.raw.stores import StoredFile, stored_files
from tasks.release.refusals import BadInput as BadInput
from tasks.store.machine import MachineFailed, machine_fault
from tasks.store.paths import is_utf8

# Hidden files, and those by which Spark says that a folder is whole.
_MARKERS = (".", "_")
_HASHED_BYTES = 1 << 23
_DIALECTS = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".parquet": "parquet"}


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one format with the same columns."""

    files: tuple[LogFile, ...]
    dialect: str  # tsv, csv or parquet
    columns: tuple[str, ...]
    times: frozenset[str] = frozenset()  # columns that hold times as such, without a time zone
    integers: frozenset[str] = frozenset()  # columns that hold whole numbers of 64 bits at most

    @property
    def is_stored(self) -> bool:
        """Whether the files are in a store."""
        return isinstance(self.files[0], StoredFile)

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files, all of which are on this machine."""
        return tuple(file for file in self.files if not isinstance(file, StoredFile))

    def digest(self) -> bytes:
        """Return a digest of the contents, in the order of the names; it is private."""
        return hashlib.sha256(b"".join(each(_digest, self.files))).digest()

    def require_as_found(self) -> None:
        """Refuse files of a store that were replaced, or cannot be read any more."""
        each(lambda file: file.open().close(), [f for f in self.files if isinstance(f, StoredFile)])


def _digest(file: LogFile) -> bytes:
    with opened(file, _HASHED_BYTES) as plain:
        return hashlib.file_digest(plain, "sha256").digest()


def inspect(path: Place, texts: Iterable[str], what: str, numbers: Iterable[str] = ()) -> Source:
    """Check that a file, or every file of a folder, can be read and has the wanted columns.

    Args:
        texts: Columns whose values are compared, so that each must have one spelling.
        numbers: Columns whose values are read as numbers.
    """
    files = _files(path, what)
    dialects = {_dialect(file, what) for file in files}
    if len(dialects) > 1:
        raise BadInput(f"{path} mixes {' and '.join(sorted(dialects))} files; keep one format.")
    (dialect,) = dialects
    texts, numbers = tuple(texts), tuple(numbers)
    wanted = dict.fromkeys((*texts, *numbers))
    found = each(lambda file: _columns(file, dialect, texts, numbers, what), files)
    headers = dict(zip(files, found, strict=True))
    for file, columns in headers.items():
        missing = [name for name in wanted if name not in columns]
        if missing:
            if dialect != "parquet":
                refuse_other_delimiter(file, columns, wanted, dialect)
            raise BadInput(
                f"{file} lacks the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}; "
                f"a {what} names its columns in its first line or schema. "
                f"{what_is_there(columns, wanted, dialect)} {_how_to_name(missing, texts, what)}"
            )
        if len({name.lower() for name in columns}) != len(columns):
            raise BadInput(
                f"{file} names a column twice, if capitals do not count; "
                "give every column its own name."
            )
        if columns != headers[files[0]]:
            raise BadInput(f"{file} has other columns than {files[0].name}; load them separately.")
    if dialect == "parquet":
        require_same_types(files, wanted)
    if dialect != "parquet":
        return Source(files, dialect, headers[files[0]])
    return Source(files, dialect, headers[files[0]], times_in(files[0]), integers_in(files[0]))


def _how_to_name(missing: list[str], texts: tuple[str, ...], what: str) -> str:
    if what == "roster":
        return "A roster needs person and optin, and what --by names if that is given."
    if any(name in texts for name in missing):
        return (
            "Say with --columns if they have other names, and time= there for a log without times."
        )
    return "Name one that is there with --column."


def _files(path: Place, what: str) -> tuple[LogFile, ...]:
    if isinstance(path, Address):
        return _stored_files(path, what)
    try:
        if path.is_dir():
            inside = (file for file in path.iterdir() if not file.name.startswith(_MARKERS))
            files = tuple(sorted(file for file in inside if file.is_file()))
            if not files:
                raise _no_file(path, what)
        elif path.is_file():
            files = (path,)
        else:
            raise BadInput(f"{path} is not there; check the path of the {what}.")
    except OSError as error:
        raise _unreadable(path, error) from None
    for file in files:
        if not is_utf8(file):
            raise BadInput(f"{str(file)!r} has a name that is not UTF-8; rename the {what}.")
        try:
            with file.open("rb") as opened:
                first = opened.read(1)
        except OSError as error:
            raise _unreadable(file, error) from None
        if not first:
            raise BadInput(f"{file} is empty; a {what} needs at least its header.")
    return files


def _stored_files(address: Address, what: str) -> tuple[StoredFile, ...]:
    found = stored_files(address)
    if found is None:
        raise BadInput(
            f"{address} is not there; check the address of the {what}, its bucket, and that the "
            "environment names the right store (docs/spark.md)."
        )
    files = tuple(
        file for file in found if file.address == address or not file.name.startswith(_MARKERS)
    )
    if not files:
        raise _no_file(address, what)
    for file in files:
        if not file.size:
            raise BadInput(f"{file} is empty; a {what} needs at least its header.")
    return files


def _no_file(place: Place, what: str) -> BadInput:
    return BadInput(
        f"{place} holds no file; a {what} folder needs at least one, not in folders below it, and "
        "hidden ones (. or _) do not count."
    )


def _unreadable(path: Path, error: OSError) -> HybridDPError:
    if fault := machine_fault(error):
        return MachineFailed(fault)
    return BadInput(
        f"{path} cannot be read ({error.strerror}); see that whoever runs this may read it."
    )


def _dialect(file: LogFile, what: str) -> str:
    name = file.name.lower()
    for suffix, dialect in _DIALECTS.items():
        if name.endswith(suffix) or (dialect != "parquet" and name.endswith(f"{suffix}.gz")):
            return dialect
    raise BadInput(
        f"{file} has no suffix of a {what}; use .tsv, .txt or .csv, plain or with .gz, or "
        f".parquet. Every file of a {what} folder is read, so keep others elsewhere."
    )


def _columns(
    file: LogFile, dialect: str, texts: tuple[str, ...], numbers: tuple[str, ...], what: str
) -> tuple[str, ...]:
    if dialect == "parquet":
        return plain_columns(file, texts, numbers)
    return (_stored_header if isinstance(file, StoredFile) else header_of)(file, dialect, what)


# A log is looked at several times, and a store is asked once for what has the same mark.
_stored_header = cache(header_of)
