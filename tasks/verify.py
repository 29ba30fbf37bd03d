"""Check a published release as a consumer or an auditor would: trust the key, nothing else."""

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.errors import HybridDPError
from tasks.groups import groups_of
from tasks.home import Home
from tasks.keys import is_signed
from tasks.manifest import SCHEMA_VERSION, describe_check, signed_bytes
from tasks.measurements import FILES
from tasks.postprocess import publish_levels, strategy_of
from tasks.postprocess_common import Facts
from tasks.release_files import HEAD_LIST, TRENDS, Tables, build_tables
from tasks.run import read_params

_FIELDS = {
    "schema_version", "product", "locale", "epoch", "release_id", "attempt", "revision",
    "sequence", "previous", "created", "expires", "code_version", "parameters", "guarantees",
    "cap", "interval_method", "cross_check", "decimals", "rows", "masses", "blocked_queries",
    "measurements", "ledger", "files",
}  # fmt: skip
_OWN = {"manifest.json", "manifest.sig"}
_SCHEMAS = {"head_list.parquet": HEAD_LIST, "trends.parquet": TRENDS}


class VerificationFailed(HybridDPError):
    """A release is not what its publisher signed, or must not be used any more."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was checked, and passed."""

    name: str
    detail: str


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
        lambda: _check_sequence(manifest, min_sequence),
        lambda: _check_dates(manifest, now or datetime.now(UTC), may_be_expired),
        lambda: _check_not_withdrawn(folder),
    ]
    names = ["files", "tables", "sequence", "expiry", "not withdrawn"]
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
    data, signature = _read(folder, "manifest.json"), _read(folder, "manifest.sig")
    if not is_signed(public_key, signed_bytes(data), signature):
        raise _fail(
            "the signature does not fit the manifest and the key: the release was changed, or "
            "comes from somebody else. Do not use it."
        )
    try:
        manifest = json.loads(data)
        is_known = manifest["schema_version"] == SCHEMA_VERSION and set(manifest) == _FIELDS
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
        data = _read(folder, name)
        if len(data) != facts["bytes"] or hashlib.sha256(data).hexdigest() != facts["sha256"]:
            raise _fail(f"{name} is not the file that was signed; get the release again.")
    return f"{len(listed)} files have the signed sizes and hashes"


def _check_tables(folder: Path, manifest: Mapping[str, Any]) -> str:
    for name, schema in _SCHEMAS.items():
        table = pq.read_table(folder / name)
        if table.schema.names != schema.names or table.schema.types != schema.types:
            raise _fail(f"{name} has other columns than this version knows; update hybriddp.")
        twin = name.replace(".parquet", ".jsonl")
        rows = [json.loads(line) for line in _read(folder, twin).splitlines()]
        if rows != table.to_pylist():
            raise _fail(f"{name} and {twin} do not say the same.")
        if table.num_rows != manifest["rows"][name.removesuffix(".parquet")]:
            raise _fail(f"{name} has another number of rows than the manifest says.")
    return "both tables have their schema, and both forms say the same"


def _check_sequence(manifest: Mapping[str, Any], min_sequence: int) -> str:
    if manifest["sequence"] < min_sequence:
        raise _fail(
            f"the release has sequence {manifest['sequence']}, below {min_sequence}: somebody "
            "offers an old list as a new one."
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
    tables = {}
    for group in groups_of(read_params(manifest["parameters"])):
        data = _read(measurements, FILES[group])
        if hashlib.sha256(data).hexdigest() != manifest["measurements"].get(group):
            raise _fail(f"{FILES[group]} is not the measurement that the manifest names.")
        tables[group] = pq.read_table(pa.BufferReader(data))
    published = set(pq.read_table(folder / "trends.parquet")["query"].to_pylist())
    facts = _facts(manifest)
    again = recompute(manifest, tables, published)
    if describe_check(strategy_of(facts).cross_check(tables, facts)) != manifest["cross_check"]:
        raise _fail("the cross-check is not the one that the measurements give.")
    if again.n_blocked != manifest["blocked_queries"]:
        raise _fail("queries are missing from the list beyond those that were blocked.")
    masses = {
        "query_wildcards": again.query_wildcards,
        "other_records": again.other_records,
        "other_queries": again.other_queries,
    }
    if masses != manifest["masses"]:
        raise _fail("the wildcard masses are not those that the measurements give.")
    for name, data in again.files().items():
        # Parquet's bytes depend on the writer's version; its rows do not.
        same = (
            pq.read_table(pa.BufferReader(data)).equals(pq.read_table(folder / name))
            if name.endswith(".parquet")
            else data == _read(folder, name)
        )
        if not same:
            raise _fail(f"{name} is not what the measurements give; the list was altered.")
    return "the list is what the noisy measurements give"


def recompute(
    manifest: Mapping[str, Any], measurements: Mapping[str, pa.Table], published: set[str]
) -> Tables:
    """Do the whole post-processing again, from measurements and signed parameters alone."""
    listing, levels = publish_levels(measurements, _facts(manifest))
    blocked = frozenset(listing.listed_queries) - published
    return build_tables(listing, levels, manifest["decimals"], blocked)


def _facts(manifest: Mapping[str, Any]) -> Facts:
    params = read_params(manifest["parameters"])
    return Facts(params, {g: manifest["guarantees"][g]["people"] for g in groups_of(params)})


def _read(folder: Path, name: str) -> bytes:
    try:
        return (folder / name).read_bytes()
    except OSError:
        raise _fail(f"{name} is missing in {folder}.") from None
