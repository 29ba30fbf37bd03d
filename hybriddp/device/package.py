"""The collection package: the signed head list on which devices report.

Standard library only. A package is a directory with `package.json` in canonical form, so that
equal packages have equal bytes, and `package.sig`, the curator's signature.
"""

import json
import os
import re
import reprlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hybriddp.device import ed25519
from hybriddp.device.canonical import (
    FRACTION,
    NAME,
    REMEDY,
    check_known,
    check_size,
    check_text,
    read_file,
    read_list,
    read_object,
)
from hybriddp.device.canonical import canonical_json as canonical_json  # many know it from here
from hybriddp.device.curator import STATEMENT_KEYS, CuratorStatement
from hybriddp.device.normalise import NORMALISATION, check_texts, normalise_query, normalise_url
from hybriddp.device.season import WeekOfSeason
from hybriddp.errors import InvalidParameter, require
from hybriddp.params import CLIENT_REPORTS, STRATEGIES, BlenderParams

SCHEMA_VERSION = 3
# Packages of version 0.1.0 state nothing about the curator's ledger.
OLD_SCHEMA_VERSION = 2
# Of a series' weeks; older devices, which would report in every one of them, refuse it.
SEASON_SCHEMA_VERSION = 4
MAX_BYTES = 16 * 2**20
# Cells that a device sends at most; many more would keep it busy after it was charged.
MAX_REPORTS = 1_000
# Cells of one report in one stage: enough for long lists, and no more than a curator reads.
MAX_REPORTED_CELLS = 100_000
PACKAGE_FILE = "package.json"
SIGNATURE_FILE = "package.sig"
# Stands in place of a package that was taken down.
TOMBSTONE_FILE = "withdrawn.json"

# Signed in front of the package, so that no signature of another kind of file, such as a
# release's manifest by the same key, can pass for one of a package.
SIGNING_CONTEXT = b"hybriddp collection package v1\n"

# verify(public_key, message, signature)
Verify = Callable[[bytes, bytes, bytes], bool]

_RELEASE_ID = re.compile(r"[0-9a-f]{16,128}")

_KEYS = {
    "schema_version", "release_id", "product", "epoch", "locale", "strategy", "parameters",
    "normalisation", "head_list",
}  # fmt: skip
_KEYS_OF = {
    OLD_SCHEMA_VERSION: _KEYS,
    SCHEMA_VERSION: _KEYS | STATEMENT_KEYS,
    SEASON_SCHEMA_VERSION: _KEYS | STATEMENT_KEYS | {"season"},
}
_FRACTION_KEYS = {"epsilon", "delta", "headlist_user_fraction", "query_budget_fraction"}
_COUNT_KEYS = {"max_head_size", "max_records_optin", "max_records_client"}


def signed_bytes(data: bytes) -> bytes:
    """Return what the curator signs for a package.json with these bytes."""
    return SIGNING_CONTEXT + data


@dataclass(frozen=True, slots=True)
class CollectionPackage:
    """A head list, in the order of its cells, and the parameters of the reports on it.

    Without a `curator`'s statement it is one of version 0.1.0, of schema 2; with a `season` it is
    a week of a series, of schema 4.
    """

    release_id: str
    product: str
    epoch: str
    locale: str
    params: BlenderParams
    head_list: tuple[tuple[str, tuple[str, ...]], ...]
    curator: CuratorStatement | None = None
    season: WeekOfSeason | None = None

    def __post_init__(self) -> None:
        check_text("release_id", self.release_id, _RELEASE_ID)
        for name in ("product", "epoch", "locale"):
            check_text(name, getattr(self, name), NAME)
        for name, size, limit in (
            ("the number of queries", len(self.head_list), self.params.max_head_size),
            ("max_records_client", self.params.max_records_client, MAX_REPORTS),
        ):
            require(size <= limit, f"{name} must be at most {limit}", "more", REMEDY)
        check_texts("queries", [query for query, _ in self.head_list], normalise_query)
        for _, urls in self.head_list:
            check_texts("urls of a query", urls, normalise_url)
        if self.season is not None:
            require(self.curator is not None, "a season needs a curator's cap", "none", REMEDY)
            self.season.check_epoch(self.epoch)

    @property
    def schema_version(self) -> int:
        """The version of its form."""
        if self.season is not None:
            return SEASON_SCHEMA_VERSION
        return OLD_SCHEMA_VERSION if self.curator is None else SCHEMA_VERSION

    def head_list_mapping(self) -> dict[str, tuple[str, ...]]:
        """Return the urls of each query, both in the order of their cells."""
        return dict(self.head_list)

    def to_bytes(self) -> bytes:
        """Return the contents of package.json."""
        data = canonical_json(
            {
                "schema_version": self.schema_version,
                "release_id": self.release_id,
                "product": self.product,
                "epoch": self.epoch,
                "locale": self.locale,
                "strategy": self.params.strategy,
                "parameters": {
                    "epsilon": str(self.params.budget.epsilon),
                    "delta": str(self.params.budget.delta),
                    "max_head_size": self.params.max_head_size,
                    "headlist_user_fraction": str(self.params.headlist_user_fraction),
                    "query_budget_fraction": str(self.params.query_budget_fraction),
                    "max_records_optin": self.params.max_records_optin,
                    "max_records_client": self.params.max_records_client,
                    "client_report": self.params.client_report,
                },
                "normalisation": NORMALISATION,
                "head_list": [{"query": query, "urls": urls} for query, urls in self.head_list],
                **({} if self.curator is None else self.curator.fields()),
                **({} if self.season is None else {"season": asdict(self.season)}),
            }
        )
        check_size(PACKAGE_FILE, data, MAX_BYTES)
        return data

    @classmethod
    def from_bytes(cls, data: bytes) -> "CollectionPackage":
        """Read a package.json that is exactly what `to_bytes` writes; refuse anything else."""
        check_size(PACKAGE_FILE, data, MAX_BYTES)
        value = _parse(data)
        fields = read_object(PACKAGE_FILE, value, _keys_of(value))
        check_known("normalisation", fields["normalisation"], NORMALISATION)
        package = cls(
            release_id=fields["release_id"],
            product=fields["product"],
            epoch=fields["epoch"],
            locale=fields["locale"],
            params=_read_params(fields["parameters"], fields["strategy"]),
            head_list=tuple(
                _read_query(item) for item in read_list("head_list", fields["head_list"])
            ),
            curator=CuratorStatement.read(fields) if "ledger" in fields else None,
            season=WeekOfSeason.read(fields["season"]) if "season" in fields else None,
        )
        # Keys given twice, other white space, 8/2 for 4: one package, one form.
        require(
            package.to_bytes() == data, f"{PACKAGE_FILE} must be canonical", "another form", REMEDY
        )
        return package


def read_package(
    directory: str | os.PathLike[str], public_key: bytes, verify: Verify = ed25519.verify
) -> CollectionPackage:
    """Read a package after checking its signature; not a byte is parsed before.

    `verify` may be any strict Ed25519 check that returns True for a good signature.
    """
    require(
        len(public_key) == ed25519.PUBLIC_KEY_BYTES,
        f"public_key must be the {ed25519.PUBLIC_KEY_BYTES} raw bytes of an Ed25519 key",
        f"{len(public_key)} bytes",
        "take the curator's public key",
    )
    require(
        not os.path.lexists(Path(directory) / TOMBSTONE_FILE),
        "a package must not have been taken down",
        f"one with {TOMBSTONE_FILE} in its place",
        "the curator no longer takes reports on it; do not report",
    )
    data = read_file(Path(directory) / PACKAGE_FILE, MAX_BYTES)
    signature = read_file(Path(directory) / SIGNATURE_FILE, ed25519.SIGNATURE_BYTES)
    require(
        verify(public_key, signed_bytes(data), signature) is True,
        f"{SIGNATURE_FILE} must be the signature of {PACKAGE_FILE} by the given key",
        "another",
        f"{REMEDY}, and check that the key is the curator's",
    )
    return CollectionPackage.from_bytes(data)


def _parse(data: bytes) -> Any:
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        raise InvalidParameter(
            f"{PACKAGE_FILE} must be JSON, got something else; {REMEDY}."
        ) from None


def _keys_of(value: Any) -> set[str]:
    """Return the keys that a package of its version has."""
    version = value.get("schema_version", SCHEMA_VERSION) if isinstance(value, dict) else None
    require(
        version is None or (type(version) is int and version in _KEYS_OF),
        f"schema_version must be one of {', '.join(map(str, _KEYS_OF))}",
        reprlib.repr(version),
        "another version of hybriddp may know it",
    )
    return _KEYS_OF[version or SCHEMA_VERSION]


def _read_params(value: Any, strategy: Any) -> BlenderParams:
    fields = read_object("parameters", value, _FRACTION_KEYS | _COUNT_KEYS | {"client_report"})
    for name, text, known in (
        ("strategy", strategy, STRATEGIES),
        ("client_report", fields["client_report"], CLIENT_REPORTS),
    ):
        require(
            isinstance(text, str) and text in known,
            f"{name} must be one of {', '.join(known)}",
            reprlib.repr(text),
            "another version of hybriddp may know it",
        )
    for name in _FRACTION_KEYS:
        check_text(name, fields[name], FRACTION)
    for name in _COUNT_KEYS:
        require(
            type(fields[name]) is int, f"{name} must be a whole number", "another value", REMEDY
        )
    return BlenderParams(strategy=strategy, **fields)


def _read_query(value: Any) -> tuple[str, tuple[str, ...]]:
    fields = read_object("a query of head_list", value, {"query", "urls"})
    return fields["query"], tuple(read_list("urls", fields["urls"]))
