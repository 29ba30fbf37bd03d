"""A cap is a filter: the best adversary against it is computed, and gets no more than the cap.

The adversary draws Gaussians one after the other, sees each, and may stop at any moment to spend
whatever the rule leaves as one pure loss. Backward induction over the privacy loss so far gives
what the best of them gets; losses lie on a fine grid and are rounded up.
"""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.accounting.accountants import Cost
from hybriddp.accounting.filters import CapFilter
from hybriddp.accounting.price import Price
from hybriddp.errors import InvalidParameter
from hybriddp.noise.dominated import delta_of

pytestmark = pytest.mark.exact

CAP = Cost(Fraction(4), Fraction(1, 100_000))
STEP = 0.01
LOSSES = np.arange(-6.0, 10.0, STEP)


def best_delta(rho: float, n_draws: int, pure_left: Callable[[float], float]) -> float:
    """What the best adversary gets beyond e^4, with so many Gaussian draws of rho in all.

    `pure_left` says what pure loss a rule allows after some rho.
    """
    each = rho / n_draws
    moves = np.arange(-120, 121)
    chances = stats.norm.pdf(moves * STEP, each, np.sqrt(2 * each)) * STEP
    chances /= chances.sum()
    value = np.zeros_like(LOSSES)
    for n_drawn in range(n_draws, -1, -1):
        drawn_on = np.convolve(value, chances[::-1], "same") if n_drawn < n_draws else value
        value = np.maximum(drawn_on, _stopped(pure_left(n_drawn * each)))
    return float(value[np.searchsorted(LOSSES, -STEP / 2)])


def _stopped(pure: float) -> np.ndarray:
    """What is got by one pure loss now: randomized response is the worst of its epsilon."""
    truth = np.exp(pure) / (1 + np.exp(pure))

    def beyond(loss: np.ndarray) -> np.ndarray:
        return np.maximum(-np.expm1(float(CAP.epsilon) - loss), 0)

    return truth * beyond(LOSSES + pure) + (1 - truth) * beyond(LOSSES - pure)


def epsilon_of(rho: float, delta: float) -> float:
    """The least epsilon of rho at delta."""
    grid = np.linspace(0.001, 8, 8_000)
    return float(grid[np.argmax(delta_of(grid, rho) <= delta)]) if rho else 0.0


@pytest.mark.parametrize("pure", [0, 1, 2])
def test_nobody_gets_more_than_the_cap(pure):
    """And the best adversary gets most of the part that converts rho."""
    rule = CapFilter.with_gaussian(CAP, Fraction(pure))
    got = best_delta(float(rule.rho), 40, lambda _: float(pure))
    assert 0.7 * float(rule.gaussian_delta) < got <= float(rule.gaussian_delta) * 1.002


def test_a_rule_that_trades_freely_is_broken():
    """Planted: whatever rho has not used of epsilon may be spent as a pure loss."""
    rule = CapFilter.with_gaussian(CAP)
    delta = float(rule.gaussian_delta)
    left = [4 - epsilon_of(n * float(rule.rho) / 40, delta) for n in range(41)]
    got = best_delta(float(rule.rho), 40, lambda rho: left[round(rho / float(rule.rho) * 40)])
    assert got > 2 * delta


def test_a_little_more_rho_is_broken_too():
    rule = CapFilter.with_gaussian(CAP)
    assert best_delta(float(rule.rho) * 1.05, 40, lambda _: 0.0) > float(rule.gaussian_delta)


def test_the_largest_rho_is_that_of_the_specification():
    assert float(CapFilter.with_gaussian(CAP).rho) == pytest.approx(0.4015, abs=1e-4)
    assert CapFilter.pure_only(CAP).rho == 0
    assert CapFilter.with_gaussian(CAP, CAP.epsilon).rho == 0


parts = st.fractions(0, 5, max_denominator=1000)
prices = st.builds(lambda a, b, c: Price(a, b / 10**5, c / 10), parts, parts, parts)


@given(prices, prices)
def test_who_may_lose_more_may_lose_less(one, other):
    rule = CapFilter.with_gaussian(CAP, Fraction(1))
    if rule.admits(Price.sum([one, other])):
        assert rule.admits(one)
        assert rule.admits(other)


@pytest.mark.parametrize(
    ("total", "is_admitted"),
    [
        (Price(Fraction(4), Fraction(1, 10**5)), True),
        (Price(Fraction(4), Fraction(1, 10**5), Fraction(1, 10**9)), False),
        (Price(Fraction(1), Fraction(1, 2 * 10**5), Fraction(1, 10)), True),
        (Price(Fraction(1), Fraction(1, 2 * 10**5) + Fraction(1, 10**18), Fraction(1, 10)), False),
        (Price(Fraction(1) + Fraction(1, 10**9), Fraction(0), Fraction(1, 10)), False),
        (Price(rho=Fraction(4, 10)), False),
        (Price(), True),
    ],
)
def test_each_kind_of_loss_has_its_own_part(total, is_admitted):
    """With a pure part of 1; with a Gaussian loss half of delta is set aside for converting it."""
    assert CapFilter.with_gaussian(CAP, Fraction(1)).admits(total) == is_admitted


def test_a_cap_whose_parts_do_not_fit_is_refused():
    rule = CapFilter.with_gaussian(CAP)
    for changed in ({"rho": rule.rho * 2}, {"pure": Fraction(1)}, {"pure": Fraction(5)},
                    {"gaussian_delta": Fraction(1, 10**6)}, {"rho": Fraction(-1)},
                    {"gaussian_delta": Fraction(1, 10**4)}):  # fmt: skip
        parts = {"cap": CAP, "pure": rule.pure, "rho": rule.rho,
                 "gaussian_delta": rule.gaussian_delta, **changed}  # fmt: skip
        with pytest.raises(InvalidParameter):
            CapFilter(**parts)
