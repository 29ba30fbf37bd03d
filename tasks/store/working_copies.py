"""Working copies of logs: one folder for each release at work, and nobody's row outlives it.

A process that opens a copy holds a lock on it until its run ends. A copy that nobody holds is
removed when its release needs it no more, when somebody asked for an erasure, or when it is
older than the retention: it is made again from the log.
"""

import fcntl
import os
import shutil
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from tasks.store.modes import CLOSED_FILE, CLOSED_FOLDER, if_writable

# How long a killed run's copy of a log, or the text of an unforeseen error, may lie about.
RETENTION_DAYS = 7
_LOCK, _ERASE = "at-work.lock", "erase"
# The locks of this process, by folder; they go when the run ends or the process does.
_held: dict[Path, int] = {}
_number: dict[Path, int] = {}
_NUMBERS = count()


@dataclass(frozen=True, slots=True)
class Dropped:
    """What became of the copies: those at work go when their runs end."""

    n_removed: int
    n_at_work: int


def hold(folder: Path) -> int:
    """Make a copy's folder, and keep others from removing it while this run is at work.

    Returns the number of this hold: what is let go and held again may be another copy.
    """
    while folder not in _held:
        folder.mkdir(mode=CLOSED_FOLDER, parents=True, exist_ok=True)
        descriptor = _lock(folder, fcntl.LOCK_SH)
        if descriptor is not None:
            _held[folder], _number[folder] = descriptor, next(_NUMBERS)
    return _number[folder]


def let_go(folder: Path, *, is_needed: bool) -> None:
    """End this run's work on a copy; remove it unless it is needed, or held by another run."""
    descriptor = _held.pop(folder, None)
    if descriptor is not None:
        os.close(descriptor)
    if not is_needed or (folder / _ERASE).exists():
        _drop(folder)


def drop_all(warehouses: Path) -> Dropped:
    """Remove every copy; those at work are marked, and go with the end of their runs."""
    n_removed = n_at_work = 0
    for folder in _folders(warehouses):
        with suppress(FileNotFoundError):  # its run has just ended
            # First the mark, then the try: whoever lets go in between sees one of them.
            os.close(os.open(folder / _ERASE, os.O_WRONLY | os.O_CREAT, CLOSED_FILE))
            if _drop(folder):
                n_removed += 1
            else:
                n_at_work += 1
    return Dropped(n_removed, n_at_work)


def sweep(warehouses: Path, leftovers: tuple[Path, ...]) -> None:
    """Remove copies and leftovers of killed runs that are older than the retention."""
    oldest = time.time() - RETENTION_DAYS * 24 * 3600
    with if_writable():
        for folder in _folders(warehouses):
            if (folder / _ERASE).exists() or _last_change(folder) < oldest:
                _drop(folder)
        for leftover in leftovers:
            for path in leftover.iterdir() if leftover.is_dir() else ():
                if _last_change(path) < oldest:
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file or a folder, whoever else does so."""
    with suppress(FileNotFoundError):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        elif os.path.lexists(path):  # where nothing is, a read-only medium must not be asked
            path.unlink()


def _folders(warehouses: Path) -> list[Path]:
    return [path for path in warehouses.iterdir() if path.is_dir()] if warehouses.is_dir() else []


def _last_change(path: Path) -> float:
    inside = list(path.iterdir()) if path.is_dir() else []
    return max((p.lstat().st_mtime for p in (path, *inside) if p.exists()), default=time.time())


def _drop(folder: Path) -> bool:
    """Remove a copy if no run holds it; whether it is gone."""
    if not folder.exists():
        return True
    descriptor = _lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if descriptor is None:
        return not folder.exists()
    try:
        remove(folder)
    finally:
        os.close(descriptor)
    return True


def _lock(folder: Path, how: int) -> int | None:
    """Lock a copy; None if somebody holds it, or removed it while we waited."""
    path = folder / _LOCK
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, CLOSED_FILE)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(descriptor, how)
        if os.path.samestat(os.fstat(descriptor), path.stat()):
            return descriptor
    except (BlockingIOError, FileNotFoundError):
        pass
    os.close(descriptor)
    return None
