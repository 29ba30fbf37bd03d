"""Files of a log in an object store, which are opened and named as paths are.

A store is asked by pyarrow's own client, on this machine and on Spark's workers, with what the
environment of each says of it. Its messages may quote what it was sent, and are not shown.
"""

import io
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.log.raw.addresses import Address
from tasks.release.refusals import BadInput
from tasks.store.machine import MachineFailed

# A store answers many at once, and each of them late.
AT_ONCE = 16
_BUFFER_BYTES = 1 << 20
# Where the address of a store of S3's kind that is not Amazon's stands, as for all its clients.
_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
# Why it refused, in its client's words; whatever else they hold may be somebody's.
_REASON = re.compile(r"AWS Error (\w+)(?: \(HTTP status (\d+)\))?")
_ACCESS = re.compile(r"ACCESS_DENIED|INVALID_ACCESS_KEY_ID|SIGNATURE|TOKEN|MISSING_AUTH|\b40[13]\b")
_GONE = re.compile(r"NO_SUCH_BUCKET|NO_SUCH_KEY|RESOURCE_NOT_FOUND|\b404\b")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A file in a store, as it was when it was found there."""

    address: Address
    size: int
    mark: str  # by which the store tells this content from others under the same name

    @property
    def name(self) -> str:
        """The last part of its name."""
        return self.address.name

    @property
    def suffix(self) -> str:
        """The end of its name, from the last dot."""
        return Path(self.name).suffix

    @property
    def parent(self) -> Address:
        """The folder that it is in."""
        return self.address.parent

    def open(self, at_once: int = _BUFFER_BYTES) -> io.BufferedReader:
        """Open it for reading; refuse it if it is not any more what was found."""
        opened, mark = _opened(self.address)
        if (opened.size(), mark) != (self.size, self.mark):
            opened.close()
            raise BadInput(f"{self} changed while it was read; run again when it is complete.")
        return io.BufferedReader(_Raw(self.address, opened), min(at_once, self.size) or 1)

    def __str__(self) -> str:
        return str(self.address)


class _Raw(io.RawIOBase):
    """An open file of a store, for Python's readers; what fails is said in our words."""

    def __init__(self, address: Address, opened: pa.NativeFile) -> None:
        self._address, self._opened = address, opened

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        with _in_our_words(self._address):
            return int(self._opened.readinto(buffer))

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        return int(self._opened.seek(offset, whence))

    def tell(self) -> int:
        return int(self._opened.tell())

    def close(self) -> None:
        self._opened.close()
        super().close()


def stored_files(address: Address) -> list[StoredFile] | None:
    """Return the file of this name, or all that are in the folder; None if there is neither."""
    from pyarrow.fs import FileSelector, FileType

    with _in_our_words(address):
        store, root = _store(address.scheme, address.owner, os.getpid())
        (found,) = store.get_file_info([_path(root, address)])
        if found.type == FileType.NotFound:
            return None
        is_folder = found.type == FileType.Directory
        inside = store.get_file_info(FileSelector(found.path)) if is_folder else [found]
    paths = [info.path for info in inside if info.type == FileType.File]
    keys = sorted(path.removeprefix(root).lstrip("/") for path in paths)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(_found, (Address(address.scheme, address.owner, k) for k in keys)))


def _found(address: Address) -> StoredFile:
    opened, mark = _opened(address)
    with opened:
        return StoredFile(address, opened.size(), mark)


def _opened(address: Address) -> tuple[pa.NativeFile, str]:
    """Open a file, and return the mark of its content."""
    with _in_our_words(address):
        store, root = _store(address.scheme, address.owner, os.getpid())
        opened = store.open_input_file(_path(root, address))
        said = {str(name).lower(): value for name, value in (opened.metadata() or {}).items()}
        if said.get("etag"):
            return opened, str(said["etag"])
        (found,) = store.get_file_info([_path(root, address)])
        return opened, str(found.mtime_ns)


def _path(root: str, address: Address) -> str:
    return f"{root.rstrip('/')}/{address.key}" if address.key else root


@cache
def _store(scheme: str, owner: str, process: int) -> tuple[Any, str]:
    """Return the client of a store, and what is the root of an address there."""
    from pyarrow.fs import FileSystem, S3FileSystem

    if scheme != "s3":
        found: tuple[Any, str] = FileSystem.from_uri(f"{scheme}://{owner}/")
        return found
    endpoint = next((os.environ[name] for name in _ENDPOINTS if os.environ.get(name)), None)
    return S3FileSystem(endpoint_override=endpoint), owner


@contextmanager
def _in_our_words(address: Address) -> Iterator[None]:
    """Say what a store refuses, and what to do, without its own words."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        found = _REASON.search(str(error))
        reason = " ".join(filter(None, found.groups())) if found else ""
        is_gone = isinstance(error, FileNotFoundError) or _GONE.search(reason)
        raise _refusal(address, bool(_ACCESS.search(reason)), bool(is_gone)) from None


def _refusal(address: Address, is_closed: bool, is_gone: bool) -> HybridDPError:
    if is_closed:
        return BadInput(
            f"{address}: the store refuses access; see that the environment of whoever reads it "
            "says who may (docs/spark.md)."
        )
    if is_gone:
        return BadInput(f"{address} is not there; check its name and its bucket's.")
    return MachineFailed(
        f"{address}: the store does not answer, or breaks off; see that it runs and that the "
        "environment names the right one (docs/spark.md), then run the same command again."
    )
