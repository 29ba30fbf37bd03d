"""How much memory DuckDB may use: a fact of this machine, and of no release.

What does not fit is spilled into the home, so every setting gives the same release.
"""

import os
import re
from pathlib import Path

from hybriddp.errors import require

VARIABLE = "HYBRIDDP_MEMORY"
# Python, what it imports, and Arrow's tables lie beside DuckDB, so it gets a quarter.
_SHARE = 4
# With less DuckDB ends steps instead of spilling them; more than the cap was never of use.
LEAST, _CAP = 200 * 10**6, 64 * 10**9
# What the process takes beside DuckDB, for a log of millions of people.
BESIDE = 1_500 * 10**6
_UNITS = {"mb": 10**6, "gb": 10**9, "tb": 10**12, "mib": 2**20, "gib": 2**30, "tib": 2**40}
_AMOUNT = re.compile(r"(\d{1,6}(?:\.\d{1,6})?) ?([mgt]i?b)", re.IGNORECASE | re.ASCII)
_CGROUPS = Path("/sys/fs/cgroup")
_OWN_CGROUPS = Path("/proc/self/cgroup")


def for_duckdb() -> int:
    """Return the bytes that DuckDB may use: what the operator says, else a part of the machine's.

    The default lies between half a gigabyte and the cap.
    """
    if said := os.environ.get(VARIABLE):
        return _amount(said)
    return min(max(usable() // _SHARE, 2 * LEAST), _CAP)


def _amount(said: str) -> int:
    found = _AMOUNT.fullmatch(said.strip())
    require(
        found is not None,
        f"{VARIABLE} must be a number and a unit, such as 6GB or 800MB",
        repr(said),
        "unset it for a quarter of this machine's memory",
    )
    assert found is not None
    amount = int(float(found[1]) * _UNITS[found[2].lower()])
    require(
        amount >= LEAST,
        f"{VARIABLE} must be at least {LEAST // 10**6}MB",
        repr(said),
        "DuckDB cannot sort and join with less",
    )
    return amount


def usable() -> int:
    """Return the bytes of memory that this process may use: the machine's, or its container's."""
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([physical, *_container_limits()])


def _container_limits() -> list[int]:
    """Return the limits of the control groups that this process is in, of version 1 and 2."""
    try:
        lines = _OWN_CGROUPS.read_text(encoding="utf-8").splitlines()
    except OSError:  # another system than Linux
        return []
    limits = []
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = _CGROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = _CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's; the group's own files are at the root then.
        place = root / path.lstrip("/")
        for folder in (place, *place.parents):
            limits.append(_limit_in(folder / name))
            if folder == root:
                break
    return [limit for limit in limits if limit is not None]


def _limit_in(file: Path) -> int | None:
    try:
        text = file.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdecimal() else None  # "max"
