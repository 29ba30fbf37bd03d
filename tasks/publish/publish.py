"""The public shelf: every change of it is decided on the ledger, inside one lock.

Publishing, revising and withdrawing write a row and then let `settle` make the public zone say
what the ledger says. So whoever comes after a crash, or finds files lost, mends the shelf.
"""

import json
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hybriddp.device.package import canonical_json
from tasks.gates.blocklist import require_blocklist_again
from tasks.ledger.ledger import LedgerCorrupt
from tasks.ledger.payloads import Publication, Reserved, Withdrawn, Withheld
from tasks.ledger.rules import Entry, Kind
from tasks.ledger.witnesses import verified_head, write_witness
from tasks.log.raw.files import BadInput
from tasks.products.request import Form
from tasks.publish.publication import (
    Facts,
    folder_of,
    gives_what_it_says,
    put_on_shelf,
    record,
    record_again,
    standing_of,
    wanted_facts,
)
from tasks.publish.standing import Standing, folder_name
from tasks.publish.takedown import bury, notice_of
from tasks.release.refusals import BudgetRefused
from tasks.release.replay import refuse_if_it_names, settings_of
from tasks.release.run import Release, collection_id
from tasks.store.home import Home, remove_unfinished, write_whole
from tasks.verify.manifest import expiry_of

# What somebody has signed off in this process, to be published next.
_approved: dict[tuple[Path, str, int], Facts] = {}


def approve(release: Release, facts: Facts) -> None:
    """Let `publish` publish these settings and left out texts, which somebody has looked at."""
    _approved[_key(release)] = facts


def _key(release: Release) -> tuple[Path, str, int]:
    return release.home.root, release.release_id, release.attempt


def publish(release: Release, settings: Form) -> Path:
    """Publish, or find what was published before; return the folder."""
    with changing_the_shelf(release):
        stands = standing_publications(release)
        facts = _approved.pop(_key(release), None) or wanted_facts(release, settings)
        # Also if somebody has signed it off: they may have been asked for days.
        require_blocklist_again(release, getattr(settings, "blocklist", None))
        if stands:
            refuse_if_it_names(release, stands[-1], facts.blocked, settings)
        newest = stands[-1] if stands else record(release, facts)
        _shelve(release, newest)
        return published_folder(release)  # outside, somebody may have withdrawn it


def revise(release: Release, settings: Form) -> Path:
    """Publish other post-processing of the same draws; the same bytes make no revision."""
    with changing_the_shelf(release):
        newest = newest_publication(release)
        before, facts = newest.said(Publication), wanted_facts(release, settings)
        as_before = Facts(settings_of(release, newest), before.blocked)
        if as_before != facts:
            newest = record(release, facts, revision=before.revision + 1)
        _shelve(release, newest)
        return published_folder(release)


def withhold(release: Release, reason: str, *, is_asked: bool = False) -> None:
    """Decide that a drawn release is never published: at sign-off, or while devices are asked."""
    with changing_the_shelf(release):
        # The row's hash is public: without a salt, anybody could test a guessed reason.
        facts = Withheld(reason=reason, salt=secrets.token_hex(16))
        if is_asked:
            facts = facts.model_copy(update={"is_asked": True})
        row = release.ledger.append(Kind.WITHHELD, release.release_id, release.attempt, facts)
        write_witness(release.folder, row)
        settle(release)


def withdraw(release: Release, reason: str) -> list[Path]:
    """Take every publication of a release down, for good; return their folders."""
    with release.home.locked("shelf"):
        verified_head(release.home)
        if not release.state.has(Kind.WITHDRAWN):
            at = release.ledger.now().isoformat(timespec="seconds")
            facts = Withdrawn(reason=reason, at=at)
            release.ledger.append(Kind.WITHDRAWN, release.release_id, release.attempt, facts)
        settle(release)
        published = standing_of(release).of_release((release.release_id, release.attempt))
        return [folder_of(release, publication) for publication in published]


@contextmanager
def changing_the_shelf(release: Release) -> Iterator[None]:
    """Let one process at a time change the shelf; whatever is decided is read inside."""
    with release.home.locked("shelf"):
        verified_head(release.home)  # a damaged ledger could hide that something was withdrawn
        refuse_closed(release)
        yield


def refuse_closed(release: Release) -> None:
    """Refuse to publish what was withheld or withdrawn."""
    for kind in (Kind.WITHHELD, Kind.WITHDRAWN):
        if release.state.has(kind):
            raise BudgetRefused(
                f"release {release.release_id} was {kind.lower()}; it is not published again. "
                "Make another epoch's release."
            )


def standing_publications(release: Release) -> list[Entry]:
    """Return the publications of a release that nothing took down, oldest first."""
    return standing_of(release).standing((release.release_id, release.attempt))


def published_folder(release: Release) -> Path:
    """Return the folder of the newest publication of a release."""
    return folder_of(release, newest_publication(release))


def newest_publication(release: Release) -> Entry:
    """Return the newest publication of a release that stands; refuse if there is none."""
    refuse_closed(release)
    stands = standing_publications(release)
    if not stands:
        raise BadInput(f"release {release.release_id} was never published; run it to its end.")
    return stands[-1]


def _shelve(release: Release, publication: Entry) -> None:
    """Put a publication on the shelf, and the shelf in order."""
    _put_on_shelf_again(release, publication)
    settle(release)


def _put_on_shelf_again(release: Release, publication: Entry) -> Entry:
    """Make the folder of a publication if it is lost; return what stands there.

    It is made again byte for byte; but not one of another version, whose words are not ours, or
    whose Parquet files: there must not be two signed manifests of one sequence. It becomes a
    revision.
    """
    is_lost = not folder_of(release, publication).exists()
    if is_lost and not gives_what_it_says(release, publication):
        publication = record_again(release, publication)
    put_on_shelf(release, publication)
    return publication


def settle(release: Release) -> None:
    """Make the shelf of a release's product say what the ledger says; the caller has the lock."""
    home, standing = release.home, standing_of(release)
    shelf = home.shelf(release.reservation.product, release.reservation.locale)
    remove_unfinished(shelf)  # the lock is ours, so whoever wrote it is dead
    for publication in standing.publications:
        row = standing.taken_down_by(publication)
        if row is not None:
            facts = {"sequence": publication.said(Publication).sequence}
            bury(
                home, shelf / folder_name(publication), notice_of(row, _about(standing, row, facts))
            )
    _remove_packages(home, standing)
    _point_to_newest(home, shelf, standing)


def _about(standing: Standing, row: Entry, facts: dict[str, Any]) -> dict[str, Any]:
    reserved = standing.reservations[row.key].said(Reserved)
    return reserved.model_dump(include={"product", "locale", "epoch"}) | facts


def _remove_packages(home: Home, standing: Standing) -> None:
    """Leave no package that nobody needs: of simulated clients, or of what was taken down."""
    for key, reservation in standing.reservations.items():
        folder = home.collection(collection_id(Release(home, *key)))
        row = standing.package_taken_down_by(key)
        if row is not None:
            remove_unfinished(folder.parent, folder.name)
        if not folder.exists():
            continue
        if reservation.said(Reserved).parameters.get("clients") == "simulate":
            shutil.rmtree(folder)
        elif row is not None:
            bury(home, folder, notice_of(row, _about(standing, row, {})))


def _point_to_newest(home: Home, shelf: Path, standing: Standing) -> None:
    """Replace latest.json, by a publication whose sequence is above all that it pointed to."""
    pointer, newest = shelf / "latest.json", standing.newest()
    _forget_gone(pointer, shelf)
    if newest is None:
        pointer.unlink(missing_ok=True)
        return
    release = Release(home, newest.release_id, newest.attempt)
    try:
        if newest != standing.last_latest:
            # Readers who keep the highest sequence would refuse it: it is published again.
            newest = record_again(release, newest)
        if not (shelf / folder_name(newest) / "manifest.json").exists():
            newest = _put_on_shelf_again(release, newest)
    except LedgerCorrupt:
        # It cannot be made again. Readers stay where they are: no older list is newer for that.
        return
    published = newest.said(Publication)
    latest = {
        "schema_version": 1,
        "release": folder_name(newest),
        "sequence": published.sequence,
        "epoch": standing.epoch_of(newest),
        "expires": expiry_of(published),
    }
    data = canonical_json(latest)
    if not pointer.exists() or pointer.read_bytes() != data:
        write_whole(pointer, data)


def _forget_gone(pointer: Path, shelf: Path) -> None:
    """Remove a pointer to what is no release any more, before anything else can fail."""
    try:
        is_good = (shelf / json.loads(pointer.read_bytes())["release"] / "manifest.json").exists()
    except (OSError, ValueError, KeyError, TypeError):
        is_good = False
    if not is_good:
        pointer.unlink(missing_ok=True)
