"""What steps on Spark leave for later ones: folders of Parquet files, and a note that one is whole.

The note comes last and says which folder it is; whoever makes a result anew takes the note away and
makes another folder. So a run that finds a note finds a whole result, whatever died before, and
workers of a driver that died write to where nobody reads.
"""

import fcntl
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tasks.log.failures import EngineFailed
from tasks.store.home import write_whole
from tasks.store.modes import CLOSED_FILE, CLOSED_FOLDER
from tasks.store.working_copies import remove

_turn = threading.Lock()
_open: dict[Path, tuple[int, int]] = {}  # the lock of each folder, and how often it is open here


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one release, below a folder that the driver and all workers see."""

    folder: Path

    def place(self, name: str) -> str:
        """Return where a result lies."""
        return str(self.folder / self._note(name).read_text(encoding="utf-8"))

    def has(self, name: str) -> bool:
        """Whether there is a whole result of this name."""
        return self._note(name).exists()

    def begin(self, name: str) -> Path:
        """Take a result away; return where it is to be made anew."""
        self._note(name).unlink(missing_ok=True)
        for older in self.folder.glob(f"{name}-*"):
            remove(older)
        return self.folder / f"{name}-{secrets.token_hex(8)}"

    def finish(self, name: str, place: Path) -> None:
        """Say that a result is whole."""
        write_whole(self._note(name), place.name.encode(), mode=CLOSED_FILE)

    def _note(self, name: str) -> Path:
        return self.folder / f"{name}.whole"


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes from a release's results: two runs would take each other's away."""
    with _turn:
        descriptor, n_open = _open.get(folder) or (_locked(folder), 0)
        _open[folder] = descriptor, n_open + 1
    try:
        yield
    finally:
        with _turn:
            descriptor, n_open = _open.pop(folder)
            if n_open == 1:
                os.close(descriptor)
            else:
                _open[folder] = descriptor, n_open - 1


def _locked(folder: Path) -> int:
    folder.mkdir(mode=CLOSED_FOLDER, exist_ok=True)
    descriptor = os.open(folder / "in-use.lock", os.O_RDWR | os.O_CREAT, CLOSED_FILE)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise EngineFailed(
            f"the warehouse in {folder.parent} is in use; wait for the other run of this release."
        ) from None
    return descriptor
