"""The private files that a balance is made of: participation files, and sums of old ones."""

import hashlib
import os
import secrets
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from tasks.ledger.chain import LedgerCorrupt
from tasks.ledger.payloads import Reserved, Summed
from tasks.ledger.rules import Entry
from tasks.log.engine import Engine
from tasks.store.home import Home, make_directory, sync_directory

_PARTS = ("epsilon", "delta", "rho")


def seal(engine: Engine, result: str, folder: Path) -> str:
    """Write a result, durable before it is referred to; its name is its digest, which is returned.

    The digest is of what lies on the disk, so whoever reads another file sees that it is another.
    """
    make_directory(folder)
    partial = folder / f".{secrets.token_hex(8)}.partial"
    try:
        engine.seal(result, partial)
        digest = file_digest(partial)
        descriptor = os.open(partial, os.O_RDONLY)
        os.fsync(descriptor)
        os.close(descriptor)
        os.replace(partial, folder / f"{digest}.parquet")
    finally:
        partial.unlink(missing_ok=True)
    sync_directory(folder)
    return digest


def put_participation(engine: Engine, home: Home, reservations: Iterable[Entry]) -> None:
    """Make the sealed files of these reservations visible as `participation`."""
    digests = dict.fromkeys(entry.said(Reserved).participation for entry in reservations)
    files = [sealed_file(home, digest) for digest in digests]
    if files:
        engine.read_sealed("participation", files)
    else:
        empty = {"account": pa.binary(), "cohort": pa.string(), "file": pa.string()}
        engine.put("participation", pa.table({n: pa.array([], t) for n, t in empty.items()}))


def sealed_file(home: Home, digest: str) -> Path:
    """Return the participation file with this digest, if it is what was sealed."""
    file = home.participation / f"{digest}.parquet"
    if not file.exists():
        raise LedgerCorrupt(
            f"the participation file {file.name} is missing, so nobody knows who has paid; "
            "restore the private zone from its backup."
        )
    if file_digest(file) != digest:
        raise LedgerCorrupt(
            f"the participation file {file.name} is not what was sealed, so nobody knows who has "
            "paid; restore the private zone from its backup."
        )
    return file


def put_sums(engine: Engine, home: Home, rows: Iterable[Entry]) -> None:
    """Make the sealed sums of these rows visible as `sealed_sums`."""
    files = [sums_file(home, row) for row in rows]
    if files:
        engine.read_sealed("sealed_sums", files)
    else:
        numbers = {part: pa.array([], pa.int64()) for part in _PARTS}
        engine.put("sealed_sums", pa.table({"account": pa.array([], pa.binary()), **numbers}))


def has_sums(home: Home, row: Entry) -> bool:
    """Whether the sealed sums of a row are there, and are what was sealed.

    If not, nothing is lost but time: participation files say the same.
    """
    file = sums_file(home, row)
    return file.is_file() and file_digest(file) == row.said(Summed).sums


def sums_file(home: Home, row: Entry) -> Path:
    """Return where the sealed sums of a row lie."""
    return sums_folder(home) / f"{row.said(Summed).sums}.parquet"


def sums_folder(home: Home) -> Path:
    """Return where sealed sums lie; whoever lacks them adds up again."""
    return home.private / "sums"


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
