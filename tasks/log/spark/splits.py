"""Parts of files that workers read by themselves, and what they find in each part's lines.

A text file is cut at line ends, which is safe because a line belongs to one person: whatever could
make a reader see other rows than there are lines is refused (tasks/log/raw/lines.py), in every part
as in a whole file. A Parquet file is cut into its row groups.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.log.raw.files import Source
from tasks.log.raw.lines import ODD_END, OddLine, Scan, has_quotes, n_records_in

SPLIT_BYTES = 64 << 20
_BLOCK_BYTES = 1 << 20
# What DuckDB is given at once; it holds whole lines.
_CHUNK_BYTES = 16 << 20
# Room for the rows of one file, in the order of rows over all files.
ROWS_A_FILE = 1 << 40


@dataclass(frozen=True, slots=True)
class Split:
    """A part of a file: bytes from `start` to `end`, or the row group `start`."""

    number: int
    file: int
    path: str
    start: int
    end: int
    first: int = 0  # which row or line of the file its first one is

    SCHEMA = "number bigint, file bigint, path string, start bigint, end bigint, first bigint"

    @property
    def is_whole(self) -> bool:
        """Whether it is a compressed file, which nobody can begin to read in the middle."""
        return self.path.lower().endswith(".gz")


def splits_of(source: Source) -> list[Split]:
    """Cut files into parts, in their order."""
    found: list[Split] = []
    for number, path in enumerate(source.files):
        if source.dialect == "parquet":
            with pq.ParquetFile(path) as file:
                sizes = [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)]
            firsts = accumulate(sizes, initial=0)
            parts = [(n, n + 1, first) for n, first in zip(range(len(sizes)), firsts, strict=False)]
        else:
            size = path.stat().st_size
            step = size if path.name.lower().endswith(".gz") else SPLIT_BYTES
            parts = [(start, min(start + step, size), 0) for start in range(0, size, step)]
        found += [Split(len(found) + n, number, str(path), *part) for n, part in enumerate(parts)]
    return found


def blocks_of(split: Split) -> Iterator[bytes]:
    """Read the lines that begin in a part of a file, in blocks that end with a line."""
    if split.is_whole:
        yield from _whole_lines(_unpacked(split.path))
        return
    with open(split.path, "rb") as file:
        position = split.start
        if position:  # the line that began before is the part's before
            file.seek(position - 1)
            position += len(file.readline()) - 1
        while position < split.end:
            block = file.read(min(_BLOCK_BYTES, split.end - position))
            if not block:
                return
            if not block.endswith(b"\n"):
                block += file.readline()
            position += len(block)
            yield block


def _unpacked(path: str) -> Iterator[bytes]:
    with pa.input_stream(path, compression="gzip") as file:
        while block := file.read(_BLOCK_BYTES):
            yield block


def _whole_lines(blocks: Iterable[bytes]) -> Iterator[bytes]:
    held: list[bytes] = []
    for block in blocks:
        cut = block.rfind(b"\n") + 1
        if cut:
            yield b"".join([*held, block[:cut]])
            held = []
        if block[cut:]:
            held.append(block[cut:])
    if held:
        yield b"".join(held)


@dataclass(frozen=True, slots=True)
class Chunk:
    """Lines of a part that DuckDB reads at once, without the file's header."""

    file: int
    first: int  # which line of the file its first one is, counted from 1
    header: bytes
    lines: bytes


def chunks_of(split: Split) -> Iterator[Chunk]:
    """Read a part in chunks of lines; each gets its file's header, which names nobody."""
    header, first = header_line(split.path), split.first
    held: list[bytes] = []
    is_start = split.start == 0
    for block in blocks_of(split):
        if is_start:
            block, first, is_start = block[len(header) :], first + 1, False
        held.append(block)
        if sum(map(len, held)) >= _CHUNK_BYTES:
            yield Chunk(split.file, first, header, b"".join(held))
            first += sum(block.count(b"\n") for block in held)
            held = []
    if any(held):
        yield Chunk(split.file, first, header, b"".join(held))


def header_line(path: str) -> bytes:
    """Return the first line of a text file, with its end."""
    split = Split(0, 0, path, 0, 1)
    first = next(blocks_of(split), b"")
    return first[: first.find(b"\n") + 1] or first + b"\n"


@dataclass(frozen=True, slots=True)
class Scanned:
    """What a worker found in the lines of a part."""

    number: int
    n_lines: int
    n_empty: int
    ends_in_crlf: bool | None
    odd_line: int | None
    problem: str | None


SCANNED = pa.schema(
    {
        "number": pa.int64(), "n_lines": pa.int64(), "n_empty": pa.int64(),
        "ends_in_crlf": pa.bool_(), "odd_line": pa.int64(), "problem": pa.string(),
    }
)  # fmt: skip


def scan_split(split: Split, *, quotes: bool) -> Scanned:
    """Look at the lines of a part as at those of a whole file."""
    scan = Scan(has_quotes=quotes)
    try:
        for block in blocks_of(split):
            scan.add(block)
        scan.finish()
    except OddLine as odd:
        return Scanned(split.number, 0, 0, scan.ends_in_crlf, odd.line, odd.problem)
    return Scanned(split.number, scan.n_lines, scan.n_empty, scan.ends_in_crlf, None, None)


def put_together(
    source: Source, splits: Iterable[Split], scans: Iterable[Scanned]
) -> tuple[int, list[Split]]:
    """Return how many lines are people's, and the parts with the numbers of their first lines.

    Raises:
        BadInput: A line could swallow or make others; file and number of the line are named.
    """
    n_records, placed = 0, list[Split]()
    found = sorted(scans, key=lambda scan: scan.number)
    pairs = zip(splits, found, strict=True)
    for file, parts in groupby(pairs, key=lambda pair: pair[0].file):
        path, n_lines, n_empty = source.files[file], 0, 0
        ends_in_crlf: bool | None = None
        for split, scan in parts:
            _require_alike(path, n_lines, scan, ends_in_crlf)
            if ends_in_crlf is None:
                ends_in_crlf = scan.ends_in_crlf
            placed.append(replace(split, first=n_lines + 1))
            n_lines, n_empty = n_lines + scan.n_lines, n_empty + scan.n_empty
        n_records += n_records_in(source, n_lines, n_empty)
    return n_records, placed


def _require_alike(path: Path, n_before: int, scan: Scanned, ends_in_crlf: bool | None) -> None:
    """Refuse a part with an odd line, or whose lines end otherwise than those before."""
    is_other = None not in (ends_in_crlf, scan.ends_in_crlf) and ends_in_crlf != scan.ends_in_crlf
    if is_other:
        raise OddLine(n_before + 1, ODD_END).refusal(path)
    if scan.odd_line is not None and scan.problem is not None:
        raise OddLine(n_before + scan.odd_line, scan.problem).refusal(path)


def scans_of(splits: Iterable[Split], source: Source) -> Iterator[Scanned]:
    """Scan parts one after the other, as a worker does."""
    return (scan_split(split, quotes=has_quotes(source)) for split in splits)
