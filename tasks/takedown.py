"""Take publications down: what is left of a folder is a signed notice that names nothing.

Not even the manifest stays: it lists the queries whose other urls have a mass.
"""

import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hybriddp.package import canonical_json
from tasks.checks import VerificationFailed
from tasks.home import Home, sync_directory, write_whole
from tasks.keys import Keyring, is_signed
from tasks.ledger import Ledger
from tasks.ledger_rules import Entry, Kind
from tasks.notices import NOTICE, SIGNATURE, is_taken_down, why
from tasks.reading import Unreadable, parse_json, read_file
from tasks.standing import Standing, folder_name

_SIGNING_CONTEXT = b"hybriddp withdrawal v1\n"
_FIRST_NOTICE = 1  # of version 0.1.0
_REASONS = {
    Kind.WITHHELD: "withheld at sign-off",
    Kind.REVISED: "a later revision leaves texts out that were published here",
    Kind.PUBLISHED: "what was published leaves texts out that devices were asked about",
}


def notice_of(row: Entry, facts: Mapping[str, Any]) -> bytes:
    """Return what readers are told: who took it down, when and why; never what was in it."""
    is_revision = row.kind is Kind.REVISED
    return canonical_json(
        {
            "schema_version": _FIRST_NOTICE + 1,
            "release_id": row.release_id,
            "attempt": row.attempt,
            "at": row.payload.get("at", row.at),
            "reason": _REASONS.get(row.kind) or row.payload["reason"],
            "replaced_by": folder_name(row) if is_revision else None,
            # A restored ledger that lacks this row has forgotten the takedown.
            "ledger": {"seq": row.seq, "hash": row.hash},
            **facts,
        }
    )


def bury(home: Home, folder: Path, notice: bytes) -> None:
    """Leave nothing but the signed notice in a folder; done again, it changes nothing."""
    signature = Keyring.open(home).signing.sign(_SIGNING_CONTEXT + notice)
    for name, data in ((SIGNATURE, signature), (NOTICE, notice)):
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
    # Only now: whoever dies here leaves a folder that says what it is.
    for path in [path for path in folder.iterdir() if path.name not in (NOTICE, SIGNATURE)]:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    sync_directory(folder)


def check_notice(folder: Path, public_key: bytes, signed_manifest: Callable[[], bytes]) -> None:
    """Refuse a folder that was taken down, and say if the notice is not the publisher's for it."""
    if not is_taken_down(folder):
        return
    try:
        notice, signature = read_file(folder, NOTICE), read_file(folder, SIGNATURE)
    except Unreadable:
        notice, signature = b"", b""
    if not is_signed(public_key, _SIGNING_CONTEXT + notice, signature):
        raise VerificationFailed(
            f"{folder} says that it was withdrawn, but {NOTICE} is not what the key signed: it is "
            "damaged, or somebody put it there. Do not use the release; get it again."
        )
    try:  # a withdrawal that died, and one of version 0.1.0, leave the manifest there
        manifest = parse_json(signed_manifest(), "manifest.json")
    except (VerificationFailed, Unreadable):
        manifest = None
    if not _is_about(parse_json(notice, NOTICE), folder, manifest):
        raise VerificationFailed(
            f"{folder} holds the notice of something else that was withdrawn: somebody put it "
            "there, or renamed the folder. Do not use the release; get it again."
        )
    raise VerificationFailed(f"the release was withdrawn: it was {why(folder)}")


def _is_about(notice: Mapping[str, Any], folder: Path, manifest: Mapping[str, Any] | None) -> bool:
    """Whether a signed notice is that of a folder: by its signed manifest, or else by its name."""
    if manifest is None:
        return bool(folder.resolve().name.partition(".")[0] == notice["release_id"])
    # Version 0.1.0 withdrew whole releases. A package's notice has no sequence: the list may stand.
    names = ("product", "locale", "epoch", "release_id", "attempt", "sequence")
    named = ("release_id",) if notice["schema_version"] == _FIRST_NOTICE else names
    return all(notice.get(name) == manifest.get(name) for name in named)


def ask_the_ledger(home: Home, manifest: Mapping[str, Any]) -> None:
    """Refuse a release that the home's ledger knows as taken down, whatever its folder says."""
    if not home.ledger.exists():
        return
    entries = Ledger(home.ledger).entries()
    standing = Standing.among(entries, manifest["product"], manifest["locale"])
    for publication in standing.of_release((manifest["release_id"], manifest["attempt"])):
        is_this = publication.payload["revision"] == manifest["revision"]
        if is_this and standing.taken_down_by(publication) is not None:
            raise VerificationFailed(
                f"the ledger says that {folder_name(publication)} was withdrawn, and its folder "
                "does not; run `hybriddp withdraw` or the release again, which mends the folder."
            )
