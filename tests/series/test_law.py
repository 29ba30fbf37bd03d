"""Whole small seasons, enumerated: what is named when, and what measuring adds.

Records are named independently of each other, so the law of a season is the product of the laws of
its records, and each of these is enumerated over the noise of all weeks. Measuring adds a vector
with Gaussian noise in every week (`tests.blender.weighted.test_law.moved`).
"""

import json
import math
from dataclasses import astuple, replace
from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np
import pytest

from hybriddp.accounting.accountants import Cost
from hybriddp.accounting.event import from_json, to_json
from hybriddp.accounting.filters import CapFilter
from hybriddp.accounting.price import Price
from hybriddp.blender.weighted.weights import concentration_of, weight_of, weights_up_to
from hybriddp.errors import InvalidParameter
from hybriddp.noise.dominated import delta_of
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.events import SeasonTests, SeasonWeek
from hybriddp.series.season import Season, Track
from hybriddp.series.window import Window, tail_of_sum
from tests.blender.weighted.test_law import Laws, moved, together

pytestmark = pytest.mark.exact

UNITS, N_WEEKS = 6, 3
SCALES, SHARE_SCALES = (6.0, 7.0, 7.0), (15.0, 15.0, 15.0)
# Everything so far, tested in weeks 1 and 3, and a sum that starts anew in week 2.
TRACKS = (
    Track((1,), (2, 1, 1), (30, None, 50)),
    Track((1, 2), (1, 1, 1), (None, None, 34)),
)
SEASON = Season(2, SCALES, SHARE_SCALES, TRACKS, UNITS, UNITS)
ONE, TWO = weight_of(1, UNITS), weight_of(2, UNITS)

# What a record is given in each week, and what a person gives: to some records each.
Weeks = tuple[int, ...]
Life = tuple[Weeks, ...]
LIVES: dict[str, Life] = {
    "nothing": (),
    "one record for ever": ((ONE, ONE, ONE),),
    "two for ever": ((TWO, TWO, TWO),) * 2,
    "another one every week": ((ONE, 0, 0), (0, ONE, 0), (0, 0, ONE)),
    "two others every week": ((TWO, 0, 0), (0, TWO, 0), (0, 0, TWO)) * 2,
    "the first week alone": ((TWO, 0, 0),) * 2,
    "the last week alone": ((0, 0, ONE),),
    "with a gap": ((ONE, 0, ONE), (0, ONE, 0)),
}


def noise_of_weeks() -> tuple[np.ndarray, list[np.ndarray]]:
    """All noise of three weeks with its probabilities; what lies beyond has e^-32."""
    values = [np.arange(-8 * scale, 8 * scale + 1) for scale in SCALES]
    laws = [np.exp(-((v / s) ** 2) / 2) for v, s in zip(values, SCALES, strict=True)]
    chances = np.multiply.outer(np.multiply.outer(*laws[:2]), laws[2])
    grids = np.meshgrid(*values, indexing="ij")
    return (chances / chances.sum()).reshape(-1), [grid.reshape(-1) for grid in grids]


@cache
def when_named(given: Weeks, live: tuple[bool, ...], defect: str = "") -> np.ndarray:
    """The law of the week in which a record is named, 0 for never; `live`: it has any weight."""
    chances, noise = NOISE
    named = np.zeros(len(chances), dtype=np.int64)
    for week in range(1, N_WEEKS + 1):
        for track in TRACKS:
            window = track.window(week)
            if window is None or not any(live[w - 1] for w in window.weeks):
                continue
            if defect == "named when it occurs" and not live[week - 1]:
                continue
            sums = sum(
                c * (noise[w - 1] + given[w - 1])
                for w, c in zip(window.weeks, window.coefficients, strict=True)
            )
            named[(named == 0) & (sums > window.threshold)] = week
    return np.bincount(named, chances, minlength=N_WEEKS + 1)


NOISE = noise_of_weeks()
NEVER = np.array([1.0, 0.0, 0.0, 0.0])
EVER, NOTHING = (True,) * N_WEEKS, (0,) * N_WEEKS


def names(mine: Life, other: Life, is_alone: bool, defect: str) -> Laws:
    """The laws of what is named; whoever is not alone searches for what others do, too."""
    parts = [(np.ones(1), np.ones(1))]
    for life, order in ((mine, 1), (other, -1)):
        for given in life:
            live = tuple(weight > 0 for weight in given)
            laws = (
                (when_named(given, live, defect), NEVER)
                if is_alone
                else (when_named(given, EVER), when_named(NOTHING, EVER))
            )
            parts.append(laws[::order])
    p, q = together(*parts)
    return p[(p > 0) | (q > 0)], q[(p > 0) | (q > 0)]


def worst(epsilon: float, *, is_alone: bool, defect: str = "") -> float:
    """The largest divergence of a season over whom a person can be replaced by."""
    measured = moved((UNITS, UNITS, concentration_of(UNITS, UNITS)) * N_WEEKS, SHARE_SCALES[0])
    return max(
        joint_divergence(epsilon, names(mine, other, is_alone, defect), measured)
        for mine, other in product(LIVES.values(), repeat=2)
        if len(mine) + len(other) <= 8
    )


def joint_divergence(epsilon: float, first: Laws, second: Laws) -> float:
    """The hockey-stick divergence of two independent parts, the second possible in both logs."""
    (p, q), (second_p, second_q) = first, second
    is_possible = (second_p > 0) & (second_q > 0)
    second_p, second_q = second_p[is_possible], second_q[is_possible]
    ratio = np.log(second_p) - np.log(second_q)
    order = np.argsort(ratio)
    above = [np.append(np.cumsum(law[order][::-1])[::-1], 0) for law in (second_p, second_q)]
    with np.errstate(divide="ignore", invalid="ignore"):
        at = np.searchsorted(ratio[order], epsilon - (np.log(p) - np.log(q)))
    return float((p * above[0][at] - math.exp(epsilon) * q * above[1][at]).sum())


@pytest.mark.parametrize("is_alone", [True, False])
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
def test_a_small_season_keeps_its_promise(epsilon, is_alone):
    """Whatever a person gives in all weeks, whether or not others search for it too."""
    assert 0 < worst(epsilon, is_alone=is_alone) <= float(SEASON.delta(Fraction(epsilon)))


def leak_of(life: Life) -> float:
    """How often anything is named that one person alone gave."""
    laws = [when_named(given, tuple(weight > 0 for weight in given)) for given in life]
    return 1 - math.prod(law[0] for law in laws)


def test_weeks_of_noise_alone_are_charged():
    """Where noise is wide, six records in a week each leak more than two in all of them.

    Planted: a bound that forgets the weeks in which somebody gave a record nothing is below that.
    """
    weights = weights_up_to(2, 2)
    season = replace(SEASON, weight_units=2)
    one, two = weights
    others = ((two, 0, 0), (0, two, 0), (0, 0, two)) * 2
    assert leak_of(others) > leak_of(((two, two, two),) * 2) > leak_of(((one, one, one),))
    forgetful = sum(
        max(d * exact_tail(window, window.threshold + 1 - sum(window.coefficients) * weight)
            for d, weight in enumerate(weights, 1))
        for track in TRACKS for window in track.windows
    )  # fmt: skip
    assert forgetful < leak_of(others) <= season.leak


def exact_tail(window: Window, value: int) -> float:
    """P(sum c_t Y_t >= value), enumerated."""
    chances, noise = NOISE
    pairs = zip(window.weeks, window.coefficients, strict=True)
    return float(chances[sum(c * noise[week - 1] for week, c in pairs) >= value].sum())


def test_a_record_is_named_whether_or_not_it_occurs():
    """Planted: naming it in a week in which it occurs says that it does, whatever the noise is.

    Others gave it much in two weeks; in the third one person gives it weight, or nobody.
    """
    others, live = (14, 14, 0), (True, True, False)
    mine, with_me = (14, 14, ONE), (True, True, True)
    right, wrong = (
        [when_named(given, alive, rule) for given, alive in ((mine, with_me), (others, live))]
        for rule in ("", "named when it occurs")
    )
    assert 0.03 < right[1][3] < right[0][3] < 3 * right[1][3]
    assert wrong[0][3] > 0.03
    assert wrong[1][3] == 0


@pytest.mark.parametrize("coefficients", [(1,), (3, 2), (1000, 518, 357)])
@pytest.mark.parametrize(("scale", "slack"), [(3.0, 6), (40.0, 1.5)])
def test_tails_of_sums_are_bounded_and_on_fine_grids_closely(coefficients, scale, slack):
    """All weeks but the last are enumerated, whose tail is then known."""
    y = np.arange(-math.ceil(9 * scale), math.ceil(9 * scale) + 1)
    law = np.exp(-((y / scale) ** 2) / 2)
    law /= law.sum()
    tail = np.append(np.cumsum(law[::-1])[::-1], 0)
    *before, last = coefficients
    sums, chances = np.zeros(1), np.ones(1)
    for coefficient in before:
        sums = np.add.outer(sums, coefficient * y).reshape(-1)
        chances = np.multiply.outer(chances, law).reshape(-1)
    sd = scale * math.sqrt(sum(c**2 for c in coefficients))
    for sds in (1.0, 2.0, 3.5):
        value = math.ceil(sds * sd)
        first = np.ceil((value - sums) / last).astype(np.int64) - y[0]
        true = float(chances @ tail[np.clip(first, 0, len(y))])
        bound = tail_of_sum(value, coefficients, [scale] * len(coefficients))
        assert true <= bound <= slack * true


def test_a_season_that_measures_much_costs_nearly_what_it_claims():
    """Names say less than the weights they come from, so only measuring can be near the bound."""
    season = replace(SEASON, weight_scales=(150.0,) * 3, share_units=UNITS,
                     tracks=(Track((1,), (1, 1, 1), (None, None, 2_000)),))  # fmt: skip
    measured = moved((UNITS, UNITS, concentration_of(UNITS, UNITS)) * N_WEEKS, SHARE_SCALES[0])
    for epsilon in (0.5, 1.0):
        true = joint_divergence(epsilon, (np.ones(1), np.ones(1)), measured)
        assert true <= float(season.delta(Fraction(epsilon))) <= 1.1 * true


@pytest.mark.parametrize("design", [SeasonDesign(), SeasonDesign().after_a_season()],
                         ids=["first", "after another"])  # fmt: skip
@pytest.mark.parametrize(("epsilon", "delta"), [("4", "1e-5"), ("1", "1e-6")])
def test_a_season_of_a_budget_keeps_it(epsilon, delta, design):
    budget = Budget(epsilon, delta)
    season = design.season(budget)
    assert 0.99 * budget.delta < season.delta(budget.epsilon) <= budget.delta
    assert Season.of_numbers(json.loads(json.dumps(season.numbers()))) == season
    joined = SeasonTests(budget, season)
    weeks = [SeasonWeek(budget, season, week) for week in range(1, season.n_weeks + 1)]
    total = Price.sum(event.price for event in (joined, *weeks))
    assert total == Price(Fraction(0), Fraction(season.leak), season.rho_in_all)
    assert CapFilter.with_gaussian(Cost(*astuple(budget))).admits(total)
    for event in (joined, weeks[0]):
        assert from_json(json.loads(json.dumps(to_json(event)))) == event


def test_a_season_after_another_saves_its_first_week_for_the_others():
    """The same budget; every later week is more exact."""
    usual = SeasonDesign(n_weeks=4)
    first, second = (d.season(Budget(4, "1e-5")) for d in (usual, usual.after_a_season()))
    assert second.rho(1) < first.rho(1)
    assert all(second.rho(week) > first.rho(week) for week in (2, 3, 4))
    assert float(second.rho_in_all) == pytest.approx(float(first.rho_in_all), rel=1e-3)


def test_a_week_of_a_season_that_costs_more_is_refused():
    season = SeasonDesign(n_weeks=4).season(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="a season at epsilon 1 must keep"):
        SeasonWeek(Budget(1, "1e-5"), season, 1)
    with pytest.raises(InvalidParameter, match="a season at epsilon 1 must keep"):
        SeasonTests(Budget(1, "1e-5"), season)
    with pytest.raises(InvalidParameter, match="week must be between 1 and 4"):
        SeasonWeek(Budget(4, "1e-5"), season, 5)


def test_a_season_without_a_price_is_refused():
    """Planted: noise too narrow for a price, thresholds that anybody passes, sums that overflow."""
    season = SeasonDesign(n_weeks=4).season(Budget(4, "1e-5"))
    (track,) = season.tracks
    for changed, words in (
        ({"weight_scales": (1.0,) * 4}, "squared scale"),
        ({"tracks": (replace(track, thresholds=(5, None, None, None)),)}, "standard deviation"),
        ({"tracks": (replace(track, coefficients=(10**12,) * 4),)}, "64 bits"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            replace(season, **changed)


def test_gaussian_noise_is_never_called_pure():
    """Floats end at 38 standard deviations, and a delta of 0 would be a false kind of promise."""
    with pytest.raises(InvalidParameter):
        SeasonDesign().season(Budget(4, 0))
    assert CapFilter.with_gaussian(Cost(Fraction(4), Fraction(0))).rho == 0
    assert tail_of_sum(10**9, (1,), (6.0,)) > 0
    assert delta_of(40.0, 1e-3) > 0
    assert delta_of(4.0, 0.0) == 0
    with pytest.raises(InvalidParameter, match="some loss to Gaussian noise"):
        SeasonDesign().season(Budget("1e-4", "1e-9"))


def test_a_threshold_that_one_person_reaches_is_refused():
    with pytest.raises(InvalidParameter, match="a standard deviation above"):
        Window((1,), (1,), 10).leak(weights_up_to(2, UNITS), SCALES)
