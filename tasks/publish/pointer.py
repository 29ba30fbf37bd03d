"""`latest.json`, which leads readers of a shelf to its newest release.

Nobody signs it: it is believed as far as the signed manifest that it leads to says the same.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tasks.release.refusals import BadInput
from tasks.store.reading import Unreadable, is_plain_name, parse_json, read_file
from tasks.verify.checks import VerificationFailed
from tasks.verify.manifest import Manifest

POINTER = "latest.json"
Pointer = Mapping[str, Any]


def follow(folder: Path) -> tuple[Path, Pointer | None]:
    """Return the newest release of a product's shelf, and what led there; a release is itself."""
    if (folder / "manifest.json").exists() or not (folder / POINTER).exists():
        return folder, None
    try:
        pointer = parse_json(read_file(folder, POINTER), POINTER)
        name = pointer.get("release") if isinstance(pointer, dict) else None
    except Unreadable as error:
        raise BadInput(f"{folder} cannot be used: {error}") from None
    if not is_plain_name(name):
        raise BadInput(f"{folder / POINTER} names no release of this folder.")
    release = folder / str(name)
    if release.is_symlink():
        raise BadInput(_is_a_link(release))
    return release, pointer


def _is_a_link(place: Path) -> str:
    return f"{place} is a link, which may lead to anything; name the folder that you mean."


def require_no_link(public: Path, folder: Path) -> None:
    """See that no link stands in a release's place on a shelf; one that is elsewhere was typed."""
    place = folder.absolute()
    is_there = len(place.parents) > 2 and place.parents[2].resolve() == public.resolve()
    if is_there and place.is_symlink():
        raise VerificationFailed(_is_a_link(folder))


def check_pointer(pointer: Pointer, manifest: Manifest) -> str:
    """See that a shelf leads to the release that it says it leads to."""
    signed = manifest.model_dump(include={"sequence", "epoch", "expires"})
    signed["release"] = folder_of(manifest)
    wrong = sorted(name for name, value in signed.items() if pointer.get(name) != value)
    if wrong:
        raise VerificationFailed(
            f"{POINTER} says something else than the signed manifest that it leads to "
            f"({', '.join(wrong)}): somebody changed the shelf. Get it again."
        )
    return f"{POINTER} says what the signed manifest says"


def require_own_place(public: Path, folder: Path, manifest: Manifest) -> None:
    """See that a folder of a public zone holds the release that its place is for."""
    own = (manifest.product, manifest.locale, folder_of(manifest))
    # A link in a place is looked at where it is, and where it leads to.
    for place in (folder.absolute(), folder.resolve()):
        is_there = len(place.parents) > 2 and place.parents[2].resolve() == public.resolve()
        if is_there and place.parts[-3:] != own:
            raise VerificationFailed(
                f"{folder} holds release {manifest.release_id} of {manifest.product}/"
                f"{manifest.locale}: somebody put it into another one's place. Remove it, and "
                "restore the public zone from its backup."
            )


def folder_of(manifest: Manifest) -> str:
    """Return the name of the folder that a release belongs into."""
    return folder_name(manifest.release_id, manifest.attempt, manifest.revision)


def folder_name(release_id: str, attempt: int, revision: int) -> str:
    """Return the name of a publication's folder: the release, a later attempt, a revision."""
    return (
        release_id
        + (f".a{attempt}" if attempt > 1 else "")
        + (f".r{revision}" if revision > 1 else "")
    )
