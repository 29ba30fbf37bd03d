"""The SQL by which DuckDB reads people's files, and reads an id off a line that it cannot read."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.store.paths import plain_path

if TYPE_CHECKING:
    from tasks.log.raw.files import Source

# For each wanted name a column of the files, a list of them, or none.
Columns = Mapping[str, str | Sequence[str] | None]
# For wanted names columns of the files that may come as they are, not as text.
Typed = Mapping[str, Collection[str]]
TEXTS: Typed = {}  # none of them

# A longer line is rejected by the reader; a query of a megabyte is read, and rejected by name.
_MAX_LINE_BYTES = 4_000_000
DELIMITERS = {"tsv": "\t", "csv": ","}
# AOL's format knows no quotes: one in a query is a character like any other.
QUOTES = {"tsv": "", "csv": '"'}
# The first column of a line, with the delimiter behind it; the reader takes no space around quotes.
FIELDS = {"tsv": "^([^\t]*)\t", "csv": '^ *("(?:[^"]|"")*"|[^,]*) *,'}


def reader_of(source: "Source", errors: str, part: str | None = None) -> str:
    """Return DuckDB's table function for these files; every column of text is read as text.

    Lines that cannot be read go to the table `errors`. `part` names one file in their place.
    """
    # A folder named AnonID=7 must not become a column.
    files = paths_of(source.paths) if part is None else quoted(part)
    paths = f"{files}, hive_partitioning = false"
    if source.dialect == "parquet":
        return f"read_parquet({paths})"
    types = ", ".join(f"{_column(source, column)}: 'VARCHAR'" for column in source.columns)
    quote = quoted(QUOTES[source.dialect])
    # In parallel, DuckDB takes a quoted value that lies where two threads meet for rows.
    parallel = "false" if QUOTES[source.dialect] else "true"
    return (
        f"read_csv({paths}, delim = {quoted(DELIMITERS[source.dialect])}, header = true, "
        f"quote = {quote}, escape = {quote}, columns = {{{types}}}, auto_detect = false, "
        f"store_rejects = true, rejects_table = '{errors}', rejects_scan = '{errors}_scans', "
        f"rejects_limit = 0, max_line_size = {_MAX_LINE_BYTES}, parallel = {parallel})"
    )


def selected(source: "Source", columns: Columns, typed: Typed) -> str:
    """Return what reads columns in SQL: as texts, or as they are if they are `typed`."""
    read = {
        wanted: _column(source, str(column))
        if column in typed.get(wanted, ())
        else _text_of(source, column)
        for wanted, column in columns.items()
    }
    return ", ".join(f"{what} as {wanted}" for wanted, what in read.items())


def _text_of(source: "Source", column: str | Sequence[str] | None) -> str:
    """Return what reads a column as text in SQL; of several columns, a list of texts."""
    if column is None or isinstance(column, str):
        return f"cast({_column(source, column) if column else 'null'} as varchar)"
    return f"[{', '.join(_text_of(source, name) for name in column)}]"


def _column(source: "Source", column: str) -> str:
    """Return the name of a column in SQL; text files may have names that DuckDB would refuse."""
    if source.dialect == "parquet":
        return quoted(column, '"')
    return f"column_{source.columns.index(column)}"


def paths_of(files: Sequence[Path]) -> str:
    """Return a list of paths in SQL."""
    return f"[{', '.join(quoted(plain_path(file)) for file in files)}]"


def quoted(text: str, mark: str = "'") -> str:
    """Return a text in quotes, as SQL writes it."""
    return mark + text.replace(mark, mark + mark) + mark
