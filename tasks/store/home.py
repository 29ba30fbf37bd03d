"""Where everything lives: three zones under one directory, and writes that are whole or absent."""

import fcntl
import glob
import os
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hybriddp.errors import InvalidParameter, require
from tasks.store import modes, working_copies
from tasks.store.paths import is_utf8, require_plain_folder
from tasks.store.working_copies import Dropped


@dataclass(frozen=True, slots=True)
class Home:
    """The private zone, the measurements and the public zone (design: three zones on disk)."""

    root: Path

    @classmethod
    def open(cls, root: str | os.PathLike[str] | None = None) -> "Home":
        """Open a home that somebody made; a mistyped one would begin with fresh budgets."""
        home = cls.at(root)
        if not ((home.keys / "account.key").exists() or home.ledger.exists()):
            raise InvalidParameter(
                f"nobody has made a home in {home.root}; if it is where everything is to be kept, "
                f"run `hybriddp keys init --home {home.root}`. Else --home, HYBRIDDP_HOME or the "
                "working folder (the default is `var` in it) is wrong."
            )
        return cls.create(root)

    @classmethod
    def create(cls, root: str | os.PathLike[str] | None = None) -> "Home":
        """Make the zones that are missing; `hybriddp keys init` then makes the keys."""
        home = cls.at(root)
        home.prepare()
        return home

    @classmethod
    def at(cls, root: str | os.PathLike[str] | None = None) -> "Home":
        """Say where a home is or would be, and touch nothing: readers need no more."""
        home = cls(Path(root or os.environ.get("HYBRIDDP_HOME") or "var").absolute())
        require(
            is_utf8(home.root),
            "the path of a home must be UTF-8",
            repr(str(home.root)),
            "rename the folder",
        )
        return home

    def prepare(self) -> None:
        """Make what is missing, set modes, remove what killed runs left; read-only homes stay."""
        modes.close_by_default()
        if not self.root.is_dir():
            require_plain_folder(self.root)
            make_directory(self.root.parent)
            self.root.mkdir(exist_ok=True)
            self.root.chmod(modes.OPEN_FOLDER)  # to get to the public zone; the others are closed
        zones = {
            self.private: modes.CLOSED_FOLDER,
            self.measurements: modes.CLOSED_FOLDER,
            self.public: modes.OPEN_FOLDER,
        }
        for zone, mode in zones.items():
            with modes.if_writable():
                zone.mkdir(exist_ok=True)
                modes.mend(zone, mode)
        for folder in (self.keys, self.participation, self.quality, self.warehouses, self.spill):
            with modes.if_writable():
                folder.mkdir(exist_ok=True)
        working_copies.sweep(self.warehouses, (self.failures, self.spill))

    @property
    def private(self) -> Path:
        """Curator only: the log's tables, the ledger, keys, quality results."""
        return self.root / "private"

    @property
    def measurements(self) -> Path:
        """Outputs of the mechanisms: safe to compute on, kept for auditors."""
        return self.root / "measurements"

    @property
    def public(self) -> Path:
        """What consumers and devices read."""
        return self.root / "public"

    @property
    def ledger(self) -> Path:
        """The privacy-budget ledger."""
        return self.private / "ledger.sqlite"

    @property
    def keys(self) -> Path:
        """Secret keys, and the public one beside them."""
        return self.private / "keys"

    @property
    def participation(self) -> Path:
        """Who took part in which reservation, by account."""
        return self.private / "participation"

    @property
    def quality(self) -> Path:
        """Metrics and verdicts on private data, one folder for each release."""
        return self.private / "quality"

    @property
    def warehouses(self) -> Path:
        """DuckDB files, one folder for each release at work; emptied when it is drawn."""
        return self.private / "warehouse"

    @property
    def series(self) -> Path:
        """What seasons carry from week to week, each under its own key."""
        return self.private / "series"

    @property
    def failures(self) -> Path:
        """Texts of unforeseen errors, which may quote private data."""
        return self.private / "failures"

    @property
    def spill(self) -> Path:
        """Where questions to the ledger's own files put what does not fit into memory."""
        return self.private / "spill"

    @property
    def prefect(self) -> Path:
        """Prefect's own home: run records, logs, results."""
        return self.private / "prefect"

    def warehouse(self, release_id: str) -> Path:
        """Return the working folder of a release."""
        return self.warehouses / release_id

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Let one process at a time do something; the lock goes when its holder does."""
        path = self.private / f"{name}.lock"
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, modes.CLOSED_FILE)
        with os.fdopen(descriptor) as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def sweep(self) -> None:
        """Remove what killed processes left half-written more than a day ago."""
        a_day_ago = time.time() - 24 * 3600
        zones = (self.public, self.measurements, self.participation, self.keys, self.series)
        for zone in zones:
            for path in zone.rglob(".*.partial"):
                with suppress(FileNotFoundError):  # its owner was only slow
                    if path.stat().st_mtime < a_day_ago:
                        working_copies.remove(path)

    def drop_warehouses(self) -> Dropped:
        """Remove every copy of a log, and every error's text; copies at work go with their runs."""
        working_copies.remove(self.failures)
        return working_copies.drop_all(self.warehouses)

    def measurement(self, release_id: str, attempt: int) -> Path:
        """Return the folder of one attempt's measurements."""
        return self.measurements / release_id / str(attempt)

    def shelf(self, product: str, locale: str) -> Path:
        """Return the public folder of a product's releases."""
        return self.public / product / locale

    def collection(self, release_id: str) -> Path:
        """Return the folder of a release's collection package."""
        return self.public / "collections" / release_id


def write_whole(
    path: Path, data: bytes, *, mode: int | None = None, keep_existing: bool = False
) -> None:
    """Write a file that is complete on disk before it has its name.

    Its mode is that of its folder, but for execution. With `keep_existing`, whoever comes first
    wins: a file that has the name already keeps it.
    """
    make_directory(path.parent)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, modes.CLOSED_FILE)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, modes.file_mode(path.parent) if mode is None else mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if keep_existing:
            with suppress(FileExistsError):
                os.link(partial, path)
        else:
            os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)
    sync_directory(path.parent)


@contextmanager
def whole_directory(path: Path) -> Iterator[Path]:
    """Give a folder to fill; it takes its name, complete on disk, only if nothing failed."""
    make_directory(path.parent)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    partial.mkdir(mode=modes.CLOSED_FOLDER)  # nobody reads what has no name yet
    try:
        yield partial
        for file in partial.iterdir():
            with file.open("rb") as opened:
                os.fchmod(opened.fileno(), modes.file_mode(path.parent))
                os.fsync(opened.fileno())
        partial.chmod(modes.folder_mode(path.parent))
        sync_directory(partial)
        os.rename(partial, path)
    finally:
        working_copies.remove(partial)
    sync_directory(path.parent)


def remove_unfinished(folder: Path, name: str = "*") -> None:
    """Remove what killed processes left half-written of a name; only where nobody else writes."""
    pattern = f".{name if name == '*' else glob.escape(name)}.*.partial"
    for partial in folder.glob(pattern):
        working_copies.remove(partial)


def make_directory(path: Path) -> None:
    """Make a directory and its parents, each durable: a file in a lost directory is lost."""
    if path.is_dir():
        return
    make_directory(path.parent)
    with suppress(FileExistsError):  # somebody else was quicker, and sets the mode
        path.mkdir()
        path.chmod(modes.folder_mode(path.parent))
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
