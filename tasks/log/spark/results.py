"""What steps on Spark leave for later ones: folders of Parquet files, and a note that one is whole.

The note comes last, and whoever makes a result anew takes it away first: a run that finds one finds
a result, whatever died before. It says which hidden columns a result has.
"""

import json
from dataclasses import dataclass
from pathlib import Path

from tasks.store.home import write_whole
from tasks.store.working_copies import remove


@dataclass(frozen=True, slots=True)
class Results:
    """The results of one release, below a folder that the driver and all workers see."""

    folder: Path

    def place(self, name: str) -> str:
        """Return where a result lies."""
        return str(self.folder / name)

    def has(self, name: str) -> bool:
        """Whether there is a whole result of this name."""
        return self._note(name).exists()

    def begin(self, name: str) -> None:
        """Take a result away, to make it anew."""
        self._note(name).unlink(missing_ok=True)
        remove(self.folder / name)

    def finish(self, name: str, *, hidden: list[str]) -> None:
        """Say that a result is whole."""
        write_whole(self._note(name), json.dumps({"hidden": hidden}).encode(), mode=0o600)

    def hidden(self, name: str) -> list[str]:
        """Return the columns of a result that only order its rows."""
        found: list[str] = json.loads(self._note(name).read_bytes())["hidden"]
        return found

    def _note(self, name: str) -> Path:
        return self.folder / f"{name}.json"
