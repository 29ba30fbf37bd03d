"""Hostile packages: what a curator could sign to make a device stumble."""

import json
import random
from copy import deepcopy
from pathlib import Path
from typing import Any

from hybriddp.device.file import AccountFile
from hybriddp.device.package import canonical_json
from hybriddp.device.reporting import Device
from hybriddp.errors import HybridDPError

_DIGITS = "9" * 1000
_HOSTILE: list[Any] = [
    None, True, False, 0, 1, -1, 2, 50, 51, 2**31, 2**63, 10**400, 0.5, -0.0, 1e308, "", "0", "1",
    "1/2", "1/3", "2/4", "-1", "1/0", "0/1", "50", "51", "1e400", "nan", "inf", _DIGITS,
    f"1/{_DIGITS}", f"{_DIGITS}/1", f"{_DIGITS[1:]}/{_DIGITS}", f"{_DIGITS}/7", "9" * 400,
    f"1/{'9' * 400}", f"{10**999}", f"1/{10**999}", f"{10**308}/{10**307 + 1}", "\ud800", "\x00",
    "paper", "high-utility", "one-stage", "two-stage", "two-stage-exact", "2026-W46", "News",
    "\u0130", "cafe\u0301", "x" * 300, [], {}, [[]], {"query": "a", "urls": []}, ["a", "a"],
    "2026-W45", "2026-11",
]  # fmt: skip


def places_of(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to everything inside a JSON value."""
    items = (
        value.items() if isinstance(value, dict)
        else enumerate(value) if isinstance(value, list) else ()
    )  # fmt: skip
    return [path, *(p for key, inner in items for p in places_of(inner, (*path, key)))]


def mutated(data: bytes, rng: random.Random) -> bytes:
    """Return a package.json with some changes of its values or of its bytes."""
    if rng.random() < 0.15:
        return _with_other_bytes(data, rng)
    contents = json.loads(data)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        *above, last = rng.choice(places_of(contents)[1:])
        target = contents
        for key in above:
            target = target[key]
        change = rng.random()
        if change < 0.75:
            target[last] = deepcopy(rng.choice(_HOSTILE))
        elif change < 0.85:
            del target[last]
        elif isinstance(target, list):
            target.append(target[last])
        else:
            target[rng.choice(["extra", "epsilon", "cells"])] = deepcopy(rng.choice(_HOSTILE))
        if not places_of(contents)[1:]:
            break
    return canonical_json(contents)


def _with_other_bytes(data: bytes, rng: random.Random) -> bytes:
    position = rng.randrange(len(data))
    return rng.choice(
        [
            data[:position],
            data[:position] + rng.randbytes(rng.randrange(1, 9)) + data[position:],
            data[:position]
            + bytes([data[position] ^ 1 << rng.randrange(8)])
            + data[position + 1 :],
            data[:position] + data[position:].replace(b'"', b"9" * rng.randrange(1, 3000), 1),
        ]
    )


def ask_device(folder: Path, data: bytes) -> bool:
    """Let a device that accepts any signature report; True if it did, and raise only surprises."""
    (folder / "package.json").write_bytes(data)
    (folder / "package.sig").write_bytes(bytes(64))
    account = folder / "account"
    account.unlink(missing_ok=True)
    try:
        Device(account, bytes(32), verify=lambda *_: True).report(folder, [("news", "http://b")])
    except HybridDPError as refusal:
        words = str(refusal)
    else:
        return True
    assert AccountFile(account).read().charges == (), "what is refused is not charged"
    assert len(words) < 700, "a message, not a package"
    return False
