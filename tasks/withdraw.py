"""Mark a published release as withdrawn: the files stay, consumers stop using them."""

from datetime import UTC, datetime
from pathlib import Path

from hybriddp.package import canonical_json
from tasks.home import Home, write_whole
from tasks.keys import Keyring, open_for_writing
from tasks.ledger_rules import Kind
from tasks.log_files import BadInput
from tasks.publish import point_to_newest
from tasks.run import Release, full_release_id
from tasks.shelf import find_release

SIGNING_CONTEXT = b"hybriddp withdrawal v1\n"


def published_release(home: Home, release_id: str) -> Release:
    """Find the attempt of a release that was published."""
    ledger = open_for_writing(home)
    release_id = full_release_id(ledger, release_id)
    for attempt in reversed(ledger.attempts(release_id)):
        if ledger.attempt(release_id, attempt).has(Kind.PUBLISHED):
            return Release(home, release_id, attempt)
    raise BadInput(
        f"no published release has the id {release_id!r}; `hybriddp ledger show` lists them."
    )


def withdraw(home: Home, release_id: str, reason: str) -> list[Path]:
    """Withdraw every publication of a release, and point consumers to the one before."""
    release = published_release(home, release_id)
    release_id = release.release_id
    withdrawn = release.state.find(Kind.WITHDRAWN)
    if withdrawn is None:
        facts = {"reason": reason, "at": datetime.now(UTC).isoformat(timespec="seconds")}
        withdrawn = release.ledger.append(Kind.WITHDRAWN, release_id, release.attempt, facts)
    notice = canonical_json({"schema_version": 1, "release_id": release_id, **withdrawn.payload})
    signature = Keyring.open(home).signing.sign(SIGNING_CONTEXT + notice)
    with home.locked("shelf"):
        folders = find_release(home, release_id)
        for folder in folders:
            write_whole(folder / "withdrawn.sig", signature)
            write_whole(folder / "withdrawn.json", notice)
        point_to_newest(home, release.reservation["product"], release.reservation["locale"])
    return folders
