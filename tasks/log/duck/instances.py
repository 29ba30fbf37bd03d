"""DuckDB instances of this process: starting one takes longer than most steps of a small release.

So the instance of the last release at work is kept between its steps. It lives in memory and holds
no file then: the release's own file is attached while a step needs it, as if it were opened.
"""

import atexit
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import duckdb
from duckdb.func import PythonUDFType

from tasks.log.ids import canonical_ids
from tasks.store.memory import for_duckdb

_FILE = "warehouse"  # the name of the attached file, and of its catalog


def start(spill: str, **settings: Any) -> duckdb.DuckDBPyConnection:
    """Start an instance in memory; what does not fit goes below the folder `spill`."""
    limit = f"{for_duckdb()}B"
    connection = duckdb.connect(
        ":memory:", config={"memory_limit": limit, "temp_directory": spill, **settings}
    )
    # A time without a time zone is UTC, wherever this machine stands.
    connection.execute("set global TimeZone = 'UTC'")
    connection.create_function(
        "canonical_id", canonical_ids, ["VARCHAR", "VARCHAR"], "VARCHAR", type=PythonUDFType.ARROW
    )
    return connection


def cursor_of(connection: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a second connection that sees the same tables by the same names."""
    cursor = connection.cursor()
    [(catalog,)] = connection.execute("select current_database()").fetchall()
    cursor.execute(f"use {catalog}")
    return cursor


@dataclass
class _Instance:
    """The instance of one release at work, whose file is attached while anybody has it open."""

    folder: str
    hold: int  # a folder that was let go may have been removed and made again
    root: duckdb.DuckDBPyConnection
    n_open: int = 0


_kept: list[_Instance] = []
_turn = threading.RLock()


@contextmanager
def attached(folder: str, hold: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to the file of the release that works in a folder."""
    with _turn:
        instance = _instance_of(folder, hold)
        if not instance.n_open:
            path = f"{folder}/{_FILE}.duckdb".replace("'", "''")
            instance.root.execute(f"attach '{path}' as {_FILE}")
        instance.n_open += 1
        connection = instance.root.cursor()
    try:
        connection.execute(f"use {_FILE}")
        yield connection
    finally:
        connection.close()
        with _turn:
            instance.n_open -= 1
            if not instance.n_open:  # the file is written and let go
                instance.root.execute(f"detach {_FILE}")


def _instance_of(folder: str, hold: int) -> _Instance:
    kept = next((one for one in _kept if (one.folder, one.hold) == (folder, hold)), None)
    if kept is None:
        _end_all()
        kept = _Instance(folder, hold, _start_for(folder))
        _kept.append(kept)
    return kept


def _start_for(folder: str) -> duckdb.DuckDBPyConnection:
    return start(
        f"{folder}/spill",
        preserve_insertion_order=True,
        # Tables live for minutes: choosing how to compress them costs more than it saves.
        force_compression="uncompressed",
        autoinstall_known_extensions=False,
        autoload_known_extensions=False,
    )


def _end_all() -> None:
    """End what is kept: at the end of a process DuckDB complains of what is left open."""
    with _turn:
        while _kept:
            instance = _kept.pop()
            if not instance.n_open:  # else it ends with whoever is at work in it
                instance.root.close()


atexit.register(_end_all)
# An instance has threads, and a forked process would wait for them in vain.
os.register_at_fork(before=_end_all)
