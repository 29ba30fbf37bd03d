"""No printed promise is smaller than the promise."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.rounding import rounded_down, rounded_up
from tasks.budget.policy import Policy
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS, Charge
from tasks.products.label import lifetime_promise, number_of

numbers = st.fractions(min_value=-1000, max_value=10**9, max_denominator=10**19)


@given(numbers, st.integers(1, 17))
def test_rounding_is_to_the_right_side_and_by_less_than_a_digit(value, digits):
    up, down = Fraction(rounded_up(value, digits)), Fraction(rounded_down(value, digits))
    assert down <= value <= up
    assert up - down <= abs(value) * Fraction(10) ** (1 - digits)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("1.0000049", "1.00001"),
        ("1.0000000000000000001", "1.00001"),
        ("1", "1"),
        ("4", "4"),
        ("12", "12"),
        ("100", "100"),
        ("1e-5", "1e-05"),
        ("1.00000001e-5", "1.00001e-05"),
        ("0.0001", "0.0001"),
        ("999999.5", "1e+06"),
        ("0", "0"),
    ],
)
def test_numbers_look_as_before_where_they_fit_and_are_larger_where_not(value, shown):
    assert rounded_up(Fraction(value)) == shown


def test_charges_labels_and_caps_are_printed_upwards_and_what_is_left_downwards():
    charge = Charge(1_000_004_900, 10_000_000_000_001)
    assert str(charge) == "(epsilon 1.00001, delta 1.00001e-05)"
    assert charge.as_left == "(epsilon 1, delta 1e-05)"
    assert number_of(charge.epsilon, EPSILON_UNITS) == "1.00001"
    assert number_of(charge.delta, DELTA_UNITS) == "1.00001e-05"
    promise = lifetime_promise(Policy(charge).statement)
    assert "(epsilon 1.00001, delta 1.00001e-05)" in promise
    shown = charge.as_json()
    assert shown["epsilon"] == 1.00001
    assert (shown["epsilon_nano"], shown["delta_atto"]) == (charge.epsilon, charge.delta)
