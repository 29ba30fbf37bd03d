"""No person spends more than the cap, whatever is released, by whichever product."""

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tasks.budget.accounts import account_of
from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.budget.spending import put_spending
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.ledger import IllegalStep, Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.engine import open_memory
from tasks.products.head_list.measuring.draws import draw_head_list
from tasks.products.head_list.run import identify
from tasks.release.refusals import BudgetRefused
from tasks.store.home import Home
from tasks.store.keys import Keyring, make_keys
from tests.examples import few
from tests.homes import new_home
from tests.ledger.clocks import Clock
from tests.release.support import (
    N_PEOPLE,
    request_by_column,
    request_for,
    reserve_groups,
    reserve_release,
    sealed_groups,
    spent_by_account,
    write_log,
)
from tests.rows import STARTED

ANNE, BOB, CARL, DORA, EVE, FRED, GINA = (bytes([number]) * 16 for number in range(7))
# Two people in every group, the least that a release is made with.
PAIRS = {ANNE: "S", BOB: "S", CARL: "T", DORA: "T", EVE: "C", FRED: "C"}
EPSILON = 4 * EPSILON_UNITS
DELTA = DELTA_UNITS // 100_000


@pytest.fixture
def clock(monkeypatch) -> Clock:
    return Clock(monkeypatch)


def n_charges(home: Home) -> int:
    return len([e for e in Ledger(home.ledger).entries() if e.kind is Kind.RESERVED])


def test_everybody_pays_for_their_group_and_measuring_costs_no_delta(home):
    reserve_groups(home, "r1", PAIRS)
    assert spent_by_account(home) == {
        account: (EPSILON, 0 if group == "T" else DELTA) for account, group in PAIRS.items()
    }


def test_reports_in_one_stage_cost_no_delta_and_nobody_need_measure(home):
    one_stage = {"strategy": "high-utility"}
    reserve_groups(home, "r1", PAIRS, **one_stage)
    run = reserve_groups(
        home, "r2", {a: g for a, g in PAIRS.items() if g != "T"}, **one_stage,
        headlist_user_fraction=1,
    )  # fmt: skip
    assert set(run.reservation.groups) == {"S", "C"}
    assert spent_by_account(home) == {
        account: (EPSILON * (1 if group == "T" else 2), 2 * DELTA if group == "S" else 0)
        for account, group in PAIRS.items()
    }


def test_all_products_charge_one_account_whatever_the_group(home):
    reserve_groups(home, "r1", PAIRS, product="search")
    moved = {ANNE: "C", BOB: "T", CARL: "S", DORA: "C", EVE: "T", FRED: "S"}
    reserve_groups(home, "r2", moved, product="zealous")
    assert spent_by_account(home) == {
        account: (2 * EPSILON, (PAIRS[account] != "T") * DELTA + (moved[account] != "T") * DELTA)
        for account in PAIRS
    }
    # With the third release the cap of (12, 1e-4) is reached exactly, by everybody.
    reserve_groups(home, "r3", PAIRS, product="mean")
    assert {epsilon for epsilon, _ in spent_by_account(home).values()} == {12 * EPSILON_UNITS}
    with pytest.raises(BudgetRefused):
        reserve_groups(home, "r4", moved)


def test_people_of_a_real_log_keep_their_account_when_they_opt_in_or_out(home, tmp_path):
    """The same people, in other groups in the second epoch; everybody pays twice."""
    people = [f"person {number}" for number in range(80)]
    for epoch, optin in (("2026-W45", people[:40]), ("2026-W46", people[40:])):
        log = write_log(tmp_path / f"{epoch}.tsv", people, optin)
        reserve_release(request_by_column(log, epoch=epoch, headlist_user_fraction=0.5), home)
    keys = Keyring.open(home)
    spent = spent_by_account(home)
    assert set(spent) == {account_of(keys, person) for person in people}
    assert {epsilon for epsilon, _ in spent.values()} == {2 * EPSILON}


@pytest.mark.parametrize(
    "cap", [Charge(3 * EPSILON, DELTA_UNITS // 10_000), Charge(20 * EPSILON, 3 * DELTA)]
)
@pytest.mark.parametrize("missing", [0, 1])
def test_a_cap_may_be_reached_and_not_passed_by_one_unit(home, cap, missing):
    """In epsilon or in delta, of which T's people need none."""
    is_tight_in_delta = cap.delta == 3 * DELTA
    lowered = Charge(
        cap.epsilon - missing * (not is_tight_in_delta), cap.delta - missing * is_tight_in_delta
    )
    set_policy(Ledger(home.ledger), Policy(lowered))
    reserve_groups(home, "r1", PAIRS)
    reserve_groups(home, "r2", PAIRS)
    if not missing:
        reserve_groups(home, "r3", PAIRS)
        return
    with pytest.raises(BudgetRefused, match="Nobody was charged"):
        reserve_groups(home, "r3", PAIRS)
    assert n_charges(home) == 2


def test_a_refusal_names_cap_spent_asked_remaining_and_that_it_never_fits(home):
    for number in range(3):
        reserve_groups(home, f"r{number}", PAIRS)
    with pytest.raises(BudgetRefused) as refusal:
        reserve_groups(home, "r4", PAIRS)
    assert str(refusal.value) == (
        "group S (finding the list) has fewer than 2 people who can afford the release. "
        "Cap (epsilon 12, delta 0.0001); the least charged of the others has spent "
        "(epsilon 12, delta 3e-05); asked (epsilon 4, delta 1e-05); remaining "
        "(epsilon 0, delta 7e-05). First epoch in which it fits: never. Nobody was charged."
    )
    assert n_charges(home) == 3


def test_what_costs_more_than_the_cap_fits_never_even_with_a_window(home):
    set_policy(Ledger(home.ledger), Policy(Charge(EPSILON - 1, DELTA), 7))
    with pytest.raises(BudgetRefused, match=r"spent \(epsilon 0, delta 0\).*fits: never"):
        reserve_groups(home, "r1", PAIRS)


def test_a_window_refills_the_cap_and_the_refusal_says_in_which_epoch(clock, home):
    set_policy(Ledger(home.ledger), Policy(Charge(EPSILON, DELTA), 365))
    reserve_groups(home, "r1", PAIRS)  # on 2026-11-10, in week 46
    clock.advance(days=300)
    with pytest.raises(BudgetRefused, match="First epoch in which it fits: 2027-W45"):
        reserve_groups(home, "r2", PAIRS)
    clock.advance(days=65)
    with pytest.raises(BudgetRefused):
        reserve_groups(home, "r2", PAIRS)
    clock.advance(seconds=1)  # 2027-11-10, in week 45
    reserve_groups(home, "r2", PAIRS)
    assert n_charges(home) == 2


def test_a_charge_is_as_old_as_its_draw(clock, home):
    """Else a release that was reserved long ago and drawn today would be forgotten tomorrow."""
    set_policy(Ledger(home.ledger), Policy(Charge(EPSILON, DELTA), 365))
    reserve_groups(home, "r1", PAIRS)
    clock.advance(days=364)
    for group in "STC":
        Ledger(home.ledger).append(Kind.DRAW_STARTED, "r1", 1, STARTED, draw=group)
    clock.advance(days=2)
    with pytest.raises(BudgetRefused, match="First epoch in which it fits: 2028-W45"):
        reserve_groups(home, "r2", PAIRS)
    clock.advance(days=364)
    reserve_groups(home, "r2", PAIRS)


def test_a_reservation_that_the_window_has_forgotten_is_not_drawn(log, clock, home):
    set_policy(Ledger(home.ledger), Policy(window_days=30))
    run = reserve_release(request_for(log, epoch="2026-W45"), home)
    clock.advance(days=30, seconds=1)
    with pytest.raises(BudgetRefused, match="before the cap's window began"):
        draw_head_list(run)
    assert [e.kind for e in run.state.entries] == [Kind.RESERVED]
    clock.advance(seconds=-1)
    draw_head_list(run)


def test_who_cannot_pay_is_left_out_and_the_others_go_on(home):
    for number in range(3):
        reserve_groups(home, f"r{number}", {ANNE: "S", CARL: "T", EVE: "C"}, min_group_size=1)
    run = reserve_groups(home, "r4", PAIRS, min_group_size=1)
    assert sealed_groups(home, run) == {BOB: "S", DORA: "T", FRED: "C"}
    assert {g: t.members for g, t in run.reservation.groups.items()} == dict.fromkeys("STC", 1)
    spent = spent_by_account(home)
    assert (spent[ANNE], spent[BOB]) == ((3 * EPSILON, 3 * DELTA), (EPSILON, DELTA))


@pytest.mark.parametrize("group", "STC")
def test_a_group_that_is_too_small_charges_nobody(home, group):
    others = {account: g for account, g in PAIRS.items() if g != group}
    for number, rest in enumerate(([], [GINA])):
        with pytest.raises(BudgetRefused, match=f"group {group} .* fewer than 2 people"):
            reserve_groups(home, f"r{number}", others | dict.fromkeys(rest, group))
    assert n_charges(home) == 0
    assert list(home.participation.iterdir()) == []


def test_over_a_whole_rotation_everybody_serves_exactly_once(log, home):
    runs = [
        reserve_release(request_for(log, epoch=epoch, rotation=3), home)
        for epoch in ("2020-W52", "2020-W53", "2021-W01")
    ]
    served = [sealed_groups(home, run) for run in runs]
    assert sum(map(len, served)) == N_PEOPLE
    keys = Keyring.open(home)
    everybody = {account_of(keys, str(person)) for person in range(N_PEOPLE)}
    assert set().union(*served) == everybody


def test_a_voided_reservation_is_given_back_only_before_a_draw(home):
    set_policy(Ledger(home.ledger), Policy(Charge(EPSILON, DELTA)))
    reserve_groups(home, "r1", PAIRS)
    with pytest.raises(BudgetRefused):
        reserve_groups(home, "r2", PAIRS)
    void_reservation(home, "r1")
    assert spent_by_account(home) == {}
    reserve_groups(home, "r2", PAIRS)
    Ledger(home.ledger).append(Kind.DRAW_STARTED, "r2", 1, STARTED, draw="S")
    with pytest.raises(IllegalStep, match="no draw has started"):
        void_reservation(home, "r2")
    with pytest.raises(BudgetRefused):
        reserve_groups(home, "r3", PAIRS)


def test_a_voided_release_that_is_run_again_is_a_new_attempt(log, home):
    run = reserve_release(request_for(log), home)
    void_reservation(home, run.release_id)
    again = reserve_release(request_for(log), home)
    assert (again.release_id, again.attempt) == (run.release_id, 2)
    assert max(spent_by_account(home).values()) == (EPSILON, DELTA)


def test_a_restored_ledger_that_lacks_a_published_head_charges_nobody(log, published_home):
    published_home.ledger.unlink()
    Ledger(published_home.ledger)  # a chain, whole and empty
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        reserve_release(request_for(log, epoch="2026-W45"), published_home)
    assert n_charges(published_home) == 0


def test_a_participation_file_that_is_lost_or_changed_stops_every_charge(home):
    run = reserve_groups(home, "r1", PAIRS)
    other = reserve_groups(home, "r2", {ANNE: "S", CARL: "T", EVE: "C"}, min_group_size=1)
    file = home.participation / f"{run.reservation.participation}.parquet"
    whole = file.read_bytes()
    shorter = home.participation / f"{other.reservation.participation}.parquet"
    file.write_bytes(shorter.read_bytes())  # half of the people would have paid nothing
    with pytest.raises(LedgerCorrupt, match="is not what was sealed"):
        reserve_groups(home, "r3", PAIRS)
    file.unlink()
    with pytest.raises(LedgerCorrupt, match="missing, so nobody knows who has paid"):
        reserve_groups(home, "r3", PAIRS)
    file.write_bytes(whole)
    reserve_groups(home, "r3", PAIRS)


def test_nothing_is_drawn_from_people_who_were_not_sealed_in(log, home):
    run = reserve_release(request_for(log), home)
    file = home.participation / f"{run.reservation.participation}.parquet"
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(LedgerCorrupt, match="is not what was sealed"):
        draw_head_list(run)
    assert [e.kind for e in run.state.entries] == [Kind.RESERVED]


def test_equal_participation_in_two_releases_is_charged_twice(home):
    """Both reservations name the same file, since equal contents have equal names."""
    runs = [reserve_groups(home, name, PAIRS) for name in ("r1", "r2")]
    assert len({run.reservation.participation for run in runs}) == 1
    assert spending_by_sql(home) == spent_by_account(home)
    assert spending_by_sql(home)[ANNE] == (2 * EPSILON, 2 * DELTA)


def spending_by_sql(home: Home) -> dict[bytes, tuple[int, int]]:
    """Return what the tasks themselves add up."""
    entries = Ledger(home.ledger).entries()
    with open_memory(home.spill) as engine:
        put_spending(engine, home, entries, Policy(), datetime.now(UTC))
        rows = engine.fetch("spending").to_pylist()
    return {row["account"]: (int(row["epsilon"]), int(row["delta"])) for row in rows}


# Three people who serve in every release, and others who move between the groups.
memberships = st.dictionaries(st.sampled_from([ANNE, BOB]), st.sampled_from("STC")).map(
    lambda moving: {CARL: "S", DORA: "T", EVE: "C"} | moving
)
releases = st.tuples(
    st.just("release"), memberships, st.sampled_from([0.5, 1.3, 2.0]), st.sampled_from([1e-6, 3e-6])
)
decisions = st.tuples(
    st.sampled_from([Kind.OPTED_OUT, Kind.OPTED_IN, Kind.ERASED]), st.sampled_from([ANNE, BOB])
)
CAP = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 10**6 * 7)


@pytest.mark.property
@settings(
    max_examples=few(6, in_a_campaign=60),
    suppress_health_check=[HealthCheck.too_slow],
    phases=[Phase.generate],  # shrinking a failure would take minutes
)
@given(st.lists(st.one_of(releases, releases, releases, decisions), min_size=3, max_size=8))
def test_no_sequence_of_releases_lets_any_account_exceed_the_cap(steps):
    """Compared, after every step, with sums of exact integers in plain Python."""
    with tempfile.TemporaryDirectory() as folder:
        home = new_home(Path(folder))
        make_keys(home)
        ledger = Ledger(home.ledger)
        set_policy(ledger, Policy(CAP))
        spent, stopped = dict[bytes, tuple[int, int]](), set[bytes]()
        for number, (kind, *rest) in enumerate(steps):
            if kind != "release":
                ledger.note(kind, subject=rest[0].hex())
                (stopped.discard if kind is Kind.OPTED_IN else stopped.add)(rest[0])
                continue
            groups, epsilon, delta = rest
            charge = Charge(round(epsilon * EPSILON_UNITS), round(delta * DELTA_UNITS))
            payable = {}
            for account, group in groups.items():
                before = spent.get(account, (0, 0))
                after = (before[0] + charge.epsilon, before[1] + charge.delta * (group != "T"))
                if account not in stopped and after[0] <= CAP.epsilon and after[1] <= CAP.delta:
                    payable[account] = (group, after)
            terms = {"epsilon": epsilon, "delta": delta, "min_group_size": 1}
            if {group for group, _ in payable.values()} == set("STC"):
                run = reserve_groups(home, f"r{number}", groups, **terms)
                assert sealed_groups(home, run) == {a: group for a, (group, _) in payable.items()}
                spent |= {account: after for account, (_, after) in payable.items()}
            else:
                with pytest.raises(BudgetRefused, match="Nobody was charged"):
                    reserve_groups(home, f"r{number}", groups, **terms)
            assert spent_by_account(home) == spending_by_sql(home) == spent
        assert all(e <= CAP.epsilon and d <= CAP.delta for e, d in spent.values())
        ledger.verify()


def test_the_release_id_of_a_refused_release_is_free_to_try_again(log, home):
    set_policy(Ledger(home.ledger), Policy(Charge(1, 1)))
    with pytest.raises(BudgetRefused):
        reserve_release(request_for(log), home)
    set_policy(Ledger(home.ledger), Policy())
    assert identify(request_for(log), home).attempt == 1
    reserve_release(request_for(log), home)
    assert n_charges(home) == 1
