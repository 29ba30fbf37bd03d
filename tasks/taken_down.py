"""Was a release taken down? As its folder says with the publisher's key, and as the ledger."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.checks import VerificationFailed
from tasks.home import Home
from tasks.ledger import Ledger
from tasks.notices import NOTICE, SIGNATURE, is_taken_down, why
from tasks.reading import Unreadable, read_file
from tasks.signatures import is_signed
from tasks.standing import Standing, folder_name

SIGNING_CONTEXT = b"hybriddp withdrawal v1\n"


def check_notice(folder: Path, public_key: bytes) -> None:
    """Refuse a folder that was taken down, and say if the notice is not the publisher's."""
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
    raise VerificationFailed(f"the release was withdrawn: it was {why(folder)}")


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
