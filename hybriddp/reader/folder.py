"""Files of a folder that may be a stranger's: nothing hangs, nothing is read without a bound.

No link is followed but the folder that the caller named: what a release names lies inside of it.
"""

import errno
import os
import stat
from pathlib import Path
from typing import Protocol

from hybriddp.reader.refusals import Reason, ReleaseRefused, refused


class Place(Protocol):
    """Where files can be read by their name: a folder, or an address."""

    name: str  # the last part of its path

    def read(self, name: str, most: int) -> bytes:
        """Return a file's bytes; refuse what is missing, no file, or has more bytes than `most`."""
        ...

    def inner(self, name: str) -> "Place":
        """Return a folder of this one, which need not be there."""
        ...


class Folder:
    """A folder of this machine."""

    def __init__(self, path: Path, *, is_named: bool = True) -> None:
        self.path = path
        self.name = path.absolute().name
        self._is_named = is_named  # by the caller, who may name a link

    def inner(self, name: str) -> "Folder":
        """Return a folder of this one; a link in its place is refused when it is read."""
        return Folder(self.path / name, is_named=False)

    def read(self, name: str, most: int) -> bytes:
        """Return a file's bytes; refuse what is missing, no file, or has more bytes than `most`."""
        if not self._is_named and self.path.is_symlink():
            raise _is_link(self.path.name, self.path)
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            descriptor = os.open(self.path / name, flags | getattr(os, "O_BINARY", 0))
        except OSError as error:
            raise self._refused(name, error) from None
        facts = os.fstat(descriptor)
        if not stat.S_ISREG(facts.st_mode):
            os.close(descriptor)
            raise self._is_no_file(name)
        with os.fdopen(descriptor, "rb") as file:
            # Not up to the bound: Python makes room for all that is asked for.
            data = file.read(min(facts.st_size, most) + 1)
        if len(data) > most:
            raise refused(
                Reason.TOO_LARGE,
                f"{name} in {self.path} is larger than the {most} bytes allowed.",
                name,
            )
        return data

    def _is_no_file(self, name: str) -> ReleaseRefused:
        return refused(
            Reason.NOT_A_FILE,
            f"{name} in {self.path} is no file, but a folder, a pipe or a device.",
            name,
        )

    def _refused(self, name: str, error: OSError) -> ReleaseRefused:
        if error.errno == errno.ELOOP or (self.path / name).is_symlink():
            return _is_link(name, self.path / name)
        if error.errno == errno.ENXIO or (self.path / name).is_dir():
            return self._is_no_file(name)
        may_not = error.errno in (errno.EACCES, errno.EPERM)
        what = f"in {self.path} may not be read by you" if may_not else f"is missing in {self.path}"
        return refused(Reason.MISSING, f"{name} {what}.", name)


def _is_link(name: str, place: Path) -> ReleaseRefused:
    return refused(
        Reason.NOT_A_FILE,
        f"{place} is a link, which may lead to anything; name the folder that you mean.",
        name,
    )
