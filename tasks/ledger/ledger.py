"""The privacy-budget ledger: append-only, hash-chained, and the only judge of what was drawn.

SQLite in its own file (WAL, synchronous=FULL). Every row carries the hash of the row before it;
triggers refuse UPDATE and DELETE. One transaction checks and writes. A row is never dated before
the row in front of it, whatever the clock says.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tasks.ledger.chain import (
    GENESIS,
    Chain,
    Head,
    IllegalStep,
    LedgerCorrupt,
    LedgerError,
    LedgerMoved,
    canonical,
    entry_of,
    moment_of,
    require_allowed,
    row_hash,
)
from tasks.ledger.file import connect, is_writable, named_damage
from tasks.ledger.payloads import NOTHING, Row
from tasks.ledger.rows import SCHEMA, has_head, read_attempt, read_head, read_rows, require_indexed
from tasks.ledger.rules import ONCE, ONCE_ATTEMPT, Attempt, Entry, Kind

__all__ = [
    "GENESIS", "Head", "IllegalStep", "Ledger", "LedgerCorrupt", "LedgerError", "LedgerMoved",
    "Recheck",
]  # fmt: skip

# How long a writer waits for another one; a ledger transaction takes milliseconds.
_BUSY_TIMEOUT_SECONDS = 60

# The files that this process has given their table: a release opens the ledger hundreds of times.
_PREPARED: set[tuple[int, int] | None] = set()


def _file_id(path: Path) -> tuple[int, int] | None:
    """Return which file lies there now; one that is put in its place is another one."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino


@dataclass(frozen=True, slots=True)
class Recheck:
    """What a decision looks at once more inside the transaction that writes it.

    `check` gets the rows of these kinds behind `since`, oldest first, and the date that the new
    row will have. It raises LedgerMoved if the decision must be made again.
    """

    since: Head
    kinds: tuple[Kind, ...]
    check: Callable[[list[Entry], datetime], None]


class Ledger:
    """One ledger file; open it anew in every process."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._is_read_only = not is_writable(path)
        if not self._is_read_only and _file_id(path) not in _PREPARED:
            with self._connect() as connection:
                connection.execute("pragma journal_mode = wal")  # which the file remembers
                connection.executescript(SCHEMA)
            _PREPARED.add(_file_id(path))

    @contextmanager
    def _connect(self) -> Iterator[sqlite3.Connection]:
        with named_damage(self.path):
            connection = connect(
                self.path, timeout=_BUSY_TIMEOUT_SECONDS, is_read_only=self._is_read_only
            )
            try:
                if not self._is_read_only:
                    connection.execute("pragma synchronous = full")
                yield connection
            finally:
                connection.close()

    @staticmethod
    def now() -> datetime:
        """Return what the clock says; use `moment` to date and to judge windows."""
        return datetime.now(UTC)

    def moment(self) -> datetime:
        """Return the ledger's own time: the clock's, but never before the newest row."""
        with self._connect() as connection:
            return self._moment(connection)

    def _moment(self, connection: sqlite3.Connection) -> datetime:
        now = self.now().replace(microsecond=0)  # rows are dated in whole seconds
        newest = connection.execute("select at from entries order by seq desc limit 1").fetchone()
        return max(now, moment_of(newest[0])) if newest else now

    def entries(self, *kinds: Kind) -> list[Entry]:
        """Return every row, or those of some kinds, oldest first."""
        with self._connect() as connection:
            return read_rows(connection, 0, kinds)

    def head(self) -> Head:
        """Return where the chain ends."""
        with self._connect() as connection:
            return read_head(connection)

    def lacking(self, heads: Iterable[Head]) -> list[Head]:
        """Return the heads that the chain does not go through."""
        with self._connect() as connection:
            return [head for head in heads if not has_head(connection, head)]

    def attempt(self, release_id: str, attempt: int) -> Attempt:
        """Return what is known of one attempt."""
        with self._connect() as connection:
            return read_attempt(connection, release_id, attempt)

    def append(
        self,
        kind: Kind,
        release_id: str,
        attempt: int | None,
        payload: Row,
        *,
        draw: str = "",
        expected_head: Head | None = None,
        recheck: Recheck | None = None,
    ) -> Entry:
        """Write one row, if the state machine allows it; return the row.

        Writing a row that is there already, with the same payload, returns it and changes
        nothing. With `expected_head` the row is written only onto that head, and with `recheck`
        only if that does not object, so that a decision made on the ledger's contents cannot be
        overtaken by another writer. Without an `attempt` the row's own place in the chain is it.
        """
        with self._connect() as connection:
            connection.execute("begin immediate")
            try:
                entry = self._append(
                    connection, kind, release_id, attempt, payload, draw, expected_head, recheck
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
        attempt: int | None,
        payload: Row,
        draw: str,
        expected_head: Head | None,
        recheck: Recheck | None,
    ) -> Entry:
        head, date = read_head(connection), self._moment(connection)
        attempt = head.seq + 1 if attempt is None else attempt
        known = read_attempt(connection, release_id, attempt)
        there = known.find(kind, draw)
        spelt = canonical(payload.as_json())
        if there is not None and canonical(there.payload.as_json()) == spelt:
            return there
        if expected_head is not None and head != expected_head:
            raise LedgerMoved("the ledger has grown since the decision was made; decide again.")
        if there is not None:
            raise IllegalStep(
                f"{kind} of release {release_id}, attempt {attempt}, stands in the ledger with "
                "other contents; a row is never rewritten."
            )
        require_allowed(known, kind, release_id, attempt, draw)
        if recheck is not None:
            _look_again(connection, recheck, date)
        at = date.isoformat(timespec="seconds")
        row = (head.seq + 1, at, str(kind), release_id, attempt, draw, spelt, head.hash)
        connection.execute(
            "insert into entries values (?, ?, ?, ?, ?, ?, ?, ?, ?)", (*row, row_hash(row))
        )
        return entry_of((*row, row_hash(row)))

    def note(self, kind: Kind, payload: Row = NOTHING, *, subject: str = "") -> Entry:
        """Write a row that is about no release: the policy, or what a person decided."""
        # Its own place in the chain makes the row unique, because a person may come and go; what
        # is written once for all has one place.
        return self.append(kind, "", ONCE_ATTEMPT if kind in ONCE else None, payload, draw=subject)

    def attempts(self, release_id: str) -> list[int]:
        """Return the numbers of a release's attempts, oldest first."""
        with self._connect() as connection:
            rows = connection.execute(
                "select distinct attempt from entries where release_id = ? order by attempt",
                (release_id,),
            )
            return [attempt for (attempt,) in rows]

    def extend(self, chain: Chain) -> Chain:
        """Check the rows behind those that the chain holds; raise LedgerCorrupt.

        Whoever begins anew also sees that the indexes agree with the rows.
        """
        is_new = chain.head.seq == 0
        with self._connect() as connection:
            rows = connection.execute(
                "select * from entries where seq > ? order by seq", (chain.head.seq,)
            )
            # Rows that a forger put in front of the first.
            [(n_before,)] = connection.execute("select count(*) from entries where seq < 1")
            if n_before:
                raise LedgerCorrupt("the ledger begins before its first row; restore a backup.")
            chain.extend(rows)
            if is_new:
                require_indexed(connection)
        return chain

    def verify(self, published_heads: Iterable[Head] = ()) -> Head:
        """Check the chain, the order of every release's steps, and that no published head is lost.

        Raises LedgerCorrupt. Returns the head.
        """
        head = self.extend(Chain()).head
        for lost in self.lacking(published_heads):
            raise LedgerCorrupt(
                f"the ledger lacks the published head {lost.seq}: it was restored from a "
                "backup that has forgotten spending. Restore a newer one."
            )
        return head


def _look_again(connection: sqlite3.Connection, recheck: Recheck, date: datetime) -> None:
    if not has_head(connection, recheck.since):
        raise LedgerMoved("the ledger is another one than the decision was made on; decide again.")
    recheck.check(read_rows(connection, recheck.since.seq, recheck.kinds), date)
