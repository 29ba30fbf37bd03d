"""The ledger's file: opened for writing where that is possible, and its damage called by name."""

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tasks.ledger.chain import LedgerCorrupt, LedgerError


def is_writable(path: Path) -> bool:
    """Whether rows could be written: SQLite needs the file and, for its journal, the folder."""
    return os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))


def connect(path: Path, *, timeout: float, is_read_only: bool) -> sqlite3.Connection:
    """Open the ledger; one on a read-only medium is read as it lies there."""
    if not is_read_only:
        return sqlite3.connect(path, timeout=timeout, isolation_level=None)
    if not path.exists():
        raise LedgerError(f"there is no ledger at {path}, and none can be made there.")
    journal = path.with_name(f"{path.name}-wal")
    options = "mode=ro"
    if not journal.exists() or journal.stat().st_size == 0:
        options += "&immutable=1"  # without it, SQLite wants to write beside the file
    return sqlite3.connect(
        f"{path.as_uri()}?{options}", uri=True, timeout=timeout, isolation_level=None
    )


@contextmanager
def named_damage(path: Path) -> Iterator[None]:
    """Turn what SQLite says of a file into what is wrong with it, and what to do."""
    try:
        yield
    except sqlite3.IntegrityError:
        raise  # two writers of one row: a rule of the table, no damage
    except sqlite3.DatabaseError as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise LedgerError(
                f"{path} is locked by another process; run again when it has finished."
            ) from None
        if code == sqlite3.SQLITE_FULL:
            raise LedgerError(f"the disk of {path} is full; free some space and go on.") from None
        if code in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR,
                    sqlite3.SQLITE_PERM):  # fmt: skip
            raise LedgerError(
                f"{path} cannot be opened or written; check its folder, its mode and the disk."
            ) from None
        raise _damaged(path) from None
    except UnicodeDecodeError:  # SQLite's own words about damage may quote it
        raise _damaged(path) from None


def _damaged(path: Path) -> LedgerCorrupt:
    return LedgerCorrupt(f"{path} is damaged or is no ledger; restore it from the newest backup.")
