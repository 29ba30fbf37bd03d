"""What is computed from measurements, step by step: files in `derived/`, which a person can open.

They are made again at will. But what is published is read from them, so a keyed digest beside each
says what is in it, from which measurements, and by which version it was made: whatever somebody
else put there, or an earlier version left, counts as not computed.
"""

import hashlib
import hmac
import shutil
from collections.abc import Callable, Collection
from io import BytesIO
from pathlib import Path
from typing import TypeVar

import polars as pl

from hybriddp.device.package import canonical_json
from tasks.ledger.rules import Kind
from tasks.release.run import Release
from tasks.store.home import write_whole
from tasks.store.keys import Keyring
from tasks.verify.manifest import code_version

T = TypeVar("T")


class NotDerived(LookupError):
    """A file of a step is not there, or is not what that step made of these measurements."""


def write_derived(
    release: Release, name: str, frame: pl.DataFrame, *, of: Collection[str] | None = None
) -> None:
    """Write a step's file, and beside it what only this home can say of it.

    Two runs that do the same step at once write the same bytes.

    Args:
        of: The groups whose measurements it was made from; all of them by default.
    """
    buffer = BytesIO()
    frame.write_parquet(buffer)
    data = buffer.getvalue()
    keyed = _keyed(release, name, data, of).encode()
    for file, content in ((f"{name}.parquet", data), (f"{name}.keyed", keyed)):
        path = _folder(release) / file
        if path.is_dir() and not path.is_symlink():  # nothing of ours
            shutil.rmtree(path)
        write_whole(path, content)


def read_derived(release: Release, name: str, *, of: Collection[str] | None = None) -> pl.DataFrame:
    """Read what a step wrote; raise NotDerived if it has not, whatever else lies there."""
    try:
        data = (_folder(release) / f"{name}.parquet").read_bytes()
        known = (_folder(release) / f"{name}.keyed").read_bytes()
    except OSError:
        raise NotDerived(name) from None
    if not hmac.compare_digest(known, _keyed(release, name, data, of).encode()):
        raise NotDerived(name)
    return pl.read_parquet(BytesIO(data))


def written_or(read: Callable[[], T], compute: Callable[[], T]) -> T:
    """Return what the steps wrote; compute it where they have not, as of an old release."""
    try:
        return read()
    except NotDerived:
        return compute()


def _keyed(release: Release, name: str, data: bytes, groups: Collection[str] | None) -> str:
    """Return what only this home can say of a file: what is in it, made from what, by whom."""
    state, wanted = release.state, release.groups if groups is None else groups
    rows = [state.find(Kind.LISTED), *(state.find(Kind.DRAWN, group) for group in wanted)]
    facts = {
        "derived": name,
        "sha256": hashlib.sha256(data).hexdigest(),
        "made_from": [None if row is None else row.hash for row in rows],
        "by": code_version(),
    }
    return Keyring.open(release.home).release.digest(canonical_json(facts))


def _folder(release: Release) -> Path:
    return release.folder / "derived"
