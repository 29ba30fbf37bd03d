"""Gaussian losses add up in rho, beside epsilon and delta, and the cap has a part for each kind."""

from fractions import Fraction

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.accounting.price import Price
from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.events import SeasonWeek
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.policy_change import weakest
from tasks.budget.showing.overview import balance, dearest, runway
from tasks.budget.spending import columns_of
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, RHO_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Cap, Reserved
from tasks.ledger.rules import Kind
from tasks.log.engine import open_memory
from tasks.measured.drawing import draw_once
from tasks.products.head_list.request import ReleaseRequest
from tasks.release.refusals import BudgetRefused
from tasks.store.home import Home
from tests.homes import new_home
from tests.release.support import reserve_groups, spent_by_account

POLICY = Policy.of(4, "1e-5", None, pure_epsilon=1)
NO_PART = Policy.of(4, "1e-5", None)
LEAK = Fraction(1, 10**6)
PEOPLE = {bytes([number]) * 16: "S" for number in range(40)}


@pytest.fixture
def home(tmp_path) -> Home:
    return new_home(tmp_path / "home")


def prices(monkeypatch, **of_groups: Price) -> None:
    """Let releases cost this."""
    monkeypatch.setattr(ReleaseRequest, "prices", lambda _: of_groups)
    monkeypatch.setattr(ReleaseRequest, "groups_in_the_log", property(lambda _: tuple(of_groups)))


def gaussian(rho: str, delta: Fraction = Fraction(0)) -> Price:
    return Price(Fraction(0), delta, Fraction(rho))


@given(st.fractions(0, 3, max_denominator=10**20))
def test_rho_is_never_rounded_down(rho):
    charged = Charge.of(Price(rho=rho)).rho
    assert 0 <= Fraction(charged, RHO_UNITS) - rho < Fraction(1, RHO_UNITS)


def test_a_policy_with_parts_is_kept_as_it_was_set(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    set_policy(ledger, POLICY)
    assert current_policy(ledger.entries()) == POLICY
    assert POLICY.with_gaussian.epsilon == EPSILON_UNITS
    assert POLICY.with_gaussian.delta == DELTA_UNITS // 200_000
    assert 0.24 < POLICY.with_gaussian.rho / RHO_UNITS < 0.25


@pytest.mark.parametrize(
    "changed",
    [
        {"gaussian_rho_pico": POLICY.with_gaussian.rho * 2},
        {"gaussian_epsilon_nano": 2 * EPSILON_UNITS},
        {"gaussian_delta_atto": DELTA_UNITS // 100_000},
    ],
)
def test_parts_that_the_cap_does_not_cover_are_refused(changed):
    """Planted: more rho, more epsilon, or a delta of which nothing is set aside to convert rho."""
    with pytest.raises(InvalidParameter):
        Policy.stated(Cap.model_validate(POLICY.statement.as_json() | changed))


def test_half_stated_parts_are_no_cap():
    with pytest.raises(ValueError, match="all parts for Gaussian losses, or none"):
        Cap.model_validate(NO_PART.statement.as_json() | {"gaussian_rho_pico": 5})


near = st.integers(-1, 1)
parts = st.tuples(
    st.sampled_from([0, EPSILON_UNITS, 4 * EPSILON_UNITS]),
    st.sampled_from([0, DELTA_UNITS // 200_000, DELTA_UNITS // 100_000]),
    st.sampled_from([0, 0, POLICY.with_gaussian.rho]),
)
totals = st.builds(
    lambda at, off: Charge(*(max(a + o, 0) for a, o in zip(at, off, strict=True))),
    parts,
    st.tuples(near, near, near),
)


@given(st.lists(st.tuples(totals, totals), min_size=1, max_size=30))
def test_sql_decides_as_the_policy_does(tmp_path_factory, sums):
    """At the very edges of every part, for what was spent and what is asked for."""
    accounts = [number.to_bytes(16, "big") for number in range(len(sums))]
    groups = [f"g{number}" for number in range(len(sums))]
    with open_memory(tmp_path_factory.mktemp("spill")) as engine:
        engine.put("candidates", pa.table({"account": pa.array(accounts, pa.binary()),
                                           "cohort": groups}))  # fmt: skip
        engine.put("prices", pa.table({"cohort": groups, **columns_of([a for _, a in sums])}))
        engine.put("spending", pa.table({"account": pa.array(accounts, pa.binary()),
                                         **columns_of([s for s, _ in sums])}))  # fmt: skip
        engine.put("stopped_accounts", pa.table({"account": pa.array([], pa.binary())}))
        engine.put("sealed", pa.table({"account": pa.array(accounts, pa.binary()),
                                       "cohort": ["S"] * len(sums)}))  # fmt: skip
        for policy in (POLICY, NO_PART):
            engine.step("ledger/affordable", **policy.limits)
            can_pay = set(engine.fetch("affordable")["account"].to_pylist())
            expected = {
                account
                for account, (spent, asked) in zip(accounts, sums, strict=True)
                if policy.admits(Charge.sum([spent, asked]))
            }
            assert can_pay == expected
            engine.step("ledger/overdrawn", cohort="S", **policy.limits)
            n_overdrawn = engine.fetch("overdrawn")["n_people"][0].as_py()
            assert n_overdrawn == sum(not policy.admits(spent) for spent, _ in sums)


def test_weeks_add_up_to_the_last_digit_until_the_part_is_spent(home, monkeypatch):
    set_policy(Ledger(home.ledger), POLICY)
    week = Fraction(POLICY.with_gaussian.rho // 3, RHO_UNITS)
    for number in range(3):
        leak = LEAK if number == 0 else Fraction(0)
        prices(monkeypatch, S=Price(Fraction(0), leak, week))
        reserve_groups(home, f"week-{number}", PEOPLE)
    each = Charge.of(Price(rho=week)).rho
    assert set(spent_by_account(home).values()) == {(0, LEAK * DELTA_UNITS)}
    reach = runway(home)
    assert reach.largest == Charge(0, int(LEAK * DELTA_UNITS), 3 * each)
    assert (reach.fits_largest, reach.fits_newcomer) == (0, 3)
    with pytest.raises(BudgetRefused, match=r"rho 0\.2"):
        reserve_groups(home, "week-4", PEOPLE)


@pytest.mark.parametrize("is_gaussian_first", [True, False])
def test_one_kind_of_loss_leaves_its_part_of_the_other(home, monkeypatch, is_gaussian_first):
    """Whoever has a Gaussian loss has epsilon 1 for all others; whoever has lost more has none."""
    set_policy(Ledger(home.ledger), POLICY)
    draws = [gaussian("0.1"), Price(Fraction(2))]
    first, second = draws if is_gaussian_first else draws[::-1]
    prices(monkeypatch, S=first)
    reserve_groups(home, "first", PEOPLE)
    prices(monkeypatch, S=second)
    with pytest.raises(BudgetRefused, match="fewer than"):
        reserve_groups(home, "second", PEOPLE)
    prices(monkeypatch, S=Price(Fraction(1)))
    reserve_groups(home, "third", PEOPLE)


def test_without_parts_no_gaussian_loss_fits(home, monkeypatch):
    set_policy(Ledger(home.ledger), NO_PART)
    prices(monkeypatch, S=gaussian("1/1000000"))
    with pytest.raises(BudgetRefused, match=r"No Gaussian loss fits it.*--pure-epsilon") as refused:
        reserve_groups(home, "first", PEOPLE)
    assert "-1" not in str(refused.value).replace("1e-", "")
    assert runway(home).policy.fits(Charge(0, 0, 1)) == 0


def test_a_row_says_rho_only_where_there_is_some(home, monkeypatch):
    """Rows of other releases are spelt as they always were."""
    set_policy(Ledger(home.ledger), POLICY)
    prices(monkeypatch, S=gaussian("0.1"))
    run = reserve_groups(home, "gaussian", PEOPLE)
    assert run.reservation.groups["S"].as_json()["rho_pico"] == RHO_UNITS // 10
    assert dearest(run.state.find(Kind.RESERVED)).rho == RHO_UNITS // 10
    prices(monkeypatch, S=Price(Fraction(1, 2)))
    other = reserve_groups(home, "other", PEOPLE)
    assert set(other.reservation.groups["S"].as_json()) == {"epsilon_nano", "delta_atto", "members"}


def test_a_gaussian_draw_must_have_been_reserved_as_one(home, monkeypatch):
    """Planted: a reservation of its budget's epsilon, which a pure draw would have."""
    set_policy(Ledger(home.ledger), POLICY)
    budget = Budget(4, "1e-5")
    week = SeasonWeek(budget, SeasonDesign(n_weeks=4).season(budget), 1)
    prices(monkeypatch, S=Price(Fraction(4), Fraction(1, 10**5)))
    run = reserve_groups(home, "pure", PEOPLE)
    with pytest.raises(BudgetRefused, match="was not reserved"):
        draw_once(run, "S", week, lambda: None, lambda _: pa.table({"a": [1]}))


def test_a_changed_part_is_promised_with_the_largest_of_each():
    """Who changes parts after seeing what was published trades freely: the promise is larger."""
    others = Policy.of(4, "1e-5", None, pure_epsilon=3)
    assert weakest([POLICY]) == POLICY
    both = weakest([POLICY, others])
    assert both.with_gaussian.epsilon == 3 * EPSILON_UNITS
    assert both.with_gaussian.rho == POLICY.with_gaussian.rho
    assert 5.9 < both.cap.epsilon / EPSILON_UNITS < 6.1
    assert both.cap.delta >= POLICY.cap.delta
    assert weakest([NO_PART, POLICY]) == POLICY


def test_a_balance_says_all_three(home, monkeypatch):
    from tasks.budget.accounts import account_of
    from tasks.store.keys import Keyring, make_keys

    make_keys(home)
    set_policy(Ledger(home.ledger), POLICY)
    prices(monkeypatch, S=gaussian("0.1", LEAK))
    account = account_of(Keyring.open(home), "p1")
    run = reserve_groups(home, "gaussian", {**PEOPLE, account: "S"})
    found = balance(home, "p1")
    assert found.spent == Charge(0, int(LEAK * DELTA_UNITS), RHO_UNITS // 10)
    assert found.remaining == POLICY.with_gaussian.less(found.spent)
    assert "rho 0.1" in str(found.spent)
    assert run.ledger.entries()[-1].said(Reserved).groups["S"].rho_pico == RHO_UNITS // 10
