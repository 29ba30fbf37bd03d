"""Earlier weeks of a season, read once for all steps of a run that look at them.

A year has a hundred and fifty files, and nine steps of its last week read them all.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa

from tasks.ledger.payloads import Drawn, EarlierWeek
from tasks.ledger.rules import Kind
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST, OF_A_WEEK
from tasks.release.run import Release
from tasks.store.home import Home

_MOST_KEPT = 256
# The files of a measurement, as the system tells one content from another.
_Files = tuple[tuple[str, int, int, int], ...]


@dataclass(frozen=True, slots=True)
class MeasuredWeek:
    """What was drawn in a week, which the ledger knows by its digests."""

    n_people: int
    tables: Mapping[str, pa.Table]
    digests: Mapping[str, str]


def measured_week(home: Home, earlier: EarlierWeek) -> MeasuredWeek:
    """Read a week, if its files are what the ledger recorded; raise LedgerCorrupt."""
    files = _as_they_lie(home.measurement(earlier.release_id, earlier.attempt))
    return _read(home, earlier.release_id, earlier.attempt, files)


def _as_they_lie(folder: Path) -> _Files:
    if not folder.is_dir():
        return ()
    found = ((path.name, path.stat()) for path in sorted(folder.iterdir()))
    return tuple((name, stat.st_ino, stat.st_size, stat.st_mtime_ns) for name, stat in found)


@lru_cache(_MOST_KEPT)
def _read(home: Home, release_id: str, attempt: int, _: _Files) -> MeasuredWeek:
    release = Release(home, release_id, attempt)
    tables = {group: load_measurement(release, group) for group in OF_A_WEEK}
    rows = {group: release.state.find(Kind.DRAWN, group) for group in OF_A_WEEK}
    digests = {group: row.said(Drawn).sha256 for group, row in rows.items() if row is not None}
    return MeasuredWeek(release.group_size(HEADLIST), tables, digests)
