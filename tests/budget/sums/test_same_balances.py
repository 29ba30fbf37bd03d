"""With sealed sums and without, everybody has spent the same, and the same is refused.

Two homes are led through the same steps at the same moments; one seals sums whenever it can.
"""

import os
import random
import shutil
from collections import Counter
from fractions import Fraction

import pytest

from hybriddp.accounting.price import Price
from hybriddp.errors import HybridDPError
from tasks.budget import reserve as reserving
from tasks.budget.accounts import account_of
from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.budget.showing import worst_account
from tasks.budget.showing.export import public_export
from tasks.budget.showing.overview import balance, runway, set_membership
from tasks.budget.spending import counted_in
from tasks.budget.sums.covers import reading_of
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.store.keys import Keyring
from tests.budget.sums.support import (
    entries_of,
    plain_spending,
    reserve,
    rows_of_sums,
    seal_now,
    spending_of,
    start,
)
from tests.homes import new_home
from tests.ledger.clocks import Clock

PEOPLE = ("1", "2", "3", "4", "5")
PRICES = (
    {
        "S": Price(rho=Fraction(1, 10), delta=Fraction(1, 10**6)),
        "C": Price(Fraction(1, 7), Fraction(1, 10**7)),
    },
    {"S": Price(Fraction(1, 2), Fraction(1, 10**6)), "C": Price(Fraction(1, 9))},
)
POLICIES = (
    Policy(), Policy(), Policy.of(3, "1e-4", None, pure_epsilon=1), Policy(window_days=30),
    Policy(window_days=90), Policy.of(2, "1e-5", 30, pure_epsilon=1),
)  # fmt: skip
KEPT = ("kind", "at", "release_id", "attempt", "draw", "product", "groups", "policy", "event")


class Twins:
    """Two homes with the same keys, people and clock."""

    def __init__(self, root, clock, chance):
        first = new_home(root / "sealing")
        shutil.copytree(first.root, root / "plain")
        self.homes = {True: first, False: new_home(root / "plain")}
        self.clock, self.chance, self.seen = clock, chance, Counter()
        self.runs, self.accounts = [], [account_of(Keyring.open(first), who) for who in PEOPLE]

    def act(self):
        often = [self.reserve] * 6 + [self.start] * 8 + [self.wait, self.void]
        rarely = [self.void, self.change, self.leave, self.again]
        self.chance.choice([*often, *rarely])()
        self.compare()

    def both(self, name, work):
        """Do the same in both homes; both do it, or refuse in the same words."""
        told = []
        for is_sealing, home in self.homes.items():
            if is_sealing:
                seal_now(home, self.chance.choice([1, 1, 2]))
            try:
                told.append((None, work(home)))
            except HybridDPError as error:
                words = str(error).replace(str(home.root), "HOME")
                told.append(((type(error), words), None))
        assert told[0][0] == told[1][0]
        self.seen[name if told[0][0] is None else f"refused {name}"] += 1
        return dict(zip(self.homes, (run for _, run in told), strict=True))

    def reserve(self, name=None, attempt=1):
        people = self.chance.sample(self.accounts, self.chance.randint(2, len(PEOPLE)))
        groups = {who: self.chance.choice("SC") for who in people}
        prices, name = self.chance.choice(PRICES), name or f"r{len(self.runs)}"
        runs = self.both("reserve", lambda home: reserve(home, name, groups, prices, attempt))
        self.runs.append(runs)

    def start(self):
        known = [runs for runs in self.runs[-4:] if runs[True] is not None]
        if known:
            runs, group = self.chance.choice(known), self.chance.choice("SC")
            self.both("start", lambda home: start(runs[home is self.homes[True]], group))

    def void(self):
        if self.runs:
            name = f"r{self.chance.randrange(max(0, len(self.runs) - 3), len(self.runs))}"
            self.both("void", lambda home: void_reservation(home, name)[0])

    def again(self):
        if self.runs:
            name = self.chance.randrange(len(self.runs))
            self.reserve(f"r{name}", attempt=2)

    def wait(self):
        self.clock.advance(days=self.chance.choice([-15, 3, 9, 29, 31]), seconds=1)

    def change(self):
        policy = self.chance.choice(POLICIES)
        self.both("change", lambda home: set_policy(Ledger(home.ledger), policy).kind)

    def leave(self):
        person = self.chance.choice(PEOPLE)
        kind = self.chance.choice([Kind.OPTED_OUT, Kind.ERASED, Kind.OPTED_IN, Kind.OPTED_IN])
        self.both("leave", lambda home: set_membership(home, person, kind).kind)

    def compare(self):
        sealing, plain = self.homes.values()
        entries, now = entries_of(sealing), Ledger(sealing.ledger).moment()
        reach = runway(sealing)
        counted = counted_in(entries, reach.policy, now)
        n_sums = len(reading_of(entries, counted, lambda _: True).sums)
        self.seen["with a window" if reach.policy.window_days else "for life"] += n_sums > 0
        assert not rows_of_sums(plain)
        assert spending_of(sealing) == spending_of(plain) == plain_spending(plain)
        assert reach == runway(plain)
        assert exported(sealing) == exported(plain)

    def compare_people(self):
        for person in PEOPLE:
            assert balance(self.homes[True], person) == balance(self.homes[False], person)


def exported(home):
    rows = public_export(home)["entries"]
    return [{name: row.get(name) for name in KEPT} for row in rows if "kind" in row]


@pytest.fixture
def twins(tmp_path, monkeypatch):
    monkeypatch.setattr(reserving, "seal_sums", lambda _: None)  # `both` seals in one of them
    monkeypatch.setattr(worst_account, "composed", lambda events, _: float(len(events)))
    return lambda seed: Twins(tmp_path, Clock(monkeypatch), random.Random(seed))


def lead(twins, n_steps):
    for _ in range(n_steps):
        twins.act()
    twins.compare_people()
    for home in twins.homes.values():
        check_ledger(home)


@pytest.mark.property
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.long) for n in (1, 2, 3))])
def test_no_sequence_of_steps_tells_a_home_that_seals_from_one_that_does_not(twins, seed):
    """`make campaign` does the same with fresh seeds."""
    pair = twins(seed)
    lead(pair, 60)
    assert pair.seen["for life"] + pair.seen["with a window"] > 20, pair.seen
    often = {"reserve", "refused reserve", "start", "refused start", "void", "leave"}
    assert often <= set(pair.seen), pair.seen


@pytest.mark.long
@pytest.mark.property
@pytest.mark.parametrize("number", range(20))
def test_no_long_sequence_of_a_fresh_seed_does(twins, number):
    seed = os.environ.get("HYBRIDDP_TEST_SEED", "20261118")
    lead(twins(f"{seed}/{number}"), 90)
