"""One publication: its row in the ledger, its files, its folder on the shelf."""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tasks.budget.policy_change import promised_policy
from tasks.ledger.chain import GENESIS
from tasks.ledger.ledger import LedgerCorrupt, LedgerMoved
from tasks.ledger.payloads import Publication
from tasks.ledger.rules import Entry, Kind
from tasks.products.files import Made, writer_version
from tasks.products.request import Form
from tasks.publish.standing import Standing, folder_name
from tasks.release.run import Release
from tasks.store.home import whole_directory
from tasks.store.keys import Keyring
from tasks.verify.in_ledger import InLedger
from tasks.verify.manifest import (
    SCHEMA_VERSION,
    code_version,
    described_digest,
    manifest_bytes,
    signed_bytes,
)
from tasks.verify.reading import described as as_read
from tasks.verify.signatures import is_signed


@dataclass(frozen=True, slots=True)
class Facts:
    """What a publication is made with."""

    settings: dict[str, Any]
    blocked: list[str]  # the texts that it leaves out
    created: str | None = None  # now, unless it is published again


def standing_of(release: Release) -> Standing:
    """Return what the ledger says now of the release's product and locale."""
    reserved = release.reservation
    return Standing.of(release.home, reserved.product, reserved.locale)


def folder_of(release: Release, publication: Entry) -> Path:
    """Return where a publication of a release lies."""
    reserved = release.reservation
    return release.home.shelf(reserved.product, reserved.locale) / folder_name(publication)


def wanted_facts(release: Release, settings: Form) -> Facts:
    """Return what a publication is made with: settings, and the texts that it leaves out."""
    return Facts(
        settings=settings.model_dump(exclude={"blocklist"}),
        blocked=release.product.making.blocked(release, settings),
    )


def record(release: Release, facts: Facts, *, revision: int = 1) -> Entry:
    """Fix in the ledger what would otherwise differ from run to run."""
    kind, draw = (Kind.PUBLISHED, "") if revision == 1 else (Kind.REVISED, str(revision))
    while True:
        head = release.ledger.head()
        there = release.state.find(kind, draw)
        if there is not None:
            return there
        payload = _sealed(release, next_payload(release, facts, revision))
        try:
            return release.ledger.append(
                kind, release.release_id, release.attempt, payload, draw=draw, expected_head=head
            )
        except LedgerMoved:
            continue


def next_payload(release: Release, facts: Facts, revision: int) -> Publication:
    """Return what the ledger would say of a publication that is made now."""
    standing = standing_of(release)
    earlier = standing.publications
    return Publication(
        schema_version=SCHEMA_VERSION,
        created=facts.created or release.ledger.now().isoformat(timespec="seconds"),
        sequence=standing.next_sequence,
        previous=folder_name(earlier[-1]) if earlier else None,
        revision=revision,
        code_version=code_version(),
        writer=writer_version(),
        # Only a row can move readers.
        latest=standing.would_be_newest((release.release_id, release.attempt)),
        cap=promised_policy(release.ledger.entries()).statement,
        # The row's hash is public: without a salt, anybody could test a guessed blocked text.
        salt=secrets.token_hex(16),
        settings=facts.settings,
        blocked=facts.blocked,
    )


def imagined(release: Release, payload: Publication) -> Entry:
    """Return a row that is not written yet: nothing but the manifest says where it stands."""
    key = release.release_id, release.attempt
    return Entry(1, "", Kind.PUBLISHED, *key, "", payload, GENESIS, GENESIS)


def _sealed(release: Release, payload: Publication) -> Publication:
    """Add the digest of what is published: the label and all words are then on record, too."""
    _, manifest = described_files(release, imagined(release, payload))
    digest = described_digest(json.loads(manifest))
    return payload.model_copy(update={"described": digest})


def gives_what_it_says(release: Release, publication: Entry) -> bool:
    """Whether this program would write a publication byte for byte again, as its row says it."""
    if not has_our_bytes(publication):
        return False
    said = publication.said(Publication)
    return said.described in (None, _sealed(release, said).described)


def record_again(release: Release, publication: Entry) -> Entry:
    """Publish the same again, under a new sequence and revision, by this version's words.

    It is no newer for that: it was created, and expires, when it was first.
    """
    said = publication.said(Publication)
    facts = Facts(said.settings, said.blocked, said.created)
    published = standing_of(release).of_release((release.release_id, release.attempt))
    return record(release, facts, revision=published[-1].said(Publication).revision + 1)


def put_on_shelf(release: Release, publication: Entry) -> Path:
    """Make the folder of a publication appear, complete, or see that it is what it was."""
    folder = folder_of(release, publication)
    if folder.exists():
        _require_unchanged(release, publication, folder)
        return folder
    files = publication_files(release, publication)
    with whole_directory(folder) as partial:
        for name, data in files.items():
            (partial / name).write_bytes(data)
    return folder


def has_our_bytes(publication: Entry) -> bool:
    """Whether this program, with its libraries, would write a publication byte for byte again."""
    return _has_our_words(publication) and publication.said(Publication).writer == writer_version()


def _has_our_words(publication: Entry) -> bool:
    return publication.said(Publication).code_version == code_version()


def publication_files(release: Release, publication: Entry) -> dict[str, bytes]:
    """Return every file of a publication; only the signature needs a secret."""
    files, manifest = described_files(release, publication)
    files["manifest.json"] = manifest
    files["manifest.sig"] = Keyring.open(release.home).signing.sign(signed_bytes(manifest))
    return files


def described_files(release: Release, publication: Entry) -> tuple[dict[str, bytes], bytes]:
    """Return the files that a manifest describes, the label among them, and the manifest."""
    product, facts = release.product, publication.said(Publication)
    hidden = frozenset(facts.blocked)
    made = product.make(release, facts.settings, hidden, facts.schema_version)
    files, described = made.files, _build_manifest(release, publication, made)
    files["label.md"] = product.checking.label(as_read(described | {"files": {}})).encode()
    return files, manifest_bytes(described | {"files": _digests(files)})


def _digests(files: Mapping[str, bytes]) -> dict[str, dict[str, Any]]:
    return {
        name: {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        for name, data in sorted(files.items())
    }


def _require_unchanged(release: Release, publication: Entry, folder: Path) -> None:
    """See that a folder is what was published, as far as this program would write it again.

    Another version may word things otherwise: then the ledger, the measurements and our key say
    enough. Another writer of Parquet files says the same rows in other bytes, with other hashes.
    """
    is_signed_there = _is_as_signed(release, publication, folder)
    is_ours = has_our_bytes(publication)
    if not is_ours and not is_signed_there:
        raise LedgerCorrupt(
            f"{folder} is not what version {publication.said(Publication).code_version} of the "
            "program signed there; somebody changed it. Run `hybriddp verify` on the folder; to "
            "publish it again as a new revision, remove the folder first."
        )
    if not _has_our_words(publication):
        return
    for name, data in publication_files(release, publication).items():
        if not is_ours and name.endswith((".parquet", ".json", ".sig")):
            continue
        if not (folder / name).exists() or (folder / name).read_bytes() != data:
            remedy = (
                "yet our key signed it: another library rounds otherwise, or somebody has the key. "
                "Leave the folder, or two manifests of one sequence are signed; run `hybriddp "
                "verify` on it, and `hybriddp withdraw` if that fails."
                if is_signed_there
                else "somebody changed it. Run `hybriddp verify` on the folder; to make it again, "
                "remove the folder first."
            )
            raise LedgerCorrupt(
                f"{folder / name} is not what these measurements and the ledger give; {remedy}"
            )


def _is_as_signed(release: Release, publication: Entry, folder: Path) -> bool:
    """Whether a folder holds what our key signed for this row of the ledger."""
    public_key = Keyring.open(release.home).public_key
    try:
        data, signature = ((folder / f"manifest.{end}").read_bytes() for end in ("json", "sig"))
        manifest = json.loads(data) if is_signed(public_key, signed_bytes(data), signature) else {}
        listed = {name: facts["sha256"] for name, facts in manifest["files"].items()}
        is_it = not InLedger(release.ledger, publication).differing(manifest)
        return is_it and all(
            hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
            for name, digest in listed.items()
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return False


def _build_manifest(release: Release, publication: Entry, made: Made) -> dict[str, Any]:
    """Describe a publication; everything comes from the ledger and the measurements."""
    return {
        **InLedger(release.ledger, publication).facts,
        "rows": {name: table.num_rows for name, table in made.tables.items()},
        **made.facts,
    }
