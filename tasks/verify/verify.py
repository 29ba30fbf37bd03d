"""Check a published release as a consumer or an auditor would: trust the key, nothing else."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.publish.pointer import Pointer, check_pointer, follow, require_no_link, require_own_place
from tasks.store.home import Home
from tasks.store.reading import (
    Unreadable,
    read_file,
)
from tasks.verify.checks import Check, VerificationFailed
from tasks.verify.found import Found, Source
from tasks.verify.manifest import SIGNATURE_BYTES, Manifest, signed_bytes
from tasks.verify.reading import Misfit, read_manifest
from tasks.verify.signatures import is_signed
from tasks.verify.taken_down import ask_the_ledger, check_notice, require_newest

# What our own code raises on numbers and texts that no release has.
_NONSENSE = (
    HybridDPError, ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError,
    RuntimeError, TypeError, ValueError, pa.ArrowException,
)  # fmt: skip


def verify_release(
    folder: Path,
    public_key: bytes,
    *,
    min_sequence: int = 0,
    measurements: Path | Source | None = None,
    now: datetime | None = None,
    may_be_expired: bool = False,
) -> tuple[Manifest, list[Check]]:
    """Check everything; return the manifest and what was checked, or raise VerificationFailed.

    The signature comes first: nothing of a file is believed, or even parsed, before it.
    """
    manifest, _ = _signed_manifest(folder, public_key)
    checks = [Check("signature", "the manifest was signed with the trusted key")]
    found = Found(folder, manifest)
    steps: dict[str, Callable[[], str]] = {
        "files": found.check_files,
        "tables": found.check_tables,
        "promise": found.check_promise,
        "sequence": lambda: _check_sequence(manifest, min_sequence),
        "expiry": lambda: _check_dates(manifest, now or datetime.now(UTC), may_be_expired),
        # Or its notice had been refused first.
        "not withdrawn": lambda: "the publisher has not withdrawn it",
    }
    if measurements is not None:
        source = measurements if isinstance(measurements, Source) else Source(measurements)
        steps["recomputed"] = lambda: found.check_recomputed(source)
    for name, step in steps.items():
        checks.append(Check(name, _sure(name, step)))
    return manifest, checks


def _sure(name: str, step: Callable[[], str]) -> str:
    """Run a check; what it cannot follow has not been verified."""
    try:
        return step()
    except (VerificationFailed, Unreadable) as error:
        raise VerificationFailed(str(error)) from None
    except _NONSENSE as error:
        raise VerificationFailed(
            f"{name}: the release says something that no release of this kind says "
            f"({type(error).__name__}); do not use it."
        ) from None


def verify_publication(home: Home, folder: Path, public_key: bytes) -> list[Check]:
    """Verify a folder of this home's public zone, with the measurements that it came from."""
    own = ask_own_ledger(home, folder, public_key)
    manifest, checks = verify_release(folder, public_key, measurements=own.source)
    newest, pointer = follow(folder.parent)
    if pointer is not None and newest == folder:
        check_shelf(pointer, manifest, home)
    return [*checks[:1], *own.checks, *checks[1:]]


def check_shelf(pointer: Pointer, manifest: Manifest, home: Home | None) -> Check:
    """See that a shelf leads where it says; beside a ledger, also that this is the newest."""
    said = check_pointer(pointer, manifest)
    if home is not None and home.ledger.exists():
        require_newest(home, manifest)
        said += ", and leads to what the ledger says is newest"
    return Check("shelf", said)


def known_release(home: Home, folder: Path, public_key: bytes) -> Found:
    """Return what a folder holds, which is what this home published; what was read is checked.

    Raises VerificationFailed. Without a digest of its files in the ledger it is made again.
    """
    own = ask_own_ledger(home, folder, public_key)
    _sure("files", own.found.check_files)
    _sure("tables", own.found.check_tables)
    if not own.knows_the_files:
        _sure("recomputed", lambda: own.found.check_recomputed(own.source))
    return own.found


@dataclass(frozen=True, slots=True)
class Own:
    """A release of a home, which its ledger lets stand and knows as its manifest says."""

    found: Found
    source: Source
    checks: list[Check]  # none without a ledger
    knows_the_files: bool = False


def ask_own_ledger(home: Home, folder: Path, public_key: bytes) -> Own:
    """Compare a release with the ledger of its home; raise VerificationFailed."""
    require_no_link(home.public, folder)
    manifest, data = _signed_manifest(folder, public_key, home)
    require_own_place(home.public, folder, manifest)
    known = ask_the_ledger(home, manifest, data)
    found = Found(folder, manifest)
    measurements = home.measurement(manifest.release_id, manifest.attempt)
    if known is None:
        return Own(found, Source(measurements), [])
    if known.hidden:  # also where nobody has the measurements, which would say it
        _sure("tables", lambda: found.require_hidden(known.hidden))
    said = "the manifest says what was reserved, charged, drawn and published" if (
        known.knows_the_files
    ) else (
        "the manifest says what was reserved, charged and drawn; label and words were not checked "
        "against the ledger, which did not keep their digest before version 0.3.0"
    )  # fmt: skip
    source = Source(measurements, known.hidden, known.hidden_before)
    return Own(found, source, [Check("ledger", said)], known.knows_the_files)


def own_measurements(home: Home, folder: Path, public_key: bytes) -> Path:
    """Return where a home keeps the measurements of a release that its ledger lets stand."""
    return ask_own_ledger(home, folder, public_key).source.folder


def _fail(message: str) -> VerificationFailed:
    return VerificationFailed(message)


def _signed_manifest(
    folder: Path, public_key: bytes, home: Home | None = None
) -> tuple[Manifest, bytes]:
    """Return what was signed, as its model and as it is spelt."""
    if not folder.is_dir():
        raise _fail(f"{folder} is not the folder of a release.")
    check_notice(folder, public_key, lambda: _signed_data(folder, public_key), home)
    try:
        data = _signed_data(folder, public_key)
        return read_manifest(data), data
    except Misfit as error:
        raise _fail(str(error)) from None


def _signed_data(folder: Path, public_key: bytes) -> bytes:
    try:
        data = read_file(folder, "manifest.json")
        signature = read_file(folder, "manifest.sig", SIGNATURE_BYTES)
    except Unreadable as error:
        raise _fail(str(error)) from None
    if not is_signed(public_key, signed_bytes(data), signature):
        raise _fail(
            "the signature does not fit the manifest and the key: the release was changed, or "
            "comes from somebody else. Do not use it."
        )
    return data


def _check_sequence(manifest: Manifest, min_sequence: int) -> str:
    if manifest.sequence < min_sequence:
        raise _fail(
            f"the release has sequence {manifest.sequence}, below {min_sequence}: somebody "
            "offers an old release as a new one."
        )
    return f"sequence {manifest.sequence} is not older than {min_sequence}"


def _check_dates(manifest: Manifest, now: datetime, may_be_expired: bool) -> str:
    if now >= datetime.fromisoformat(manifest.expires):
        if may_be_expired:
            return f"expired on {manifest.expires}, which was not asked about"
        raise _fail(f"the release expired on {manifest.expires}; get a newer one.")
    return f"valid until {manifest.expires}"
