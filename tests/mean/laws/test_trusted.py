"""The curator's sums: what one person can move, by enumeration, and what noise must cost."""

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from hybriddp.accounting.accountants import compose_basic
from hybriddp.errors import InvalidParameter
from hybriddp.mean.clients import REPORT_KINDS, ClientMeanMechanism
from hybriddp.mean.events import BoundedReport, BoundedSum
from hybriddp.mean.trusted import BoundedSumMechanism, squared_differences, trusted_budgets
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.bounded import BitReport

pytestmark = pytest.mark.exact

KEYS = np.array([0, 1, 0, 1, 1, 0, 1])
ORDER = np.array([3, 0, 6, 2, 5, 1, 4])
GRID = 2


def neighbours(n_people):
    """Yield all pairs of values on a small grid that differ in one person, and who that is."""
    for values in itertools.product(range(GRID + 1), repeat=n_people):
        for who, other in itertools.product(range(n_people), range(GRID + 1)):
            yield np.array(values), np.array([*values[:who], other, *values[who + 1 :]])


def sums_of(values, keys, largest):
    mechanism = BoundedSumMechanism.for_budget(Budget(1), largest)
    return mechanism._sums(values, keys, 2)


def test_one_value_moves_one_sum():
    """By at most the grid, and the noise is for the grid; nobody moves two sums."""
    keys, worst = KEYS[:4], 0
    for before, after in neighbours(4):
        moved = np.abs(sums_of(before, keys, GRID) - sums_of(after, keys, GRID))
        assert np.count_nonzero(moved) <= 1
        worst = max(worst, moved.sum())
    assert worst == GRID


def test_one_value_moves_one_sum_of_squares():
    keys, order, worst = KEYS[:5], np.array([3, 0, 2, 1, 4]), 0
    for before, after in neighbours(5):
        moved = np.zeros(2, np.int64)
        for sign, values in ((1, before), (-1, after)):
            squares, of_keys = squared_differences(values, keys, order)
            moved += sign * sums_of(squares, of_keys, GRID**2)
        assert np.count_nonzero(moved) <= 1
        worst = max(worst, np.abs(moved).sum())
    assert worst == GRID**2


def test_pairs_are_of_one_key_and_nobody_is_in_two():
    positions = 10 ** np.arange(7)  # which two people a square comes from can be told
    squares, keys = squared_differences(positions, KEYS, ORDER)
    # In the public order key 0 has people 0, 2, 5, the last alone, and key 1 has 3, 6, 1, 4.
    assert squares[keys == 0].tolist() == [(positions[0] - positions[2]) ** 2]
    expected = [(positions[3] - positions[6]) ** 2, (positions[1] - positions[4]) ** 2]
    assert squares[keys == 1].tolist() == expected
    nobody = np.zeros(0, np.int64)
    assert [len(part) for part in squared_differences(nobody, nobody, nobody)] == [0, 0]


@pytest.mark.parametrize("points", [(0, 2), (0, 1, 2), (0, 0, 0, 2)])
def test_half_a_squared_difference_is_the_variance_on_average(points):
    pairs = list(itertools.product(points, repeat=2))
    squares = [
        int(squared_differences(np.array(pair), np.zeros(2, np.int64), np.arange(2))[0][0])
        for pair in pairs
    ]
    mean = F(sum(points), len(points))
    variance = sum((x - mean) ** 2 for x in points) / len(points)
    assert F(sum(squares), 2 * len(squares)) == variance


@pytest.mark.parametrize("share", [F(0), F(1, 20), F(1, 3)])
def test_both_draws_of_a_trusted_user_cost_the_budget_and_no_more(share):
    budget = Budget("0.7")
    parts = [part for part in trusted_budgets(budget, share) if part is not None]
    largest = (GRID, GRID**2)
    events = [
        BoundedSumMechanism.for_budget(part, size).event
        for part, size in zip(parts, largest, strict=False)
    ]
    assert compose_basic(events).epsilon == budget.epsilon
    for event in events:
        assert F(event.largest) / F(event.noise.scale) <= event.budget.epsilon


def test_noise_that_costs_more_than_the_budget_is_refused():
    budget, less = Budget(1, "1e-6"), Budget("0.999", "1e-6")
    for mechanism in (
        BoundedSumMechanism.for_budget(budget, 10),
        BoundedSumMechanism.gaussian(budget, 10),
    ):
        noise = mechanism.noise
        BoundedSum(budget, noise, 10)
        for wrong in (
            (budget, type(noise)(int(noise.scale * 15.7) / 16), 10),
            (budget, noise, 11),
            (less, noise, 10),
            (budget, noise, 0),
            (budget, noise.scale, 10),
        ):
            with pytest.raises(InvalidParameter):
                BoundedSum(*wrong)
    with pytest.raises(InvalidParameter):
        BoundedSum(Budget(1), BoundedSumMechanism.gaussian(budget, 10).noise, 10)  # without delta


@pytest.mark.parametrize("kind", REPORT_KINDS)
def test_reports_that_cost_more_than_the_budget_are_refused(kind):
    law = ClientMeanMechanism.for_budget(Budget(1, "1e-6"), kind, 100).law
    BoundedReport(Budget(1, "1e-6"), law)
    with pytest.raises(InvalidParameter, match="cost at most"):
        BoundedReport(Budget("0.999", "1e-6"), law)


def test_a_law_without_a_price_is_refused():
    class Lawless(BitReport):
        def keeps(self, budget):
            return True

    with pytest.raises(InvalidParameter, match="law must be one of"):
        BoundedReport(Budget(1), Lawless(10, 1, 1))


@pytest.mark.parametrize(
    ("values", "keys"), [([3], [0]), ([-1], [0]), ([1], [2]), ([1], [-1]), ([1, 1], [0])]
)
def test_values_and_keys_out_of_range_are_refused(values, keys):
    with pytest.raises(InvalidParameter):
        sums_of(np.array(values), np.array(keys), GRID)
