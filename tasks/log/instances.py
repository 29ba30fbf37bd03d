"""DuckDB instances of this process: starting one takes longer than most steps of a small release.

So the instance of the last release at work is kept between its steps. It lives in memory and holds
no file then: the release's own file is attached while a step needs it, as if it were opened.
"""

import os
import threading
from dataclasses import dataclass, field
from typing import Any

import duckdb
from duckdb.func import PythonUDFType

from tasks.log.ids import canonical_ids

# Under 4 GB for the whole process: DuckDB spills what does not fit.
_MEMORY_LIMIT = "2GB"
_FILE = "warehouse"  # the name of the attached file, and of its catalog


def start(spill: str, **settings: Any) -> duckdb.DuckDBPyConnection:
    """Start an instance in memory; what does not fit goes below the folder `spill`."""
    connection = duckdb.connect(
        ":memory:", config={"memory_limit": _MEMORY_LIMIT, "temp_directory": spill, **settings}
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
class WarehouseInstance:
    """The instance of one release at work, whose file is attached while anybody has it open."""

    folder: str
    root: duckdb.DuckDBPyConnection
    n_open: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def open(self) -> duckdb.DuckDBPyConnection:
        """Return a connection to the release's file."""
        with self.lock:
            if not self.n_open:
                path = f"{self.folder}/{_FILE}.duckdb".replace("'", "''")
                self.root.execute(f"attach '{path}' as {_FILE}")
            connection = self.root.cursor()
            connection.execute(f"use {_FILE}")
            self.n_open += 1
            return connection

    def close(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Close a connection; with the last one the file is written and let go."""
        connection.close()
        with self.lock:
            self.n_open -= 1
            if not self.n_open:
                self.root.execute(f"detach {_FILE}")


_kept: list[WarehouseInstance] = []


def warehouse_instance(folder: str) -> WarehouseInstance:
    """Return the instance of the release that works in a folder."""
    kept = next((instance for instance in _kept if instance.folder == folder), None)
    if kept is None:
        kept = WarehouseInstance(folder, _start_for(folder))
        _kept[:] = [kept]  # another one ends with its last connection
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


# An instance has threads, and a forked process would wait for them in vain.
os.register_at_fork(before=_kept.clear)
