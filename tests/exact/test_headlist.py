"""CreateHeadList enumerated on small logs, and its threshold in closed form."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.accounting import HeadListDraw
from hybriddp.errors import InvalidParameter
from hybriddp.headlist import HeadListMechanism
from hybriddp.noise import DiscreteLaplace
from hybriddp.params import Budget

# Replacing a user touches two records at most; all others keep their counts and cancel.
RECORDS = (-1, 0, 1)  # -1: a user without a usable record


def law_of_list(log: tuple[int, ...], mechanism: HeadListMechanism) -> dict[tuple[int, ...], float]:
    """Return the probability of every possible head list; records that nobody holds never pass."""
    held = sorted(set(log) - {-1})
    passes = {r: float(mechanism.release_probability(log.count(r))) for r in held}
    law = {}
    for named in product((False, True), repeat=len(held)):
        chances = [
            passes[r] if is_in else 1 - passes[r] for r, is_in in zip(held, named, strict=True)
        ]
        law[tuple(r for r, is_in in zip(held, named, strict=True) if is_in)] = math.prod(chances)
    return law


def worst_delta(mechanism: HeadListMechanism, epsilon: float) -> float:
    """Return the largest hockey-stick divergence over all neighbouring logs of ten users."""
    worst = 0.0
    for rest in combinations_with_replacement(RECORDS, 9):
        laws = [law_of_list((*rest, record), mechanism) for record in RECORDS]
        for p, q in product(laws, laws):
            gap = sum(
                max(chance - math.exp(epsilon) * q.get(out, 0), 0) for out, chance in p.items()
            )
            worst = max(worst, gap)
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "0.69", "0.7", "1", "2", "4", "8"])
@pytest.mark.parametrize("delta", ["0.3", "0.05", "1e-3", "1e-5"])
def test_head_list_keeps_its_budget_on_small_logs(epsilon, delta):
    """For every epsilon, also at most ln 2, where JPC19 theorem 3.1 promises nothing."""
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    assert worst_delta(mechanism, float(epsilon)) <= float(delta) + 1e-15
    # And the claim is not idle: a record of one user is all that delta is needed for.
    assert worst_delta(mechanism, float(epsilon)) == pytest.approx(
        float(mechanism.release_probability(1)), rel=1e-9
    )


@given(st.fractions("1/100", 10), st.fractions("1/10000000000", "99/100"))
def test_record_of_one_user_passes_with_probability_at_most_delta(epsilon, delta):
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    a = mechanism.noise.decay
    assert float(mechanism.release_probability(1)) <= float(delta) / (1 + a) * (1 + 1e-9)


@given(st.fractions("1/100", 10), st.fractions("1/10000000000", "99/100"))
def test_threshold_is_the_papers(epsilon, delta):
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    b = 2 / float(epsilon)
    tau = max(b * (math.log(math.exp(float(epsilon) / 2) + 1 - 1) - math.log(delta)), 1)
    assert mechanism.threshold in {math.floor(tau * (1 - 1e-12)), math.floor(tau * (1 + 1e-12))}


def test_enumeration_catches_planted_defects():
    budget = Budget(1, "0.01")
    mechanism = HeadListMechanism.for_budget(budget)
    assert worst_delta(mechanism, 1.0) <= 0.01
    # The paper's threshold has room for one step at this delta, not for two.
    assert worst_delta(_unchecked(budget, mechanism.noise, mechanism.threshold - 2), 1.0) > 0.01
    # Half the noise, with a threshold that would hide single users well enough.
    half = DiscreteLaplace(mechanism.noise.scale / 2)
    assert half.tail(5) < 0.01
    assert worst_delta(_unchecked(budget, half, 5), 1.0) > 0.01


def _unchecked(budget: Budget, noise: DiscreteLaplace, threshold: int) -> HeadListMechanism:
    """Build a mechanism past its own check, as a bug would."""
    broken = object.__new__(HeadListMechanism)
    for name, value in (("budget", budget), ("noise", noise), ("threshold", threshold)):
        object.__setattr__(broken, name, value)
    return broken


def test_mechanism_refuses_to_be_built_beyond_its_budget():
    sound = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="raise the threshold"):
        HeadListMechanism(sound.budget, sound.noise, sound.threshold - 1)
    with pytest.raises(InvalidParameter, match="raise the scale"):
        HeadListMechanism(sound.budget, DiscreteLaplace(0.4999), sound.threshold)


def test_leak_is_computed_beyond_the_precision_of_floats():
    """A delta below the true leak by 1e-20 of it is refused; the float of the leak rounds up."""
    noise, threshold = DiscreteLaplace(0.7), 9
    with localcontext(prec=60):
        scale = Decimal(noise.scale)
        leak = Fraction((-threshold / scale).exp() / (1 + (-1 / scale).exp()))
    event = HeadListDraw(Budget(4, leak * Fraction(10**30 + 1, 10**30)), noise.scale, threshold)
    assert Fraction(event.singleton_probability) >= leak
    assert event.singleton_probability == pytest.approx(float(noise.tail(threshold)), rel=1e-12)
    with pytest.raises(InvalidParameter, match="raise the threshold"):
        HeadListDraw(Budget(4, leak * Fraction(10**20 - 1, 10**20)), noise.scale, threshold)
    for no_threshold in (0, 6.9):  # P(1 + Y > 6.9) is P(1 + Y > 6), not a^6.9/(1+a)
        with pytest.raises(InvalidParameter, match="threshold must be a whole number"):
            HeadListDraw(Budget(4, "0.9"), noise.scale, no_threshold)


@pytest.mark.parametrize("counts", [[12345.5], ["secret"], [2**63 + 5]])
def test_counts_of_another_type_are_refused_without_quoting_them(counts):
    mechanism = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="counts must") as caught:
        mechanism.draw(np.array(counts))
    assert not {"12345", "secret", "92233"} & set(str(caught.value).split())


def test_extreme_budgets_work_or_say_what_is_wrong():
    assert HeadListMechanism.for_budget(Budget(4, Fraction(1, 10**330))).threshold == 380
    with pytest.raises(InvalidParameter, match="epsilon must be at least 1e-09"):
        HeadListMechanism.for_budget(Budget(Fraction(1, 10**320), "1e-5"))


def test_counts_below_one_are_refused():
    mechanism = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="only the records that occur"):
        mechanism.draw(np.array([3, 0]))


@given(st.fractions("1/100", 50))
def test_noise_never_costs_more_than_epsilon(epsilon):
    noise = DiscreteLaplace.for_epsilon(epsilon, 2)
    assert 2 / Fraction(noise.scale) <= noise.epsilon(2) <= epsilon  # the exact cost is 2/scale
    assert noise.epsilon(2) >= epsilon * (1 - Fraction(1, 10**14))
