"""The one form in which this project writes JSON, and checks of what somebody else wrote.

Standard library only.
"""

import json
import re
import reprlib
from typing import Any

from hybriddp.errors import require

REMEDY = "fetch a package that the curator published"


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
