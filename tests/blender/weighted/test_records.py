"""What finding and measuring say together: right where both are exact, and honest where not."""

import numpy as np
import pytest
from scipy import stats

from hybriddp.blender.evidence.posterior import posterior, power_law
from hybriddp.blender.evidence.sources import CentralCounts
from hybriddp.blender.weighted.events import WeightedListDraw
from hybriddp.blender.weighted.mechanism import WeightedListMechanism
from hybriddp.blender.weighted.ratios import ratio_of
from hybriddp.blender.weighted.records import Given, records_of, spread_of, spread_of_weights
from hybriddp.params import Budget
from tests.stats import ALPHA

N_PEOPLE, N_ROWS, K = 26_000, 9, 9
EVENT = WeightedListMechanism.for_budget(Budget(4, "1e-5"), K).event


def drawn(
    event: WeightedListDraw, shares: np.ndarray, rng: np.random.Generator, *, ratios=1.0
) -> tuple[np.ndarray, np.ndarray, int]:
    """People with nine different searches each: noisy weights, noisy shares, concentration."""
    holders = rng.poisson(N_PEOPLE * N_ROWS * shares)
    weights = holders / np.sqrt(K) * ratios * event.weight_units
    sums = holders / N_ROWS * event.share_units
    squares = holders.sum() / N_ROWS**2 * event.share_units / 4
    noisy = [np.round(exact + rng.normal(0, scale, np.shape(exact))).astype(np.int64)
             for exact, scale in ((weights, event.weight_scale), (sums, event.share_scale),
                                  (squares, event.share_scale))]  # fmt: skip
    return noisy[0], noisy[1], int(noisy[2])


def known_of(
    event: WeightedListDraw, weights: np.ndarray, shares: np.ndarray, concentration: int
) -> CentralCounts:
    given = Given.of(event, weights, shares)
    spread = spread_of(event.share_scale, concentration, int(shares.sum()))
    return records_of(given, ratio_of(given), spread, N_PEOPLE)


def test_heavy_records_are_what_was_measured(same_rng):
    shares = np.array([0.02, 0.01, 0.008, 0.004])
    source = known_of(EVENT, *drawn(EVENT, shares, same_rng))
    assert source.values == pytest.approx(shares, rel=0.1)


@pytest.mark.statistical
def test_intervals_cover_and_are_not_idle(rng):
    """6,000 intervals of records that are named: 93 % to 98.5 % of them cover the truth.

    False alarms are below ALPHA twice. The records follow the prior, and are listed if their noisy
    weight is above the threshold.
    """
    n_listed = n_covered = 0
    while n_listed < 6_000:
        shares = 2e-4 * rng.random(6_000) ** (-1 / 0.9)
        shares = shares[shares < 0.02]
        weights, measured, concentration = drawn(EVENT, shares, rng)
        is_named = weights > EVENT.threshold
        source = known_of(EVENT, weights[is_named], measured[is_named], concentration)
        known = posterior([source], power_law(1.9), least=0.05 / N_PEOPLE)
        truth = shares[is_named]
        n_listed += len(truth)
        n_covered += int(((known.low <= truth) & (truth <= known.high)).sum())
    assert stats.binom.sf(n_covered - 1, n_listed, 0.985) > ALPHA, "too wide"
    assert stats.binom.cdf(n_covered, n_listed, 0.93) > ALPHA, "too narrow"


def test_ratios_that_differ_are_learnt(same_rng):
    """Planted: half of the records are searched by people whose searches are many."""
    shares = np.geomspace(0.001, 0.02, 60)
    ratios = np.where(np.arange(60) % 2 == 0, 1.3, 0.7)
    alike, differing = (drawn(EVENT, shares, same_rng, ratios=r) for r in (1.0, ratios))
    assert ratio_of(Given.of(EVENT, *alike[:2])).deviations.max() < 0.12
    deviations = ratio_of(Given.of(EVENT, *differing[:2])).deviations
    assert 0.2 < deviations.min() <= deviations.max() < 0.45
    known = known_of(EVENT, *differing)
    assert np.abs(known.values / shares - 1).mean() < 0.15
    # Frequent records are those that were measured; rare ones lean on weights, and say so.
    rare, frequent = known.deviation[0], known.deviation[-1]
    assert frequent < 0.001 < 0.02 < rare


def test_a_record_teaches_all_but_itself(same_rng):
    """Of two, one is given three times the weight for its shares: the other's ratio rises, and its
    own stays; alone it teaches nothing."""
    shares = np.array([0.02, 0.019])
    before, after = (
        ratio_of(Given.of(EVENT, *drawn(EVENT, shares, np.random.default_rng(1), ratios=r)[:2]))
        for r in (np.array([1, 1]), np.array([1, 3]))
    )
    assert after.values[0] > 1.7 * before.values[0]
    assert after.values[1] == pytest.approx(before.values[1], rel=0.25)
    alone = ratio_of(Given.of(EVENT, *drawn(EVENT, shares[:1], same_rng)[:2]))
    assert alone.deviations[0] > 1, "it would count its own share twice"


@pytest.mark.parametrize("power", [-0.5, 0.3])
def test_ratios_may_follow_popularity(power, same_rng):
    """Planted: people repeat popular searches more often than rare ones, or less often."""
    shares = np.geomspace(0.0015, 0.03, 80)
    weights, measured, _ = drawn(EVENT, shares, same_rng, ratios=(shares / 0.01) ** power)
    ratio = ratio_of(Given.of(EVENT, weights, measured))
    errors = np.log(ratio.values / 3 / (shares / 0.01) ** power)
    assert abs(errors.mean()) < 0.1
    assert (np.abs(errors) < 3 * ratio.deviations).all()
    assert ratio.of_lightest == ratio.values[weights.argmin()]


def test_rare_searches_of_heavy_searchers_are_counted_by_few():
    """Three records a person, one of them once among seventeen searches: a weight of .577 over a
    ratio of 9.8 is a share of 1/17, whoever of them is there."""
    assert spread_of_weights(np.array([17 / 3**0.5]), 3**-0.5) == pytest.approx([1 / 17])
    assert spread_of_weights(np.array([1.5, 0.9]), 3**-0.5) == pytest.approx([1 / 1.5**2, 1])


def test_nothing_listed_is_nothing_known():
    nothing = np.zeros(0, dtype=np.int64)
    assert len(known_of(EVENT, nothing, nothing, 5).values) == 0
    assert spread_of(EVENT.share_scale, 0, 0) == 1.0


def test_concentrated_people_are_less_certain():
    """All shares of a record from a few people, or a little from many."""
    assert spread_of(EVENT.share_scale, 250_000, 1_000_000) == 1.0
    assert spread_of(EVENT.share_scale, 50_000, 1_000_000) == pytest.approx(0.35, abs=0.05)
