"""Odd manifests that somebody signed: every field of every release, changed in many ways."""

import copy
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tasks.verify.checks import VerificationFailed
from tasks.verify.manifest import signed_bytes
from tasks.verify.verify import verify_release

_DEEP = json.loads("[" * 60 + "]" * 60)
ODD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**63, -(2**63), 10**400, 10**4000, 0.5, -0.0, 1e308,
    float("nan"), float("inf"), "", "NaN", "1e400", "1e999999999", "1/0", "../../etc/passwd",
    "\x1b[31m", "\ud800", "[/b]", "x" * 10_000, [], [[]], {}, {"": None}, {"a": {"b": 1}},
    [None] * 100, _DEEP,
    "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00", "4", "1/3", [1, "a"], {"people": -1},
)  # fmt: skip


def places(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Return the way to everything inside of a JSON value, itself included."""
    yield way
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for name, inner in items:
            yield from places(inner, (*way, name))


def mutated(manifest: dict[str, Any], rng: random.Random) -> Any:
    """Return a manifest with a few things replaced, removed, added, repeated or renamed."""
    changed: Any = copy.deepcopy(manifest)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        ways = [way for way in places(changed) if way]
        if not ways:
            return changed
        *above, last = rng.choice(ways)
        holder = changed
        for name in above:
            holder = holder[name]
        what = rng.randrange(6)
        if what == 0 and isinstance(holder, dict):
            del holder[last]
        elif what == 1 and isinstance(holder, dict):
            holder[str(rng.choice(ODD))[:50]] = holder.pop(last)
        elif what == 2:
            other = rng.choice(ways)
            inner: Any = changed
            for name in other:
                inner = inner[name]
            holder[last] = copy.deepcopy(inner)
        else:
            holder[last] = copy.deepcopy(rng.choice(ODD))
    return changed


def outcome_of(folder: Path, manifest: Any, measurements: Path) -> str:
    """Sign a manifest and verify it; return `verified` or `refused`, and let all else pass."""
    key = Ed25519PrivateKey.generate()
    data = json.dumps(manifest, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    (folder / "manifest.json").write_bytes(data)
    (folder / "manifest.sig").write_bytes(key.sign(signed_bytes(data)))
    try:
        verify_release(folder, key.public_key().public_bytes_raw(), measurements=measurements)
    except VerificationFailed:
        return "refused"
    return "verified"


def campaign(folder: Path, measurements: Path, seed: str, n_cases: int) -> dict[str, int]:
    """Verify so many odd manifests; return how many there were of each outcome."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    rng, counted = random.Random(seed), {"verified": 0, "refused": 0}
    for _ in range(n_cases):
        counted[outcome_of(folder, mutated(manifest, rng), measurements)] += 1
    return counted
