"""Sign-off in a terminal: nothing is published before a person says so, or after they refuse."""

import pytest

from flows import sign_off
from tasks import steps
from tasks.ledger_rules import Kind
from tasks.log_files import BadInput
from tasks.publish import publish, published_folder
from tasks.quality import GateRefused
from tasks.refusals import BudgetRefused
from tasks.run import identify
from tasks.shelf import read_rows
from tests.homes import new_home


@pytest.fixture
def drawn(original, tmp_path):
    """A release that waits for its sign-off."""
    request = original.request.model_copy(update={"sign_off": True})
    run = identify(request, new_home(tmp_path / "home"))
    for step in (
        steps.ingest, steps.judge_log, steps.choose_cohorts, steps.reserve, steps.draw_head_list,
        steps.draw_optin_histogram, steps.trim_head_list, steps.measure_clients,
    ):  # fmt: skip
        step(run)
    return run


def decide(monkeypatch, *, approve: bool) -> None:
    decision = sign_off.SignOff(approve=approve, reason="a test")
    monkeypatch.setattr(sign_off, "_ask_in_the_terminal", lambda _: decision)


def test_declined_release_is_withheld_for_good(drawn, monkeypatch):
    decide(monkeypatch, approve=False)
    with pytest.raises(GateRefused, match="withheld at sign-off"):
        sign_off.wait_for_sign_off(drawn)
    assert drawn.state.has(Kind.WITHHELD)
    with pytest.raises(BudgetRefused, match="was withheld"):
        identify(drawn.request, drawn.home)


def test_approved_release_goes_on(drawn, monkeypatch):
    decide(monkeypatch, approve=True)
    sign_off.wait_for_sign_off(drawn)
    assert not drawn.state.has(Kind.WITHHELD)


def test_whoever_decides_in_a_terminal_sees_what_would_be_published(drawn, monkeypatch, capsys):
    monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sign_off.typer, "confirm", lambda _, err: err)
    sign_off.wait_for_sign_off(drawn)
    publish(drawn, drawn.request.settings)
    shown = capsys.readouterr().err
    for name in ("head_list", "trends"):
        (first, *_) = read_rows(published_folder(drawn), name)
        assert first["query"] in shown
        assert str(first["probability"]) in shown


def test_without_a_terminal_nothing_is_decided(drawn):
    with pytest.raises(BadInput, match="needs a terminal"):
        sign_off.wait_for_sign_off(drawn)
    assert not drawn.state.has(Kind.WITHHELD)
