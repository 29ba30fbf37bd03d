"""Nobody's draws inside any window exceed the cap, whatever happens between decision and draw."""

import os
import random
from collections import Counter
from datetime import datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hybriddp.blender.finding import HeadListMechanism
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.ledger.charges import Charge
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import IllegalStep, Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind, live_reservations
from tasks.measured.drawing import _start, draw_once
from tasks.products.head_list.run import params_of
from tasks.release.refusals import BudgetRefused
from tests.homes import new_home, steps_of
from tests.ledger.clocks import Clock
from tests.release.support import reserve_groups

ANNE, BOB, CARL = (bytes([number]) * 16 for number in range(3))
PRICE = Charge(4 * 10**9, 10**13)
# Groups S and C only: one person in each is enough.
TERMS = {"min_group_size": 1, "strategy": "high-utility", "headlist_user_fraction": 1}
ALL = {ANNE: "S", BOB: "S", CARL: "C"}


def times(number):
    return Charge(number * PRICE.epsilon, number * PRICE.delta)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


@pytest.fixture
def home(clock, tmp_path):
    return new_home(tmp_path)


def reserve(home, name):
    return reserve_groups(home, name, ALL, **TERMS)


def draw(run, meanwhile=lambda: None):
    """Draw as every product does; something else happens while the private data is counted."""
    event = HeadListMechanism.for_budget(params_of(run).budget).event
    table = pa.table({"query": ["a"], "url": ["b"]})
    return draw_once(run, "S", event, meanwhile, lambda _: table)


def at_the_last_moment(patch, meanwhile):
    """Let something happen after all that the next start looks at, before its transaction."""
    original, todo = Ledger.append, [meanwhile]

    def append(ledger, kind, *args, **kwargs):
        if kind is Kind.DRAW_STARTED and todo:
            todo.pop()()
        return original(ledger, kind, *args, **kwargs)

    patch.setattr(Ledger, "append", append)


@pytest.mark.parametrize("is_last_moment", [False, True])
def test_a_reservation_that_leaves_the_window_before_it_starts_is_not_drawn(
    home, clock, monkeypatch, is_last_moment
):
    """The race of two runs: both would draw, eight in a window of four."""
    set_policy(Ledger(home.ledger), Policy(PRICE, 30))
    first = reserve(home, "r1")

    def another_release():
        clock.advance(days=30, seconds=1)
        draw(reserve(home, "r2"))

    if is_last_moment:
        at_the_last_moment(monkeypatch, another_release)
    with pytest.raises(BudgetRefused, match="before the cap's window began"):
        draw(first) if is_last_moment else draw(first, another_release)
    started = [entry.release_id for entry in steps_of(home) if entry.kind is Kind.DRAW_STARTED]
    assert started == ["r2"]


def test_the_last_second_of_the_window_still_counts_for_everybody(home, clock):
    set_policy(Ledger(home.ledger), Policy(PRICE, 30))
    first = reserve(home, "r1")

    def refused():
        clock.advance(days=30)
        with pytest.raises(BudgetRefused, match="can afford"):
            reserve(home, "r2")

    draw(first, refused)
    check_ledger(home)


def test_a_longer_window_does_not_bring_a_forgotten_reservation_back(home, clock):
    """Whoever reserved in the meantime did so without it."""
    ledger = Ledger(home.ledger)
    set_policy(ledger, Policy(PRICE, 30))
    first = reserve(home, "r1")
    clock.advance(days=31)
    second = reserve(home, "r2")
    set_policy(ledger, Policy(PRICE, None))
    with pytest.raises(BudgetRefused, match="before the cap's window began"):
        draw(first)
    draw(second)


def test_a_cap_that_was_lowered_holds_for_draws_that_start_later(home):
    ledger = Ledger(home.ledger)
    set_policy(ledger, Policy(times(2)))
    first, second = reserve(home, "r1"), reserve(home, "r2")
    draw(first)

    def lower():
        set_policy(ledger, Policy(PRICE))

    with pytest.raises(BudgetRefused, match=r"the cap was changed .* would exceed it"):
        draw(second, lower)
    set_policy(ledger, Policy(times(2)))
    draw(second)
    with pytest.raises(IllegalStep):
        void_reservation(home, "r2")


def test_rows_written_while_the_clock_was_behind_stay_in_the_window(home, clock):
    set_policy(Ledger(home.ledger), Policy(times(2), 30))
    clock.advance(days=-60)
    draw(reserve(home, "r1"))
    draw(reserve(home, "r2"))
    clock.advance(days=60, hours=1)
    with pytest.raises(BudgetRefused, match="can afford"):
        reserve(home, "r3")
    dates = [entry.at for entry in Ledger(home.ledger).entries()]
    assert dates == sorted(dates)


def test_verify_sees_a_row_that_is_dated_before_the_row_in_front_of_it(home, clock, monkeypatch):
    ledger = Ledger(home.ledger)
    ledger.note(Kind.OPTED_OUT, subject="aa")
    assert ledger.verify().seq == 2
    backwards = clock.moment - timedelta(seconds=1)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "_moment", lambda *_: backwards)
        ledger.note(Kind.OPTED_OUT, subject="bb")
    with pytest.raises(LedgerCorrupt, match="row 3 is dated before the row in front of it"):
        ledger.verify()


def test_rows_of_the_first_version_may_lie_behind_and_count_as_late_as_they_were_written(
    clock, tmp_path, monkeypatch
):
    monkeypatch.setattr("tasks.store.keys.found", lambda *_: None)
    monkeypatch.setattr(Ledger, "_moment", lambda *_: clock.moment)
    home = new_home(tmp_path)
    set_policy(Ledger(home.ledger), Policy(PRICE, 30))
    clock.advance(days=-60)
    reserve(home, "r1")
    monkeypatch.undo()
    Clock(monkeypatch)
    check_ledger(home)
    with pytest.raises(BudgetRefused, match="can afford"):
        reserve(home, "r2")


class Curator:
    """Does what operators and runs may do, in any order, and one thing inside another."""

    def __init__(self, home, clock, chance):
        self.home, self.clock, self.chance = home, clock, chance
        self.ledger, self.runs, self.seen = Ledger(home.ledger), [], Counter()

    def act(self, depth=0):
        often = [self.reserve] * 4 + [self.start] * 6 + [self.wait] * 3
        self.do(self.chance.choice(often if depth else [*often, self.void, self.change]), depth)

    def do(self, act, depth):
        try:
            act(depth)
            self.seen[act.__name__] += 1
        except (BudgetRefused, IllegalStep):
            self.seen["refused"] += 1

    def reserve(self, _):
        people = {who: self.chance.choice("SC") for who in (ANNE, BOB, CARL)}
        self.runs.append(reserve_groups(self.home, f"r{len(self.runs)}", people, **TERMS))

    def start(self, depth):
        if not self.runs:
            return
        run, group = self.chance.choice(self.runs[-2:]), self.chance.choice("SC")
        event = HeadListMechanism.for_budget(params_of(run).budget).event

        def meanwhile():
            if depth == 0 and self.chance.random() < 0.5:  # what a thief of budget would try
                self.clock.advance(days=31)
                for act in (self.reserve, self.start, self.start):
                    self.do(act, 2)
            for _ in range(self.chance.randrange(3) if depth < 2 else 0):
                self.act(depth + 1)

        with pytest.MonkeyPatch.context() as patch:
            at_the_last_moment(patch, meanwhile)
            _start(run, group, event)
        self.judge(group, run)

    def void(self, _):
        if self.runs:
            void_reservation(self.home, self.chance.choice(self.runs).release_id)

    def wait(self, _):
        self.clock.advance(days=self.chance.choice([-15, 3, 29, 31]), seconds=1)

    def change(self, _):
        cap, window = self.chance.choice([1, 1, 2]), self.chance.choice([None, 10, 30, 30])
        set_policy(self.ledger, Policy(times(cap), window))

    def judge(self, group, run):
        """Add up in plain Python what the draw that has just started brings everybody to."""
        entries = self.ledger.entries()
        policy = current_policy(entries)
        started = {(e.release_id, e.draw): e for e in entries if e.kind is Kind.DRAW_STARTED}
        now = datetime.fromisoformat(started[run.release_id, group].at)
        spent = Counter()
        for entry in live_reservations(entries):
            file = self.home.participation / f"{entry.payload.participation}.parquet"
            for row in pq.read_table(file).to_pylist():
                start = started.get((entry.release_id, row["cohort"]))
                if start is None:
                    continue
                age = now - datetime.fromisoformat(start.at)
                if policy.window_days is None or age <= timedelta(days=policy.window_days):
                    terms = entry.payload.groups[row["cohort"]]
                    spent[row["account"]] += terms.epsilon_nano
        members = pq.read_table(
            self.home.participation / f"{run.reservation.participation}.parquet"
        ).to_pylist()
        for member in members:
            if member["cohort"] == group:
                assert spent[member["account"]] <= policy.cap.epsilon, self.seen


# Planted defects were seen with these.
@pytest.mark.parametrize(
    "seed", [0, 4, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 3, 5))]
)
def test_no_interleaving_lets_anybody_exceed_the_cap_in_any_window(home, clock, seed):
    """`make campaign` does the same with fresh seeds."""
    curator = Curator(home, clock, random.Random(seed))
    set_policy(curator.ledger, Policy(PRICE, 30))
    for _ in range(20):
        curator.act()
    check_ledger(home)
    assert curator.seen["start"] >= 2, curator.seen
    assert curator.seen["refused"] >= 2, curator.seen


@pytest.mark.long
@pytest.mark.parametrize("number", range(100))
def test_no_long_interleaving_of_a_fresh_seed_lets_anybody_exceed_the_cap(home, clock, number):
    seed = os.environ.get("HYBRIDDP_TEST_SEED", "20261116")
    curator = Curator(home, clock, random.Random(f"{seed}/{number}"))
    set_policy(curator.ledger, Policy(PRICE, 30))
    for _ in range(40):
        curator.act()
    check_ledger(home)
