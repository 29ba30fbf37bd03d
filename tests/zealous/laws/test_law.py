"""ZEALOUS enumerated on small logs under both relaxations, and its thresholds in closed form.

The noise of the enumeration has a = exp(-1/lambda) = 1/2, so that every probability is a fraction
and e^epsilon = 4^m exactly. The mechanism under test computes its thresholds for that very noise.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.accounting.accountants import compose_basic, compose_pld
from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.zealous.events import INDISTINGUISHABLE, PROBABILISTIC, RELAXATIONS, ItemHistogram
from hybriddp.zealous.mechanism import ZealousMechanism
from tests.privacy import least_delta, least_probabilistic_delta

pytestmark = pytest.mark.exact

HALF = Fraction(1, 2)
N_USERS, ITEMS = 3, (0, 1, 2)


def mechanism_with_half(relaxation: str, m: int, delta: str) -> ZealousMechanism:
    """Return the mechanism whose noise halves from one integer to the next."""
    epsilon = Fraction(2 * m * math.log(2) * (1 - 2**-50))
    return ZealousMechanism.for_budget(Budget(epsilon, delta), relaxation, m, N_USERS)


def law_of_count(count: int, first: int, threshold: int, a: Fraction) -> dict[int, Fraction]:
    """Return the law of what is published of an item: 0 for nothing, or the noisy count.

    Above every count the law falls by the same factor for all of them, so that the rest of it is
    one outcome.
    """
    if count < first:
        return {0: Fraction(1)}
    last = max(threshold, N_USERS) + 1
    law = {v: (1 - a) / (1 + a) * a ** abs(v - count) for v in range(threshold + 1, last)}
    law[last] = a ** (last - count) / (1 + a)
    return law | {0: 1 - sum(law.values())}


def all_laws(
    m: int, first: int, threshold: int, a: Fraction = HALF
) -> dict[tuple, dict[tuple, Fraction]]:
    """Return what is published of every log in which each user has up to m of three items."""
    choices = [c for n in range(m + 1) for c in itertools.combinations(ITEMS, n)]
    laws = {}
    for log in itertools.product(choices, repeat=N_USERS):
        counts = [sum(item in own for own in log) for item in ITEMS]
        parts = [law_of_count(count, first, threshold, a).items() for count in counts]
        laws[log] = {
            tuple(value for value, _ in outcome): math.prod(p for _, p in outcome)
            for outcome in itertools.product(*parts)
        }
    return laws


CASES = [(m, delta) for m in (1, 2) for delta in ("0.3", "0.02")]


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize(("m", "delta"), CASES)
def test_histogram_keeps_its_promise_on_small_logs(relaxation, m, delta):
    mechanism = mechanism_with_half(relaxation, m, delta)
    laws = all_laws(m, mechanism.first_threshold, mechanism.threshold)
    measure = least_delta if relaxation == INDISTINGUISHABLE else least_probabilistic_delta
    assert measure(laws, Fraction(4) ** m) <= Fraction(delta)


@pytest.mark.parametrize(("m", "delta"), CASES)
def test_delta_of_indistinguishability_is_the_chance_that_an_own_item_passes(m, delta):
    """Whatever the first threshold: the event's `leak` is exact but for the union bound."""
    for relaxation in RELAXATIONS:
        mechanism = mechanism_with_half(relaxation, m, delta)
        distance = mechanism.threshold - mechanism.first_threshold
        passing = HALF ** (distance + 1) / (1 + HALF)
        laws = all_laws(m, mechanism.first_threshold, mechanism.threshold)
        worst = least_delta(laws, Fraction(4) ** m)
        assert worst == 1 - (1 - passing) ** m
        assert float(worst) <= mechanism.event.leak == pytest.approx(float(m * passing))


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize(("m", "delta"), CASES)
def test_a_threshold_one_lower_is_refused_and_the_enumeration_sees_why(relaxation, m, delta):
    mechanism = mechanism_with_half(relaxation, m, delta)
    first, lower = mechanism.first_threshold, mechanism.threshold - 1
    with pytest.raises(InvalidParameter):
        ItemHistogram(mechanism.budget, relaxation, mechanism.noise.scale, first, lower, m, N_USERS)
    if relaxation == INDISTINGUISHABLE and m == 1:  # no union bound, so nothing is left to give
        assert least_delta(all_laws(m, first, lower), Fraction(4)) > Fraction(delta)


def test_probabilistic_promise_needs_both_of_its_bounds():
    """The second: an item at the threshold may pass with at most 1 - e^(-1/lambda).

    Else its absence alone tells more than one item's share of epsilon, and that can be the most
    likely output of all. Delta 0.9 leaves the first bound, 0.9/3 users, far behind.
    """
    a, delta = Fraction(9, 10), Fraction(9, 10)
    passing = [a ** (threshold) / (1 + a) for threshold in range(40)]  # at a first threshold of 1
    too_low = next(t for t, p in enumerate(passing) if p <= delta / N_USERS)
    right = next(t for t, p in enumerate(passing) if p <= 1 - a)
    ratio = 1 / a**2
    assert least_probabilistic_delta(all_laws(1, 1, too_low, a), ratio) == 1
    assert least_probabilistic_delta(all_laws(1, 1, right, a), ratio) <= delta
    scale = -1 / math.log(a)
    budget = Budget(2 / scale * (1 + 1e-12), delta)
    ItemHistogram(budget, PROBABILISTIC, scale, 1, right, 1, N_USERS)
    with pytest.raises(InvalidParameter, match="must pass threshold"):
        ItemHistogram(budget, PROBABILISTIC, scale, 1, right - 1, 1, N_USERS)


@pytest.mark.parametrize("epsilon", ["0.3", "1", "2", "7"])
@pytest.mark.parametrize("m", [1, 5, 20])
def test_no_other_first_threshold_has_a_lower_second_one(epsilon, m):
    """ZEAL proposition 4, for whole thresholds; the continuous optimum is 2m/epsilon."""
    n_users, budget = 500_000, Budget(epsilon, "0.001")
    chosen = ZealousMechanism.for_budget(budget, PROBABILISTIC, m, n_users)
    best = 2 * m / float(budget.epsilon)
    assert chosen.first_threshold in {max(math.floor(best), 1), max(math.ceil(best), 1)}
    for first in range(1, math.ceil(2 * best) + 3):
        other = ZealousMechanism._with_first_threshold(
            budget, PROBABILISTIC, m, n_users, chosen.noise, first
        )
        assert other.threshold >= chosen.threshold


@pytest.mark.parametrize("relaxation", RELAXATIONS)
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("m", [1, 3])
def test_threshold_is_the_smallest_that_the_event_accepts(relaxation, epsilon, m):
    mechanism = ZealousMechanism.for_budget(Budget(epsilon, "1e-6"), relaxation, m, 10_000)
    a = mechanism.noise.decay
    distance = mechanism.threshold - mechanism.first_threshold
    share = m if relaxation == INDISTINGUISHABLE else 10_000 * m / mechanism.first_threshold
    passing = [a ** (d + 1) / (1 + a) for d in (distance, distance - 1)]
    assert share * passing[0] <= 1e-6 < share * passing[1]


def test_counts_below_the_first_threshold_are_never_published():
    mechanism = ZealousMechanism.for_budget(Budget(1, "0.001"), PROBABILISTIC, 2, 500_000)
    assert mechanism.first_threshold == 4
    probabilities = mechanism.release_probability([1, 3, 4, 79, 1_000])
    assert probabilities[:2].tolist() == [0, 0]
    a = mechanism.noise.decay
    assert probabilities[2] == pytest.approx(a ** (mechanism.threshold - 3) / (1 + a))
    assert probabilities[4] == pytest.approx(1)
    named = mechanism.draw(np.array([3, 10_000, 2, 10_000]))
    assert named.is_named.tolist() == [False, True, False, True]
    assert np.abs(named.noisy_counts - 10_000).max() < 400, "tail probability below 1e-40"


@pytest.mark.parametrize("relaxation", RELAXATIONS)
def test_composition_is_never_below_what_was_enumerated(relaxation):
    mechanism = mechanism_with_half(relaxation, 1, "0.02")
    event = mechanism.event
    assert compose_basic([event] * 3).epsilon == 3 * mechanism.budget.epsilon
    laws = all_laws(1, mechanism.first_threshold, mechanism.threshold)
    for delta in (0.05, 0.2):
        # The accountant's epsilon at this delta must suffice; fractions above it do.
        ratio = Fraction(math.exp(compose_pld([event], delta)) * (1 + 1e-9))
        assert least_delta(laws, ratio) <= Fraction(delta) * (1 + Fraction(1, 10**9))


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"relaxation": "exact"}, "relaxation must be one of"),
        ({"items_per_user": 0}, "items_per_user"),
        ({"n_users": 0}, "n_users"),
        ({"budget": Budget(1)}, "delta must be above 0"),
    ],
)
def test_settings_that_promise_nothing_are_refused(changes, rule):
    usual = {
        "budget": Budget(1, "1e-5"),
        "relaxation": PROBABILISTIC,
        "items_per_user": 1,
        "n_users": 10,
    }
    with pytest.raises(InvalidParameter, match=rule):
        ZealousMechanism.for_budget(**(usual | changes))


def test_counts_of_items_that_nobody_holds_are_refused_without_quoting_them():
    mechanism = ZealousMechanism.for_budget(Budget(1, "1e-5"), INDISTINGUISHABLE, 1, 10)
    with pytest.raises(InvalidParameter, match="at least 1, got a smaller one"):
        mechanism.draw(np.array([5, -777]))
