"""Verification as the commands do it: with the home's own key and measurements, if no others."""

from dataclasses import replace
from pathlib import Path

from tasks.publish.pointer import Pointer
from tasks.store.home import Home
from tasks.verify.checks import Check
from tasks.verify.found import Source
from tasks.verify.manifest import Manifest
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import ask_own_ledger, check_shelf, verify_release


def verify_folder(
    folder: Path,
    home: Home,
    key: Path | None,
    min_sequence: int,
    *,
    measurements: Path | None = None,
    with_measurements: bool,
    may_be_expired: bool = False,
    pointer: Pointer | None = None,
) -> tuple[Manifest, list[Check]]:
    """Verify with the home's own measurements, where they are and nobody gave others."""
    public_key = read_public_key(key or home.public / "signing.pub")
    source, beside = Source(measurements) if measurements else None, list[Check]()
    if with_measurements:  # the home is at hand, so its ledger is asked, too
        own = ask_own_ledger(home, folder, public_key)
        beside = own.checks
        if measurements or own.source.folder.is_dir():
            source = replace(own.source, folder=measurements or own.source.folder)
    manifest, checks = verify_release(
        folder,
        public_key,
        min_sequence=min_sequence,
        measurements=source,
        may_be_expired=may_be_expired,
    )
    checks[1:1] = beside  # right behind the signature
    if pointer is not None:  # which led here, and which nobody signed
        checks.append(check_shelf(pointer, manifest, home if with_measurements else None))
    return manifest, checks
