"""The one door to files that strangers publish: nothing hangs, nothing is read without a bound.

A name is a plain name in its folder, a file is a regular file, and a link is not followed: what
a manifest names may not lie anywhere else.
"""

import errno
import io
import json
import os
import re
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hybriddp.errors import HybridDPError

# A manifest, a signature, a key or a pointer is far smaller.
MAX_SMALL_BYTES = 16 * 2**20
# The largest measurement that is read at all.
MAX_FILE_BYTES = 2**30
# The largest file of a published table, and the longest row of one: JSON unpacks to ten times that.
MAX_TABLE_BYTES = 128 * 2**20
_MAX_ROW_BYTES = 2**20
_PLAIN_NAME = re.compile(r"(?!\.{1,2}$)[^/\x00-\x1f\x7f]{1,255}")


class Unreadable(HybridDPError):
    """A file is missing, or is nothing that a reader may touch; the message says why."""


def is_plain_name(name: object) -> bool:
    """Whether this is the name of a file in a folder, and of nothing outside of it."""
    return isinstance(name, str) and _PLAIN_NAME.fullmatch(name) is not None and is_text(name)


def is_text(value: object) -> bool:
    """Whether this is a text that UTF-8 can hold: half a surrogate pair is no character."""
    return isinstance(value, str) and not re.search("[\ud800-\udfff]", value)


def read_file(folder: Path, name: str, max_bytes: int = MAX_SMALL_BYTES) -> bytes:
    """Read a file of a folder, if it is one and is no larger than allowed."""
    if not is_plain_name(name):
        raise Unreadable(f"{name!r} is no name of a file.")
    try:
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write into it.
        descriptor = os.open(folder / name, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW)
    except OSError as error:
        what = "is a link" if error.errno == errno.ELOOP else f"is missing in {folder}"
        if error.errno in (errno.EACCES, errno.EPERM):
            what = f"in {folder} may not be read by you"
        raise Unreadable(f"{name} {what}.") from None
    facts = os.fstat(descriptor)
    if not stat.S_ISREG(facts.st_mode):
        os.close(descriptor)
        raise Unreadable(f"{name} in {folder} is no file, but a folder, a pipe or a device.")
    with os.fdopen(descriptor, "rb") as file:
        # Not up to the bound: Python makes room for all that is asked for.
        data = file.read(facts.st_size + 1) if facts.st_size <= max_bytes else None
    if data is not None and len(data) > facts.st_size:
        raise Unreadable(f"{name} in {folder} grows while it is read; try again when it is whole.")
    if data is None:
        raise Unreadable(f"{name} in {folder} is larger than the {max_bytes} bytes allowed.")
    return data


def parse_json(data: bytes, name: str) -> Any:
    """Parse JSON, however odd it is."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} is not JSON.") from None


def parse_rows(
    data: bytes, name: str, fits: Callable[[dict[str, Any]], bool] = lambda _: True
) -> Iterator[dict[str, Any]]:
    """Parse a file of one JSON object a line, up to the first that does not fit."""
    # Not splitlines() of a text: it may hold characters that Unicode takes for line ends.
    lines = io.BytesIO(data)
    while line := lines.readline(_MAX_ROW_BYTES + 1):
        row = parse_json(line, name) if len(line) <= _MAX_ROW_BYTES else None
        if not isinstance(row, dict) or not fits(row):
            raise Unreadable(
                f"{name} holds a line that is no row of such a table: other columns or values."
            )
        yield row
