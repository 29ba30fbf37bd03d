"""Prefect's database before its first run, kept for every server that is started later.

Making its tables takes longer than everything else that a server does at its start. They are those
of the installed Prefect, so they lie beside it, where `make setup` puts them; where nobody may
write there, a home keeps its own.
"""

import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import uuid
from contextlib import closing, suppress
from importlib.metadata import version
from pathlib import Path

from flows.server.environment import NO_TELEMETRY
from tasks.store.home import Home

DATABASE = "prefect.db"
DATABASE_URL = f"sqlite+aiosqlite:///{DATABASE}"  # in the server's own working folder
URL_SETTING = "PREFECT_SERVER_DATABASE_CONNECTION_URL"
_BESIDE_PREFECT = Path(sys.prefix, "var", "hybriddp")


def lend(home: Home, folder: Path) -> bool:
    """Put a copy of the empty database into a folder, if there is one."""
    for place in _places(home):
        if _is_whole(place):
            shutil.copyfile(place, folder / DATABASE)
            return True
    return False


def keep(home: Home | None, database: Path) -> None:
    """Keep a database that nothing has run on, in the first place that can be written to."""
    for place in _places(home):
        partial = place.with_name(f".{place.name}.{uuid.uuid4().hex}.partial")
        with suppress(sqlite3.Error, OSError):  # else the next command takes a little longer
            place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            with closing(sqlite3.connect(database)) as connection:
                connection.execute("vacuum into ?", (str(partial),))
            partial.replace(place)
            return
        with suppress(OSError):
            partial.unlink(missing_ok=True)


def fault_of(database: Path) -> str | None:
    """Say what is wrong with a SQLite file, if anything is."""
    try:
        with closing(sqlite3.connect(database)) as connection:
            (verdict,) = connection.execute("pragma quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return str(error)
    return None if verdict == "ok" else str(verdict)


def _places(home: Home | None) -> list[Path]:
    name = f"empty-{version('prefect')}.db"
    return [_BESIDE_PREFECT / name, *([] if home is None else [home.prefect / name])]


def _is_whole(database: Path) -> bool:
    try:
        return database.exists() and fault_of(database) is None
    except OSError:
        return False


def _make() -> None:
    """Make the tables as Prefect's own command does, and keep them beside it."""
    with tempfile.TemporaryDirectory() as folder:
        ours = {"PREFECT_HOME": folder, URL_SETTING: DATABASE_URL}
        subprocess.run(
            [sys.executable, "-m", "prefect", "server", "database", "upgrade", "-y"],
            cwd=folder, env=os.environ | NO_TELEMETRY | ours, stdout=subprocess.DEVNULL, check=True,
        )  # fmt: skip
        keep(None, Path(folder, DATABASE))


if __name__ == "__main__":
    _make()
