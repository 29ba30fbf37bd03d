"""What is published: the folders of the public zone, read as any consumer could read them."""

import json
from pathlib import Path
from typing import Any

from tasks.home import Home
from tasks.ledger import Head


def published_manifests(home: Home) -> list[tuple[Path, dict[str, Any]]]:
    """Return every release folder with its manifest; half-written folders have other names."""
    found = []
    for path in sorted(home.public.glob("*/*/*/manifest.json")):
        if path.parent.name.startswith("."):
            continue
        found.append((path.parent, json.loads(path.read_bytes())))
    return found


def published_heads(home: Home) -> tuple[Head, ...]:
    """Return the ledger heads that manifests carry: a ledger that lacks one has lost spending."""
    return tuple(
        Head(manifest["ledger"]["seq"], manifest["ledger"]["hash"])
        for _, manifest in published_manifests(home)
    )


def find_release(home: Home, release_id: str) -> list[Path]:
    """Return the folders of a release, the first publication first, then its revisions."""
    found = [
        (manifest["revision"], folder)
        for folder, manifest in published_manifests(home)
        if manifest["release_id"] == release_id
    ]
    return [folder for _, folder in sorted(found)]
