"""A home with lists of two weeks, and what its shelf says."""

import json
from pathlib import Path

from tasks.ledger.chain import FORMS
from tasks.ledger.payloads import Row
from tasks.ledger.rules import Entry, Kind
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, identify
from tasks.products.request import LogColumns
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tests.release.support import request_for
from tests.rows import PUBLISHED, reserved

EARLIER, LATER = "2026-W40", "2026-W41"


def request_of(log: Path, epoch: str, **settings: object) -> ReleaseRequest:
    """Ask for a week's list; the log has no times, so that it may stand for any week."""
    return request_for(log, epoch=epoch, columns=LogColumns(time=None), **settings)


def publish_epoch(home: Home, log: Path, epoch: str, **settings: object) -> Path:
    """Publish a week's list, or find it again."""
    folder = run_release(run_of(home, log, epoch, **settings))
    assert folder is not None
    return folder


def run_of(home: Home, log: Path, epoch: str, **settings: object) -> HeadListRun:
    """Return the run of a week's release."""
    return identify(request_of(log, epoch, **settings), home)


def shelf_of(home: Home) -> Path:
    """Return where the lists are."""
    return home.shelf("search", "all")


def latest(home: Home) -> dict[str, object] | None:
    """Return what readers are pointed to, if to anything."""
    path = shelf_of(home) / "latest.json"
    return json.loads(path.read_bytes()) if path.exists() else None


def key_of(home: Home) -> bytes:
    """Return the publisher's public key."""
    return read_public_key(home.public / "signing.pub")


def names_in(folder: Path) -> set[str]:
    """Return the names of a folder's files."""
    return {path.name for path in folder.iterdir()}


def rows(*facts: tuple[Kind, str, dict[str, object]]) -> list[Entry]:
    """Write a ledger's rows by hand: kind, release, and what of its payload matters."""
    return [
        Entry(seq, "2026-11-17", kind, release, 1, "", _said(kind, payload), "", f"{seq}")
        for seq, (kind, release, payload) in enumerate(facts, start=1)
    ]


def _said(kind: Kind, facts: dict[str, object]) -> Row:
    if kind is Kind.RESERVED:
        return reserved((), **facts)
    usual = {Kind.PUBLISHED: PUBLISHED, Kind.REVISED: PUBLISHED}.get(kind)
    return FORMS[kind](**(usual.as_json() | facts if usual else facts))
