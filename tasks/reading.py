"""The one door to files that strangers publish: nothing hangs, nothing is read without a bound.

A name is a plain name in its folder, a file is a regular file, and a link is not followed: what
a manifest names may not lie anywhere else.
"""

import errno
import json
import os
import re
import stat
from pathlib import Path
from typing import Any

from hybriddp.errors import HybridDPError

# A manifest, a signature, a key or a pointer is far smaller.
MAX_SMALL_BYTES = 16 * 2**20
# The largest data file that is read at all; releases are refused far below it.
MAX_FILE_BYTES = 2**30
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
        data = file.read(max_bytes + 1) if facts.st_size <= max_bytes else None
    if data is None or len(data) > max_bytes:
        raise Unreadable(f"{name} in {folder} is larger than the {max_bytes} bytes allowed.")
    return data


def parse_json(data: bytes, name: str) -> Any:
    """Parse JSON, however odd it is."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise Unreadable(f"{name} is not JSON.") from None


def parse_rows(data: bytes, name: str) -> list[dict[str, Any]]:
    """Parse a file of one JSON object a line."""
    # Not splitlines() of a text: it may hold characters that Unicode takes for line ends.
    rows = [parse_json(line, name) for line in data.splitlines()]
    if not all(isinstance(row, dict) for row in rows):
        raise Unreadable(f"{name} holds a line that is no row.")
    return rows
