"""The ledger's one table in SQLite, and how its rows are read."""

import sqlite3
from collections.abc import Iterable

from tasks.ledger.chain import GENESIS, Head, LedgerCorrupt, entry_of
from tasks.ledger.rules import Attempt, Entry, Kind

SCHEMA = """
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


def read_rows(connection: sqlite3.Connection, since: int, kinds: Iterable[Kind]) -> list[Entry]:
    """Return the rows behind a place, of these kinds or, if none are named, of all."""
    wanted = [str(kind) for kind in kinds]
    of_these = f"and kind in ({', '.join('?' * len(wanted))})" if wanted else ""
    rows = connection.execute(
        f"select * from entries where seq > ? {of_these} order by seq", (since, *wanted)
    )
    return [entry_of(row) for row in rows]


def require_indexed(connection: sqlite3.Connection) -> None:
    """See that the indexes hold what the table holds: states are read through them.

    The chain covers the table only. An index that misses a row would let a draw start again.
    """
    [(found,)] = connection.execute("pragma integrity_check(1)")  # quick_check compares nothing
    if found != "ok":
        raise LedgerCorrupt(
            "the rows of the ledger are whole, but the index that finds them is not, so nobody "
            "can tell what was drawn; restore the ledger from its newest backup."
        )


def has_head(connection: sqlite3.Connection, head: Head) -> bool:
    """Whether the chain goes through a head."""
    if head.seq == 0:
        return head.hash == GENESIS
    row = connection.execute("select hash from entries where seq = ?", (head.seq,)).fetchone()
    return row is not None and row[0] == head.hash


def read_head(connection: sqlite3.Connection) -> Head:
    """Return where the chain ends."""
    row = connection.execute("select seq, hash from entries order by seq desc limit 1").fetchone()
    return Head(*row) if row else Head(0, GENESIS)


def read_attempt(connection: sqlite3.Connection, release_id: str, attempt: int) -> Attempt:
    """Return what is known of one attempt."""
    rows = connection.execute(
        "select * from entries where release_id = ? and attempt = ? order by seq",
        (release_id, attempt),
    )
    return Attempt(tuple(entry_of(row) for row in rows))
