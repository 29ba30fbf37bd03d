"""Take a published release back: its folders keep a signed notice, and readers are moved on."""

from pathlib import Path

from tasks.ledger.rules import Kind, full_release_id
from tasks.log.raw.files import BadInput
from tasks.publish import publish
from tasks.publish.publication import standing_of
from tasks.publish.standing import folder_name
from tasks.release.run import Release
from tasks.store.home import Home
from tasks.store.keys import open_for_writing


def published_release(home: Home, release_id: str) -> Release:
    """Find the attempt of a release that was published."""
    ledger = open_for_writing(home)
    release_id = full_release_id(ledger.entries(), release_id)
    for attempt in reversed(ledger.attempts(release_id)):
        if ledger.attempt(release_id, attempt).has(Kind.PUBLISHED):
            return Release(home, release_id, attempt)
    raise BadInput(
        f"no published release has the id {release_id!r}; `hybriddp ledger show` lists them."
    )


def withdraw(home: Home, release_id: str, reason: str) -> list[Path]:
    """Withdraw every publication of a release, and point consumers to the next one."""
    return publish.withdraw(published_release(home, release_id), reason)


def cost_of_withdrawal(home: Home, release_id: str) -> str:
    """Say what a withdrawal removes, before anybody agrees to it."""
    release = published_release(home, release_id)
    standing, reserved = standing_of(release), release.reservation
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
