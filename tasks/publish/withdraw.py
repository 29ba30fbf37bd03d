"""Take a release back: its folders keep a signed notice, and readers are moved on."""

from pathlib import Path

from tasks.ledger.rules import Kind, full_release_id
from tasks.log.raw.files import BadInput
from tasks.publish import publish
from tasks.publish.publication import standing_of
from tasks.publish.standing import folder_name
from tasks.release.run import Release, collection_id
from tasks.store.home import Home
from tasks.store.keys import open_for_writing


def published_release(home: Home, release_id: str) -> Release:
    """Find the attempt of a release that was published."""
    for release in _attempts(home, release_id):
        if release.state.has(Kind.PUBLISHED):
            return release
    raise BadInput(
        f"no published release has the id {release_id!r}; `hybriddp ledger show` lists them."
    )


def _shown_release(home: Home, release_id: str) -> Release:
    """Find the attempt of a release that devices are asked about, or that was published."""
    asked = next(filter(_is_asked, _attempts(home, release_id)), None)
    return asked or published_release(home, release_id)


def _attempts(home: Home, release_id: str) -> list[Release]:
    ledger = open_for_writing(home)
    whole_id = full_release_id(ledger.entries(), release_id)
    return [Release(home, whole_id, attempt) for attempt in reversed(ledger.attempts(whole_id))]


def _is_asked(release: Release) -> bool:
    """Whether devices find a package of a release that nobody has published."""
    is_there = release.home.collection(collection_id(release)).exists()
    return is_there and not any(map(release.state.has, (Kind.PUBLISHED, Kind.WITHHELD)))


def withdraw(home: Home, release_id: str, reason: str) -> list[Path]:
    """Withdraw every publication of a release, and point consumers to the next one.

    A release that devices are still asked about is withheld: its package is taken down.
    """
    release = _shown_release(home, release_id)
    if not _is_asked(release):
        return publish.withdraw(release, reason)
    publish.withhold(release, reason, is_asked=True)
    return [home.collection(collection_id(release))]


def cost_of_withdrawal(home: Home, release_id: str) -> str:
    """Say what a withdrawal removes, before anybody agrees to it."""
    release = _shown_release(home, release_id)
    standing, reserved = standing_of(release), release.reservation
    if _is_asked(release):
        return (
            f"Release {release.release_id} of {reserved.product}/{reserved.locale}, "
            f"{reserved.epoch}, is not published, and devices are asked about its list. Its "
            "package is taken down and it is never published; everybody stays charged, and it "
            "cannot be undone."
        )
    key = (release.release_id, release.attempt)
    names = ", ".join(map(folder_name, standing.standing(key))) or "nothing that is still there"
    place = f"{reserved.product}/{reserved.locale}"
    left = standing.newest_without(key)
    next_one = (
        f"readers are pointed to {standing.epoch_of(left)}, under a new sequence"
        if left
        else f"{place} has no latest release then"
    )
    return (
        f"Withdrawing release {release.release_id} of {place}, {reserved.epoch}, removes every "
        f"file of {names} from the public zone, and its collection package; {next_one}. Everybody "
        "stays charged, and it cannot be undone."
    )
