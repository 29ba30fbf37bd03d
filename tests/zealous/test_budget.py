"""Everybody pays the sum of all histograms, once, or takes part in none of them."""

import tempfile
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, example, given, settings
from hypothesis import strategies as st

from hybriddp.params import exact
from hybriddp.search_log import ITEM_KINDS
from tasks.cohorts import account_of
from tasks.home import Home
from tasks.keys import Keyring, make_keys
from tasks.ledger import Ledger
from tasks.ledger_rules import Kind
from tasks.overview import balance, dearest, runway
from tasks.policy import DELTA_UNITS, EPSILON_UNITS, Charge, Policy, set_policy
from tasks.refusals import BudgetRefused
from tasks.reserve import void_reservation
from tasks.zealous import identify
from tasks.zealous_steps import run_zealous
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
    assert 0 < reach.pld_epsilon <= 4
    [reserved] = ledger_rows(original.home, Kind.RESERVED)
    assert dearest(reserved) == price


def test_each_draw_asks_for_the_part_that_was_reserved_for_it(original):
    for started in ledger_rows(original.home, Kind.DRAW_STARTED):
        part = original.reservation["groups"][started.draw]
        event = started.payload["event"]
        assert exact(event["epsilon"], "epsilon") * EPSILON_UNITS == part["epsilon_nano"]
        assert exact(event["delta"], "delta") * DELTA_UNITS == part["delta_atto"]
        assert event["n_users"] == part["members"] == N_PEOPLE + 1


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
    assert {terms["members"] for terms in run.reservation["groups"].values()} == {2}
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


def test_people_who_opted_out_are_neither_charged_nor_counted(run):
    keys, home = Keyring.open(run.home), run.home
    gone = account_of(keys, "17")
    before = spent_by_account(home)[gone]
    Ledger(home.ledger).note(Kind.OPTED_OUT, {}, subject=gone.hex())
    later = reserve_log(request_for(run.request.log, epoch="2026-W47"), home)
    assert {who for who, _ in participants(run)} - {who for who, _ in participants(later)} == {gone}
    assert spent_by_account(home)[gone] == before
    assert run.reservation["groups"]["pairs"]["members"] == N_PEOPLE + 1
    assert later.reservation["groups"]["pairs"]["members"] == N_PEOPLE


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
    folder = run_zealous(run)
    keys = Keyring.open(home)
    members = {account_of(keys, name) for name in [*names[:200], "silent"]}
    assert set(spent_by_account(home)) == members
    [(query, users)] = published_items(folder, "queries")
    assert query == "news"
    # Noise of scale 1/2 is beyond 12 with probability below 1e-10.
    assert abs(users - 200) <= 12


# Four accounts, the most that histograms and head lists have in common.
CAP = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 10**6 * 7)
head_lists = st.tuples(
    st.just("head list"),
    st.fixed_dictionaries({who: st.sampled_from("SC") for who in (ANNE, BOB)}),
    st.sampled_from([0.5, 1.3]),
    st.just(()),
)
histograms = st.tuples(
    st.just("histograms"),
    st.sets(st.sampled_from([ANNE, BOB])),
    st.sampled_from([0.5, 1.3, 2.0, 1 / 3]),
    st.sampled_from(KINDS),
)


@settings(
    max_examples=4, suppress_health_check=[HealthCheck.too_slow], phases=[Phase.generate]
)  # shrinking a failure would take minutes
@given(st.lists(st.one_of(head_lists, histograms, histograms), min_size=4, max_size=6))
def test_no_mix_of_head_lists_and_histograms_lets_any_account_exceed_the_cap(fast_folder, releases):
    """Compared, after every release, with sums of exact integers in plain Python."""
    with tempfile.TemporaryDirectory(dir=fast_folder) as folder:
        home = Home.open(Path(folder))
        make_keys(home)
        set_policy(Ledger(home.ledger), Policy(CAP))
        spent = dict[bytes, tuple[int, int]]()

        def afforded(prices):
            after = {
                who: (spent.get(who, (0, 0))[0] + e, spent.get(who, (0, 0))[1] + d)
                for who, (e, d) in prices.items()
            }
            return {w: t for w, t in after.items() if t[0] <= CAP.epsilon and t[1] <= CAP.delta}

        for number, (product, people, epsilon, kinds) in enumerate(releases):
            units, delta = exact(epsilon, "epsilon") * EPSILON_UNITS, 10**12
            if product == "histograms":
                part = (int(units / len(kinds)), int(delta / len(kinds)))
                payable = afforded(
                    {w: (part[0] * len(kinds), part[1] * len(kinds)) for w in {*people, CARL}}
                )
                can_pay, reserve = bool(payable), reserve_people
                asked = ({*people, CARL}, {"histograms": kinds})
            else:
                groups = people | {CARL: "S", DORA: "C"}
                payable = afforded({w: (int(units), delta * (g == "S")) for w, g in groups.items()})
                can_pay = {groups[who] for who in payable} == {"S", "C"}
                reserve = reserve_groups
                asked = (groups, {"strategy": "high-utility", "headlist_user_fraction": 1})
            terms = {"epsilon": epsilon, "delta": 1e-6, "min_group_size": 1, **asked[1]}
            if can_pay:
                reserve(home, f"r{number}", asked[0], **terms)
                spent |= payable
            else:
                with pytest.raises(BudgetRefused, match="Nobody was charged"):
                    reserve(home, f"r{number}", asked[0], **terms)
            assert spent_by_account(home) == spent
        assert all(e <= CAP.epsilon and d <= CAP.delta for e, d in spent.values())
        Ledger(home.ledger).verify()
