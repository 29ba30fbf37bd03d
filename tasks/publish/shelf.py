"""What is published: the folders of the public zone, read as any consumer could read them."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from hybriddp.device.normalise import normalise_query
from hybriddp.device.package import PACKAGE_FILE, CollectionPackage
from hybriddp.errors import InvalidParameter
from tasks.ledger.ledger import Head, LedgerCorrupt
from tasks.ledger.payloads import Cap
from tasks.publish.notices import NOTICE, refuse_if_taken_down
from tasks.publish.pointer import follow
from tasks.release.refusals import BadInput
from tasks.store.home import Home
from tasks.store.reading import (
    MAX_TABLE_BYTES,
    Unreadable,
    is_text,
    parse_json,
    parse_rows,
    read_file,
)
from tasks.verify.manifest import Sighting


def published_manifests(home: Home) -> list[tuple[Path, Sighting]]:
    """Return every release folder with its manifest; half-written folders have other names."""
    found = []
    for folder in _release_folders(home):
        if (folder / "manifest.json").exists():
            found.append((folder, _read_manifest(folder)))
    return found


def published_caps(home: Home) -> list[Cap]:
    """Return the cap that each published label states."""
    caps: list[Cap] = []
    for folder, seen in published_manifests(home):
        try:
            caps.append(seen.stated_cap)
        except ValueError:
            raise LedgerCorrupt(
                f"{folder / 'manifest.json'} states no cap that this version knows, so nobody can "
                "say what it promises; update hybriddp, or restore the public zone from its backup."
            ) from None
    return caps


def published_packages(home: Home) -> list[CollectionPackage]:
    """Return every collection package that devices can read; some were taken down."""
    found = []
    for file in sorted((home.public / "collections").glob(f"*/{PACKAGE_FILE}")):
        if file.parent.name.startswith("."):
            continue
        try:
            found.append(CollectionPackage.from_bytes(read_file(file.parent, file.name)))
        except (Unreadable, InvalidParameter):
            raise LedgerCorrupt(
                f"{file} is damaged, so nobody knows which cap it promises to devices; restore the "
                "public zone from its backup."
            ) from None
    return found


def junk(home: Home) -> list[Path]:
    """Return what lies in the public zone and belongs to no release: it is left alone."""
    known = {"signing.pub", "latest.json", "collections"}
    shelves = [path for path in _inside(home.public) if path.name not in known]
    odd = [path for path in shelves if not path.is_dir()]
    for shelf in (path for path in shelves if path.is_dir()):
        odd += [path for path in _inside(shelf) if not path.is_dir()]
    releases = _release_folders(home)
    signed = ("manifest.json", NOTICE)
    odd += [p for p in releases if not any((p / name).exists() for name in signed)]
    parents = dict.fromkeys(path.parent for path in releases)
    odd += [
        path for parent in parents for path in _inside(parent)
        if path.name not in known and path not in releases
    ]  # fmt: skip
    return odd


def _release_folders(home: Home) -> list[Path]:
    """Return the folders where releases are: product, locale, release."""
    folders = [home.public]
    for _ in range(3):
        folders = [inner for path in folders for inner in _inside(path) if inner.is_dir()]
    return [path for path in folders if path.parents[1].name != "collections"]


def _inside(folder: Path) -> list[Path]:
    """Return what has its name in a folder; what is half-written begins with a dot."""
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _read_manifest(folder: Path) -> Sighting:
    """Read a manifest of our own public zone; one without its head would hide lost spending."""
    try:
        raw = parse_json(read_file(folder, "manifest.json"), "manifest.json")
        return Sighting.model_validate(raw)
    except (Unreadable, ValueError):
        raise LedgerCorrupt(
            f"{folder / 'manifest.json'} is damaged, so nobody knows which head of the ledger it "
            "names; restore the public zone from its backup."
        ) from None


def published_heads(home: Home) -> tuple[Head, ...]:
    """Return the ledger heads that manifests and notices of takedowns carry.

    A ledger that lacks one has lost spending, or a takedown.
    """
    heads = [Head(seen.ledger.seq, seen.ledger.hash) for _, seen in published_manifests(home)]
    notices = [*home.public.glob(f"*/*/*/{NOTICE}"), *home.public.glob(f"collections/*/{NOTICE}")]
    signed = [_read_notice(path.parent) for path in sorted(notices)]
    # Before version 0.2 notices carried no head.
    named = [facts["ledger"] for facts in signed if "ledger" in facts]
    return (*heads, *(Head(head["seq"], head["hash"]) for head in named))


def _read_notice(folder: Path) -> dict[str, Any]:
    """Read a notice of our own public zone; a damaged one would hide a lost takedown."""
    try:
        return dict(parse_json(read_file(folder, NOTICE), NOTICE))
    except (Unreadable, TypeError, ValueError):
        raise LedgerCorrupt(
            f"{folder / NOTICE} is damaged, so nobody knows which head of the ledger it names; "
            "restore the public zone from its backup."
        ) from None


def find_release(home: Home, release_id: str) -> list[Path]:
    """Return the folders of a release, the first publication first; if none stands, notices."""
    found = [
        (seen.revision, folder)
        for folder, seen in published_manifests(home)
        if seen.release_id == release_id
    ]
    taken_down = sorted(home.public.glob(f"*/*/{release_id}*/{NOTICE}"))
    return [folder for _, folder in sorted(found)] or [path.parent for path in taken_down]


def folders_to_check(home: Home, release_id: str | None) -> list[Path]:
    """Return the folders of one release, or the one that each latest.json points to."""
    if release_id is not None:
        folders = find_release(home, release_id)
    else:
        pointers = sorted(home.public.glob("*/*/latest.json"))
        folders = [newest_folder(path.parent) for path in pointers]
    if not folders:
        wanted = f"release {release_id!r}" if release_id else "any release"
        raise BadInput(f"the public zone does not hold {wanted}; publish one first.")
    return folders


def newest_folder(folder: Path) -> Path:
    """Follow latest.json, if the folder is a product's shelf and not a release."""
    return follow(folder)[0]


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """Read a published table: `head_list`, `trends` or a histogram."""
    return list(_fitting_rows(folder, name, lambda _: True))


def _fitting_rows(
    folder: Path, name: str, fits: Callable[[dict[str, Any]], bool]
) -> Iterator[dict[str, Any]]:
    """Read a published table row by row, up to the first that does not fit."""
    refuse_if_taken_down(folder)
    file = f"{name}.jsonl"
    try:
        yield from parse_rows(read_file(folder, file, MAX_TABLE_BYTES), file, fits)
    except Unreadable as error:
        kind = "a head list" if name in ("head_list", "trends") else f"a histogram of {name}"
        raise BadInput(f"{folder} does not hold {kind}: {error}") from None


def list_rows(folder: Path, name: str) -> Iterator[dict[str, Any]]:
    """Read `head_list` or `trends`, and see that its rows have what a reader needs."""
    texts = ("query", "url") if name == "head_list" else ("query",)

    def fits(row: dict[str, Any]) -> bool:
        numbers = [row.get(number, -1) for number in ("probability", "ci_low", "ci_high")]
        is_whole = all(is_text(row.get(text)) for text in texts)
        return is_whole and all(type(n) in (int, float) and 0 <= n <= 1 for n in numbers)

    return _fitting_rows(folder, name, fits)


def look_up(folder: Path, prefix: str, limit: int) -> list[dict[str, Any]]:
    """Return the likeliest queries that begin with a prefix, each with its urls."""
    wanted = normalise_query(prefix)
    queries = [row for row in list_rows(folder, "trends") if row["query"].startswith(wanted)]
    urls: dict[str, list[dict[str, Any]]] = {row["query"]: [] for row in queries[:limit]}
    for row in list_rows(folder, "head_list"):
        if row["query"] in urls:
            urls[row["query"]].append({"url": row["url"], "probability": row["probability"]})
    return [
        {"query": row["query"], "probability": row["probability"], "urls": urls[row["query"]]}
        for row in queries[:limit]
    ]
