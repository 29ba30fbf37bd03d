"""Processes that do the same thing at the same time, held up so that they really do."""

import os
from collections import Counter

import pytest

from tasks.budget.policy import Policy, set_policy
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.store.home import Home
from tasks.store.keys import make_keys
from tasks.verify.signatures import KeyProblem
from tests.release.faults import (
    CHILDREN,
    draw_together,
    join,
    read_lines,
    reserve_together,
    run_child,
    run_to_the_end,
    run_together,
    start_child,
    start_together,
)
from tests.release.support import files_below, request_for, reserve_release, spent_by_account

pytestmark = pytest.mark.slow


def test_of_two_releases_on_the_last_unit_of_budget_exactly_one_passes(log, home, root):
    """Both have decided that it fits before either of them writes."""
    make_keys(home)
    price = Charge(4 * 10**9, 10**13)
    set_policy(Ledger(home.ledger), Policy(price))
    barrier = CHILDREN.Barrier(2)
    children = [
        start_child(reserve_together, root, request_for(log, product=product), barrier)
        for product in ("first", "second")
    ]
    assert [join(child) for child in children] == [0, 0]
    [passed] = read_lines(root / "passed")
    [refused] = read_lines(root / "refused")
    assert {passed, refused["product"]} == {"first", "second"}
    assert "Cap (epsilon 4, delta 1e-05)" in refused["message"]
    assert Ledger(home.ledger).verify().seq == 3, "the founding, the policy and one reservation"
    assert max(spent_by_account(home).values()) == (price.epsilon, price.delta)


def test_of_two_processes_on_one_draw_exactly_one_draws(log, home, root):
    run = reserve_release(request_for(log), home)
    assert start_together(2, draw_together, root, run) == [0, 0]
    assert len(read_lines(root / "draws")) == 1
    assert read_lines(root / "refused") == ["IllegalStep"]
    assert Ledger(home.ledger).verify().seq == 4


def test_two_runs_of_one_release_at_once_pay_once_and_draw_once(log, home, root):
    request = request_for(log)
    assert start_together(2, run_together, root, request) == [0, 0]
    assert run_child(run_to_the_end, root, request) == 0, read_lines(root / "outcome")
    assert read_lines(root / "outcome")[0]["refused"] is None
    drawn = Counter((draw["attempt"], draw["group"]) for draw in read_lines(root / "draws"))
    assert drawn == {(1, "S"): 1, (1, "T"): 1, (1, "C"): 1}
    kinds = [entry.kind for entry in Ledger(home.ledger).entries()]
    assert kinds.count(Kind.RESERVED) == 1


def test_keys_that_another_process_has_made_in_the_meantime_are_kept(root, monkeypatch):
    """It may have used them already: people charged under a lost key are forgotten."""
    home, first_of_all = Home.create(root / "new"), iter([True])

    def token_bytes(n: int) -> bytes:
        if next(first_of_all, False):  # we have seen that keys are missing; now the other acts
            make_keys(home)
            made.append(files_below(home.keys))
        return os.urandom(n)

    made: list[dict[str, bytes]] = []
    monkeypatch.setattr("tasks.store.keys.secrets.token_bytes", token_bytes)
    make_keys(home)
    assert files_below(home.keys) == made[0]
    assert len(made[0]) == 4


def test_keys_are_made_after_a_policy_and_never_after_a_charge(log, home):
    set_policy(Ledger(home.ledger), Policy())
    reserve_release(request_for(log), home)
    (home.keys / "account.key").unlink()
    with pytest.raises(KeyProblem, match="account are missing"):
        make_keys(home)
