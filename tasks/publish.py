"""Put a release on the public shelf: whole or not at all, signed, and the same bytes every time."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from hybriddp.normalise import normalise_query
from hybriddp.package import canonical_json
from tasks.home import Home, whole_directory, write_whole
from tasks.keys import Keyring
from tasks.label import write_label
from tasks.ledger import Ledger, LedgerCorrupt, LedgerMoved
from tasks.ledger_rules import Entry, Kind
from tasks.log_files import BadInput
from tasks.manifest import build_manifest, code_version, manifest_bytes, signed_bytes
from tasks.processing import cross_check_of, published_listing, read_published
from tasks.quality import Verdict, judge
from tasks.release_files import Tables, build_tables
from tasks.request import PublishSettings
from tasks.run import Release

_PUBLICATIONS = (Kind.PUBLISHED, Kind.REVISED)


def judge_release(release: Release, settings: PublishSettings) -> Verdict:
    """Judge the tables as they would be published; raise GateRefused."""
    blocked = _blocked(release, settings)
    tables = tables_of(release, settings.decimals, blocked)
    agreement = cross_check_of(release).p_value
    return judge_tables(tables, settings, blocked | read_blocklist(settings.blocklist), agreement)


def judge_tables(
    tables: Tables, settings: PublishSettings, blocklist: frozenset[str], agreement: float
) -> Verdict:
    """Run the gates of both tables and of the whole."""
    queries = tables.head_list["query"].to_pylist()
    facts = {
        "total_mass": tables.total_mass,
        "n_rows": tables.head_list.num_rows,
        "n_queries": len(set(queries)),
        "n_bytes": max(len(data) for data in tables.files().values()),
        "n_blocked": sum(query in blocklist for query in queries),
        "order_is_fixed": _is_ordered(tables.head_list),
        "agreement": agreement,
    }
    # Each printed number is off by at most half a unit of its last decimal.
    n_numbers = tables.head_list.num_rows + len(tables.query_wildcards) + 1
    limits = {
        "mass_tolerance": (n_numbers + 1) * 0.5 * 10**-tables.decimals,
        "max_bytes": float(settings.max_bytes),
        "min_agreement": settings.min_agreement,
    }
    verdicts = [
        judge("head_list", tables.head_list),
        judge("trends", tables.trends),
        judge("release", pa.Table.from_pylist([facts]), limits),
    ]
    together = Verdict(
        "published list", tuple(result for verdict in verdicts for result in verdict.results)
    )
    return together.require()


def _is_ordered(table: pa.Table) -> bool:
    keys = [(-row["probability"], row["query"], row["url"]) for row in table.to_pylist()]
    return keys == sorted(keys)


def tables_of(release: Release, decimals: int, blocked: frozenset[str]) -> Tables:
    """Build the published tables, from the measurements."""
    listing, levels = read_published(release)
    return build_tables(listing, levels, decimals, blocked)


def publish(release: Release, settings: PublishSettings) -> Path:
    """Publish, or find what was published before; return the folder."""
    return put_on_shelf(release, _record(release, Kind.PUBLISHED, settings, revision=1))


def revise(release: Release, settings: PublishSettings) -> Path:
    """Publish other post-processing of the same draws; the same bytes make no revision."""
    entries = [e for e in release.state.entries if e.kind in _PUBLICATIONS]
    if not entries:
        raise BadInput(f"release {release.release_id} was never published; run it to its end.")
    newest = entries[-1].payload
    wanted = _settings(settings)
    if (newest["settings"], newest["blocked"]) == (wanted, sorted(_blocked(release, settings))):
        return put_on_shelf(release, entries[-1])
    revision = newest["revision"] + 1
    return put_on_shelf(release, _record(release, Kind.REVISED, settings, revision=revision))


def withhold(release: Release, reason: str) -> None:
    """Decide that a drawn release is never published."""
    release.ledger.append(Kind.WITHHELD, release.release_id, release.attempt, {"reason": reason})


def _record(release: Release, kind: Kind, settings: PublishSettings, *, revision: int) -> Entry:
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
            "created": release.ledger.now().isoformat(timespec="seconds"),
            "sequence": earlier[-1].payload["sequence"] + 1 if earlier else 1,
            "previous": folder_name(earlier[-1]) if earlier else None,
            "revision": revision,
            "code_version": code_version(),
            "settings": _settings(settings),
            "blocked": sorted(_blocked(release, settings)),
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


def _settings(settings: PublishSettings) -> dict[str, Any]:
    return settings.model_dump(exclude={"blocklist"})


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
        if e.kind in _PUBLICATIONS and places[e.release_id, e.attempt] == (product, locale)
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
            _require_same(folder, files)
        else:
            with whole_directory(folder) as partial:
                for name, data in files.items():
                    (partial / name).write_bytes(data)
        point_to_newest(release.home, reserved["product"], reserved["locale"])
    return folder


def publication_files(release: Release, publication: Entry) -> dict[str, bytes]:
    """Return every file of a publication; only the signature needs a secret."""
    payload = publication.payload
    tables = tables_of(release, payload["settings"]["decimals"], frozenset(payload["blocked"]))
    files = tables.files()
    described = build_manifest(release, publication, tables, files)
    files["label.md"] = write_label(described, release.params).encode()
    manifest = manifest_bytes(build_manifest(release, publication, tables, files))
    files["manifest.json"] = manifest
    files["manifest.sig"] = Keyring.open(release.home).signing.sign(signed_bytes(manifest))
    return files


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


def _blocked(release: Release, settings: PublishSettings) -> frozenset[str]:
    """Return the listed queries to leave out; without a new blocklist, those of the last time."""
    if settings.blocklist is None:
        earlier = [e for e in release.state.entries if e.kind in _PUBLICATIONS]
        return frozenset(earlier[-1].payload["blocked"]) if earlier else frozenset()
    listed = published_listing(release).listed_queries
    return read_blocklist(settings.blocklist) & frozenset(listed)


def read_blocklist(path: Path | None) -> frozenset[str]:
    """Read the queries that are never published, one a line, normalised like any query."""
    if path is None:
        return frozenset()
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        raise BadInput(f"{path} cannot be read as a blocklist; write one query a line.") from None
    return frozenset(filter(None, map(normalise_query, lines)))
