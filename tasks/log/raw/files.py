"""Find out what a log's files are before anything reads them whole.

Messages name files and columns that were asked for, never a line: a file without a header has
somebody's row where its header should be.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.errors import HybridDPError
from tasks.log.raw.header import header_of, refuse_other_delimiter, what_is_there
from tasks.release.refusals import BadInput as BadInput
from tasks.store.machine import MachineFailed, machine_fault
from tasks.store.paths import is_utf8

# Hidden files, and those by which Spark says that a folder is whole.
_MARKERS = (".", "_")
_DIALECTS = {".tsv": "tsv", ".txt": "tsv", ".csv": "csv", ".parquet": "parquet"}

_PLAIN_TYPES = (
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
    pa.types.is_integer,
    pa.types.is_boolean,
    pa.types.is_temporal,
    pa.types.is_null,
)


@dataclass(frozen=True, slots=True)
class Source:
    """Files of one format with the same columns."""

    files: tuple[Path, ...]
    dialect: str  # tsv, csv or parquet
    columns: tuple[str, ...]

    def digest(self) -> bytes:
        """Return a digest of the contents, in the order of the names; it is private."""
        total = hashlib.sha256()
        for path in self.files:
            with path.open("rb") as file:
                total.update(hashlib.file_digest(file, "sha256").digest())
        return total.digest()


def inspect(path: Path, texts: Iterable[str], what: str, numbers: Iterable[str] = ()) -> Source:
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
    texts = tuple(texts)
    wanted = dict.fromkeys((*texts, *numbers))
    headers = {file: _columns(file, dialect, texts, what) for file in files}
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
        _require_same_types(files, wanted)
    return Source(files, dialect, headers[files[0]])


def _how_to_name(missing: list[str], texts: tuple[str, ...], what: str) -> str:
    if what == "roster":
        return "A roster needs person and optin, and what --by names if that is given."
    if any(name in texts for name in missing):
        return (
            "Say with --columns if they have other names, and time= there for a log without times."
        )
    return "Name one that is there with --column."


def _files(path: Path, what: str) -> tuple[Path, ...]:
    try:
        if path.is_dir():
            inside = (file for file in path.iterdir() if not file.name.startswith(_MARKERS))
            files = tuple(sorted(file for file in inside if file.is_file()))
            if not files:
                raise BadInput(
                    f"{path} holds no file; a {what} folder needs at least one, not in folders "
                    "below it, and hidden ones (. or _) do not count."
                )
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


def _unreadable(path: Path, error: OSError) -> HybridDPError:
    if fault := machine_fault(error):
        return MachineFailed(fault)
    return BadInput(
        f"{path} cannot be read ({error.strerror}); see that whoever runs this may read it."
    )


def _dialect(file: Path, what: str) -> str:
    name = file.name.lower()
    for suffix, dialect in _DIALECTS.items():
        if name.endswith(suffix) or (dialect != "parquet" and name.endswith(f"{suffix}.gz")):
            return dialect
    raise BadInput(
        f"{file} has no suffix of a {what}; use .tsv, .txt or .csv, plain or with .gz, or "
        f".parquet. Every file of a {what} folder is read, so keep others elsewhere."
    )


def _columns(file: Path, dialect: str, texts: tuple[str, ...], what: str) -> tuple[str, ...]:
    if dialect == "parquet":
        return _parquet_columns(file, texts)
    return header_of(file, dialect, what)


def _parquet_schema(file: Path) -> pa.Schema:
    try:
        return pq.read_schema(file)
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and (fault := machine_fault(error)):
            raise MachineFailed(f"{file}: {fault}") from None
        raise BadInput(f"{file} is not a Parquet file, or is damaged.") from None


def _parquet_columns(file: Path, texts: tuple[str, ...]) -> tuple[str, ...]:
    schema = _parquet_schema(file)
    for field in schema:
        if field.name in texts and not _is_plain(field.type):
            raise BadInput(
                f"{file} holds {field.name} as {field.type}, which has no one spelling; "
                "write it as text, or as whole numbers."
            )
    return tuple(schema.names)


def _require_same_types(files: tuple[Path, ...], wanted: Iterable[str]) -> None:
    """Refuse files of different types: DuckDB casts all of them to those of the first file.

    The texts 0142 and 142.4 would become the person 142, and a time would lose its zone.
    """
    first = _parquet_schema(files[0])
    for file in files[1:]:
        schema = _parquet_schema(file)
        for column in wanted:
            one, other = first.field(column).type, schema.field(column).type
            if one != other:
                raise BadInput(
                    f"{file} holds {column} as {other}, but {files[0].name} as {one}, so equal "
                    "values could differ and different ones be equal; write that column with one "
                    "type in all files."
                )


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of this type have one spelling: 7 and 7.0 would be two people."""
    if pa.types.is_dictionary(kind):
        return _is_plain(kind.value_type)
    return any(is_such(kind) for is_such in _PLAIN_TYPES)
