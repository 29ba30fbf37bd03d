"""Does a release stand? As its folder says with the publisher's key, and as the ledger says."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Publication, Reserved
from tasks.ledger.rules import PUBLICATIONS, Kind
from tasks.publish.notices import NOTICE, SIGNATURE, is_taken_down, why
from tasks.publish.pointer import POINTER, folder_of
from tasks.publish.standing import Standing, folder_name
from tasks.store.home import Home
from tasks.store.reading import Unreadable, parse_json, read_file
from tasks.verify.checks import VerificationFailed
from tasks.verify.in_ledger import InLedger
from tasks.verify.manifest import Manifest
from tasks.verify.signatures import is_signed

SIGNING_CONTEXT = b"hybriddp withdrawal v1\n"
FIRST_NOTICE = 1  # of version 0.1.0


def check_notice(
    folder: Path, public_key: bytes, signed_manifest: Callable[[], bytes], home: Home | None = None
) -> None:
    """Refuse a folder that was taken down, and say if the notice is not the publisher's for it.

    Args:
        home: The publisher's, if it is at hand: its ledger says what was taken down.
    """
    if not is_taken_down(folder):
        return
    try:
        notice, signature = read_file(folder, NOTICE), read_file(folder, SIGNATURE)
    except Unreadable:
        notice, signature = b"", b""
    if not is_signed(public_key, SIGNING_CONTEXT + notice, signature):
        raise VerificationFailed(
            f"{folder} says that it was withdrawn, but {NOTICE} is not what the key signed: it is "
            "damaged, or somebody put it there. Do not use the release; get it again."
        )
    try:  # a withdrawal that died, and one of version 0.1.0, leave the manifest there
        manifest = parse_json(signed_manifest(), "manifest.json")
    except (VerificationFailed, Unreadable):
        manifest = None
    facts = parse_json(notice, NOTICE)
    if not _is_about(facts, folder, manifest):
        raise VerificationFailed(
            f"{folder} holds the notice of something else that was withdrawn: somebody put it "
            "there, or renamed the folder. Do not use the release; get it again."
        )
    if home is not None and home.ledger.exists() and not _is_on_record(home, facts):
        raise VerificationFailed(
            f"this home's key signed the notice in {folder}, and its ledger does not say that the "
            "release was taken down: the ledger is older than the notice, or somebody has the key. "
            "Do not use the release before you know which; `hybriddp ledger verify` checks the "
            f"ledger. If it is whole, remove the folder and run release {facts['release_id']} "
            "again, which makes it again for free."
        )
    raise VerificationFailed(f"the release was withdrawn: it was {why(folder)}")


def _is_on_record(home: Home, notice: Mapping[str, Any]) -> bool:
    """Whether the ledger says that a row took down every publication that a notice speaks of."""
    entries = Ledger(home.ledger).entries()
    about = [e for e in entries if e.release_id == notice["release_id"]]
    reserved = [e.said(Reserved) for e in about if e.kind is Kind.RESERVED]
    spoken_of = [
        e
        for e in about
        if e.kind in PUBLICATIONS
        # Notices of version 0.1.0 are about all of them.
        and notice.get("attempt", e.attempt) == e.attempt
        and notice.get("sequence", e.said(Publication).sequence) == e.said(Publication).sequence
    ]
    if not spoken_of:
        return False
    standing = Standing.among(entries, reserved[0].product, reserved[0].locale)
    return all(standing.taken_down_by(publication) is not None for publication in spoken_of)


def _is_about(notice: Mapping[str, Any], folder: Path, manifest: Mapping[str, Any] | None) -> bool:
    """Whether a signed notice is that of a folder: by its signed manifest, or else by its name."""
    if manifest is None:
        return bool(folder.resolve().name.partition(".")[0] == notice["release_id"])
    # Version 0.1.0 withdrew whole releases. A package's notice has no sequence: the list may stand.
    names = ("product", "locale", "epoch", "release_id", "attempt", "sequence")
    named = ("release_id",) if notice["schema_version"] == FIRST_NOTICE else names
    return all(notice.get(name) == manifest.get(name) for name in named)


def require_newest(home: Home, manifest: Manifest) -> None:
    """See that the release that readers are led to is the one that the ledger says is newest."""
    standing = Standing.of(home, manifest.product, manifest.locale)
    newest = standing.newest()
    if newest is not None and folder_name(newest) != folder_of(manifest):
        raise VerificationFailed(
            f"{POINTER} leads to {folder_of(manifest)}, of {manifest.epoch}, and the ledger says "
            f"that {folder_name(newest)}, of {standing.epoch_of(newest)}, is the newest: somebody "
            "put an older one in its place, or a run died while it published. Run release "
            f"{newest.release_id} again, which mends the shelf for free."
        )


def ask_the_ledger(home: Home, manifest: Manifest, data: bytes) -> InLedger | None:
    """Return what the home's ledger, if it has one, knows of a release.

    Refuse what it does not let stand, or does not know as it says.
    """
    if not home.ledger.exists():
        return None
    entries = Ledger(home.ledger).entries()
    standing = Standing.among(entries, manifest.product, manifest.locale)
    publication = standing.revision((manifest.release_id, manifest.attempt), manifest.revision)
    if publication is None:
        raise VerificationFailed(
            "this home's key signed the release, and its ledger does not know it: the ledger is "
            "older than the release, or somebody has the key. Do not use the release before you "
            "know which; `hybriddp ledger verify` checks the ledger."
        )
    if standing.taken_down_by(publication) is not None:
        raise VerificationFailed(
            f"the ledger says that {folder_name(publication)} was withdrawn, and its folder "
            "does not; run `hybriddp withdraw` or the release again, which mends the folder."
        )
    known = InLedger(Ledger(home.ledger), publication)
    fields = known.differing(parse_json(data, "manifest.json"))
    if fields:
        raise VerificationFailed(
            f"the ledger says something else of {', '.join(fields)} than the signed manifest: "
            "somebody has the key, or the ledger is of another home. Do not use the release."
        )
    return known
