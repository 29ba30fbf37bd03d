"""What is computed from measurements, step by step: files in `derived/`, which a person can open.

They are made again at will. But what is published is read from them, so an index says by a keyed
digest which files they are, from which measurements, and by which version: whatever somebody else
put there, or an earlier version left, counts as not computed.
"""

import hashlib
import hmac
import json
from collections.abc import Collection
from io import BytesIO
from pathlib import Path
from typing import Any

import polars as pl

from hybriddp.device.package import canonical_json
from tasks.ledger.rules import Kind
from tasks.release.run import Release
from tasks.store.home import write_whole
from tasks.store.keys import Keyring
from tasks.verify.manifest import code_version

_INDEX = "index.json"


class NotDerived(LookupError):
    """A file of a step is not there, or is not what that step made of these measurements."""


def write_derived(
    release: Release, name: str, frame: pl.DataFrame, *, of: Collection[str] | None = None
) -> None:
    """Write a step's file, and put it into the index.

    Args:
        of: The groups whose measurements it was made from; all of them by default.
    """
    buffer = BytesIO()
    frame.write_parquet(buffer)
    data = buffer.getvalue()
    write_whole(_folder(release) / f"{name}.parquet", data)
    index = {**_index(release), name: _keyed(release, name, data, of)}
    write_whole(_folder(release) / _INDEX, canonical_json(index))


def read_derived(release: Release, name: str, *, of: Collection[str] | None = None) -> pl.DataFrame:
    """Read what a step wrote; raise NotDerived if it has not."""
    path = _folder(release) / f"{name}.parquet"
    data = path.read_bytes() if path.exists() else b""
    known = str(_index(release).get(name))
    if not hmac.compare_digest(known, _keyed(release, name, data, of)):
        raise NotDerived(name)
    return pl.read_parquet(BytesIO(data))


def _index(release: Release) -> dict[str, Any]:
    try:
        index = json.loads((_folder(release) / _INDEX).read_bytes())
    except (OSError, ValueError):
        return {}
    return index if isinstance(index, dict) else {}


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
