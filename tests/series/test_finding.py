"""Sums over weeks: what is carried, what is new, what starts anew, and what a test sees."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.finding import Carried, WeekFinding
from hybriddp.series.season import Season, Track
from hybriddp.series.window import tail_of_sum
from tests.stats import ALPHA, law_p_value

# Hardly any noise, so that sums can be read; sums start anew in week 3.
SCALES = (2.5, 2.5, 2.5, 2.5)
TRACKS = (
    Track((1,), (1, 1, 1, 1), (5_000, None, None, 9_000)),
    Track((1, 3), (2, 2, 1, 1), (None, 9_000, None, 3_000)),
)
SEASON = Season(2, SCALES, SCALES, TRACKS)


def weeks(*given: list[int], season: Season = SEASON) -> list[Carried]:
    """What is carried after each week."""
    carried, found = Carried.nothing(season), []
    for week, weights in enumerate(given, 1):
        carried = WeekFinding(season, week).draw(carried, np.array(weights, dtype=np.int64))
        found.append(carried)
    return found


def test_sums_grow_and_start_anew():
    after = weeks([1_000, 2_000], [0, 100, 4_000], [500, 0, 0], [0, 0, 2_000, 700])
    tolerance = 90  # noise of a few units, times coefficients
    expected = {
        1: [[1_000, 2_000], [2_100, 4_200], [4_000, 8_000]],
        2: [[1_500, 500], [2_100, 0], [4_000, 0]],
        3: [[1_500, 500], [2_100, 0], [6_000, 2_000], [700, 700]],
    }
    for week, sums in expected.items():
        np.testing.assert_allclose(after[week].sums, sums, atol=tolerance)
    assert after[3].is_live.tolist() == [[True, True], [True, False], [True, True], [True, True]]


def test_only_what_has_weight_since_the_start_is_tested():
    """By noise alone, a record that nobody gave weight since is not named, however large."""
    finding = WeekFinding(SEASON, 4)
    sums = np.array([[0, 3_001], [0, 3_001], [9_001, 0], [9_000, 3_000]])
    is_live = np.array([[True, True], [True, False], [True, False], [True, True]])
    carried = Carried(4, sums, is_live)
    assert finding.named(carried).tolist() == [True, False, True, False]
    assert len(carried.without(finding.named(carried)).sums) == 2
    assert not WeekFinding(SEASON, 3).named(carried).any(), "nothing is tested in this week"


def test_a_record_is_named_in_a_week_without_it():
    after = weeks([2_000], [2_000], [2_000], [0])
    assert WeekFinding(SEASON, 4).named(after[3]).tolist() == [False]
    more = weeks([4_000], [4_000], [2_000], [0])
    assert WeekFinding(SEASON, 4).named(more[3]).tolist() == [True]


def test_the_order_of_what_is_carried_is_kept():
    with pytest.raises(InvalidParameter, match="keep the order"):
        weeks([1_000, 2_000], [0])
    with pytest.raises(InvalidParameter, match="keep the order"):
        weeks([1_000], [0, 0])


def test_no_week_is_left_out():
    """Else who was there before has less noise than who is new, and no sum starts anew."""
    carried = weeks([1_000], [1_000])[-1]
    with pytest.raises(InvalidParameter, match="draw a missing week with weights of 0 first"):
        WeekFinding(SEASON, 4).draw(carried, np.array([1_000]))
    with pytest.raises(InvalidParameter, match="week must be between 1 and 4"):
        WeekFinding(SEASON, 5)
    missed = WeekFinding(SEASON, 3).draw(carried, np.array([0]))
    assert missed.is_live.tolist() == [[True, False]], "the second track began anew"
    np.testing.assert_allclose(missed.sums, [[2_000, 0]], atol=90)


@pytest.mark.statistical
def test_a_missing_week_has_the_noise_of_all(rng):
    """Sums of records from before a gap are as wide as those of new ones; false alarms < ALPHA."""
    even = SeasonDesign(n_weeks=6, first_part=Fraction(0))
    season = even.season(Budget(4, "1e-5"))
    n = 20_000
    nothing, some = np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64)
    carried = Carried.nothing(season)
    carried = WeekFinding(season, 1).simulate(carried, some, rng=rng)
    for week in (2, 3):
        carried = WeekFinding(season, week).simulate(carried, nothing, rng=rng)
    both = np.concatenate([some, some])
    sums = WeekFinding(season, 4).simulate(carried, both, rng=rng).sums[:, 0]
    old, new = sums[:n], sums[n:]
    variances = [group.var() for group in (old, new)]
    # A ratio of variances of 20,000 normal numbers each has a standard deviation of .014.
    assert abs(variances[0] / variances[1] - 1) < 6.2 * 0.0142
    without_gap = (season.weight_scales[1] * season.tracks[0].coefficients[1]) ** 2
    assert without_gap / variances[1] > 10 * 0.0142, "a week less would be seen"


@pytest.mark.statistical
def test_weeks_before_a_record_was_first_seen_are_noise_alone(rng):
    """Sums of new records are as wide as those of carried ones; planted: without, they are not.

    False alarms below ALPHA: counts above one standard deviation, of 20,000 independent records.
    """
    season = SeasonDesign(n_weeks=6).season(Budget(4, "1e-5"))
    n, week = 20_000, 5
    new = np.ones(n, dtype=np.int64)
    before = replace(Carried.nothing(season), week=week - 1)
    carried = WeekFinding(season, week).simulate(before, new, rng=rng)
    for number, track in enumerate(season.tracks):
        first = track.start_of(week)
        coefficients = track.coefficients[first - 1 : week]
        scales = season.weight_scales[first - 1 : week]
        sd = sum((c * s) ** 2 for c, s in zip(coefficients, scales, strict=True)) ** 0.5
        above = int((carried.sums[:, number] - coefficients[-1] >= sd).sum())
        chance = tail_of_sum(sd, coefficients, scales)
        p_value = law_p_value(np.array([above, n - above]), np.array([chance, 1 - chance]))
        assert p_value > ALPHA
        if first < week:
            alone = rng.normal(0, scales[-1] * coefficients[-1], n)
            missing = int((alone >= sd).sum())
            counts, law = np.array([missing, n - missing]), np.array([chance, 1 - chance])
            assert law_p_value(counts, law) < ALPHA
