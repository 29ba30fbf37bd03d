"""What a reader keeps: files that it checked, and which sequence it has seen.

    <cache>/<key>/<place>/files/           as the publisher has them, as far as they were read
    <cache>/<key>/<place>/seen/<product>/<locale>/<sequence>

A file appears whole or not at all. A sequence is the name of an empty file, so it can neither be
half-written nor, with many readers at once, become smaller.
"""

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from hybriddp.reader.folder import Folder, Place
from hybriddp.reader.refusals import Reason, ReleaseRefused, refused

Files = Mapping[str, bytes]
_OFFLINE = (Reason.REDIRECTED, Reason.TIMED_OUT, Reason.UNREACHABLE)


class Source:
    """A place whose files are read anew each time."""

    def __init__(self, place: Place) -> None:
        self.place = place

    def inner(self, name: str) -> "Source":
        """Return a folder of this one."""
        return Source(self.place.inner(name))

    def fresh(self, read: Callable[[Place], Files]) -> Files:
        """Return what must be as the publisher has it now."""
        return read(self.place)

    def settled(self, read: Callable[[Place], Files]) -> Files:
        """Return what never changes once `read`, which checks it, has let it through."""
        return read(self.place)

    def keep(self, files: Files) -> None:
        """Keep files for the next time, if anything is kept."""

    def keep_only(self, names: tuple[str, ...]) -> None:
        """Forget all that was kept here but this."""


class Cached(Source):
    """An address whose files are kept in a folder, and taken from there if it is not reached."""

    def __init__(self, place: Place, kept: Path) -> None:
        super().__init__(place)
        self._kept = kept

    def inner(self, name: str) -> "Cached":
        """Return a folder of this one."""
        return Cached(self.place.inner(name), self._kept / name)

    def fresh(self, read: Callable[[Place], Files]) -> Files:
        """Return what must be as the publisher has it now; offline, as it was the last time."""
        try:
            return read(self.place)
        except ReleaseRefused as error:
            if error.reason not in _OFFLINE:
                raise
            try:
                return read(Folder(self._kept))
            except ReleaseRefused as not_kept:
                if not_kept.reason is Reason.MISSING:
                    raise error from None
                raise

    def settled(self, read: Callable[[Place], Files]) -> Files:
        """Return what never changes; from the folder, if what it holds is still right."""
        try:
            return read(Folder(self._kept))
        except ReleaseRefused:
            files = read(self.place)
        self.keep(files)
        return files

    def keep(self, files: Files) -> None:
        """Keep files, each whole, for the next time."""
        # Another reader, who was led to a newer release, may clear this one away meanwhile.
        with _writing(self._kept), contextlib.suppress(FileNotFoundError):
            for name, data in files.items():
                _write_whole(self._kept / name, data)

    def keep_only(self, names: tuple[str, ...]) -> None:
        """Forget all that was kept here but this."""
        with _writing(self._kept):
            others = [path for path in self._kept.iterdir() if path.name not in names]
            for path in others:  # another reader may be doing the same
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                else:
                    path.unlink(missing_ok=True)


class Memory:
    """Which lists a place had, and the highest sequence of each that any place of a key led to."""

    def __init__(self, cache: Path, public_key: bytes, place: str) -> None:
        self._key = cache / hashlib.sha256(public_key).hexdigest()[:32]
        self._place = self._key / hashlib.sha256(place.rstrip("/").encode()).hexdigest()[:32]

    @property
    def files(self) -> Path:
        """Where the place's files are kept."""
        return self._place / "files"

    def lists(self) -> set[tuple[str, str]]:
        """Return the products and locales that this place led to."""
        return {(path.parent.name, path.name) for path in self._place.glob("seen/*/*")}

    def highest(self, product: str, locale: str) -> int:
        """Return the highest sequence that any place of this key led to; 0 if there was none."""
        seen = self._key.glob(f"*/seen/{product}/{locale}/*")
        return max((int(path.name) for path in seen if path.name.isdecimal()), default=0)

    def remember(self, product: str, locale: str, sequence: int) -> None:
        """Remember that this place led here; what is higher stays remembered."""
        folder = self._place / "seen" / product / locale
        if (folder / str(sequence)).exists():
            return
        with _writing(folder):
            (folder / str(sequence)).touch()
            _sync(folder)
            for path in folder.iterdir():
                if path.name.isdecimal() and int(path.name) < sequence:
                    path.unlink(missing_ok=True)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Make a folder and write in it; whoever cannot remember must not seem to."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise refused(
            Reason.NO_CACHE,
            f"the cache cannot be used ({folder}: {error.strerror}); give a folder that you may "
            "write into.",
        ) from None


def _write_whole(path: Path, data: bytes) -> None:
    """Let a file appear, complete, so that it would survive a power cut."""
    beside = path.with_name(f".{secrets.token_hex(8)}.partial")
    try:
        with open(beside, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
    _sync(path.parent)


def _sync(folder: Path) -> None:
    """Make the names in a folder survive a power cut, where a folder can be opened."""
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
