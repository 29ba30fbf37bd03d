"""Take publications down: what is left of a folder is a signed notice that names nothing.

Not even the manifest stays: it lists the queries whose other urls have a mass.
"""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hybriddp.device.package import canonical_json
from tasks.ledger.payloads import Withdrawn, Withheld
from tasks.ledger.rules import Entry, Kind
from tasks.publish.notices import NOTICE, SIGNATURE
from tasks.publish.standing import folder_name
from tasks.store.home import Home, sync_directory, write_whole
from tasks.store.keys import Keyring
from tasks.verify.taken_down import FIRST_NOTICE, SIGNING_CONTEXT

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
            "schema_version": FIRST_NOTICE + 1,
            "release_id": row.release_id,
            "attempt": row.attempt,
            "at": row.payload.at if isinstance(row.payload, Withdrawn) else row.at,
            "reason": _reason(row),
            "replaced_by": folder_name(row) if is_revision else None,
            # A restored ledger that lacks this row has forgotten the takedown.
            "ledger": {"seq": row.seq, "hash": row.hash},
            **facts,
        }
    )


def _reason(row: Entry) -> str:
    if isinstance(row.payload, Withheld) and row.payload.is_asked:
        return "taken back while devices were asked"
    return _REASONS.get(row.kind) or row.said(Withdrawn).reason


def bury(home: Home, folder: Path, notice: bytes) -> None:
    """Leave nothing but the signed notice in a folder; done again, it changes nothing."""
    signature = Keyring.open(home).signing.sign(SIGNING_CONTEXT + notice)
    for name, data in ((SIGNATURE, signature), (NOTICE, notice)):
        path = folder / name
        if not path.is_file() or path.read_bytes() != data:
            write_whole(path, data)
    # Only now: whoever dies here leaves a folder that says what it is.
    for path in [path for path in folder.iterdir() if path.name not in (NOTICE, SIGNATURE)]:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    sync_directory(folder)
