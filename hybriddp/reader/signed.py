"""What is read of a release before it is believed: every byte of it is signed, or says the same.

The words of refusals are those of `hybriddp verify`.
"""

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from hybriddp.reader.folder import Place
from hybriddp.reader.manifest import MANIFEST, Manifest, parse_json
from hybriddp.reader.refusals import Reason, ReleaseRefused, refused
from hybriddp.reader.signature import MANIFEST_CONTEXT, NOTICE_CONTEXT, is_signed

SIGNATURE, POINTER = "manifest.sig", "latest.json"
NOTICE, NOTICE_SIGNATURE = "withdrawn.json", "withdrawn.sig"
MAX_MANIFEST_BYTES = 16 * 2**20
MAX_POINTER_BYTES = 2**16  # a notice has no more, either
MAX_TABLE_BYTES = 128 * 2**20
_SIGNATURE_BYTES = 64
_FIRST_NOTICE = 1  # of version 0.1.0, which withdrew whole releases
_FOLDER = re.compile(r"[0-9a-f]{16,128}(\.a[0-9]{1,7})?(\.r[0-9]{1,7})?")


def signed_manifest(place: Place, public_key: bytes) -> dict[str, bytes]:
    """Return a manifest and its signature, which fits; nothing is parsed before."""
    data = place.read(MANIFEST, MAX_MANIFEST_BYTES)
    signature = place.read(SIGNATURE, _SIGNATURE_BYTES)
    if not is_signed(public_key, MANIFEST_CONTEXT + data, signature):
        raise refused(
            Reason.BAD_SIGNATURE,
            "the signature does not fit the manifest and the key: the release was changed, or "
            "comes from somebody else. Do not use it.",
            MANIFEST,
        )
    return {SIGNATURE: signature, MANIFEST: data}


def signed_file(place: Place, name: str, signed: tuple[int, str]) -> bytes:
    """Return a file with the size and hash that were signed."""
    size, digest = signed
    if size > MAX_TABLE_BYTES:
        raise refused(
            Reason.TOO_LARGE,
            f"{name} is larger than the {MAX_TABLE_BYTES} bytes allowed.",
            name,
        )
    try:
        data = place.read(name, size)
    except ReleaseRefused as error:
        if error.reason is not Reason.TOO_LARGE:
            raise
        raise refused(Reason.WRONG_SIZE, str(error), name) from None
    if len(data) != size:
        raise _not_signed(Reason.WRONG_SIZE, name)
    if hashlib.sha256(data).hexdigest() != digest:
        raise _not_signed(Reason.WRONG_HASH, name)
    return data


def if_there(place: Place, name: str, most: int) -> bytes | None:
    """Return a file, or None if there is none."""
    try:
        return place.read(name, most)
    except ReleaseRefused as error:
        if error.reason is Reason.MISSING:
            return None
        raise


def pointer_if_there(place: Place) -> dict[str, bytes]:
    """Return what leads readers of a shelf to its newest release, if this is a shelf."""
    data = if_there(place, POINTER, MAX_POINTER_BYTES)
    return {} if data is None else {POINTER: data}


def read_pointer(data: bytes) -> Mapping[str, Any]:
    """Read `latest.json`, which names a folder beside it, and nothing outside."""
    pointer = parse_json(data, POINTER)
    name = pointer.get("release") if isinstance(pointer, dict) else None
    if not isinstance(name, str) or not _FOLDER.fullmatch(name):
        raise refused(Reason.MALFORMED, f"{POINTER} names no release of this folder.", POINTER)
    return dict(pointer)


def check_pointer(pointer: Mapping[str, Any], manifest: Manifest) -> None:
    """See that a shelf leads to the release that it says it leads to."""
    signed = manifest.on_shelf
    wrong = sorted(name for name, value in signed.items() if not _same(pointer.get(name), value))
    if wrong:
        raise refused(
            Reason.MIXED_UP,
            f"{POINTER} says something else than the signed manifest that it leads to "
            f"({', '.join(wrong)}): somebody changed the shelf. Get it again.",
            POINTER,
        )


def notice_if_there(place: Place, public_key: bytes) -> dict[str, bytes]:
    """Return the signed notice of a release that was taken down; half a notice is one, too."""
    notice = if_there(place, NOTICE, MAX_POINTER_BYTES)
    signature = if_there(place, NOTICE_SIGNATURE, _SIGNATURE_BYTES)
    if notice is None and signature is None:
        return {}
    if not is_signed(public_key, NOTICE_CONTEXT + (notice or b""), signature or b""):
        raise refused(
            Reason.BAD_SIGNATURE,
            f"{place.name} says that it was withdrawn, but {NOTICE} is not what the key signed: it "
            "is damaged, or somebody put it there. Do not use the release; get it again.",
            NOTICE,
        )
    return {NOTICE_SIGNATURE: signature or b"", NOTICE: notice or b""}


def withdrawn(place: Place, public_key: bytes, notice: bytes) -> ReleaseRefused:
    """Return why a release with a signed notice is refused."""
    facts = parse_json(notice, NOTICE)
    if not _is_about(facts, place, public_key):
        return refused(
            Reason.MIXED_UP,
            f"{place.name} holds the notice of something else that was withdrawn: somebody put it "
            "there, or renamed the folder. Do not use the release; get it again.",
            NOTICE,
        )
    replacement = facts.get("replaced_by")
    return refused(
        Reason.WITHDRAWN,
        f"the release was withdrawn: it was taken down by its publisher on {facts.get('at')}: "
        f"{facts.get('reason')}." + (f" Use {replacement} instead." if replacement else ""),
        NOTICE,
    )


def _is_about(facts: Any, place: Place, public_key: bytes) -> bool:
    """Whether a signed notice is that of a release: by its signed manifest, or else by its name."""
    if not isinstance(facts, dict):
        return False
    try:  # a withdrawal that died, and one of version 0.1.0, leave the manifest there
        manifest = parse_json(signed_manifest(place, public_key)[MANIFEST], MANIFEST)
    except ReleaseRefused:
        manifest = None
    if not isinstance(manifest, dict):
        return place.name.partition(".")[0] == facts.get("release_id")
    names = ("product", "locale", "epoch", "release_id", "attempt", "sequence")
    is_first = facts.get("schema_version") == _FIRST_NOTICE
    return all(_same(facts.get(n), manifest.get(n)) for n in (names[3:4] if is_first else names))


def _same(found: object, signed: object) -> bool:
    """Whether two values are the same one: True is not 1."""
    return type(found) is type(signed) and found == signed


def _not_signed(reason: Reason, name: str) -> ReleaseRefused:
    return refused(reason, f"{name} is not the file that was signed; get the release again.", name)
