"""Where everything lives: three zones under one directory, and writes that are whole or absent."""

import fcntl
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from hybriddp.errors import InvalidParameter

_CURATOR_ONLY = 0o700


@dataclass(frozen=True, slots=True)
class Home:
    """The private zone, the measurements and the public zone (design: three zones on disk)."""

    root: Path

    @classmethod
    def at(cls, root: str | os.PathLike[str] | None = None) -> "Home":
        """Return the home in `root`, else HYBRIDDP_HOME, else `var`, whether or not it is there."""
        return cls(Path(root or os.environ.get("HYBRIDDP_HOME") or "var").absolute())

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
        for zone in (home.private, home.measurements):
            zone.mkdir(parents=True, exist_ok=True)
            zone.chmod(_CURATOR_ONLY)
        home.public.mkdir(parents=True, exist_ok=True)
        for folder in (home.keys, home.participation, home.quality, home.warehouses):
            folder.mkdir(exist_ok=True)
        return home

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
    def prefect(self) -> Path:
        """Prefect's own home: run records, logs, results."""
        return self.private / "prefect"

    def warehouse(self, release_id: str) -> Path:
        """Return the working folder of a release."""
        return self.warehouses / release_id

    @contextmanager
    def locked(self, name: str) -> Iterator[None]:
        """Let one process at a time do something; the lock goes when its holder does."""
        with (self.private / f"{name}.lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def sweep(self) -> None:
        """Remove what killed processes left half-written more than a day ago."""
        a_day_ago = time.time() - 24 * 3600
        for zone in (self.public, self.measurements, self.participation, self.keys):
            for path in zone.rglob(".*.partial"):
                with suppress(FileNotFoundError):  # its owner was only slow
                    if path.stat().st_mtime < a_day_ago:
                        shutil.rmtree(path) if path.is_dir() else path.unlink()

    def drop_warehouses(self) -> int:
        """Remove every working copy of a log; they are made again from the log when needed."""
        folders = [path for path in self.warehouses.iterdir() if path.is_dir()]
        for folder in folders:
            shutil.rmtree(folder)
        return len(folders)

    def measurement(self, release_id: str, attempt: int) -> Path:
        """Return the folder of one attempt's measurements."""
        return self.measurements / release_id / str(attempt)

    def shelf(self, product: str, locale: str) -> Path:
        """Return the public folder of a product's releases."""
        return self.public / product / locale

    def collection(self, release_id: str) -> Path:
        """Return the folder of a release's collection package."""
        return self.public / "collections" / release_id


def write_whole(path: Path, data: bytes, *, mode: int = 0o644, keep_existing: bool = False) -> None:
    """Write a file that is complete on disk before it has its name.

    With `keep_existing`, whoever comes first wins: a file that has the name already keeps it.
    """
    make_directory(path.parent)
    partial = path.with_name(f".{path.name}.{uuid.uuid4().hex}.partial")
    try:
        descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        with os.fdopen(descriptor, "wb") as file:
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
    partial.mkdir()
    try:
        yield partial
        for file in partial.iterdir():
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
        sync_directory(partial)
        os.rename(partial, path)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory and its parents, each durable: a file in a lost directory is lost."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir(exist_ok=True)
    sync_directory(path.parent)


def sync_directory(path: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
