"""What steps on Spark leave for later ones: folders of Parquet files, and a note that one is whole.

The note comes last and says which folder it is, and which files of how many bytes are in it.
Whoever makes a result anew takes the note away and makes another folder. So a run that finds a note
finds a whole result, whatever died before, and workers of a driver that died write to where nobody
reads. A folder that lost a file since, or has one more, is none: it would be drawn from.
"""

import fcntl
import json
import os
import re
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
        """Return where a result lies; refuse one that is not what it was."""
        found = self._found(name)
        if found is None:
            raise EngineFailed(
                f"a table of an earlier step ({name}) is missing or damaged; remove the folder "
                f"{self.folder} and run again: its tables are made again from the log."
            )
        return str(found)

    def has(self, name: str) -> bool:
        """Whether there is a whole result of this name."""
        return self._found(name) is not None

    def begin(self, name: str) -> Path:
        """Take a result away; return where it is to be made anew."""
        self._note(name).unlink(missing_ok=True)
        for older in self.folder.glob(f"{name}-*"):
            remove(older)
        return self.folder / f"{name}-{secrets.token_hex(8)}"

    def finish(self, name: str, place: Path) -> None:
        """Say that a result is whole."""
        _close(place)
        note = {"folder": place.name, "files": _files_in(place)}
        write_whole(self._note(name), json.dumps(note).encode(), mode=CLOSED_FILE)

    def _found(self, name: str) -> Path | None:
        """Return the folder of a result, if it is there as it was when it was whole."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            note = json.loads(self._note(name).read_text(encoding="utf-8"))
            is_ours = re.fullmatch(rf"{re.escape(name)}-[0-9a-f]{{16}}", note["folder"])
            place = self.folder / str(note["folder"])
            if is_ours and not place.is_symlink() and note["files"] == _files_in(place):
                return place
        return None

    def _note(self, name: str) -> Path:
        return self.folder / f"{name}.whole"


def _files_in(place: Path) -> dict[str, int]:
    """Return the files that Spark would read, and how many bytes they have."""
    files = (file for file in place.rglob("*") if not file.name.startswith((".", "_")))
    return {
        str(file.relative_to(place)): file.lstat().st_size for file in files if not file.is_dir()
    }


def _close(place: Path) -> None:
    """Let nobody else read a result: Hadoop does not ask this process's umask."""
    for folder, _, files in os.walk(place):
        # Who may read it and is somebody else must have made it, and has closed it.
        with suppress(PermissionError):
            os.chmod(folder, CLOSED_FOLDER)
            for file in files:
                os.chmod(Path(folder, file), CLOSED_FILE)


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
