"""Parts of files that workers read by themselves, and what they find in each part's lines.

A text file is cut at line ends, which is safe because a line belongs to one person: whatever could
make a reader see other rows than there are lines is refused (tasks/log/raw/lines.py), in every part
as in a whole file. A Parquet file is cut into its row groups. Parts that are small share a task, in
which their lines or rows are read at once.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby

import pyarrow as pa

from tasks.log.raw.files import Source
from tasks.log.raw.lines import ODD_END, OddLine, Scan, damaged, has_quotes, n_records_in
from tasks.log.raw.opening import LogFile, bytes_of, each, is_zipped, opened, parquet_of, size_of

SPLIT_BYTES = 64 << 20
# How many bytes are read in the time that it takes to open a file.
_OPENING_BYTES = 1 << 20
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
    start: int
    end: int
    n_bytes: int
    first: int = 0  # which row or line of the file its first one is

    SCHEMA = (
        "number bigint, file bigint, start bigint, end bigint, n_bytes bigint, first bigint, "
        "task bigint"
    )


def splits_of(source: Source) -> list[Split]:
    """Cut files into parts, in their order."""
    cut: Callable[[LogFile], list[tuple[int, ...]]] = (
        _row_groups if source.dialect == "parquet" else _ranges
    )
    parts = each(cut, source.files)
    found = [(file, *part) for file, of_file in enumerate(parts) for part in of_file]
    return [Split(number, *part) for number, part in enumerate(found)]


def _row_groups(file: LogFile) -> list[tuple[int, ...]]:
    with parquet_of(file) as found:
        groups = [found.metadata.row_group(number) for number in range(found.num_row_groups)]
        sizes = [(group.num_rows, group.total_byte_size) for group in groups]
    firsts = accumulate((n_rows for n_rows, _ in sizes), initial=0)
    pairs = zip(sizes, firsts, strict=False)
    return [(n, n + 1, n_bytes, first) for n, ((_, n_bytes), first) in enumerate(pairs)]


def _ranges(file: LogFile) -> list[tuple[int, ...]]:
    size = size_of(file)
    # Nobody can begin to read a compressed file in its middle.
    step = size if is_zipped(file) else SPLIT_BYTES
    ranges = ((start, min(start + step, size)) for start in range(0, size, step))
    return [(start, end, end - start) for start, end in ranges]


def tasks_of(splits: Iterable[Split]) -> list[int]:
    """Return the number of the task that reads each part; small ones that follow share one."""
    tasks, task, held = list[int](), 0, 0
    for split in splits:
        needed = split.n_bytes + _OPENING_BYTES
        if held and held + needed > SPLIT_BYTES + _OPENING_BYTES:
            task, held = task + 1, 0
        tasks.append(task)
        held += needed
    return tasks


def blocks_of(file: LogFile, split: Split) -> Iterator[bytes]:
    """Read the lines that begin in a part of a file, in blocks that end with a line."""
    if is_zipped(file):
        with bytes_of(file) as unpacked:
            yield from _whole_lines(iter(lambda: unpacked.read(_BLOCK_BYTES), b""))
        return
    with opened(file) as plain:
        position = split.start
        if position:  # the line that began before is the part's before
            plain.seek(position - 1)
            position += len(plain.readline()) - 1
        while position < split.end:
            block = plain.read(min(_BLOCK_BYTES, split.end - position))
            if not block:
                return
            if not block.endswith(b"\n"):
                block += plain.readline()
            position += len(block)
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
class Piece:
    """Lines of one file that follow each other."""

    file: int
    first: int  # which line of the file its first one is, counted from 1
    n_lines: int


@dataclass(slots=True)
class Chunk:
    """Lines that DuckDB reads at once, of one file or of several with the same header."""

    header: bytes
    lines: list[bytes] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    n_bytes: int = 0

    def add(self, file: int, first: int, block: bytes) -> int:
        """Add whole lines, and return how many they are."""
        if not block.endswith(b"\n"):  # the file's last line
            block += b"\r\n" if self.header.endswith(b"\r\n") else b"\n"
        n_lines = block.count(b"\n")
        self.lines.append(block)
        self.pieces.append(Piece(file, first, n_lines))
        self.n_bytes += len(block)
        return n_lines


def chunks_of(source: Source, splits: Iterable[Split]) -> Iterator[Chunk]:
    """Read parts, in their order, in chunks of lines without headers, which name nobody."""
    chunk = Chunk(b"")
    for split in splits:
        file, first = source.files[split.file], split.first
        blocks = blocks_of(file, split)
        if split.start == 0:
            block = next(blocks, b"")
            header = _first_line(block)
            blocks, first = chain([block[len(header) :]], blocks), first + 1
        else:
            header = header_line(file)
        if header != chunk.header:
            if chunk.lines:
                yield chunk
            chunk = Chunk(header)
        for block in filter(None, blocks):
            first += chunk.add(split.file, first, block)
            if chunk.n_bytes >= _CHUNK_BYTES:
                yield chunk
                chunk = Chunk(header)
    if chunk.lines:
        yield chunk


def header_line(file: LogFile) -> bytes:
    """Return the first line of a text file, with its end."""
    return _first_line(next(blocks_of(file, Split(0, 0, 0, 1, 1)), b""))


def _first_line(first: bytes) -> bytes:
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


def scan_split(source: Source, split: Split) -> Scanned:
    """Look at the lines of a part as at those of a whole file."""
    scan = Scan(has_quotes=has_quotes(source))
    try:
        for block in blocks_of(source.files[split.file], split):
            scan.add(block)
        scan.finish()
    except OddLine as odd:
        return Scanned(split.number, 0, 0, scan.ends_in_crlf, odd.line, odd.problem)
    except OSError as error:
        if error.errno is not None:  # a machine's fault, or a store's
            raise
        return Scanned(split.number, 0, 0, scan.ends_in_crlf, None, "damaged")
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


def _require_alike(path: LogFile, n_before: int, scan: Scanned, ends_in_crlf: bool | None) -> None:
    """Refuse a part with an odd line, or whose lines end otherwise than those before."""
    is_other = None not in (ends_in_crlf, scan.ends_in_crlf) and ends_in_crlf != scan.ends_in_crlf
    if is_other:
        raise OddLine(n_before + 1, ODD_END).refusal(path)
    if scan.problem is not None and scan.odd_line is not None:
        raise OddLine(n_before + scan.odd_line, scan.problem).refusal(path)
    if scan.problem is not None:
        raise damaged(path)
