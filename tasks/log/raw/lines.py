"""Count the lines of a text file ourselves, before a reader that understands quotes gets it.

A line belongs to one person. Whatever makes a reader see other rows than there are lines, an open
quote or a bare carriage return, lets one person's bytes delete or make other people's rows. So
such a file is refused here, and `require_every_line` sees that no line got lost afterwards.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import IntArray
from tasks.log.raw.files import BadInput, Source
from tasks.log.raw.opening import LogFile, bytes_of
from tasks.store.machine import MachineFailed, machine_fault

# DuckDB may lose longer lines, or others beside them, depending on where its buffers end.
MAX_LINE_BYTES = 16_000_000
_BLOCK_BYTES = 1 << 20
_LF, _CR, _QUOTE = b'\n\r"'
# How many line ends of a block are before a line, and what is wrong with it.
_Odd = tuple[int, str]


class OddLine(Exception):
    """A line that could swallow or make others, and what is wrong with it."""

    def __init__(self, line: int, problem: str) -> None:
        super().__init__(line, problem)
        self.line, self.problem = line, problem

    def refusal(self, path: LogFile) -> BadInput:
        """Return what an operator is told."""
        return BadInput(f"{path}, line {self.line}: {self.problem} Nobody was charged.")


@dataclass(slots=True)
class Scan:
    """What was seen of one file so far, or of a part of it that begins and ends with a line.

    An unfinished line is its length and its quotes' parity.
    """

    has_quotes: bool
    ends_in_crlf: bool | None = None  # as the first line ends
    n_lines: int = 0
    n_empty: int = 0
    unfinished: int = 0
    parity: int = 0

    def add(self, block: bytes) -> None:
        """Look at the next block, which does not end between the two bytes of a line end."""
        found = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(found == _LF)
        odd = [*self._odd_ends(found, block, ends), *self._open_quotes(found, block, ends)]
        if odd:  # the first line, wherever blocks end
            self._refuse(*min(odd, key=lambda one: one[0]))
        if len(ends):
            # An empty line is nothing but its end.
            lengths = np.diff(ends, prepend=-1 - self.unfinished)
            if lengths.max() > MAX_LINE_BYTES + 1:
                self._refuse(int(np.argmax(lengths > MAX_LINE_BYTES + 1)), _TOO_LONG)
            self.n_empty += int(np.count_nonzero(lengths == 1 + bool(self.ends_in_crlf)))
            self.n_lines += len(ends)
            self.unfinished = 0
        self.unfinished += len(found) - (int(ends[-1]) + 1 if len(ends) else 0)
        if self.unfinished > MAX_LINE_BYTES:
            self._refuse(0, _TOO_LONG)

    def finish(self) -> None:
        """Take what comes after the last line end for a line."""
        if self.unfinished:
            if self.parity:
                self._refuse(0, _OPEN_QUOTE)
            self.n_lines += 1

    def _odd_ends(self, found: np.ndarray, block: bytes, ends: IntArray) -> Iterator[_Odd]:
        if self.ends_in_crlf is None and len(ends):
            self.ends_in_crlf = bool(ends[0] > 0 and found[ends[0] - 1] == _CR)
        if not self.ends_in_crlf:
            if _CR in block:
                yield int(np.searchsorted(ends, block.index(_CR))), ODD_END
            return
        returns = np.flatnonzero(found == _CR)
        if len(returns) == len(ends) and np.array_equal(returns + 1, ends):
            return
        odd = np.setxor1d(returns + 1, ends)[0]
        yield int(np.searchsorted(ends, odd)), ODD_END

    def _open_quotes(self, found: np.ndarray, block: bytes, ends: IntArray) -> Iterator[_Odd]:
        if self.has_quotes and _QUOTE in block:
            # Wrapping around keeps what is asked: whether a number is odd.
            quotes = np.cumsum(found == _QUOTE, dtype=np.uint8) + np.uint8(self.parity)
            odd = np.flatnonzero(np.diff(quotes[ends] & 1, prepend=0))
            if len(odd):
                yield int(odd[0]), _OPEN_QUOTE
            self.parity = int(quotes[-1] & 1)  # even up to the last line end
        elif len(ends) and self.parity:
            yield 0, _OPEN_QUOTE

    def _refuse(self, n_ends_before: int, problem: str) -> None:
        raise OddLine(self.n_lines + n_ends_before + 1, problem)


ODD_END = (
    "line ends are mixed, or a carriage return stands inside of a line, so one person's text could "
    "make lines of its own. End all lines alike, and write line ends inside of a text as spaces."
)
_OPEN_QUOTE = (
    "a quote opens and is not closed in its line, so other lines would count as part of it. Write "
    "quotes inside of a text twice, or log in TSV, which knows no quotes."
)
_TOO_LONG = (
    f"the line is longer than {MAX_LINE_BYTES // 10**6} MB, which no search is. Take it out."
)


def damaged(path: LogFile) -> BadInput:
    """Return what an operator is told of a file that cannot be read to its end."""
    return BadInput(
        f"{path} breaks off or is damaged: it cannot be read to its end. Check it (gzip -t), "
        "and get it again."
    )


def count_records(source: Source) -> int:
    """Return how many lines of text files are people's: not headers, and not empty.

    Raises:
        BadInput: A line could swallow or make others; file and number of the line are named.
    """
    n_records = 0
    for path in source.files:
        scan = Scan(has_quotes=has_quotes(source))
        try:
            for block in _blocks(path):
                scan.add(block)
            scan.finish()
        except OddLine as odd:
            raise odd.refusal(path) from None
        n_records += n_records_in(source, scan.n_lines, scan.n_empty)
    return n_records


def has_quotes(source: Source) -> bool:
    """Whether quotes mean anything in these files."""
    return source.dialect == "csv"


def n_records_in(source: Source, n_lines: int, n_empty: int) -> int:
    """Return how many lines of a file are people's."""
    # DuckDB skips an empty line, unless it can be an empty value of the only column.
    return n_lines - 1 - (n_empty if len(source.columns) > 1 else 0)


def require_every_line(source: Source, n_records: int, n_read: int) -> None:
    """Refuse files of which the reader saw fewer or more lines than there are."""
    if n_read != n_records:
        files = source.files[0] if len(source.files) == 1 else source.files[0].parent
        raise BadInput(
            f"{files}: lines are {'missing' if n_read < n_records else 'there twice'} after "
            f"reading, so somebody's text counts as other people's rows. Look for odd quotes and "
            "for lines of many megabytes, or log in TSV, which knows no quotes. Nobody was charged."
        )


def _blocks(path: LogFile) -> Iterator[bytes]:
    """Read a file, plain or gzip, in blocks that do not end with a carriage return."""
    held = b""
    try:
        with bytes_of(path) as file:
            while block := file.read(_BLOCK_BYTES):
                block = held + block
                held = block[-1:] if block.endswith(b"\r") else b""
                yield block[: len(block) - len(held)]
    except OSError as error:
        if fault := machine_fault(error):
            raise MachineFailed(f"{path}: {fault}") from None
        raise damaged(path) from None
    if held:
        yield held
