"""Check a published release as a consumer or an auditor would: trust the key, nothing else."""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from hybriddp.errors import HybridDPError
from tasks.products.product import Checking, Product
from tasks.products.registry import product_with
from tasks.publish.pointer import check_pointer, follow, require_own_shelf
from tasks.store.home import Home
from tasks.store.reading import (
    MAX_FILE_BYTES,
    MAX_TABLE_BYTES,
    Unreadable,
    parse_json,
    parse_rows,
    read_file,
)
from tasks.store.tables import parse_parquet, parse_twin
from tasks.verify.checks import Check, VerificationFailed, require_same_people
from tasks.verify.manifest import SIGNATURE_BYTES, Manifest, code_version, signed_bytes
from tasks.verify.reading import Misfit, read_manifest
from tasks.verify.signatures import is_signed
from tasks.verify.taken_down import ask_the_ledger, check_notice

_OWN = {"manifest.json", "manifest.sig"}
# All signed files together; a release is far smaller, and all of it is held in memory.
_MAX_RELEASE_BYTES = 512 * 2**20
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
    measurements: Path | None = None,
    now: datetime | None = None,
    may_be_expired: bool = False,
) -> tuple[Manifest, list[Check]]:
    """Check everything; return the manifest and what was checked, or raise VerificationFailed.

    The signature comes first: nothing of a file is believed, or even parsed, before it.
    """
    manifest = _signed_manifest(folder, public_key)
    checks = [Check("signature", "the manifest was signed with the trusted key")]
    found = _Found(folder, manifest)
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
        steps["recomputed"] = lambda: found.check_recomputed(measurements)
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
    measurements = own_measurements(home, folder, public_key)
    manifest, checks = verify_release(folder, public_key, measurements=measurements)
    newest, pointer = follow(folder.parent)
    if pointer is not None and newest == folder:
        check_pointer(pointer, manifest)
    return checks


def own_measurements(home: Home, folder: Path, public_key: bytes) -> Path:
    """Return where a home keeps the measurements of a release that its ledger lets stand."""
    manifest = _signed_manifest(folder, public_key)
    require_own_shelf(home.public, folder, manifest)
    ask_the_ledger(home, manifest)
    return home.measurement(manifest.release_id, manifest.attempt)


def _fail(message: str) -> VerificationFailed:
    return VerificationFailed(message)


def _signed_manifest(folder: Path, public_key: bytes) -> Manifest:
    if not folder.is_dir():
        raise _fail(f"{folder} is not the folder of a release.")
    check_notice(folder, public_key, lambda: _signed_data(folder, public_key))
    try:
        return read_manifest(_signed_data(folder, public_key))
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


@dataclass
class _Found:
    """What a folder holds, read once: what was checked is what is used."""

    folder: Path
    manifest: Manifest

    @cached_property
    def product(self) -> Product:
        """What kind of release it is."""
        return product_with(self.manifest.parameters.strategy)

    @property
    def verifier(self) -> Checking:
        """What this kind of release adds."""
        return self.product.checking

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Every file, with the size and hash that were signed."""
        found = {}
        self._require_files_of_a_release()
        for name, facts in self.manifest.files.items():
            data = read_file(self.folder, name, min(facts.bytes, MAX_TABLE_BYTES))
            if len(data) != facts.bytes or hashlib.sha256(data).hexdigest() != facts.sha256:
                raise _fail(f"{name} is not the file that was signed; get the release again.")
            found[name] = data
        return found

    def _require_files_of_a_release(self) -> None:
        """See that the manifest lists what this kind of release has, before anything is read."""
        signed, stems = self.manifest.files, self.verifier.schemas(self.manifest)
        known = {"label.md", *(f"{stem}.{form}" for stem in stems for form in ("jsonl", "parquet"))}
        if set(signed) - known:
            shown = ", ".join(sorted(set(signed) - known)[:5])
            raise _fail(f"signed files that no release of this kind has: {shown}.")
        if sum(facts.bytes for facts in signed.values()) > _MAX_RELEASE_BYTES:
            raise _fail(f"the signed files are larger than {_MAX_RELEASE_BYTES} bytes together.")

    def file(self, name: str) -> bytes:
        """Return one of the signed files."""
        if name not in self.files:
            raise _fail(f"{name} is missing among the signed files.")
        return self.files[name]

    def check_files(self) -> str:
        """See that the signed files are there, and nothing else is."""
        known = {*self.manifest.files, *_OWN}
        extra = {path.name for path in self.folder.iterdir()} - known
        if extra:
            shown = ", ".join(sorted(extra)[:5])
            raise _fail(f"files that the manifest does not list: {shown}.")
        return f"{len(self.files)} files have the signed sizes and hashes"

    @cached_property
    def tables(self) -> dict[str, pa.Table]:
        """Every published table, which both of its forms say."""
        found = {}
        for stem, schema in self.verifier.schemas(self.manifest).items():
            name, twin = f"{stem}.parquet", f"{stem}.jsonl"
            data = self.file(twin)
            rows = list(parse_rows(data, twin, _has_exactly(schema.names)))
            table = parse_twin(self.file(name), name, schema, rows, len(data))
            if rows != table.to_pylist():
                raise _fail(f"{name} and {twin} do not say the same.")
            if table.num_rows != self.manifest.rows.get(stem):
                raise _fail(f"{name} has another number of rows than the manifest says.")
            found[stem] = table
        return found

    def check_tables(self) -> str:
        """See that the tables have their columns, and that both forms agree."""
        return f"{len(self.tables)} tables have their schema, and both forms of each say the same"

    def check_promise(self) -> str:
        """See that what is promised follows from the parameters, and the label from both."""
        manifest, verifier = self.manifest, self.verifier
        verifier.check_promise(manifest, self.tables)
        require_same_people(manifest)
        if manifest.code_version != code_version():  # which may say the same in other words
            return "guarantees follow from the parameters"
        words = {group: promised.words for group, promised in manifest.guarantees.items()}
        if words != verifier.words(manifest):
            raise _fail("the guarantees are not in the words of this kind of release.")
        if self.file("label.md") != verifier.label(manifest).encode():
            raise _fail("label.md does not say what the manifest promises.")
        return "guarantees follow from the parameters, the label from both"

    def check_recomputed(self, measurements: Path) -> str:
        """Make the tables again from the noisy measurements."""
        measured, files = {}, self.product.groups
        for group in self.verifier.groups(self.manifest):
            data = read_file(measurements, files[group].file, MAX_FILE_BYTES)
            if hashlib.sha256(data).hexdigest() != self.manifest.measurements.get(group):
                raise _fail(f"{files[group].file} is not the measurement that the manifest names.")
            measured[group] = parse_parquet(data, files[group].file)
        decided = self._as_decided(measured, measurements)
        again = self.verifier.recomputed_files(self.manifest, self.tables, decided)
        for name, data in again.items():
            # Parquet's bytes depend on the writer's version; its rows do not.
            same = (
                parse_parquet(data, name).equals(self.tables[name.removesuffix(".parquet")])
                if name.endswith(".parquet")
                else data == self.file(name)
            )
            if not same:
                raise _fail(f"{name} is not what the measurements give; it was altered.")
        return "the tables are what the noisy measurements give"

    def _as_decided(self, measured: dict[str, pa.Table], folder: Path) -> Mapping[str, pa.Table]:
        """Read what was decided between draws, if anything was."""
        signed, decided = self.manifest.measurements, {}
        for name, file in self.product.decisions.items():
            if name in signed:
                data = read_file(folder, file)
                if hashlib.sha256(data).hexdigest() != signed[name]:
                    raise _fail(f"{file} is not the decision that the manifest names.")
                decided[name] = parse_json(data, file)
        return self.verifier.decided(measured, decided) if decided else measured


def _has_exactly(columns: Iterable[str]) -> Callable[[dict[str, Any]], bool]:
    names = set(columns)
    return lambda row: row.keys() == names


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
