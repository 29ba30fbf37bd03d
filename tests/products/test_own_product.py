"""A product that a test defines in one file goes through everything, and nothing else is edited."""

import json
import os
import signal

import pytest
from typer.testing import CliRunner

from flows.cli.products import command_of, show
from hybriddp.mean.trusted import BoundedSumMechanism
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.registry import PRODUCTS, UnknownProduct, product_of
from tasks.release.refusals import BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication, verify_release
from tests.homes import new_home
from tests.products.shares import HOLDERS, SHARES, ShareRequest
from tests.release.faults import run_child, run_until
from tests.release.support import files_below, spent_by_account, waive_gates
from tests.repository import ROOT


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    PRODUCTS.append(SHARES)
    waive_gates(monkeypatch.setattr)
    yield
    PRODUCTS.remove(SHARES)


@pytest.fixture
def request_for(tmp_path):
    """Of 400 people every fourth has a value in the column."""
    rows = [f"{i},{'x' if i % 4 == 0 else ''}" for i in range(400)]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["user,value", *rows]) + "\n")
    columns = {"person": "user", "time": None}
    return ShareRequest(
        log=log, epoch="2026-W46", column="value", epsilon=9, optin_fraction=0.9, columns=columns
    )


def test_it_fits_into_a_hundred_and_twenty_lines():
    lines = (ROOT / "tests" / "products" / "shares.py").read_text().splitlines()
    assert len([line for line in lines if line.strip()]) <= 120


def test_ledger_gates_publishing_replay_and_verification(request_for, tmp_path, capsys):
    home = new_home(tmp_path / "home")
    run = SHARES.working.identify(request_for, home)
    folder = run_release(run)
    before, paid = files_below(home.root / "public"), spent_by_account(home)
    assert set(paid.values()) == {(9 * 10**9, 0)}
    verify_publication(home, folder, key := read_public_key(home.public / "signing.pub"))
    show(folder, 8)
    # Who opted in is chance: a tenth is left out of 400, which moves a quarter by 1 % or so.
    assert 15 < int(capsys.readouterr().out.partition("% have a value")[0]) < 35
    again = SHARES.working.identify(request_for, home)
    assert run_release(again) == folder
    assert (files_below(home.root / "public"), spent_by_account(home)) == (before, paid)
    revised = run_reprocess(ReprocessRequest(release_id=run.release_id, decimals=1), home)
    assert json.loads((revised / "manifest.json").read_bytes())["decimals"] == 1
    measured = run.folder / SHARES.groups[HOLDERS].file
    measured.write_bytes(measured.read_bytes() + b" ")
    with pytest.raises(VerificationFailed, match="not the measurement"):
        verify_release(folder, key, measurements=run.folder)


def test_a_kill_inside_its_draw_burns_it(request_for, tmp_path):
    root = tmp_path / "killed"
    root.mkdir()
    assert run_child(kill_in_the_draw, root, request_for) == -signal.SIGKILL
    home = new_home(root / "home")
    assert [e.kind for e in Ledger(home.ledger).entries() if e.release_id][-1] is Kind.DRAW_STARTED
    with pytest.raises(BudgetRefused, match="never finished"):
        SHARES.working.identify(request_for, home)


def kill_in_the_draw(root, request) -> None:
    """Run in a process of its own, which dies when its mechanism is asked to draw."""
    PRODUCTS.append(SHARES)
    BoundedSumMechanism.draw = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    run_until(root, request, None)


def test_its_command_has_its_options(request_for):
    import typer

    app = typer.Typer()
    app.command()(command_of(SHARES))
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200"}).stdout
    assert "Column whose values count" in shown
    assert "default: 3" in shown


def test_what_is_not_registered_is_refused():
    with pytest.raises(UnknownProduct, match="update hybriddp"):
        product_of({"strategy": "shares of nobody"})
