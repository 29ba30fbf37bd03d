"""Finding with weights and measuring with shares, enumerated on small logs.

A grid of three units is about as far from a continuous Gaussian as the library allows; with twelve
the claims are near the truth. Noise has the scale of one person's weight. What follows from a
shared record and from an exclusive one is written out: a record that only one log has is absent
from the other, and a noisy weight up to the threshold is not seen.
"""

import math
from dataclasses import replace
from fractions import Fraction
from functools import cache, reduce
from itertools import product

import numpy as np
import pytest
from scipy.signal import fftconvolve

from hybriddp.accounting.accountants import compose_pld
from hybriddp.accounting.event import from_json, to_json
from hybriddp.blender.weighted.events import WeightedListDraw
from hybriddp.blender.weighted.mechanism import WeightedListMechanism
from hybriddp.blender.weighted.weights import (
    concentration_of,
    squared_shift_of_shares,
    weight_of,
    weights_up_to,
)
from hybriddp.errors import InvalidParameter
from hybriddp.noise.dominated import delta_of, rho_of
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from tests.stats import ALPHA, law_p_value

pytestmark = pytest.mark.exact

COARSE, FINE = 3, 12


def reach(scale: float) -> int:
    """How far noise goes: beyond it lies e^-72."""
    return math.ceil(12 * scale)


def shifted(weight: int, scale: float) -> np.ndarray:
    """The law of a noisy integer, computed anew, from -reach to 2 reach."""
    y = np.arange(-reach(scale), 2 * reach(scale) + 1.0) - weight
    law = np.exp(-((y / scale) ** 2) / 2)
    return law / law.sum()


def outputs_of(weight: int, threshold: int, scale: float) -> np.ndarray:
    """The law of what is seen of a record: nothing, or its noisy weight."""
    law = shifted(weight, scale)
    cut = reach(scale) + threshold + 1
    return np.concatenate([[law[:cut].sum()], law[cut:]])


Laws = tuple[np.ndarray, np.ndarray]
NOTHING: Laws = np.ones(1), np.ones(1)


@cache
def moved(shifts: tuple[int, ...], scale: float) -> Laws:
    """The laws of a noisy vector that moves by these integers, and of one that does not.

    Outputs with the same ratio of both are one: it is exp(j/(2 scale^2)), j an integer that adds up
    over coordinates. So nothing is lost, however many there are.
    """
    p, q = NOTHING
    for shift in shifts:
        here, there = shifted(shift, scale), shifted(0, scale)
        places = shift * (2 * np.arange(len(here)) - 2 * reach(scale) - shift)
        places -= places.min()
        p, q = (fftconvolve(law, np.bincount(places, one)) for law, one in ((p, here), (q, there)))
    return np.maximum(p, 0), np.maximum(q, 0)  # rounding errs by 1e-17 or so


def together(*parts: Laws) -> Laws:
    """The laws of independent outputs."""
    p, q = (reduce(np.multiply.outer, side).reshape(-1) for side in zip(*parts, strict=True))
    return p, q


def divergence(epsilon: float, laws: Laws) -> float:
    """The hockey-stick divergence."""
    p, q = laws
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def sides(most_records: int) -> list[tuple[int, int]]:
    """Who a person can be: d records, t of them nobody else's."""
    return [(d, t) for d in range(most_records + 1) for t in range(d + 1)]


def draws(
    mine: tuple[int, int], other: tuple[int, int], units: int, threshold: int, scale: float
) -> Laws:
    """The laws of all that is published when a person is replaced by one who shares no record.

    Of shared records all noisy weights are seen, as if others had given them so much; what is
    below the threshold is post-processing. All shares lie on a named record, and then on an unnamed
    one of a named query, which has no part in the concentration.
    """
    shifts, exclusive = [units, units, concentration_of(units, units)], []
    for (d, t), is_first in ((mine, True), (other, False)):
        weight = weight_of(d, units) if d else 0
        shifts += [weight] * (d - t)
        seen = outputs_of(weight, threshold, scale)
        absent = np.array([1.0, *np.zeros(len(seen) - 1)])
        one = np.array([seen[0], seen[1:].sum()]), np.array([absent[0], 0.0])
        exclusive += [one if is_first else one[::-1]] * t
    return together(moved(tuple(sorted(shifts)), scale), *exclusive)


def worst(epsilon: float, most_records: int, units: int, threshold: int, scale: float) -> float:
    """The largest divergence over all replacements, in both directions."""
    people = sides(most_records)
    return max(
        divergence(epsilon, draws(a, b, units, threshold, scale))
        for a, b in product(people, people)
    )


def draw_of(most_records: int, units: int, threshold: int) -> WeightedListDraw:
    scale = float(units)
    return WeightedListDraw(GENEROUS, most_records, units, scale, threshold, units, scale)


GENEROUS = Budget(50, "0.999")


@pytest.mark.parametrize("units", [COARSE, FINE])
@pytest.mark.parametrize("most_records", [1, 3])
@pytest.mark.parametrize("tau", [2, 4])
def test_draws_keep_their_budget_on_small_logs(units, most_records, tau):
    """All replacements, both directions; on a fine grid the claim is within a tenth."""
    event = draw_of(most_records, units, tau * units)
    for epsilon in (0.5, 1.5, 3.0):
        true = worst(epsilon, most_records, units, tau * units, float(units))
        claimed = float(event.delta(Fraction(epsilon)))
        assert true <= claimed
        assert claimed <= 1.1 * true or units == COARSE


@pytest.mark.parametrize(("part", "lowered"), [(0.9, 0), (1, 6)])
def test_less_noise_or_a_lower_threshold_breaks_the_claim(part, lowered):
    epsilon, threshold = 3.0, 2 * FINE
    claimed = float(draw_of(2, FINE, threshold).delta(Fraction(epsilon)))
    assert worst(epsilon, 2, FINE, threshold - lowered, part * FINE) > claimed


def test_the_leak_counts_every_record_of_a_person():
    """Wide noise names any of five small weights more often than one large one."""
    scale, threshold = 4.0 * FINE, 12 * FINE
    event = WeightedListDraw(GENEROUS, 5, FINE, scale, threshold, FINE, scale)
    named = [outputs_of(weight_of(d, FINE), threshold, scale)[1:].sum() for d in range(1, 6)]
    alone = [1 - (1 - chance) ** d for d, chance in enumerate(named, 1)]
    assert max(alone) <= event.leak <= max(alone) * (1 + 1e-6)
    assert max(alone) > 1.5 * max(named)


def test_shares_and_concentration_move_by_no_more_than_is_charged():
    """Every pair of people on two named records and a <q,*> of six units; the rest goes nowhere."""
    units = 6
    people = np.array([x for x in product(range(units + 1), repeat=3) if sum(x) <= units])
    adds = np.array([concentration_of(share, units) for share in range(units + 1)])
    last = adds[people[:, :2]].sum(axis=1)
    given = np.column_stack([people, last])
    moved = ((given[:, None, :] - given[None, :, :]) ** 2).sum(axis=2)
    assert moved.max() == squared_shift_of_shares(units) == 2 * units**2 + 2**2


@pytest.mark.parametrize("units", [*range(1, 60), 1_000])
def test_several_shares_are_never_more_concentrated_than_one(units):
    """The most that shares which sum up to n can add, for every n, by trying every last share."""
    most = [0]
    for total in range(1, units + 1):
        adds = [concentration_of(share, units) for share in range(total + 1)]
        most.append(max(most[total - share] + adds[share] for share in range(1, total + 1)))
        assert most[total] == concentration_of(total, units)


def test_weights_have_a_length_of_at_most_one():
    for units in (1, 3, 50, 1000):
        weights = weights_up_to(40, units)
        assert all(d * u**2 <= units**2 < d * (u + 1) ** 2 for d, u in enumerate(weights, 1))


@pytest.mark.parametrize("shift", [(3,), (2, 2), (1, 1, 1), (3, 1, 1)])
@pytest.mark.parametrize("scale", [2.5, 3.0, 6.0])
def test_noise_on_vectors_costs_no_more_than_the_gaussian_that_dominates_it(shift, scale):
    """docs/proofs/dominated_gaussian.md; the continuous one of the same scale does not suffice."""
    rho = rho_of(DiscreteGaussian(scale), sum(d**2 for d in shift))
    same_scale = sum(d**2 for d in shift) / (2 * scale**2)
    exceeds = False
    for epsilon in np.linspace(0.05, 4, 40):
        true = divergence(epsilon, moved(shift, scale))
        assert true <= delta_of(epsilon, float(rho)) + 1e-15
        exceeds |= true > delta_of(epsilon, same_scale) * (1 + 1e-6)
    assert exceeds or len(shift) == 1 or scale == 6.0


@pytest.mark.parametrize("epsilon", ["0.5", "1", "2", "4"])
@pytest.mark.parametrize("most_records", [1, 5, 20])
def test_the_threshold_is_the_smallest(epsilon, most_records):
    budget = Budget(epsilon, "1e-5")
    event = WeightedListMechanism.for_budget(budget, most_records).event
    assert event.delta(budget.epsilon) <= budget.delta
    numbers = {**to_json(event), "threshold": event.threshold - 20}
    with pytest.raises(InvalidParameter, match="raise the noise or the threshold"):
        from_json(numbers)
    assert from_json(to_json(event)) == event


@pytest.mark.statistical
def test_records_are_named_as_often_as_the_law_says(rng):
    """With false alarms below ALPHA; noise of half the scale, or a weight less, is seen."""
    mechanism = WeightedListMechanism.for_budget(Budget(4, "1e-5"), 5).finding
    weights = np.repeat(mechanism.threshold - np.array([2_000, 1_000, 0]), 4_000)
    chances = mechanism.release_probability(weights[::4_000])

    def p_value(draw) -> float:
        is_named = draw(weights).is_named.reshape(3, -1).sum(axis=1)
        return min(law_p_value(np.array([n, 4_000 - n]), np.array([chance, 1 - chance]))
                   for n, chance in zip(is_named, chances, strict=True))  # fmt: skip

    assert p_value(mechanism.draw) > ALPHA
    assert p_value(lambda w: mechanism.simulate(w, rng=rng)) > ALPHA
    halved = replace(mechanism, noise=DiscreteGaussian(mechanism.noise.scale / 2))
    assert p_value(lambda w: halved.simulate(w, rng=rng)) < ALPHA
    assert p_value(lambda w: mechanism.simulate(w - 500, rng=rng)) < ALPHA


def test_one_draw_composes_to_its_own_promise():
    """By PLD accounting, which knows nothing of who is exclusive to which log."""
    event = WeightedListMechanism.for_budget(Budget(1, "1e-5"), 5).event
    assert compose_pld([event], 2.2e-5) <= 1.0
    assert compose_pld([event, event], 2.2e-5) > 1.2


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"threshold": 500}, "threshold must be at least the 1000 units"),
        ({"most_records": 101}, "most_records must be at most 100"),
        ({"weight_scale": (2.0).hex()}, "squared scale of at least 6"),
        ({"share_units": 0}, "share_units must be a whole number"),
    ],
)
def test_what_is_no_draw_is_refused(changed, words):
    event = WeightedListMechanism.for_budget(Budget(1, "1e-5"), 5).event
    with pytest.raises(InvalidParameter, match=words):
        from_json({**to_json(event), **changed})


@pytest.mark.parametrize(("epsilon", "delta"), [("4", "1e-90"), ("1e-4", "1e-6")])
def test_a_budget_without_noise_is_refused_in_words(epsilon, delta):
    with pytest.raises(InvalidParameter, match="larger for Gaussian finding"):
        WeightedListMechanism.for_budget(Budget(epsilon, delta), 10)
