"""Charges are rounded up, caps down, and the newest policy in the ledger holds."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.spending import Spent, first_fit, total
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.ledger.ledger import Ledger, LedgerMoved

NOW = datetime(2026, 11, 10, tzinfo=UTC)
PRICE = Charge(4 * EPSILON_UNITS, DELTA_UNITS // 100_000)

epsilons = st.fractions(min_value="1/1000000", max_value=50, max_denominator=10**12)
deltas = st.fractions(min_value=0, max_value="1/2", max_denominator=10**25)


@given(epsilons, deltas)
def test_a_charge_is_never_below_its_budget_and_less_than_a_unit_above(epsilon, delta):
    charge = Charge.of(Budget(epsilon, delta))
    assert 0 <= Fraction(charge.epsilon, EPSILON_UNITS) - epsilon < Fraction(1, EPSILON_UNITS)
    assert 0 <= Fraction(charge.delta, DELTA_UNITS) - delta < Fraction(1, DELTA_UNITS)


@given(epsilons, deltas)
def test_a_cap_is_never_above_what_was_typed(epsilon, delta):
    cap = Policy.of(epsilon, delta, None).cap
    assert 0 <= epsilon - Fraction(cap.epsilon, EPSILON_UNITS) < Fraction(1, EPSILON_UNITS)
    assert 0 <= delta - Fraction(cap.delta, DELTA_UNITS) < Fraction(1, DELTA_UNITS)


@pytest.mark.parametrize(
    ("epsilon", "delta", "days", "name"),
    [
        (0, 1e-4, None, "cap_epsilon"),
        (-1, 1e-4, None, "cap_epsilon"),
        (12, 1, None, "cap_delta"),
        (12, -1e-9, None, "cap_delta"),
        (12, 1e-4, 0, "window_days"),
        (12, 1e-4, 10**9, "window_days"),
    ],
)
def test_a_policy_that_makes_no_sense_is_refused(epsilon, delta, days, name):
    with pytest.raises(InvalidParameter, match=name):
        Policy.of(epsilon, delta, days)


def test_a_policy_without_any_verdict_is_refused():
    """No log could be judged, so nothing could be released."""
    with pytest.raises(InvalidParameter, match=r"max_refusals must be .* at least 1.*got 0"):
        Policy().changed(None, None, None, 0)
    assert Policy().changed(None, None, None, 1).max_refusals == 1


def test_the_longest_window_still_has_a_beginning():
    assert Policy.of(12, 1e-4, 36_525).window_start(NOW).year == 1926


def test_the_newest_policy_holds_and_the_default_is_a_cap_for_life(tmp_path):
    ledger = Ledger(tmp_path / "ledger.sqlite")
    default = Policy.of(12, "1/10000", None, pure_epsilon=4)
    assert current_policy(ledger.entries()) == default == Policy()
    for policy in (Policy.of(6, 1e-5, 365), Policy.of(3, 0, None), Policy.of(6, 1e-5, 365)):
        set_policy(ledger, policy)
        assert current_policy(ledger.entries()) == policy
    assert ledger.verify().seq == 3, "every change stays on record"


def test_a_policy_that_somebody_else_changed_meanwhile_is_not_overwritten(tmp_path):
    """Whoever was asked about an old cap would bring it back with their own change."""
    ledger = Ledger(tmp_path / "ledger.sqlite")
    seen = ledger.head()
    set_policy(ledger, Policy.of(4, 1e-5, None))
    with pytest.raises(LedgerMoved, match="somebody else has changed the policy"):
        set_policy(ledger, Policy().changed(None, None, None, 20), since=seen)
    assert current_policy(ledger.entries()).cap.epsilon == 4 * EPSILON_UNITS
    again = current_policy(ledger.entries()).changed(None, None, None, 20)
    set_policy(ledger, again, since=ledger.head())
    assert current_policy(ledger.entries()) == again


def test_the_worst_case_counts_every_window_that_fits_into_the_horizon():
    assert Policy().worst_case(10) == Policy().cap
    yearly = Policy.of(12, 1e-4, 366)
    assert yearly.worst_case(10) == Charge(10 * yearly.cap.epsilon, 10 * yearly.cap.delta)
    assert Policy.of(1, 0, 365).worst_case(10).epsilon == 11 * EPSILON_UNITS, "one begins late"
    assert Policy.of(1, 0, 5_000).worst_case(10).epsilon == EPSILON_UNITS


def spent_at(*days_ago: int) -> list[Spent]:
    return [Spent(NOW - timedelta(days=days), "r", "S", PRICE) for days in days_ago]


def test_charges_add_up_exactly():
    assert total([]) == Charge(0, 0)
    assert total(spent_at(1, 2, 3)) == Charge(3 * PRICE.epsilon, 3 * PRICE.delta)


@pytest.mark.parametrize(
    ("days_ago", "asked", "fits_in_days"),
    [
        ([], PRICE, 0),
        ([300], PRICE, 0),
        ([300, 200], PRICE, 65),  # two fit; the older one leaves after 365 days
        ([200, 300], Charge(2 * PRICE.epsilon, 0), 165),
        ([300, 200, 100], PRICE, 165),
        ([400, 200], PRICE, 0),  # the older one has left already
        ([300], Charge(3 * PRICE.epsilon, 0), None),  # more than the cap
        ([300], Charge(1, 3 * PRICE.delta), None),
    ],
)
def test_the_first_fit_is_when_enough_charges_have_left_the_window(days_ago, asked, fits_in_days):
    policy = Policy(Charge(2 * PRICE.epsilon, 2 * PRICE.delta), 365)
    expected = None if fits_in_days is None else NOW + timedelta(days=fits_in_days)
    assert first_fit(spent_at(*days_ago), asked, policy, NOW) == expected


def test_a_cap_for_life_that_is_spent_fits_never():
    policy = Policy(Charge(2 * PRICE.epsilon, 2 * PRICE.delta))
    assert first_fit(spent_at(9_000), PRICE, policy, NOW) == NOW
    assert first_fit(spent_at(9_000, 8_000), PRICE, policy, NOW) is None
