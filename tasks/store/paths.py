"""Names for files that no library takes for a pattern, an option or an escape.

DuckDB reads a backslash in a path as /, ? as the beginning of options, and * and [ as patterns. A
file with such a path is given to it by a link whose own name is plain.
"""

import atexit
import os
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

from hybriddp.errors import require

_ODD = re.compile(r"[*?\[\]{}\\:]|[\x00-\x1f\x7f]")


def require_plain_folder(path: Path) -> None:
    """Refuse a folder in which DuckDB 2.0 cannot keep a database: it follows links to its name."""
    require(
        not re.search(r"[?\\]", str(path.absolute())),
        "the path of a home must not have a question mark or a backslash in it",
        repr(str(path)),
        "DuckDB would put its files elsewhere; rename the folder. Nobody was charged",
    )


def is_utf8(path: Path) -> bool:
    """Whether a path is a text; other bytes are half surrogates in Python."""
    return not any("\udc80" <= letter <= "\udcff" for letter in str(path))


def plain_path(path: Path) -> str:
    """Return a path of the same file or folder that means what it says."""
    text = str(path.absolute())
    if not _ODD.search(text):
        return text
    # A file that is not there yet needs its folder only, if its own name is plain.
    if not _ODD.search(path.name) and not path.is_dir():
        return f"{_linked(str(path.absolute().parent), '')}/{path.name}"
    return _linked(text, "".join(re.findall(r"\.\w+", path.name)[-2:]))


@cache
def _linked(text: str, suffixes: str) -> str:
    """Link to a path under a plain name; readers tell formats apart by suffixes."""
    names = _links()
    link = f"{names}/{len(os.listdir(names))}{suffixes}"
    os.symlink(text, link)
    return link


@cache
def _links() -> str:
    """Make this process's folder of links, which holds names only and goes with the process."""
    folder = tempfile.mkdtemp(prefix="hybriddp-")
    owner = os.getpid()
    atexit.register(lambda: shutil.rmtree(folder) if os.getpid() == owner else None)
    return folder
