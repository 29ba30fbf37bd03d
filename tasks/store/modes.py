"""Who may read what: modes are set explicitly, whatever the umask is.

What lies in a closed folder is closed, what lies in an open one is open to readers; so a file
needs no mode of its own.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

CLOSED_FOLDER, CLOSED_FILE = 0o700, 0o600
OPEN_FOLDER, OPEN_FILE = 0o755, 0o644
_NOT_WRITABLE = (errno.EROFS, errno.EACCES, errno.EPERM)


def close_by_default() -> None:
    """Let libraries (DuckDB, SQLite, Prefect) make files for the curator only, in this process."""
    os.umask(0o077)


def folder_mode(parent: Path) -> int:
    """Return the mode of a new folder in this one."""
    return CLOSED_FOLDER if _is_closed(parent) else OPEN_FOLDER


def file_mode(folder: Path) -> int:
    """Return the mode of a new file in this folder."""
    return CLOSED_FILE if _is_closed(folder) else OPEN_FILE


def _is_closed(folder: Path) -> bool:
    return stat.S_IMODE(folder.stat().st_mode) & 0o077 == 0


def mend(zone: Path, mode: int) -> None:
    """Set the modes of a zone, and of all in it if something at its top has another one.

    Zones of older versions took theirs from the umask. Only what is ours is touched, and no
    link is followed.
    """
    _set_mode(zone, mode)
    if any(_is_wrong(path, mode) for path in zone.iterdir()):
        for path in _inside(zone):
            _set_mode(path, mode)


def loose(zone: Path) -> list[Path]:
    """Return what in a zone others than the curator could read or change."""
    return [path for path in (zone, *_inside(zone)) if _is_wrong(path, CLOSED_FOLDER)]


def _inside(zone: Path) -> Iterator[Path]:
    for folder, folders, files in os.walk(zone):
        yield from (Path(folder, name) for name in (*folders, *files))


def _is_wrong(path: Path, zone_mode: int) -> bool:
    facts = _facts(path)
    return facts is not None and stat.S_IMODE(facts.st_mode) != _wanted(facts, zone_mode)


def _set_mode(path: Path, zone_mode: int) -> None:
    facts = _facts(path)
    if facts is not None and facts.st_uid == os.geteuid():
        wanted = _wanted(facts, zone_mode)
        if stat.S_IMODE(facts.st_mode) != wanted:
            with if_writable():
                path.chmod(wanted)


def _facts(path: Path) -> os.stat_result | None:
    """Return what a path is; None for links and for what somebody has just removed."""
    try:
        facts = path.lstat()
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(facts.st_mode) else facts


def _wanted(facts: os.stat_result, zone_mode: int) -> int:
    return zone_mode if stat.S_ISDIR(facts.st_mode) else zone_mode & 0o666


@contextmanager
def if_writable() -> Iterator[None]:
    """Leave out what a home on a read-only medium, or of somebody else, does not allow."""
    try:
        yield
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in _NOT_WRITABLE:
            raise
