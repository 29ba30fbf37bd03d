"""What is published: the folders of the public zone, read as any consumer could read them."""

import json
from pathlib import Path
from typing import Any

from hybriddp.normalise import normalise_query
from tasks.home import Home
from tasks.ledger import Head
from tasks.refusals import BadInput


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


def folders_to_check(home: Home, release_id: str | None) -> list[Path]:
    """Return the folders of one release, or the one that each latest.json points to."""
    if release_id is not None:
        folders = find_release(home, release_id)
    else:
        pointers = sorted(home.public.glob("*/*/latest.json"))
        folders = [path.parent / json.loads(path.read_bytes())["release"] for path in pointers]
    if not folders:
        wanted = f"release {release_id!r}" if release_id else "any release"
        raise BadInput(f"the public zone does not hold {wanted}; publish one first.")
    return folders


def newest_folder(folder: Path) -> Path:
    """Follow latest.json, if the folder is a product's shelf and not a release."""
    pointer = folder / "latest.json"
    if (folder / "manifest.json").exists() or not pointer.exists():
        return folder
    return folder / str(json.loads(pointer.read_bytes())["release"])


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a published table: `head_list`, `trends` or a histogram."""
    path = folder / f"{name}.jsonl"
    try:
        # Not splitlines(): a text may hold characters that Unicode takes for line ends.
        return [json.loads(line) for line in path.read_bytes().splitlines()]
    except (OSError, ValueError):
        kind = "a head list" if name in ("head_list", "trends") else f"a histogram of {name}"
        raise BadInput(f"{folder} does not hold {kind}: {path.name} is missing.") from None


def look_up(folder: Path, prefix: str, limit: int) -> list[dict[str, Any]]:
    """Return the likeliest queries that begin with a prefix, each with its urls."""
    wanted = normalise_query(prefix)
    queries = [row for row in read_rows(folder, "trends") if row["query"].startswith(wanted)]
    urls: dict[str, list[dict[str, Any]]] = {}
    for row in read_rows(folder, "head_list"):
        urls.setdefault(row["query"], []).append(
            {"url": row["url"], "probability": row["probability"]}
        )
    return [
        {
            "query": row["query"],
            "probability": row["probability"],
            "urls": urls.get(row["query"], []),
        }
        for row in queries[:limit]
    ]
