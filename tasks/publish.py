"""Put a release on the public shelf: whole or not at all, signed, and the same bytes every time."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from hybriddp.package import canonical_json
from tasks.home import Home, whole_directory, write_whole
from tasks.keys import Keyring
from tasks.ledger import Ledger, LedgerCorrupt, LedgerMoved
from tasks.ledger_rules import PUBLICATIONS, Entry, Kind
from tasks.log_files import BadInput
from tasks.manifest import build_manifest, code_version, manifest_bytes, signed_bytes
from tasks.manifest_form import SCHEMA_VERSION
from tasks.products import Settings, product_of
from tasks.run import Release


def publish(release: Release, settings: Settings) -> Path:
    """Publish, or find what was published before; return the folder."""
    return put_on_shelf(release, _record(release, Kind.PUBLISHED, settings, revision=1))


def revise(release: Release, settings: Settings) -> Path:
    """Publish other post-processing of the same draws; the same bytes make no revision."""
    entries = [e for e in release.state.entries if e.kind in PUBLICATIONS]
    if not entries:
        raise BadInput(f"release {release.release_id} was never published; run it to its end.")
    newest = entries[-1].payload
    wanted = _settings(settings)
    if (newest["settings"], newest["blocked"]) == (wanted, _blocked(release, settings)):
        return put_on_shelf(release, entries[-1])
    revision = newest["revision"] + 1
    return put_on_shelf(release, _record(release, Kind.REVISED, settings, revision=revision))


def withhold(release: Release, reason: str) -> None:
    """Decide that a drawn release is never published."""
    release.ledger.append(Kind.WITHHELD, release.release_id, release.attempt, {"reason": reason})


def _record(release: Release, kind: Kind, settings: Settings, *, revision: int) -> Entry:
    """Fix in the ledger what would otherwise differ from run to run."""
    place = (release.reservation["product"], release.reservation["locale"])
    draw = "" if kind is Kind.PUBLISHED else str(revision)
    while True:
        head = release.ledger.head()
        there = release.state.find(kind, draw)
        if there is not None:  # by an earlier run, or by one at the same time
            return there
        earlier = publications(release.home, *place)
        payload = {
            "schema_version": SCHEMA_VERSION,
            "created": release.ledger.now().isoformat(timespec="seconds"),
            "sequence": earlier[-1].payload["sequence"] + 1 if earlier else 1,
            "previous": folder_name(earlier[-1]) if earlier else None,
            "revision": revision,
            "code_version": code_version(),
            "settings": _settings(settings),
            "blocked": _blocked(release, settings),
        }
        try:
            return release.ledger.append(
                kind,
                release.release_id,
                release.attempt,
                payload,
                draw=draw,
                expected_head=head,
            )
        except LedgerMoved:
            continue


def _settings(settings: Settings) -> dict[str, Any]:
    return settings.model_dump(exclude={"blocklist"})


def _blocked(release: Release, settings: Settings) -> list[str]:
    return product_of(release.reservation["parameters"]).blocked(release, settings)


def publications(home: Home, product: str, locale: str) -> list[Entry]:
    """Return every publication of a product and locale, in the order of their sequence."""
    entries = Ledger(home.ledger).entries()
    places = {
        (e.release_id, e.attempt): (e.payload["product"], e.payload["locale"])
        for e in entries
        if e.kind is Kind.RESERVED
    }
    return [
        e
        for e in entries
        if e.kind in PUBLICATIONS and places[e.release_id, e.attempt] == (product, locale)
    ]


def folder_name(publication: Entry) -> str:
    """Return the name of a publication's folder: the release, a later attempt, a revision."""
    attempt, revision = publication.attempt, publication.payload["revision"]
    return (
        publication.release_id
        + (f".a{attempt}" if attempt > 1 else "")
        + (f".r{revision}" if revision > 1 else "")
    )


def published_folder(release: Release) -> Path:
    """Return the folder of the first publication of a release."""
    entry = release.state.find(Kind.PUBLISHED)
    if entry is None:
        raise BadInput(f"release {release.release_id} was never published; run it to its end.")
    reserved = release.reservation
    return release.home.shelf(reserved["product"], reserved["locale"]) / folder_name(entry)


def put_on_shelf(release: Release, publication: Entry) -> Path:
    """Make the folder of a publication appear, complete, and point to the newest one."""
    reserved = release.reservation
    shelf = release.home.shelf(reserved["product"], reserved["locale"])
    folder = shelf / folder_name(publication)
    files = publication_files(release, publication)
    with release.home.locked("shelf"):
        if folder.exists():
            _require_same(folder, _comparable(publication, files))
        else:
            with whole_directory(folder) as partial:
                for name, data in files.items():
                    (partial / name).write_bytes(data)
        point_to_newest(release.home, reserved["product"], reserved["locale"])
    return folder


def publication_files(release: Release, publication: Entry) -> dict[str, bytes]:
    """Return every file of a publication; only the signature needs a secret."""
    product = product_of(release.reservation["parameters"])
    made = product.content(release, publication.payload)
    described = build_manifest(release, publication, made)
    files = dict(made.files)
    files["label.md"] = product.label(release, described).encode()
    manifest = manifest_bytes(build_manifest(release, publication, replace(made, files=files)))
    files["manifest.json"] = manifest
    files["manifest.sig"] = Keyring.open(release.home).signing.sign(signed_bytes(manifest))
    return files


def _comparable(publication: Entry, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files that must be the same bytes: another version may use other words."""
    is_ours = publication.payload["code_version"] == code_version()
    worded = set() if is_ours else {"label.md", "manifest.json", "manifest.sig"}
    return {name: data for name, data in files.items() if name not in worded}


def _require_same(folder: Path, files: Mapping[str, bytes]) -> None:
    for name, data in files.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != data:
            raise LedgerCorrupt(
                f"{path} is not what these measurements and the ledger give; somebody changed it, "
                "or another version of the program made it. Run `hybriddp verify` on the folder; "
                "to make it again, remove the folder first."
            )


def point_to_newest(home: Home, product: str, locale: str) -> None:
    """Replace latest.json: the last publication that was not withdrawn and is on the shelf."""
    shelf = home.shelf(product, locale)
    for publication in reversed(publications(home, product, locale)):
        folder = shelf / folder_name(publication)
        if not (folder / "manifest.json").exists() or (folder / "withdrawn.json").exists():
            continue
        manifest = json.loads((folder / "manifest.json").read_bytes())
        latest = {
            "schema_version": 1,
            "release": folder.name,
            "sequence": manifest["sequence"],
            "epoch": manifest["epoch"],
            "expires": manifest["expires"],
        }
        data = canonical_json(latest)
        path = shelf / "latest.json"
        if not path.exists() or path.read_bytes() != data:
            write_whole(path, data)
        return
    (shelf / "latest.json").unlink(missing_ok=True)
