"""Sign-off in a terminal: nothing is published before a person says so, or after they refuse."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from flows.walking import sign_off
from tasks.gates.quality import GateRefused
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.products.head_list.run import identify
from tasks.publish.proposal import Proposal, as_markdown, propose
from tasks.publish.publish import publish
from tasks.publish.shelf import read_rows
from tasks.release.refusals import BudgetRefused
from tests.homes import new_home
from tests.steps import ALL_DRAWS, TO_THE_CHARGE, do


@pytest.fixture
def drawn(original, root):
    """A release that waits for its sign-off."""
    request = original.request.model_copy(update={"sign_off": True})
    run = identify(request, new_home(root / "home"))
    do(run, *TO_THE_CHARGE, *ALL_DRAWS)
    return run


def decide(monkeypatch, decision: str) -> None:
    answer = sign_off.SignOff(decision=decision, reason="a test")
    monkeypatch.setattr(sign_off, "_can_ask", lambda: True)
    monkeypatch.setattr(sign_off, "_ask_in_the_terminal", lambda _: answer)


def test_declined_release_is_withheld_for_good(drawn, monkeypatch):
    decide(monkeypatch, "never")
    with pytest.raises(GateRefused, match=r"withheld at sign-off.*Charged.*stay charged"):
        sign_off.wait_for_sign_off(drawn)
    assert drawn.state.has(Kind.WITHHELD)
    with pytest.raises(BudgetRefused, match="was withheld"):
        identify(drawn.request, drawn.home)


def test_later_leaves_the_release_as_it_is_and_asks_again(drawn, monkeypatch):
    rows = drawn.ledger.entries()
    decide(monkeypatch, "later")
    with pytest.raises(GateRefused, match="drawn, stored and not published; run it again"):
        sign_off.wait_for_sign_off(drawn)
    assert drawn.ledger.entries() == rows
    decide(monkeypatch, "publish")
    sign_off.wait_for_sign_off(identify(drawn.request, drawn.home))
    assert not drawn.state.has(Kind.WITHHELD)


def test_later_on_the_page_suspends_the_run_again_under_another_key(monkeypatch):
    """A key's answer is kept with the run: the same one would answer at once, and for ever."""
    answers = {"list-0": "later", "list-1": "later", "list-2": "publish"}
    shown, logged = [], []

    def suspend(*, wait_for_input, timeout, key):
        assert issubclass(wait_for_input, sign_off.SignOff)
        assert timeout == 7 * 24 * 3600
        return sign_off.SignOff(decision=answers.pop(key))

    monkeypatch.setattr(sign_off, "suspend_flow_run", suspend)
    monkeypatch.setattr(sign_off, "get_run_logger", lambda: SimpleNamespace(info=logged.append))
    question = sign_off.Question("list", "Look.", lambda: shown.append(True), None)
    assert sign_off._ask_on_the_page(question).decision == "publish"
    assert (answers, shown, len(logged)) == ({}, [True], 3)


class Answers:
    """Somebody at a terminal, with answers at hand."""

    def __init__(self, monkeypatch, *answers: object) -> None:
        self.asked: list[str] = []
        left = iter(answers)

        def answer(question: str, **_: object) -> object:
            self.asked.append(question)
            return next(left)

        monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
        monkeypatch.setattr(sign_off.typer, "confirm", answer)
        monkeypatch.setattr(sign_off.typer, "prompt", answer)


def test_never_says_what_it_costs_and_asks_twice(drawn, monkeypatch):
    somebody = Answers(monkeypatch, "nonsense", "never", False, "never", True, "a reason")
    with pytest.raises(GateRefused, match="withheld"):
        sign_off.wait_for_sign_off(drawn)
    assert "everybody stays charged, and this cannot be undone" in somebody.asked[2]
    reason = drawn.state.find(Kind.WITHHELD).payload
    # A row's hash is public; without a salt it would tell whoever guesses the reason.
    assert (reason.reason, len(reason.salt)) == ("a reason", 32)


def test_whoever_decides_in_a_terminal_sees_all_that_would_be_published(drawn, monkeypatch, capsys):
    """Every row of every table, drawn with its interval, and the label."""
    monkeypatch.setenv("COLUMNS", "200")  # where no number has to be broken
    Answers(monkeypatch, "publish")
    sign_off.wait_for_sign_off(drawn)
    folder = publish(drawn, drawn.request.settings)
    shown = capsys.readouterr().err
    unwrapped = "".join(shown.split())
    for name in ("head_list", "trends"):
        rows = read_rows(folder, name)
        assert f"{name}: {len(rows)} rows" in shown
        assert shown.count("-o-") >= len(rows)
        for row in rows:
            assert row["query"] in unwrapped
            assert str(row["probability"]) in unwrapped
    label = (folder / "label.md").read_text()
    assert "".join(label.split()) in unwrapped


def test_the_page_shows_all_that_would_be_published(drawn):
    """A table of 28 rows shows 28, each with its name; a query cannot write into the page."""
    proposal = propose(drawn, drawn.request.settings)
    page = as_markdown(proposal, "Look.")
    for rows in proposal.tables.values():
        assert all(f"| {row['rank']} | " in page for row in rows)
    assert proposal.label in page
    nasty = {"rank": 1, "query": "a|b\n[x](y) <b>`\x1b", "probability": 0.5}
    many = [nasty | {"rank": rank} for rank in range(1, 29)]
    table = as_markdown(Proposal({}, {"trends": many}, ""), "").split("\n\n")[2]
    assert len(table.splitlines()) == 2 + 28
    assert "a\\|b\\\\n\\[x\\](y) &lt;b&gt;\\`\\\\x1b" in table


def test_without_a_terminal_nothing_is_decided(drawn):
    with pytest.raises(BadInput, match="needs a terminal"):
        sign_off.wait_for_sign_off(drawn)
    assert not drawn.state.has(Kind.WITHHELD)


def test_what_was_shown_is_published_whatever_the_blocklist_says_since(
    drawn, monkeypatch, tmp_path
):
    """Nobody has seen the others, and nobody has approved them."""
    blocklist = tmp_path / "blocked.txt"
    blocklist.write_text("google\n")
    request = drawn.request.model_copy(update={"blocklist": blocklist})
    run = replace(drawn, request=request)
    keys = []

    def answer(question):
        keys.append(question.key)
        blocklist.write_text("nothing\n")
        return sign_off.SignOff(decision="publish")

    monkeypatch.setattr(sign_off, "_can_ask", lambda: True)
    monkeypatch.setattr(sign_off, "_ask_in_the_terminal", answer)
    sign_off.wait_for_sign_off(run)
    folder = publish(run, request.settings)
    assert b"google" not in (folder / "head_list.jsonl").read_bytes()
    blocklist.write_text("google\n")
    shown = propose(run, request.settings)
    assert keys == [f"sign-off-{shown.digest}"], "an answer is about what was shown"
