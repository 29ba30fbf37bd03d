"""Two files that differ in some people's bytes, and what the ingest makes of everybody else.

Nobody else changes, and nobody comes or goes: whoever keeps their id stays one member, whatever
they type behind it. (But without a roster, who has no row in the epoch any more is no member.)

A line feed ends a line, and whoever may write one makes lines of their own, of any person: no
reader of lines can tell. So a person's bytes may be anything but a line feed. A logger that lets
line feeds through writes other people's rows itself.

Reading a file takes far longer than its few rows, so one pair of files tries the bytes of many
people at once: if nobody else changes, none of them has changed anybody else. Bytes for which the
file is refused are tried alone.
"""

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tasks.log.engine import DuckDBEngine
from tasks.log.ids import canonical
from tasks.log.ingest import load_searches
from tasks.log.raw.files import BadInput
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tasks.products.mean.request import MeanRequest
from tasks.products.numbers.log import NumbersRun, load_numbers
from tasks.store.home import Home
from tests.engines import empty_database

N_WRITERS = 40
# Of forty, how many are tried alone.
_MOST_ALONE = 4
WRITERS = [f"w{number:03}" for number in range(N_WRITERS)]
# Each writer's rows stand between those of two people who change nothing; in text files, one line
# of each of those cannot be read.
READERS = [f"r{number:03}" for number in range(N_WRITERS)]
PEOPLE = [person for both in zip(WRITERS, READERS, strict=True) for person in both]
SEARCH_COLUMNS = ("AnonID", "Query", "QueryTime", "ItemRank", "ClickURL", "optin")
NUMBER_COLUMNS = ("AnonID", "QueryTime", "dwell", "optin")
ROSTER_COLUMNS = ("person", "optin", "country")
# What is likely to confuse a reader, beside any byte at all.
TRICKS = [
    b'"', b'""', b'"""', b"\r", b"\t", b",", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\\", b"'",
    b"#", b" ", b"\xc2\xa0", b"\x1a", b'","', b'"\t"', b"\\n", b"r001", b"NULL", b"x" * 3_000,
    b"2026-11-10 10:00:00", b"1970-01-01", b"infinity", b"nan", b"1e400", b"-1",
]  # fmt: skip


def rows_of(columns: tuple[str, ...]) -> list[list[bytes]]:
    """Return the rows of everybody, turn by turn."""
    made: dict[str, Callable[[int, str], str]] = {
        "AnonID": lambda _, person: person,
        "person": lambda _, person: person,
        "Query": lambda turn, person: f"query {turn} of {person}",
        "QueryTime": lambda turn, _: f"2026-11-1{turn} 10:00:00",
        "ItemRank": lambda *_: "1",
        "ClickURL": lambda turn, _: f"http://{turn}.com",
        "dwell": lambda turn, person: f"{turn}.{person[-1]}",
        "optin": lambda _, person: str(int(person[-1]) % 2),
        "country": lambda _, person: "DE" if int(person[-1]) < 5 else "FR",
    }
    n_turns = 1 if columns == ROSTER_COLUMNS else 3
    return [
        [made[name](turn, person).encode() for name in columns]
        for turn in range(n_turns)
        for person in PEOPLE
    ]


def changed(row: list[bytes], rng: np.random.Generator) -> list[bytes]:
    """Return a person's row with other bytes: any but a line feed, in any value, also in the id."""
    values = list(row)
    for _ in range(rng.integers(1, 4)):
        # The id changes seldom: a row with another id is another person's, and says less.
        place = int(rng.integers(1, len(values))) if rng.random() < 0.9 else 0
        value = values[place]
        # A quote opens only where a value begins.
        at = 0 if rng.random() < 0.3 else int(rng.integers(0, len(value) + 1))
        new = (
            TRICKS[rng.integers(len(TRICKS))]
            if rng.random() < 0.7
            else rng.bytes(int(rng.integers(1, 6)))
        )
        end = len(value) if rng.random() < 0.3 else at + int(rng.integers(0, 3))
        values[place] = (value[:at] + new + value[end:]).replace(b"\n", b"")
    if rng.random() < 0.1:
        values = values[: rng.integers(1, len(values) + 1)]
    return values


def is_anothers(row: list[bytes], who: str) -> bool:
    """Whether a changed row may be somebody else's by its id, and so is no change of one person.

    An id may also end at a delimiter or quote that was put into it.
    """
    text = canonical(row[0].decode("utf-8", "replace"))
    return any(person in text for person in PEOPLE if person != who)


@dataclass(frozen=True)
class Layout:
    """How a file is written: which bytes stand between values and at the ends of lines."""

    suffix: str
    delimiter: bytes = b"\t"
    end: bytes = b"\n"
    is_quoted: bool = False

    def write(self, folder: Path, name: str, columns: tuple[str, ...], rows: Any) -> Path:
        """Write a file; a changed row stands there as it is, without any escaping."""
        path = folder / f"{name}{self.suffix}"
        if self.suffix == ".parquet":
            texts = [[value.decode("utf-8", "replace") for value in row] for row in rows]
            padded = [row + [None] * (len(columns) - len(row)) for row in texts]
            table = {n: list(c) for n, c in zip(columns, zip(*padded, strict=True), strict=True)}
            pq.write_table(pa.table({n: pa.array(c, pa.string()) for n, c in table.items()}), path)
            return path
        header = self.delimiter.join(name.encode() for name in columns)
        data = self.end.join([header, *map(self.line, rows)]) + self.end
        path.write_bytes(gzip.compress(data, 1) if self.suffix.endswith(".gz") else data)
        return path

    def line(self, row: list[bytes]) -> bytes:
        """Return the line of a row."""
        mark = b'"' if self.is_quoted else b""
        return self.delimiter.join(mark + value + mark for value in row)


LAYOUTS = {
    "tsv": Layout(".tsv"),
    "tsv-crlf-gzip": Layout(".tsv.gz", end=b"\r\n\r\n"),  # an empty line behind every line
    "csv": Layout(".csv", b","),
    "csv-quoted": Layout(".csv", b",", b"\r\n", is_quoted=True),
    "csv-gzip": Layout(".csv.gz", b","),
    "parquet": Layout(".parquet"),
}


@dataclass
class Reader:
    """Reads logs and rosters as releases do, up to who is a member with what."""

    home: Home
    folder: Path
    plain: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        tsv = LAYOUTS["tsv"]
        for name, columns in (("searches", SEARCH_COLUMNS), ("numbers", NUMBER_COLUMNS)):
            self.plain[name] = tsv.write(self.folder, name, columns, rows_of(columns))

    def read(self, kind: str, file: Path) -> dict[str, Any] | None:
        """Return everything of everybody, or None if the file is refused."""
        try:
            return self.read_or_raise(kind, file)
        except BadInput:
            return None

    def read_or_raise(self, kind: str, file: Path) -> dict[str, Any]:
        """Return everything of everybody."""
        with empty_database() as connection:  # which knows no other file
            return self._read(DuckDBEngine(connection), kind, file)

    def _read(self, engine: DuckDBEngine, kind: str, file: Path) -> dict[str, Any]:
        asked: dict[str, Any] = {"epoch": "2026-W46", "log": file, "columns": {"optin": "optin"}}
        if kind == "roster":
            asked |= {"log": self.plain["numbers"], "roster": file, "by": "country", "columns": {}}
        if kind == "searches":
            load_searches(engine, HeadListRun(self.home, "0" * 32, 1, ReleaseRequest(**asked)))
            return {"members": by_person(engine, "members"), "rows": by_person(engine, "stg_log")}
        request = MeanRequest(column="dwell", upper=9, **asked)
        load_numbers(engine, NumbersRun(self.home, "0" * 32, 1, request))
        return {
            name: by_person(engine, name) for name in ("members", "member_keys", "person_numbers")
        }


def by_person(engine: DuckDBEngine, table: str) -> dict[str, list[str]]:
    """Return what a table says of each person."""
    found: dict[str, list[str]] = {}
    for row in engine.fetch(table).to_pylist():
        found.setdefault(row["person"], []).append(repr(row))
    return found


# By person, their changed rows with the places of these.
Tried = dict[str, dict[int, list[bytes]]]
COLUMNS = {"searches": SEARCH_COLUMNS, "numbers": NUMBER_COLUMNS, "roster": ROSTER_COLUMNS}


@dataclass
class Trial:
    """One kind of file in one layout, and what was found of the bytes that were tried."""

    reader: Reader
    kind: str
    layout: Layout
    rng: np.random.Generator
    n_read: int = 0
    n_refused: int = 0

    def __post_init__(self) -> None:
        self._columns = COLUMNS[self.kind]
        self._rows = rows_of(self._columns)
        if self.kind != "roster" and self.layout.suffix != ".parquet":
            for row in self._rows[1 : len(PEOPLE) : 2]:  # the readers' first turn
                row[-1] += b"\xff"
        self._before = self._read({})
        assert self._before is not None

    def run(self, n_pairs: int) -> None:
        """Try other bytes of this many people.

        Raises:
            AssertionError: Somebody else's rows changed; the message has the bytes that did it.
        """
        while self.n_read + self.n_refused < n_pairs:
            tried = {who: new for who in WRITERS if (new := self._new_rows(who))}
            alone = [who for who, new in tried.items() if self._is_odd(new)]
            self._try_at_once({who: tried[who] for who in tried if who not in alone})
            for who in alone[:_MOST_ALONE]:
                self._try_at_once({who: tried[who]})

    def _new_rows(self, who: str) -> dict[int, list[bytes]]:
        places = [i for i, row in enumerate(self._rows) if row[0] == who.encode()]
        chosen = self.rng.choice(places, self.rng.integers(1, len(places) + 1), replace=False)
        new = {int(i): changed(self._rows[i], self.rng) for i in chosen}
        return {} if any(is_anothers(row, who) for row in new.values()) else new

    def _is_odd(self, new: dict[int, list[bytes]]) -> bool:
        """Whether a reader may refuse the file; a wrong guess costs time, and nothing else."""
        if self.layout.suffix == ".parquet":
            return False
        return any(self._is_odd_line(self.layout.line(row)) for row in new.values())

    def _is_odd_line(self, line: bytes) -> bool:
        fields = line.split(self.layout.delimiter)
        if self.kind == "roster" and len(fields) != len(self._columns):
            return True
        if self.kind == "roster" and "\ufffd" in line.decode("utf-8", "replace"):
            return True
        has_quotes = self.layout.delimiter == b","
        return b"\r" in line or (has_quotes and any(f.count(b'"') % 2 for f in fields))

    def _try_at_once(self, tried: Tried) -> None:
        if not tried:
            return
        after = self._read(tried)
        if after is None and len(tried) > 1:
            for who, new in tried.items():
                self._try_at_once({who: new})
            return
        self.n_refused += after is None
        if after is not None:
            self.n_read += len(tried)
            self._require_same_members(after["members"], tried)
            for table, before in self._before.items():
                for who in before.keys() - tried.keys():
                    assert after[table].get(who) == before[who], (table, who, tried)

    def _require_same_members(self, members: dict[str, Any], tried: Tried) -> None:
        """See that everybody is one member still, but for ids and times that were changed."""
        new_ids = {row[0] for new in tried.values() for row in new.values()}
        new_ids -= {person.encode() for person in PEOPLE}
        assert len(members.keys() - {*PEOPLE}) <= len(new_ids), (members.keys(), tried)
        for who in {*PEOPLE} - members.keys():
            n_rows = sum(row[0] == who.encode() for row in self._rows)
            assert len(tried.get(who, {})) == n_rows, (who, tried)
            assert self.kind != "roster" or who.encode() not in {r[0] for r in tried[who].values()}

    def _read(self, tried: Tried) -> dict[str, Any] | None:
        new = {i: row for rows in tried.values() for i, row in rows.items()}
        rows = [new.get(i, row) for i, row in enumerate(self._rows)]
        file = self.layout.write(self.reader.folder, "tried", self._columns, rows)
        return self.reader.read(self.kind, file)
