"""Sealing devices' reports may be done again: nobody draws and nobody pays a second time.

A run is killed at every durable thing between the start of the sealing and its end. What nobody can
be shown is two sealings of one list: what had its name first stays.
"""

import json
import os
import shutil
import signal
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from hybriddp.accounting.event import from_json
from tasks.budget.paid import what_was_paid
from tasks.ledger.ledger import IllegalStep, Ledger, LedgerCorrupt
from tasks.ledger.payloads import Drawn, DrawStarted
from tasks.ledger.rules import Entry, Kind
from tasks.log.raw.files import BadInput
from tasks.measured.drawing import draw_once
from tasks.measured.stored import load_measurement, measurement_path
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.measuring.reports import collect_reports
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, identify
from tasks.publish.withdraw import withdraw
from tasks.release.refusals import BudgetRefused
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.groups import FILES
from tests.homes import new_home
from tests.patience import PATIENCE
from tests.release.devices.test_devices import collecting_request, write_reports
from tests.release.faults import (
    Fuse,
    append_line,
    kill_inside,
    read_lines,
    run_child,
    start_together,
)
from tests.release.support import files_below, request_for, spent_by_account, waive_gates

pytestmark = [pytest.mark.slow, pytest.mark.kills]

BEGIN, END = f"before DRAW_STARTED {CLIENTS}", f"after DRAWN {CLIENTS}"
NAMED = f"after link {FILES[CLIENTS]}"
# What a run has reports of, and what the one that goes on has.
N_FIRST, N_LATER = 70, 84


@pytest.fixture(scope="module")
def asked(log, fast_folder) -> Path:
    """A folder with a home that waits for reports, and two files of them."""
    root = fast_folder / "sealing"
    root.mkdir()
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run = identify(collecting_request(log), new_home(root / "home"))
        assert run_release(run) is None
    for name, n_reports in (("first", N_FIRST), ("later", N_LATER)):
        write_reports(root / name, run.release_id, n_reports, [])
    return root


@pytest.fixture
def folder(asked, root) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(asked, root / "asked"))


def with_reports(log: Path, folder: Path, name: str) -> ReleaseRequest:
    return collecting_request(log, reports=folder / name)


def seal_until(
    folder: Path, request: ReleaseRequest, burns_at: str | None, record: Path | None = None
) -> None:
    """Run a release with reports in this process, which dies at a point; see `Fuse`."""
    waive_gates()
    fuse = Fuse(None if burns_at is None else (burns_at, 0), record)
    fuse.lay()
    fuse.after(os, "link", lambda _, path, **__: f"link {Path(path).name}")
    run_release(identify(request, new_home(folder / "home")))


def kill(folder: Path, request: ReleaseRequest, point: str) -> None:
    assert run_child(seal_until, folder, request, point) == -signal.SIGKILL, point


def rows_of(home: Home) -> list[Entry]:
    return Ledger(home.ledger).entries()


def sealed(run: HeadListRun) -> int:
    """How many reports were sealed, as the ledger knows it."""
    return sum(load_measurement(run, CLIENTS)["n_reports"].to_pylist())


@pytest.fixture(scope="module")
def points(asked, log, fast_folder) -> list[str]:
    """Everything durable from the start of the sealing until the ledger has it."""
    folder = Path(shutil.copytree(asked, fast_folder / "recorded sealing"))
    record = folder / "points"
    assert run_child(seal_until, folder, with_reports(log, folder, "first"), None, record) == 0
    every = read_lines(record)
    return every[every.index(BEGIN) : every.index(END) + 1]


def test_a_sealing_that_is_killed_anywhere_is_done_again_for_nothing(
    points, asked, log, fast_folder, monkeypatch
):
    waive_gates(monkeypatch.setattr)
    assert [points.count(NAMED), points.count(f"before DRAWN {CLIENTS}")] == [1, 1]
    for number, point in enumerate(points):
        folder = Path(shutil.copytree(asked, fast_folder / f"killed sealing {number}"))
        home = new_home(folder / "home")
        charges = spent_by_account(home)
        kill(folder, with_reports(log, folder, "first"), point)
        before, later = rows_of(home), with_reports(log, folder, "later")
        run = identify(later, home)
        is_named = measurement_path(run, CLIENTS).exists()
        if point not in (BEGIN, END):
            kill(folder, later, f"before DRAWN {CLIENTS}")  # and once more
        published = run_release(identify(later, home))
        rows = rows_of(home)
        assert rows[: len(before)] == before, point
        assert spent_by_account(home) == charges, point
        for kind, draw in ((Kind.RESERVED, ""), (Kind.DRAW_STARTED, CLIENTS)):
            assert [(row.kind, row.draw) for row in rows].count((kind, draw)) == 1, point
        assert sealed(run) == (N_FIRST if is_named else N_LATER), f"{point}: what was first stays"
        key = read_public_key(home.public / "signing.pub")
        verify_release(published, key, measurements=run.folder)
        assert not list(run.folder.glob(f".{FILES[CLIENTS]}.*.partial")), point
        assert (run.folder / f"{CLIENTS}.started.json").exists(), f"{point}: a witness of the start"
        assert run.attempt == 1


def test_a_sealing_that_was_begun_waits_for_reports_and_says_so(folder, log, gates_waived):
    home = new_home(folder / "home")
    kill(folder, with_reports(log, folder, "first"), f"after DRAW_STARTED {CLIENTS}")
    run = identify(collecting_request(log, new_attempt=True), home)
    assert run_release(run) is None, "it still collects"
    assert run.attempt == 1, "nothing is burnt, so nobody pays again"
    assert (run.state.burnt_draws, run.state.unfinished_sealings) == ([], [CLIENTS])
    assert "run it again with --reports" in what_was_paid(run)
    with pytest.raises(BadInput):
        run_release(identify(with_reports(log, folder, "nowhere"), home))
    assert run_release(identify(with_reports(log, folder, "later"), home)) is not None
    assert sealed(run) == N_LATER
    assert what_was_paid(run) == ""


def test_only_the_door_for_reports_goes_on_with_a_sealing(folder, log):
    """What draws noise starts once, whoever is said to be in the group."""
    kill(folder, with_reports(log, folder, "first"), f"after DRAW_STARTED {CLIENTS}")
    run = identify(collecting_request(log), new_home(folder / "home"))
    event = from_json(run.state.find(Kind.DRAW_STARTED, CLIENTS).said(DrawStarted).event)
    with pytest.raises(IllegalStep, match="with other contents"):
        draw_once(run, CLIENTS, event, lambda: None, lambda _: pytest.fail("drawn"))


def test_simulated_clients_burn(log, root):
    """The same kill, where the curator draws the noise: it might have been seen."""
    request = request_for(log)
    assert run_child(kill_inside, root, request, CLIENTS) == -signal.SIGKILL
    home = new_home(root / "home")
    last = rows_of(home)[-1]
    state = Ledger(home.ledger).attempt(last.release_id, 1)
    assert (state.burnt_draws, state.unfinished_sealings) == ([CLIENTS], [])
    with pytest.raises(BudgetRefused, match=f"draw from {CLIENTS} was started and never finished"):
        identify(request, home)


def backup(home: Home) -> dict[Path, bytes]:
    paths = home.private.glob(f"{home.ledger.name}*")
    return {path: path.read_bytes() for path in paths}


def restore(home: Home, copied: dict[Path, bytes]) -> None:
    for path in backup(home):
        path.unlink()
    for path, data in copied.items():
        path.write_bytes(data)


@pytest.mark.parametrize("witness", ["start", "file"])
def test_a_ledger_from_before_the_sealing_does_not_seal_again(folder, log, gates_waived, witness):
    home, later = new_home(folder / "home"), with_reports(log, folder, "later")
    collecting = backup(home)
    kill(folder, with_reports(log, folder, "first"), NAMED)
    run = identify(later, home)
    gone = {"start": measurement_path(run, CLIENTS), "file": run.folder / "C.started.json"}
    gone[witness].unlink()
    restore(home, collecting)
    rows = rows_of(home)
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        run_release(identify(later, home))
    assert rows_of(home) == rows


def test_a_ledger_from_amid_the_sealing_publishes_nothing_else(folder, log, gates_waived):
    """What was published is a witness; what was only recorded is recorded again, as it was."""
    home, later = new_home(folder / "home"), with_reports(log, folder, "later")
    kill(folder, with_reports(log, folder, "first"), NAMED)
    amid = backup(home)
    run = identify(later, home)
    assert run_release(run) is not None
    first = run.state.find(Kind.DRAWN, CLIENTS).said(Drawn)
    public = files_below(home.public)
    restore(home, amid)
    path = measurement_path(run, CLIENTS)
    for place in (folder / "aside", path):  # with the file of the first sealing, and without it
        path.rename(place)
        with pytest.raises(LedgerCorrupt, match="forgotten spending"):
            run_release(identify(later, home))
        place.rename(path)
    assert files_below(home.public) == public
    shutil.rmtree(home.public / "search")  # nobody knows of it any more
    run_release(identify(later, home), before="publish")
    assert run.state.find(Kind.DRAWN, CLIENTS).said(Drawn) == first


def test_what_a_killed_run_left_and_was_damaged_is_not_sealed(folder, log, gates_waived):
    home, later = new_home(folder / "home"), with_reports(log, folder, "later")
    kill(folder, with_reports(log, folder, "first"), NAMED)
    run = identify(later, home)
    path = measurement_path(run, CLIENTS)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(LedgerCorrupt, match="was damaged since"):
        run_release(run)
    assert not run.state.has(Kind.DRAWN, CLIENTS)
    withdraw(home, run.release_id, "damaged")
    with pytest.raises(BudgetRefused, match="was withheld"):
        identify(later, home)


def seal_together(folder: Path, log: Path, barrier) -> None:
    """Seal one of two files of reports, at the same time as another process the other one."""
    waive_gates()
    number = barrier.wait(PATIENCE)
    run = identify(with_reports(log, folder, ("first", "later")[number]), new_home(folder / "home"))
    barrier.wait(PATIENCE)
    collect_reports(run)
    append_line(folder / "sealed", sealed(run))


def test_of_two_that_seal_at_once_both_have_what_one_of_them_sealed(folder, log):
    assert start_together(2, seal_together, folder, log) == [0, 0]
    counts = read_lines(folder / "sealed")
    assert counts in ([N_FIRST] * 2, [N_LATER] * 2)
    home = new_home(folder / "home")
    run = identify(collecting_request(log), home)
    assert sum(pq.read_table(measurement_path(run, CLIENTS))["n_reports"].to_pylist()) == counts[0]
    [quality] = home.quality.glob(f"{run.release_id}*/client_reports*")
    assert json.loads(quality.read_bytes())["metrics"]["n_accepted"] == counts[0]
