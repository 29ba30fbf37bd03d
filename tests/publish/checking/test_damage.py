"""Damage is named with a remedy, junk is left alone, and a read-only home can still be read."""

import errno
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from tasks.budget.showing.overview import runway
from tasks.ledger.ledger import Ledger, LedgerCorrupt, LedgerError
from tasks.publish.shelf import published_caps, published_manifests
from tasks.store.doctor import Finding, examine
from tasks.store.home import Home
from tests.patience import PATIENCE
from tests.repository import ROOT


def findings(home: Home) -> dict[str, Finding]:
    """Examine a home; every finding that is not well says what to do."""
    found = {finding.name: finding for finding in examine(home)}
    assert all(finding.is_well or finding.remedy for finding in found.values())
    return found


def sick(home: Home) -> set[str]:
    return {name for name, finding in findings(home).items() if not finding.is_well} - {"disk"}


def hybriddp(*arguments: object, home: Path):
    done = CliRunner().invoke(app, [*(str(a) for a in arguments), "--home", str(home)])
    assert "unforeseen" not in done.stderr, (arguments, done.stderr)
    return done


def settle(ledger: Path) -> bytes:
    """Return a ledger's whole file, with nothing left in its journal."""
    for name in ("-wal", "-shm"):
        ledger.with_name(ledger.name + name).unlink(missing_ok=True)
    return ledger.read_bytes()


def test_a_home_that_is_well_is_well(run):
    assert sick(run.home) == set()


def test_any_damage_of_the_ledger_is_a_finding(run):
    ledger = run.home.ledger
    whole = settle(ledger)
    flipped = [
        whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :]
        for place in range(0, len(whole), len(whole) // 30)
    ]
    seen = 0
    for damaged in (b"", b"a text file\n" * 500, whole[: len(whole) // 2], whole[:100], *flipped):
        settle(ledger)
        ledger.write_bytes(damaged)
        seen += "ledger" in sick(run.home)
        hybriddp("ledger", "verify", home=run.home.root)
    assert seen >= 8, "most bytes of a young file are empty, the others must be noticed"
    settle(ledger)
    ledger.unlink()
    ledger.mkdir()
    assert "ledger" in sick(run.home)


def test_a_text_file_is_called_damaged_and_a_locked_ledger_locked(run, monkeypatch):
    ledger = run.home.ledger
    held = Ledger(ledger)
    monkeypatch.setattr("tasks.ledger.ledger._BUSY_TIMEOUT_SECONDS", 0.05)
    with held._connect() as connection:
        connection.execute("begin exclusive")
        with pytest.raises(LedgerError, match="locked by another process"):
            held.note("POLICY", {})
    settle(ledger)
    ledger.write_text("not a ledger " * 100)
    with pytest.raises(LedgerCorrupt, match="damaged or is no ledger"):
        Ledger(ledger).head()


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"ledger": 7}', b"\xff", b"[" * 100_000]
)
def test_a_damaged_manifest_is_named_and_never_taken_for_none(run, folder, data):
    (folder / "manifest.json").write_bytes(data)
    with pytest.raises(LedgerCorrupt, match=r"manifest\.json is damaged"):
        published_manifests(run.home)
    found = findings(run.home)
    assert str(folder) in found["public zone"].detail
    assert not found["ledger"].is_well
    assert hybriddp("ledger", "verify", home=run.home.root).exit_code == 1


def test_a_manifest_of_a_later_version_still_says_which_head_it_names(run, folder):
    """Update, it says where something else of it is needed; no backup would help."""
    manifest = json.loads((folder / "manifest.json").read_bytes())
    manifest["ledger"]["shard"], manifest["news"] = 7, [1]
    manifest["cap"] = {"cap_rho": 3}
    (folder / "manifest.json").write_text(json.dumps(manifest))
    ((_, seen),) = published_manifests(run.home)
    assert (seen.ledger.seq, seen.release_id) == (manifest["ledger"]["seq"], run.release_id)
    with pytest.raises(LedgerCorrupt, match="update hybriddp"):
        published_caps(run.home)


def test_junk_in_the_public_zone_is_left_alone_and_named(run, folder):
    public = run.home.public
    junk = [public / "search.txt", public / "search" / "readme", folder.parent / "old"]
    for path in junk[:2]:
        path.write_text("hello")
    junk[2].mkdir()
    (public / "collections" / "x" / "y").mkdir(parents=True, exist_ok=True)
    assert [found for found, _ in published_manifests(run.home)] == [folder]
    assert hybriddp("verify", folder, home=run.home.root).exit_code == 0
    assert sick(run.home) == {"public zone"}
    detail = findings(run.home)["public zone"].detail
    assert all(str(path) in detail for path in junk)


def test_missing_zones_keys_and_participation_are_findings(run, tmp_path):
    assert {"home", "keys"} <= sick(Home.at(tmp_path / "nowhere"))
    assert not (tmp_path / "nowhere").exists(), "looking makes nothing"
    (sealed,) = run.home.participation.iterdir()
    sealed.write_bytes(sealed.read_bytes()[:-1])
    assert sick(run.home) == {"ledger"}
    shutil.rmtree(run.home.keys)
    assert "keys" in sick(run.home)
    run.home.quality.chmod(0o755)
    assert "private zone" in sick(run.home)


READING = (
    ["ledger", "show"],
    ["ledger", "show", "--json"],
    ["ledger", "verify"],
    ["ledger", "balance", "7"],
    ["ledger", "export"],
    ["keys", "show"],
)


def read_everything(home: Path, folder: Path) -> None:
    for command in READING:
        done = hybriddp(*command, home=home)
        assert done.exit_code == 0, (command, done.stderr)
    assert hybriddp("verify", folder, home=home).exit_code == 0
    assert CliRunner().invoke(app, ["search", str(folder), "goo"]).exit_code == 0
    doctor = json.loads(hybriddp("doctor", "--json", home=home).stdout)
    (found,) = (finding for finding in doctor["findings"] if finding["name"] == "home")
    assert "read-only" in found["detail"]


def test_reading_commands_write_nothing_where_nothing_can_be_written(run, folder, monkeypatch):
    root = str(run.home.root)

    def read_only(real, is_write):
        def call(path, *args, **kwargs):
            if str(path).startswith(root) and is_write(*args):
                raise OSError(errno.EROFS, "Read-only file system", str(path))
            return real(path, *args, **kwargs)

        return call

    writing = os.O_WRONLY | os.O_RDWR | os.O_CREAT
    for name in ("mkdir", "chmod", "unlink", "rename", "replace", "link"):
        monkeypatch.setattr(os, name, read_only(getattr(os, name), lambda *_: True))
    monkeypatch.setattr(os, "open", read_only(os.open, lambda flags=0, *_: flags & writing))
    access = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    read_everything(run.home.root, folder)
    assert runway(run.home).n_accounts > 0


def test_a_home_on_a_medium_that_is_mounted_read_only_can_be_read(run, folder):
    """The real thing, where the machine lets us mount."""
    own = ["unshare", "--mount", "--map-root-user"]
    if shutil.which("unshare") is None or subprocess.run([*own, "true"], check=False).returncode:
        pytest.skip("no private mounts on this machine; the test above needs none")
    home = run.home.root
    script = (
        f"mount --bind {home} {home} && mount -o remount,bind,ro {home} && ! touch {home}/x "
        f"&& {sys.executable} -c 'from tests.publish.checking.test_damage import *; "
        f'read_everything(Path("{home}"), Path("{folder}"))\''
    )
    done = subprocess.run(
        [*own, "sh", "-c", script], check=False, capture_output=True, text=True, timeout=PATIENCE,
        cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
