"""Everybody pays the sum of all histograms, once, or takes part in none of them."""

from itertools import combinations
from pathlib import Path
from random import Random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hybriddp.exact import exact
from hybriddp.zealous.item_kinds import ITEM_KINDS
from tasks.budget.accounts import account_of
from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.budget.showing.overview import balance, dearest, runway
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.histograms.draws import identify
from tasks.release.refusals import BudgetRefused
from tasks.release.walk import run_release
from tasks.store.keys import Keyring, make_keys
from tests.release.support import reserve_groups, spent_by_account
from tests.zealous.support import (
    N_PEOPLE,
    SECRETS,
    ledger_rows,
    participants,
    published_items,
    request_for,
    reserve_log,
    reserve_people,
    write_log,
)

ANNE, BOB, CARL, DORA = (bytes([number]) * 16 for number in range(4))
EVERYBODY = (ANNE, BOB, CARL, DORA)
KINDS = [c for n in range(1, 5) for c in combinations(ITEM_KINDS, n)]


def test_a_release_charges_everybody_the_sum_of_its_histograms_once(original):
    """By account, added up in plain Python, by the tasks' SQL, and for one person."""
    home, keys = original.home, Keyring.open(original.home)
    people = {account_of(keys, name) for name in [*map(str, range(N_PEOPLE)), SECRETS[2]]}
    price = (4 * EPSILON_UNITS, DELTA_UNITS // 100_000)
    assert spent_by_account(home) == dict.fromkeys(people, price)
    assert participants(original) == {(who, kind) for who in people for kind in ITEM_KINDS}
    assert len(ledger_rows(home, Kind.RESERVED)) == 1
    held = balance(home, "17")
    assert held.spent == Charge(*price)
    assert sorted(charge.group for charge in held.charges) == sorted(ITEM_KINDS)
    assert held.remaining == Charge(8 * EPSILON_UNITS, 9 * DELTA_UNITS // 100_000)
    assert 0 < held.pld_epsilon <= 4


def test_runway_adds_the_histograms_up(original):
    reach = runway(original.home, with_pld=True)
    price = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 100_000)
    assert reach.largest == reach.asked == price
    assert (reach.n_accounts, reach.fits_largest, reach.fits_newcomer) == (N_PEOPLE + 1, 2, 3)
    assert 0 < reach.worst.epsilon <= 4
    [reserved] = ledger_rows(original.home, Kind.RESERVED)
    assert dearest(reserved) == price


def test_each_draw_asks_for_the_part_that_was_reserved_for_it(original):
    for started in ledger_rows(original.home, Kind.DRAW_STARTED):
        part = original.reservation.groups[started.draw]
        event = started.payload.event
        assert exact(event["epsilon"], "epsilon") * EPSILON_UNITS == part.epsilon_nano
        assert exact(event["delta"], "delta") * DELTA_UNITS == part.delta_atto
        assert event["n_users"] == part.members == N_PEOPLE + 1


@given(
    kinds=st.sampled_from(KINDS),
    epsilon=st.floats(1e-6, 50),
    delta=st.floats(1e-12, 0.9),
)
@example(kinds=KINDS[-1], epsilon=1 / 3, delta=1 / 3)
@example(kinds=KINDS[-1], epsilon=0.1, delta=1e-5)
@example(kinds=KINDS[-1], epsilon=4, delta=1e-5)
@example(kinds=KINDS[-2], epsilon=4, delta=1e-5)
@example(kinds=KINDS[0], epsilon=1 / 3, delta=1e-5)
@example(kinds=KINDS[5], epsilon=50, delta=0.1)
def test_equal_parts_never_sum_to_more_than_the_total_and_waste_no_whole_unit_each(
    kinds, epsilon, delta
):
    request = request_for(Path("log.tsv"), histograms=kinds, epsilon=epsilon, delta=delta)
    charges = [Charge.of(price) for price in request.prices().values()]
    assert list(request.prices()) == list(kinds)
    assert len(set(charges)) == 1
    for paid, total in (
        (sum(charge.epsilon for charge in charges), exact(epsilon, "epsilon") * EPSILON_UNITS),
        (sum(charge.delta for charge in charges), exact(delta, "delta") * DELTA_UNITS),
    ):
        assert total - len(kinds) < paid <= total


def test_whoever_cannot_pay_for_all_histograms_is_in_none(home):
    """Three are left of Anne's budget: enough for any three of the four histograms."""
    reserve_groups(home, "r1", {ANNE: "S", CARL: "C"}, epsilon=9.0, min_group_size=1,
                   strategy="high-utility", headlist_user_fraction=1)  # fmt: skip
    before = spent_by_account(home)
    run = reserve_people(home, "r2", EVERYBODY)
    assert participants(run) == {(who, kind) for who in (BOB, DORA) for kind in ITEM_KINDS}
    assert {terms.members for terms in run.reservation.groups.values()} == {2}
    spent = spent_by_account(home)
    assert {who: spent[who] for who in before} == before
    reserve_people(home, "r3", EVERYBODY, histograms=ITEM_KINDS[:3], epsilon=3, delta=0.75e-5)
    assert spent_by_account(home)[ANNE][0] == 12 * EPSILON_UNITS


@pytest.mark.parametrize("missing", [0, 1])
@pytest.mark.parametrize("unit", ["epsilon", "delta"])
def test_a_cap_may_be_reached_and_not_passed_by_one_unit_of_the_sum(home, unit, missing):
    cap = {"epsilon": 4 * EPSILON_UNITS, "delta": DELTA_UNITS // 100_000}
    cap[unit] -= missing
    set_policy(Ledger(home.ledger), Policy(Charge(**cap)))
    if not missing:
        reserve_people(home, "r1", EVERYBODY)
        return
    with pytest.raises(BudgetRefused, match="Nobody was charged"):
        reserve_people(home, "r1", EVERYBODY)
    assert spent_by_account(home) == {}


def test_too_few_people_are_refused_and_nobody_is_charged(root, home):
    people = [(name, "news", "2026-11-10 10:00:00", "http://a") for name in "abc"]
    log = write_log(root / "log.tsv", people)
    for asked in ({"min_group_size": 4}, {"min_group_size": 4, "histograms": ("clicks",)}):
        with pytest.raises(BudgetRefused, match="fewer than 4 people in epoch 2026-W46"):
            reserve_log(request_for(log, **asked), home)
    assert ledger_rows(home, Kind.RESERVED) == []
    assert list(home.participation.iterdir()) == []
    run = reserve_log(request_for(log, min_group_size=3), home)
    assert len(spent_by_account(home)) == 3
    void_reservation(home, run.release_id)
    assert spent_by_account(home) == {}


def test_a_refusal_asks_for_all_histograms_together_and_says_when_they_fit(home):
    """Each histogram alone would fit what is left; together they never will."""
    accounts = [bytes([number]) * 16 for number in range(4)]
    reserve_people(home, "first", accounts, epsilon=9.5)
    with pytest.raises(BudgetRefused, match=r"asked \(epsilon 4, delta 1e-05\).*fits: never"):
        reserve_people(home, "second", accounts, epsilon=4, delta=1e-5)


def test_a_delta_without_a_whole_unit_for_each_histogram_is_refused_before_anybody_pays():
    with pytest.raises(ValueError, match="delta must be at least 1e-18 for each histogram"):
        request_for(Path("log.tsv"), delta=2e-18)


def test_people_who_opted_out_are_neither_charged_nor_counted(run):
    keys, home = Keyring.open(run.home), run.home
    gone = account_of(keys, "17")
    before = spent_by_account(home)[gone]
    Ledger(home.ledger).note(Kind.OPTED_OUT, subject=gone.hex())
    later = reserve_log(request_for(run.request.log, epoch="2026-11-10"), home)
    assert {who for who, _ in participants(run)} - {who for who, _ in participants(later)} == {gone}
    assert spent_by_account(home)[gone] == before
    assert run.reservation.groups["pairs"].members == N_PEOPLE + 1
    assert later.reservation.groups["pairs"].members == N_PEOPLE


@pytest.mark.usefixtures("gates_waived")
def test_only_people_of_the_roster_who_opted_in_are_counted_and_charged(root, home):
    """Half of the people opted in: the counts are theirs; a member without a row pays, too."""
    names = [f"n{number}" for number in range(400)]
    rows = [(name, "news", "2026-11-10 10:00:00", "http://a") for name in names]
    log = write_log(root / "log.tsv", rows)
    roster = root / "roster.csv"
    opted = [f"{name},{int(number < 200)}" for number, name in enumerate(names)]
    roster.write_text("\n".join(["person,optin", *opted, "silent,1"]) + "\n")
    run = identify(request_for(log, roster=roster, histograms=("queries",)), home)
    folder = run_release(run)
    keys = Keyring.open(home)
    members = {account_of(keys, name) for name in [*names[:200], "silent"]}
    assert set(spent_by_account(home)) == members
    [(query, users)] = published_items(folder, "queries")
    assert query == "news"
    # Noise of scale 1/2 is beyond 12 with probability below 1e-10.
    assert abs(users - 200) <= 12


CAP = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 10**6 * 7)


def any_release(chance):
    """Return what a release asks for, what everybody would pay for it, and who charges them.

    Of a head list everybody is in one group; of histograms in two to four groups, where a part may
    fit under the cap and their sum does not. Carl is in all releases.
    """
    delta, people = 10**12, chance.sample([ANNE, BOB, DORA], chance.randrange(4))
    terms = {"delta": 1e-6, "min_group_size": 1}
    if chance.random() < 1 / 3:
        epsilon = chance.choice([0.5, 1.3])
        groups = {who: chance.choice("SC") for who in people} | {CARL: "S", DORA: "C"}
        units = int(exact(epsilon, "epsilon") * EPSILON_UNITS)
        prices = {who: (units, delta * (group == "S")) for who, group in groups.items()}
        one_stage = {"strategy": "high-utility", "headlist_user_fraction": 1}
        return reserve_groups, groups, prices, terms | one_stage | {"epsilon": epsilon}
    epsilon, kinds = chance.choice([1.3, 2.0, 1 / 3]), chance.choice(KINDS[4:])
    n, units = len(kinds), exact(epsilon, "epsilon") * EPSILON_UNITS
    prices = dict.fromkeys([*people, CARL], (n * int(units / n), n * (delta // n)))
    return reserve_people, list(prices), prices, terms | {"epsilon": epsilon, "histograms": kinds}


@pytest.mark.parametrize("seed", range(3))
def test_no_mix_of_head_lists_and_histograms_lets_any_account_exceed_the_cap(home, seed):
    """Compared, after every release, with sums of exact integers in plain Python."""
    make_keys(home)
    set_policy(Ledger(home.ledger), Policy(CAP))
    chance, spent, n_left_out = Random(seed), dict[bytes, tuple[int, int]](), 0
    for number in range(7):
        reserve, people, prices, terms = any_release(chance)
        after = {
            who: tuple(map(sum, zip(spent.get(who, (0, 0)), price, strict=True)))
            for who, price in prices.items()
        }
        payable = {w: t for w, t in after.items() if t[0] <= CAP.epsilon and t[1] <= CAP.delta}
        n_left_out += len(after) - len(payable)
        groups = people if isinstance(people, dict) else dict.fromkeys(people, "all")
        if {groups[who] for who in payable} == set(groups.values()):
            reserve(home, f"r{number}", people, **terms)
            spent |= payable
        else:
            with pytest.raises(BudgetRefused, match="Nobody was charged"):
                reserve(home, f"r{number}", people, **terms)
        assert spent_by_account(home) == spent
    assert n_left_out > 0, "nobody ever reached the cap"
    Ledger(home.ledger).verify()
