"""Read the first line of a log's text file, and say in plain words why it is no header.

A file without a header has somebody's row in its place, so a first line is shown only where it is
certain that it holds names.
"""

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterable

from tasks.log.raw.opening import LogFile, is_zipped, opened
from tasks.release.refusals import BadInput
from tasks.store.machine import MachineFailed, machine_fault

# The first line must end within this many bytes.
_HEADER_BYTES = 1 << 16
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_ .-]{0,39}")
_DELIMITERS = {"tsv": "\t", "csv": ","}
_WORDS = {"\t": "tabs", ",": "commas", ";": "semicolons", "|": "vertical bars"}
_GZIP = b"\x1f\x8b"
# How files begin that are no text, or another one, and what to do with them.
_BEGINNINGS = {
    _GZIP: "is compressed with gzip; let its name end in .gz",
    b"PAR1": "is a Parquet file; let its name end in .parquet",
    b"PK\x03\x04": "is a zip archive or a workbook; unpack it, or save it as CSV",
    b"\xff\xfe": "is UTF-16 text; save it as UTF-8",
    b"\xfe\xff": "is UTF-16 text; save it as UTF-8",
}


def header_of(file: LogFile, dialect: str, what: str) -> tuple[str, ...]:
    """Return the columns that the first line of a text file names."""
    line = _first_line(file)
    if not line:
        raise BadInput(f"{file} is empty; a {what} needs at least its header.")
    for beginning, problem in _BEGINNINGS.items():
        if line.startswith(beginning):
            raise BadInput(f"{file} {problem}.")
    try:
        text = line.decode("utf-8-sig").removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text or len(line) >= _HEADER_BYTES:
        raise BadInput(
            f"{file} does not begin with a line of UTF-8 text; a {what} is a text file whose first "
            "line names its columns. Save it as UTF-8, or get it again."
        )
    try:
        return _split(text, _DELIMITERS[dialect])
    except csv.Error:
        raise BadInput(f"{file} has a first line that is not CSV.") from None


def what_is_there(columns: tuple[str, ...], wanted: Iterable[str], dialect: str) -> str:
    """Say what a header that lacks columns holds instead, if it is certain that these are names.

    Only a line that holds a name which was asked for, and nothing but what looks like names, is
    taken for a header: without one there is somebody's row, and behind odd line ends there are
    rows.
    """
    if dialect == "parquet" or _is_header(columns, tuple(wanted)):
        return f"It has {', '.join(columns)}."
    return (
        "None of them stands alone in its first line, which may be somebody's row and is not "
        "shown: see that it is a header."
    )


def refuse_other_delimiter(
    file: LogFile, columns: tuple[str, ...], wanted: Iterable[str], dialect: str
) -> None:
    """Raise BadInput if a header's names stand between other characters than its suffix says."""
    own, wanted = _DELIMITERS[dialect], tuple(wanted)
    line = own.join(columns)
    for delimiter, word in _WORDS.items():
        names = tuple(name.strip('"') for name in line.split(delimiter))
        if delimiter != own and len(names) > 1 and _is_header(names, wanted):
            raise BadInput(
                f"{file} has {word} between its columns ({', '.join(names)}), but a .{dialect} "
                f"file is read with {_WORDS[own]}, and {', '.join(wanted)} "
                f"{'are' if len(wanted) > 1 else 'is'} wanted. {_mended(delimiter)}"
            )


def _mended(delimiter: str) -> str:
    for dialect, own in _DELIMITERS.items():
        if delimiter == own:
            return f"Let its name end in .{dialect}."
    return "Write it again with commas (.csv) or tabs (.tsv)."


def _is_header(columns: Iterable[str], wanted: tuple[str, ...]) -> bool:
    columns = tuple(columns)
    return any(name in columns for name in wanted) and all(map(_NAME.fullmatch, columns))


def _split(text: str, delimiter: str) -> tuple[str, ...]:
    if delimiter == "\t":
        return tuple(text.split("\t"))
    return tuple(next(csv.reader(io.StringIO(text)), []))


def _first_line(file: LogFile) -> bytes:
    try:
        with opened(file, _HEADER_BYTES) as plain:
            first = plain.readline(_HEADER_BYTES)
        if not is_zipped(file):
            return first
        if not first.startswith(_GZIP):
            raise BadInput(
                f"{file} is not compressed with gzip, although its name says so; take the .gz off, "
                "or get it again."
            )
        with opened(file, _HEADER_BYTES) as packed, gzip.open(packed) as zipped:
            return zipped.readline(_HEADER_BYTES)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, OSError) and (fault := machine_fault(error)):
            raise MachineFailed(f"{file}: {fault}") from None
        raise BadInput(f"{file} is not a whole gzip file; get it again.") from None
