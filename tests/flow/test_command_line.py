"""Whole runs of the command: with a server of its own, and against that of the deployments."""

import os
import shlex
import subprocess
import sys
import time

import pytest

from hybriddp.device.package import read_package
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tests.docs.plainly import run_command as run_plain_command
from tests.flow.conftest import blocklist_of, is_running, wait_until
from tests.flow.logs import HEADER, POPULAR, SECRETS, write_searches
from tests.homes import new_home, steps_of
from tests.patience import PATIENCE
from tests.repository import ROOT

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def children_of(pid: int) -> list[int]:
    listed = subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = (map(int, line.split()) for line in listed.stdout.splitlines())
    return [child for child, parent in pairs if parent == pid]


@pytest.mark.long
def test_killed_run_goes_on_and_draws_nothing_twice(tmp_path):
    """In `make test` its steps are killed without Prefect (tests/release/test_crash.py), and its
    server ends with it (tests/flow/test_door.py)."""
    log, home = tmp_path / "searches.tsv", new_home(tmp_path / "home").root
    write_searches(log, 2_000)
    arguments = ["release", "--log", str(log), "--epoch", "2026-W46", "--optin-fraction", "0.3",
                 "--home", str(home)]  # fmt: skip
    alone = {k: v for k, v in os.environ.items() if not k.startswith(("HYBRIDDP_", "PREFECT_"))}
    victim = subprocess.Popen(
        [sys.executable, "-m", "flows", *arguments],
        cwd=ROOT, env=alone, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    ledger = Ledger(Home(home).ledger)
    while not steps_of(Home(home)):
        assert victim.poll() is None
        time.sleep(0.05)
    (server,) = children_of(victim.pid)
    victim.kill()
    victim.wait(timeout=PATIENCE)
    wait_until(lambda: not is_running(server), "the command's server outlives it")
    assert list((home / "private" / "prefect" / "runs").iterdir()) == []
    # The very steps, walked without Prefect: what goes on is what the ledger and the files say.
    again = f"hybriddp {shlex.join(arguments)}"
    done = run_plain_command(again)
    if done.exit_code == 3:  # it was killed inside a draw
        assert "--new-attempt" in done.output
        done = run_plain_command(f"{again} --new-attempt")
    assert done.exit_code == 0, done.output
    entries = ledger.entries()
    assert [e.kind for e in entries].count(Kind.PUBLISHED) == 1
    started = [(e.attempt, e.draw) for e in entries if e.kind is Kind.DRAW_STARTED]
    assert len(set(started)) == len(started)
    ledger.verify()


@pytest.mark.long
def test_refused_gate_is_exit_code_4_and_quotes_nothing(served, tmp_path):
    """In `make test` from the form: tests/flow/test_deployments.py."""
    log, home = tmp_path / "bad.tsv", new_home(tmp_path / "home").root
    good = [f"{i}\tnews\t2026-11-10 10:00:00\t1\thttp://n.org" for i in range(50)]
    bad = [f"{i}\t{SECRETS[0]}\tno time\t1\t{SECRETS[1]}" for i in range(50)]
    log.write_text("\n".join([HEADER, *good, *bad]) + "\n")
    done = served.command("release", "--log", str(log), "--epoch", "2026-W46", "--home", str(home))
    assert done.returncode == 4, done.stderr
    assert "bad_row_share" in done.stderr
    for secret in SECRETS:
        assert secret not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    assert steps_of(Home(home)) == []


@pytest.mark.long
def test_device_mode_stops_at_collecting_and_keeps_no_searches(served, searches, tmp_path):
    """In `make test` without Prefect: tests/release/devices/test_devices.py."""
    home = new_home(tmp_path / "home").root
    done = served.command(
        "release", "--log", str(searches), "--epoch", "2026-W46", "--clients", "reports",
        "--everybody-opted-in", "--blocklist", str(blocklist_of(searches)), "--home", str(home),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "COLLECTING" in done.stdout
    (package,) = home.glob("public/collections/*")
    key = read_public_key(home / "public" / "signing.pub")
    listed = dict(read_package(package, key).head_list)
    assert listed == {query: (url,) for query, url in POPULAR}
    assert list((home / "private" / "warehouse").iterdir()) == []
