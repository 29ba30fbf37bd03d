"""Check a published release as a consumer or an auditor would: trust the key, nothing else."""

import hashlib
import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.checks import Check, VerificationFailed, read_file
from tasks.home import Home
from tasks.keys import is_signed
from tasks.kmeans_request import STRATEGY as KMEANS
from tasks.manifest import SCHEMA_VERSION, Words, code_version, signed_bytes
from tasks.mean_request import STRATEGY as MEAN
from tasks.measurements import FILES
from tasks.zealous_request import STRATEGY as ZEALOUS

# Every manifest has these; a product adds its own.
_COMMON_FIELDS = {
    "schema_version", "product", "locale", "epoch", "release_id", "attempt", "revision",
    "sequence", "previous", "created", "expires", "code_version", "parameters", "cap",
    "measurements", "ledger", "files",
}  # fmt: skip
_OWN = {"manifest.json", "manifest.sig"}


class Verifier(Protocol):
    """What a kind of release adds to verification: a module with these names."""

    FIELDS: set[str]

    def schemas(self, manifest: Mapping[str, Any]) -> dict[str, pa.Schema]:
        """Return the columns of every published table."""

    def groups(self, manifest: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the groups that have a measurement."""

    def check_promise(self, folder: Path, manifest: Mapping[str, Any]) -> None:
        """See that what the manifest promises fits together; raise VerificationFailed."""

    def words(self, manifest: Mapping[str, Any]) -> Words:
        """Return the fixed texts of every group's guarantee."""

    def label(self, manifest: Mapping[str, Any]) -> str:
        """Write the label that belongs to a manifest."""

    def recomputed_files(
        self, folder: Path, manifest: Mapping[str, Any], measured: Mapping[str, pa.Table]
    ) -> dict[str, bytes]:
        """Return the data files that the measurements give; raise VerificationFailed."""


# Modules by name: checking one kind of release imports what that kind needs.
_VERIFIERS = {ZEALOUS: "verify_histograms", MEAN: "verify_means", KMEANS: "verify_clusters"}


def _verifier_of(manifest: Mapping[str, Any]) -> Verifier:
    name = _VERIFIERS.get(manifest["parameters"]["strategy"], "verify_head_list")
    verifier: Verifier = import_module(f"tasks.{name}")
    return verifier


def verify_release(
    folder: Path,
    public_key: bytes,
    *,
    min_sequence: int = 0,
    measurements: Path | None = None,
    now: datetime | None = None,
    may_be_expired: bool = False,
) -> tuple[dict[str, Any], list[Check]]:
    """Check everything; return the manifest and what was checked, or raise VerificationFailed.

    The signature comes first: nothing of a file is believed, or even parsed, before it.
    """
    manifest = _signed_manifest(folder, public_key)
    checks = [Check("signature", "the manifest was signed with the trusted key")]
    steps: list[Callable[[], str]] = [
        lambda: _check_files(folder, manifest),
        lambda: _check_tables(folder, manifest),
        lambda: _check_promise(folder, manifest),
        lambda: _check_sequence(manifest, min_sequence),
        lambda: _check_dates(manifest, now or datetime.now(UTC), may_be_expired),
        lambda: _check_not_withdrawn(folder),
    ]
    names = ["files", "tables", "promise", "sequence", "expiry", "not withdrawn"]
    if measurements is not None:
        steps.append(lambda: _check_recomputed(folder, manifest, measurements))
        names.append("recomputed")
    for name, step in zip(names, steps, strict=True):
        checks.append(Check(name, step()))
    return manifest, checks


def verify_publication(home: Home, folder: Path, public_key: bytes) -> list[Check]:
    """Verify a folder of this home's public zone, with the measurements that it came from."""
    measurements = own_measurements(home, folder, public_key)
    return verify_release(folder, public_key, measurements=measurements)[1]


def own_measurements(home: Home, folder: Path, public_key: bytes) -> Path:
    """Return where a home keeps the measurements that a signed manifest names."""
    manifest = _signed_manifest(folder, public_key)
    return home.measurement(manifest["release_id"], manifest["attempt"])


def _fail(message: str) -> VerificationFailed:
    return VerificationFailed(message)


def _signed_manifest(folder: Path, public_key: bytes) -> dict[str, Any]:
    if not folder.is_dir():
        raise _fail(f"{folder} is not the folder of a release.")
    data, signature = read_file(folder, "manifest.json"), read_file(folder, "manifest.sig")
    if not is_signed(public_key, signed_bytes(data), signature):
        raise _fail(
            "the signature does not fit the manifest and the key: the release was changed, or "
            "comes from somebody else. Do not use it."
        )
    try:
        manifest = json.loads(data)
        is_known = manifest["schema_version"] == SCHEMA_VERSION and (
            set(manifest) == _COMMON_FIELDS | _verifier_of(manifest).FIELDS
        )
    except (ValueError, KeyError, TypeError):
        is_known = False
    if not is_known:
        raise _fail("the manifest has a schema that this version does not know; update hybriddp.")
    return dict(manifest)


def _check_files(folder: Path, manifest: Mapping[str, Any]) -> str:
    listed = manifest["files"]
    present = {path.name for path in folder.iterdir()}
    extra = present - set(listed) - _OWN - {"withdrawn.json", "withdrawn.sig"}
    if extra:
        raise _fail(f"files that the manifest does not list: {', '.join(sorted(extra))}.")
    for name, facts in listed.items():
        data = read_file(folder, name)
        if len(data) != facts["bytes"] or hashlib.sha256(data).hexdigest() != facts["sha256"]:
            raise _fail(f"{name} is not the file that was signed; get the release again.")
    return f"{len(listed)} files have the signed sizes and hashes"


def _check_tables(folder: Path, manifest: Mapping[str, Any]) -> str:
    schemas = _verifier_of(manifest).schemas(manifest)
    for stem, schema in schemas.items():
        name, twin = f"{stem}.parquet", f"{stem}.jsonl"
        table = pq.read_table(folder / name)
        if table.schema.names != schema.names or table.schema.types != schema.types:
            raise _fail(f"{name} has other columns than this version knows; update hybriddp.")
        rows = [json.loads(line) for line in read_file(folder, twin).splitlines()]
        if rows != table.to_pylist():
            raise _fail(f"{name} and {twin} do not say the same.")
        if table.num_rows != manifest["rows"][stem]:
            raise _fail(f"{name} has another number of rows than the manifest says.")
    return f"{len(schemas)} tables have their schema, and both forms of each say the same"


def _check_promise(folder: Path, manifest: Mapping[str, Any]) -> str:
    verifier = _verifier_of(manifest)
    verifier.check_promise(folder, manifest)
    if manifest["code_version"] != code_version():  # which may say the same in other words
        return "guarantees follow from the parameters"
    words = {group: _words_among(terms) for group, terms in manifest["guarantees"].items()}
    if words != verifier.words(manifest):
        raise _fail("the guarantees are not in the words of this kind of release.")
    if read_file(folder, "label.md") != verifier.label(manifest).encode():
        raise _fail("label.md does not say what the manifest promises.")
    return "guarantees follow from the parameters, the label from both"


def _words_among(terms: Mapping[str, Any]) -> dict[str, Any]:
    """Return the terms of a guarantee that are no numbers; an unknown one is seen, too."""
    return {name: value for name, value in terms.items() if type(value) is not int}


def _check_sequence(manifest: Mapping[str, Any], min_sequence: int) -> str:
    if manifest["sequence"] < min_sequence:
        raise _fail(
            f"the release has sequence {manifest['sequence']}, below {min_sequence}: somebody "
            "offers an old release as a new one."
        )
    return f"sequence {manifest['sequence']} is not older than {min_sequence}"


def _check_dates(manifest: Mapping[str, Any], now: datetime, may_be_expired: bool) -> str:
    if now >= datetime.fromisoformat(manifest["expires"]):
        if may_be_expired:
            return f"expired on {manifest['expires']}, which was not asked about"
        raise _fail(f"the release expired on {manifest['expires']}; get a newer one.")
    return f"valid until {manifest['expires']}"


def _check_not_withdrawn(folder: Path) -> str:
    if (folder / "withdrawn.json").exists():
        raise _fail("the publisher has withdrawn this release; get another one.")
    return "the publisher has not withdrawn it"


def _check_recomputed(folder: Path, manifest: Mapping[str, Any], measurements: Path) -> str:
    verifier, tables = _verifier_of(manifest), {}
    for group in verifier.groups(manifest):
        data = read_file(measurements, FILES[group])
        if hashlib.sha256(data).hexdigest() != manifest["measurements"].get(group):
            raise _fail(f"{FILES[group]} is not the measurement that the manifest names.")
        tables[group] = pq.read_table(pa.BufferReader(data))
    for name, data in verifier.recomputed_files(folder, manifest, tables).items():
        # Parquet's bytes depend on the writer's version; its rows do not.
        same = (
            pq.read_table(pa.BufferReader(data)).equals(pq.read_table(folder / name))
            if name.endswith(".parquet")
            else data == read_file(folder, name)
        )
        if not same:
            raise _fail(f"{name} is not what the measurements give; it was altered.")
    return "the tables are what the noisy measurements give"
