"""The privacy-budget ledger: append-only, hash-chained, and the only judge of what was drawn.

SQLite in its own file (WAL, synchronous=FULL). Every row carries the hash of the row before it;
triggers refuse UPDATE and DELETE. One transaction checks and writes.
"""

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tasks.ledger_file import LedgerCorrupt as LedgerCorrupt
from tasks.ledger_file import LedgerError as LedgerError
from tasks.ledger_file import connect, is_writable, named_damage
from tasks.ledger_rules import RULES, Attempt, Entry, Kind

GENESIS = "0" * 64
# How long a writer waits for another one; a ledger transaction takes milliseconds.
_BUSY_TIMEOUT_SECONDS = 60

_SCHEMA = """
create table if not exists entries (
    seq        integer primary key,
    at         text not null,
    kind       text not null,
    release_id text not null,
    attempt    integer not null,
    draw       text not null,
    payload    text not null,
    previous   text not null,
    hash       text not null unique,
    -- A commit may land without its acknowledgement: writing the same step again must not charge
    -- again, whatever the writer believes.
    unique (release_id, attempt, kind, draw)
);
create trigger if not exists entries_are_never_changed before update on entries
begin select raise(abort, 'the ledger is append-only'); end;
create trigger if not exists entries_are_never_removed before delete on entries
begin select raise(abort, 'the ledger is append-only'); end;
"""


class IllegalStep(LedgerError):
    """The step does not follow from the release's state."""


class LedgerMoved(LedgerError):
    """Somebody wrote in between: decide again on the ledger as it is now."""


@dataclass(frozen=True, slots=True)
class Head:
    """Where the chain ends; a published manifest carries it."""

    seq: int
    hash: str


def _hash(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(_canonical(fields).encode()).hexdigest()


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


class Ledger:
    """One ledger file; open it anew in every process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_read_only = not is_writable(path)
        if not self._is_read_only:
            with self._connect() as connection:
                connection.executescript(_SCHEMA)

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with named_damage(self.path):
            connection = connect(
                self.path, timeout=_BUSY_TIMEOUT_SECONDS, is_read_only=self._is_read_only
            )
            try:
                if not self._is_read_only:
                    connection.execute("pragma journal_mode = wal")
                    connection.execute("pragma synchronous = full")
                yield connection
            finally:
                connection.close()

    @staticmethod
    def now() -> datetime:
        """Return the moment: rows are dated and windows are judged by this one clock."""
        return datetime.now(UTC)

    def entries(self) -> list[Entry]:
        """Return every row, oldest first."""
        with self._connect() as connection:
            return _read(connection, "order by seq")

    def head(self) -> Head:
        """Return where the chain ends."""
        with self._connect() as connection:
            return _head(connection)

    def attempt(self, release_id: str, attempt: int) -> Attempt:
        """Return what is known of one attempt."""
        with self._connect() as connection:
            return _attempt(connection, release_id, attempt)

    def append(
        self,
        kind: Kind,
        release_id: str,
        attempt: int,
        payload: Mapping[str, Any],
        *,
        draw: str = "",
        expected_head: Head | None = None,
    ) -> Entry:
        """Write one row, if the state machine allows it; return the row.

        Writing a row that is there already, with the same payload, returns it and changes
        nothing. With `expected_head` the row is written only onto that head, so that a decision
        made on the ledger's contents cannot be overtaken by another writer.
        """
        with self._connect() as connection:
            connection.execute("begin immediate")
            try:
                entry = self._append(
                    connection, kind, release_id, attempt, payload, draw, expected_head
                )
                connection.execute("commit")
            except BaseException:
                if connection.in_transaction:  # a commit that failed may have ended it
                    connection.execute("rollback")
                raise
        return entry

    def _append(
        self,
        connection: sqlite3.Connection,
        kind: Kind,
        release_id: str,
        attempt: int,
        payload: Mapping[str, Any],
        draw: str,
        expected_head: Head | None,
    ) -> Entry:
        known = _attempt(connection, release_id, attempt)
        there = known.find(kind, draw)
        if there is not None and _canonical(there.payload) == _canonical(payload):
            return there
        head = _head(connection)
        if expected_head is not None and head != expected_head:
            raise LedgerMoved("the ledger has grown since the decision was made; decide again.")
        if there is not None:
            raise IllegalStep(
                f"{kind} of release {release_id}, attempt {attempt}, stands in the ledger with "
                "other contents; a row is never rewritten."
            )
        rule, is_met = RULES[kind]
        if not is_met(known, draw):
            last = known.entries[-1].kind if known.entries else "no row"
            raise IllegalStep(
                f"{kind}{f' of draw {draw}' if draw else ''} needs {rule}; release {release_id}, "
                f"attempt {attempt}, is at {last}."
            )
        fields = {
            "seq": head.seq + 1,
            "at": self.now().isoformat(timespec="seconds"),
            "kind": str(kind),
            "release_id": release_id,
            "attempt": attempt,
            "draw": draw,
            "payload": json.loads(_canonical(payload)),
            "previous": head.hash,
        }
        entry = Entry(**{**fields, "kind": kind}, hash=_hash(fields))
        connection.execute(
            "insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                entry.seq, entry.at, str(kind), release_id, attempt, draw,
                _canonical(entry.payload), entry.previous, entry.hash,
            ),
        )  # fmt: skip
        return entry

    def note(self, kind: Kind, payload: Mapping[str, Any], *, subject: str = "") -> Entry:
        """Write a row that is about no release: the policy, or what a person decided."""
        while True:
            head = self.head()
            try:
                # Its own place in the chain makes the row unique: a person may come and go.
                return self.append(
                    kind, "", head.seq + 1, payload, draw=subject, expected_head=head
                )
            except LedgerMoved:
                continue

    def attempts(self, release_id: str) -> list[int]:
        """Return the numbers of a release's attempts, oldest first."""
        with self._connect() as connection:
            rows = connection.execute(
                "select distinct attempt from entries where release_id = ? order by attempt",
                (release_id,),
            )
            return [attempt for (attempt,) in rows]

    def verify(self, published_heads: tuple[Head, ...] = ()) -> Head:
        """Check the chain, the order of every release's steps, and that no published head is lost.

        Raises LedgerCorrupt. Returns the head.
        """
        previous, attempts = GENESIS, dict[tuple[str, int], Attempt]()
        hashes = {0: GENESIS}
        for expected_seq, entry in enumerate(self.entries(), start=1):
            fields = {name: getattr(entry, name) for name in Entry.__slots__ if name != "hash"}
            if (entry.seq, entry.previous, entry.hash) != (
                expected_seq, previous, _hash({**fields, "kind": str(entry.kind)}),
            ):  # fmt: skip
                raise LedgerCorrupt(
                    f"row {expected_seq} of the ledger does not continue the chain; restore the "
                    "ledger from a backup that contains the newest published head."
                )
            key = (entry.release_id, entry.attempt)
            known = attempts.get(key, Attempt(()))
            if not RULES[entry.kind][1](known, entry.draw):
                raise LedgerCorrupt(
                    f"row {expected_seq} is a step that its release could not take; the ledger "
                    "was not written by this program."
                )
            attempts[key] = Attempt((*known.entries, entry))
            previous = hashes[entry.seq] = entry.hash
        for head in published_heads:
            if hashes.get(head.seq) != head.hash:
                raise LedgerCorrupt(
                    f"the ledger lacks the published head {head.seq}: it was restored from a "
                    "backup that has forgotten spending. Restore a newer one."
                )
        return Head(len(hashes) - 1, previous)


def _read(connection: sqlite3.Connection, where: str, *parameters: object) -> list[Entry]:
    rows = connection.execute(f"select * from entries {where}", parameters)
    try:
        return [
            Entry(
                seq, at, Kind(kind), release_id, attempt, draw, json.loads(payload), previous, own
            )
            for seq, at, kind, release_id, attempt, draw, payload, previous, own in rows
        ]
    except (ValueError, TypeError):
        raise LedgerCorrupt(
            "the ledger holds a row that this version cannot read; update hybriddp, or restore "
            "the ledger from its newest backup."
        ) from None


def _head(connection: sqlite3.Connection) -> Head:
    row = connection.execute("select seq, hash from entries order by seq desc limit 1").fetchone()
    return Head(*row) if row else Head(0, GENESIS)


def _attempt(connection: sqlite3.Connection, release_id: str, attempt: int) -> Attempt:
    return Attempt(
        tuple(
            _read(
                connection, "where release_id = ? and attempt = ? order by seq", release_id, attempt
            )
        )
    )
