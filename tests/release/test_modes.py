"""Modes are what they are on purpose, whatever the umask of whoever runs the program."""

import os
import stat
from pathlib import Path

import pytest

import tasks.store.modes
from tasks.log.engine import open_duckdb
from tasks.orchestration.tasks import StepFailed, guarded
from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
from tasks.store.home import Home
from tests.homes import new_home
from tests.release.support import charge, request_for


@pytest.fixture
def umask():
    """Let a test set the umask; it is set back."""
    before = os.umask(0o022)
    yield os.umask
    os.umask(before)


def wrong_modes(home: Home) -> dict[str, str]:
    """Return every path of a home that is open where it should be closed, or the other way."""
    wrong = {}
    for zone, is_open in ((home.private, False), (home.measurements, False), (home.public, True)):
        for path in (zone, *zone.rglob("*")):
            mode = stat.S_IMODE(path.lstat().st_mode)
            wanted = (0o755 if is_open else 0o700) & (0o777 if path.is_dir() else 0o666)
            if mode != wanted:
                wrong[str(path.relative_to(home.root))] = oct(mode)
    return wrong


@pytest.mark.parametrize("mask", [0o000, 0o022, 0o077])
def test_a_whole_release_has_its_modes_under_any_umask(log, root, gates_waived, umask, mask):
    umask(mask)
    home = new_home(root / "new" / "home")
    assert stat.S_IMODE(home.root.stat().st_mode) == 0o755, "the way to the public zone"
    devices = {"clients": "reports", "optin_fraction": None, "everybody_opted_in": True}
    collecting = new_home(root / "collecting")  # one kind of clients in a home
    run = charge(identify(request_for(log, **devices), collecting))
    assert run_release(run) is None, "a package is published for devices"
    assert run_release(identify(request_for(log), home)) is not None
    with open_duckdb(home.warehouse("work")), pytest.raises(StepFailed):
        guarded("a step", home, lambda: 1 / 0)
    names = {path.name for path in home.private.rglob("*")}
    assert {"ledger.sqlite", "warehouse.duckdb", "shelf.lock", "account.key"} <= names
    assert (wrong_modes(home), wrong_modes(collecting)) == ({}, {})


@pytest.mark.parametrize("mode", [0o777, 0o755, 0o700])
def test_an_older_homes_modes_are_mended_at_opening(published_home, mode, umask):
    for path in (published_home.root, *published_home.root.rglob("*")):
        path.chmod(mode if path.is_dir() else mode & 0o666)
    assert wrong_modes(published_home)
    Home.open(published_home.root)
    assert wrong_modes(published_home) == {}


def test_what_is_not_ours_is_left_alone_and_no_link_is_followed(home, root, monkeypatch):
    outside = root / "outside"
    outside.write_text("somebody else's")
    outside.chmod(0o644)
    (home.private / "link").symlink_to(outside)
    home.quality.chmod(0o755)
    monkeypatch.setattr(tasks.store.modes.os, "geteuid", lambda: 4_321)
    Home.open(home.root)
    assert stat.S_IMODE(home.quality.stat().st_mode) == 0o755
    monkeypatch.undo()
    Home.open(home.root)
    assert stat.S_IMODE(home.quality.stat().st_mode) == 0o700
    assert stat.S_IMODE(Path(outside).stat().st_mode) == 0o644
