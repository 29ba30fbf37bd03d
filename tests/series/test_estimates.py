"""Estimates over time: intervals that cover this week's truth, and steps that weeks show."""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.estimation.moments import learn_common
from hybriddp.series.estimation.weeks import read_weeks
from hybriddp.series.measured import Prior, SeasonMeasured, WeekMeasured
from tests.series.seasons import (
    N_PEOPLE,
    PARAMS,
    SEASON,
    draw_season,
    even_in_log,
    power_law,
    truth_of,
    walk,
)


def known_season(step: float, rng: np.random.Generator, *, n_weeks: int = 6, **options):
    """Records that are known from the start, as the prior has them."""
    laws = walk(even_in_log(150, 3e-4, 0.012, rng), n_weeks, step, rng)
    return draw_season(laws, rng, **options), laws


def named_season(step: float, rng: np.random.Generator, *, n_weeks: int = 6, **options):
    """Records of a power law, of which those are known that tests named."""
    laws = walk(power_law(900, 1e-4, 0.015, rng), n_weeks, step, rng)
    laws *= np.minimum(1, 0.9 / laws.sum(axis=1, keepdims=True))
    return draw_season(laws, rng, is_known=False, **options), laws


def covered(draws: SeasonMeasured, laws: np.ndarray) -> np.ndarray:
    known, truth = SeasonEvidence.of(PARAMS, draws).records, truth_of(draws, laws)
    return (known.low <= truth) & (truth <= known.high)


@pytest.mark.statistical
@pytest.mark.parametrize("drawn", [known_season, named_season], ids=["known", "named"])
@pytest.mark.parametrize("step", [0.0, 0.08])
def test_intervals_cover_this_weeks_truth(drawn, step, same_rng):
    """More than 1,000 intervals: 93 % to 97 % cover with drift, and 93 % to 98.5 % without.

    Without any, intervals are a little too wide: that steps, jumps and ratios of a record's own
    are nothing is never known for sure. With all three taken out, 95 % cover.

    Measured with one seed; the standard deviation of a coverage of 95 % is .006. Power: if the last
    week's truth were that of three weeks before, 8 % drift would bring it below 90 %, where most
    records are not rare.
    """
    seasons = [drawn(step, same_rng) for _ in range(7)]
    share = np.concatenate([covered(*season) for season in seasons])
    assert len(share) > 1_000
    assert 0.93 <= share.mean() <= (0.97 if step > 0 else 0.985)
    if step > 0 and drawn is known_season:
        stale = [covered(draws, np.roll(laws, 3, axis=0)) for draws, laws in seasons]
        assert np.concatenate(stale).mean() < 0.9


@pytest.mark.statistical
@pytest.mark.parametrize(("step", "low", "high"), [(0.0, 0.0, 0.02), (0.1, 0.08, 0.13)])
def test_weeks_show_how_far_records_go(step, low, high, same_rng):
    """150 records of 6 weeks; measured with one seed."""
    draws, _ = known_season(step, same_rng)
    assert low <= SeasonEvidence.of(PARAMS, draws).step <= high


def test_one_week_shows_nothing_of_steps(same_rng):
    """Then steps are what was expected before, and a single week does not need them."""
    draws, laws = known_season(0.0, same_rng, n_weeks=1)
    evidence = SeasonEvidence.of(PARAMS, draws)
    assert 0.02 < evidence.step < 0.2
    assert covered(draws, laws).mean() > 0.9


@pytest.mark.statistical
def test_weeks_before_make_estimates_more_exact(same_rng):
    """Without drift eight weeks have .6 of the first week's error at most, whose noise is least."""
    draws, laws = known_season(0.0, same_rng, n_weeks=8)
    first = SeasonMeasured(SEASON, draws.weeks[:1])
    errors = [
        np.abs(SeasonEvidence.of(PARAMS, some).records.values - truth_of(some, laws)).sum()
        for some in (first, draws)
    ]
    assert errors[1] < 0.6 * errors[0]


@pytest.mark.statistical
@pytest.mark.parametrize("drawn", [known_season, named_season], ids=["known", "named"])
def test_a_missing_week_is_two_steps_of_drift(drawn, same_rng):
    """Intervals cover after gaps of one and two weeks, with much drift; measured with one seed."""
    seasons = [drawn(0.15, same_rng, missing={2, 4, 5}) for _ in range(6)]
    share = np.concatenate([covered(*season) for season in seasons])
    assert 0.925 <= share.mean() <= 0.98


@pytest.mark.statistical
@pytest.mark.parametrize("missing", [set(), {2}], ids=["all-weeks", "a-week-missing"])
def test_what_was_just_named_is_not_taken_for_more_than_it_is(missing, same_rng):
    """The mean error of what the last week named is within its noise; that of the sums is not.

    Measured with one seed: errors in standard errors, of more than 100 records, have a mean of
    0 +- 2.6/sqrt(n). Planted: sums that are read as they are.
    """
    errors, naive = [], []
    for _ in range(14):
        draws, laws = named_season(0.03, same_rng, n_weeks=3, missing=missing)
        evidence, now = SeasonEvidence.of(PARAMS, draws), draws.now
        truth, is_new = truth_of(draws, laws), now.is_new
        known = evidence.records
        errors.append(((known.values - truth) / np.sqrt(known.variances))[is_new])
        (mean,) = (week.means[0] for week in evidence.weeks if week.week is now)
        scale = evidence.common.ratio.values[is_new] * N_PEOPLE
        shown, noise = mean.values / scale, np.sqrt(mean.noise) / scale
        naive.append((shown - truth[is_new]) / noise)
    errors, naive = np.concatenate(errors), np.concatenate(naive)
    assert len(errors) > 100
    limit = 2.6 / np.sqrt(len(errors))
    assert abs(errors.mean()) < limit < naive.mean()


@pytest.mark.property
def test_ids_and_their_order_do_not_matter(same_rng):
    """Records with other ids, and so in another order, have the same estimates."""
    draws, _ = named_season(0.05, same_rng, n_weeks=4, with_clients=False)
    ids = same_rng.permutation(900) * 7 + 3
    other = SeasonMeasured(SEASON, [_renumbered(week, ids) for week in draws.weeks])
    one, two = (SeasonEvidence.of(PARAMS, some) for some in (draws, other))
    at = np.argsort(ids[draws.now.known.query_ids])
    np.testing.assert_array_equal(ids[draws.now.known.query_ids][at], other.now.known.query_ids)
    for name in ("values", "low", "high"):
        np.testing.assert_allclose(
            getattr(one.records, name)[at], getattr(two.records, name), rtol=1e-6
        )


def _renumbered(week: WeekMeasured, ids: np.ndarray) -> WeekMeasured:
    """The same week, with other ids of queries; each has one url and <q,*>."""
    new = ids[week.known.query_ids]
    at = np.argsort(new)
    known = HeadList.from_records(new[at], np.zeros(len(at), dtype=np.int64))
    cells = (2 * at[:, None] + np.arange(2)).reshape(-1)
    return replace(
        week,
        known=known,
        is_new=week.is_new[at],
        sums=week.sums[at],
        weights=week.weights[at],
        measured=np.append(week.measured[:-1][cells], week.measured[-1]),
        listed=None,
    )


def test_what_the_first_measured_week_did_not_name_was_known_before(same_rng):
    """Its urls were looked for in a whole season, unless a week that is gone may have named it."""
    draws, _ = known_season(0.0, same_rng, n_weeks=3)
    weeks = draws.weeks[1:]
    burnt, withdrawn = SeasonMeasured(SEASON, weeks), SeasonMeasured(SEASON, weeks, unseen=(1,))
    assert burnt.is_from_before.all()
    assert not withdrawn.is_from_before.any()
    whole, until_now = (learn_common(d, read_weeks(d)).threshold for d in (burnt, withdrawn))
    assert whole < until_now
    known, nothing = weeks[0].known.n_records, np.nan
    said = np.where(np.arange(known) < 5, 0.01, nothing)
    with_list = replace(weeks[0], prior=Prior(1, said, said**2))
    draws = SeasonMeasured(SEASON, [with_list, *weeks[1:]], unseen=(1,))
    assert draws.is_from_before.sum() == 5


@pytest.mark.parametrize("thousands", [(20,) * 6, (10, 20, 30, 30, 40, 60)])
@pytest.mark.parametrize("unseen", [(), (2,)])
def test_sums_over_weeks_are_of_as_many_people_as_gave_them(thousands, unseen, same_rng):
    """Week 6 names a record of which everybody gave as much weight in all weeks; without noise.

    Of week 2, if it is gone, nobody knows how many they were: as many as between its neighbours.
    """
    p, n_people = 2.5e-3, 1_000 * np.array(thousands)
    draws, _ = known_season(0.0, same_rng, n_weeks=6, with_clients=False)
    weights = np.round(p * SEASON.weight_units * n_people).astype(np.int64)
    firsts = [(track, track.start_of(6) - 1) for track in SEASON.tracks]
    sums = [np.array(track.coefficients[first:6]) @ weights[first:] for track, first in firsts]
    *before, now = (
        replace(week, n_people=int(n)) for week, n in zip(draws.weeks, n_people, strict=True)
    )
    is_new = np.arange(now.known.n_records) == 0
    now = replace(now, is_new=is_new, sums=np.where(is_new[:, None], sums, 0))
    seen = [week for week in before if week.week not in unseen]
    *_, last = read_weeks(SeasonMeasured(SEASON, [*seen, now], unseen))
    assert len(last.means) == 2
    for mean in last.means:
        assert mean.values / mean.n_people == pytest.approx([p], rel=1e-3)
