"""The manifest of a release, as far as a reader needs it: plain data behind one door.

The words of refusals are those of `hybriddp verify`, which checks all that a manifest says.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from hybriddp.device.canonical import canonical_json
from hybriddp.reader.refusals import Reason, ReleaseRefused, refused

MANIFEST = "manifest.json"
_NANO, _ATTO, _PICO = 10**9, 10**18, 10**12
_MOST = 10**18  # units of epsilon or delta: far more than any promise

Form = Callable[[Any], bool]


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What a group of people paid for this release; what a season costs is in the label."""

    group: str
    people: int
    epsilon: float
    delta: float
    rho: float  # of Gaussian losses, beside epsilon and delta
    role: str
    trusts: str  # who saw their searches
    neighbours: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a publisher signed of a release."""

    product: str
    locale: str
    epoch: str
    release_id: str
    attempt: int
    revision: int
    sequence: int
    created: datetime
    expires: datetime
    normalisation: str | None
    guarantees: tuple[Guarantee, ...]
    rows: Mapping[str, int]
    files: Mapping[str, tuple[int, str]]  # size and SHA-256
    on_shelf: Mapping[str, Any]  # what `latest.json` says that leads here


def _text(pattern: str) -> Form:
    compiled = re.compile(pattern)
    return lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None


def _whole(low: int, high: int) -> Form:
    return lambda value: type(value) is int and low <= value <= high


def _keyed(key: Form, form: Form, most: int) -> Form:
    return lambda value: (
        isinstance(value, dict)
        and len(value) <= most
        and all(key(name) and form(inner) for name, inner in value.items())
    )


def _moment(value: object) -> bool:
    try:
        return isinstance(value, str) and datetime.fromisoformat(value).tzinfo is not None
    except ValueError:
        return False


def _file(value: object) -> bool:
    is_one = isinstance(value, dict) and value.keys() == {"bytes", "sha256"}
    return is_one and _size(value["bytes"]) and _digest(value["sha256"])  # type: ignore[index]


def _promised(value: object) -> bool:
    numbers = {"people": 10**12, "epsilon_nano": _MOST, "delta_atto": _MOST}
    return (
        isinstance(value, dict)
        and all(_whole(0, most)(value.get(name)) for name, most in numbers.items())
        and _whole(0, _MOST)(value.get("rho_pico", 0))
        and all(_short(value.get(name)) for name in ("role", "trusts", "neighbours"))
    )


_name = _text(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
_short = _text(r"[^\x00-\x1f\x7f\ud800-\udfff]{0,500}")
_digest = _text(r"[0-9a-f]{64}")
_size = _whole(0, 10**12)
_FORMS: Mapping[str, Form] = {
    "schema_version": _whole(2, 3),  # of version 0.1.0, and since
    "product": _name,
    "locale": _name,
    "epoch": _name,
    "release_id": _text(r"[0-9a-f]{16,128}"),
    "attempt": _whole(1, 10**6),
    "revision": _whole(1, 10**6),
    "sequence": _whole(1, 10**15),
    "created": _moment,
    "expires": _moment,
    "guarantees": _keyed(_name, _promised, 20),
    "rows": _keyed(_name, _size, 20),
    # A name that leads out of the folder is none.
    "files": _keyed(_name, _file, 40),
    "parameters": lambda value: isinstance(value, dict),
}


def read_manifest(data: bytes) -> Manifest:
    """Read a manifest in its one spelling, so that nobody reads a key twice and another once."""
    raw = parse_json(data, MANIFEST)
    if not isinstance(raw, dict) or _spelt(raw) != data:
        raise _unknown()
    for name, form in _FORMS.items():
        if not form(raw.get(name)):
            raise _unknown(name)
    plain = ("product", "locale", "epoch", "release_id", "attempt", "revision", "sequence", "rows")
    shelf = {name: raw[name] for name in ("sequence", "epoch", "expires")}
    return Manifest(
        **{name: raw[name] for name in plain},
        created=datetime.fromisoformat(raw["created"]),
        expires=datetime.fromisoformat(raw["expires"]),
        normalisation=raw["parameters"].get("normalisation"),
        guarantees=tuple(_guarantee(*promise) for promise in raw["guarantees"].items()),
        files={name: (facts["bytes"], facts["sha256"]) for name, facts in raw["files"].items()},
        on_shelf={**shelf, "release": _folder_of(raw)},
    )


def parse_json(data: bytes, name: str) -> Any:
    """Parse JSON, however odd it is; what only Python takes for JSON is none."""

    def no_number(_: str) -> None:
        raise ValueError

    try:
        return json.loads(data.decode("utf-8"), parse_constant=no_number)
    except (ValueError, RecursionError):
        raise refused(Reason.MALFORMED, f"{name} is not JSON.", name) from None


def _spelt(raw: Mapping[str, Any]) -> bytes:
    try:
        return canonical_json(raw)
    except RecursionError:
        return b""


def _folder_of(raw: Mapping[str, Any]) -> str:
    """Return the name of the folder that a release belongs into."""
    attempt = f".a{raw['attempt']}" if raw["attempt"] > 1 else ""
    return (
        str(raw["release_id"]) + attempt + (f".r{raw['revision']}" if raw["revision"] > 1 else "")
    )


def _guarantee(group: str, said: Mapping[str, Any]) -> Guarantee:
    return Guarantee(
        group=group,
        people=said["people"],
        epsilon=said["epsilon_nano"] / _NANO,
        delta=said["delta_atto"] / _ATTO,
        rho=said.get("rho_pico", 0) / _PICO,
        role=said["role"],
        trusts=said["trusts"],
        neighbours=said["neighbours"],
    )


def _unknown(field: str | None = None) -> ReleaseRefused:
    where = f" in {field}" if field else ""
    return refused(
        Reason.MALFORMED,
        f"the manifest has a schema that this version does not know{where}; update hybriddp.",
        MANIFEST,
    )
