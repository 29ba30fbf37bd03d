"""The one form in which this project writes JSON, and checks of what somebody else wrote.

Standard library only.
"""

import json
import os
import re
import reprlib
import stat
from pathlib import Path
from typing import Any

from hybriddp.errors import InvalidParameter, require

REMEDY = "fetch a package that the curator published"

# Products, epochs, locales and series name directories.
NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,63}")
# Nothing like 1e999999999, which would take for ever to read.
FRACTION = re.compile(r"[0-9]{1,1000}(/[0-9]{1,1000})?")


def canonical_json(value: object) -> bytes:
    """Return the one form in which this project writes JSON: sorted, compact, ASCII, one line."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return text.encode("ascii") + b"\n"


def check_known(name: str, value: Any, known: int | str) -> None:
    """See that a field has the one value that this version knows."""
    require(
        type(value) is type(known) and value == known,
        f"{name} must be {known!r}",
        reprlib.repr(value),
        "another version of hybriddp may know it",
    )


def read_object(name: str, value: Any, keys: set[str]) -> dict[str, Any]:
    """Return an object that has exactly these keys."""
    found = set(value) if isinstance(value, dict) else set()
    require(
        found == keys,
        f"{name} must be an object with the keys {', '.join(sorted(keys))}",
        f"{len(keys - found)} missing and {len(found - keys)} unknown",
        REMEDY,
    )
    return dict(value)


def read_list(name: str, value: Any) -> list[Any]:
    """Return a list."""
    require(isinstance(value, list), f"{name} must be a list", "something else", REMEDY)
    return list(value)


def check_size(name: str, data: bytes, max_bytes: int) -> None:
    """See that a file is not too long."""
    require(len(data) <= max_bytes, f"{name} must hold at most {max_bytes} bytes", "more", REMEDY)


def check_text(name: str, value: object, pattern: re.Pattern[str]) -> None:
    """See that a value is a text of this form."""
    require(
        isinstance(value, str) and pattern.fullmatch(value) is not None,
        f"{name} must be a text like {pattern.pattern}",
        reprlib.repr(value),
        REMEDY,
    )


def read_file(path: Path, max_bytes: int) -> bytes:
    """Return a file's bytes, if it is one and not too long."""
    try:
        # Without waiting: a pipe that nobody writes into would hold a device for ever.
        with open(os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            is_file = stat.S_ISREG(os.fstat(file.fileno()).st_mode)
            data = file.read(max_bytes + 1) if is_file else None
    except OSError as error:
        raise InvalidParameter(
            f"{path.name} must be readable, got {error.strerror}; {REMEDY}."
        ) from None
    if data is None:
        raise InvalidParameter(f"{path.name} must be a file, got something else; {REMEDY}.")
    check_size(path.name, data, max_bytes)
    return data
