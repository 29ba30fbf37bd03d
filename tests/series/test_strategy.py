"""The steps of a weekly release on a season of people, from their searches to the list."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.searches import Searches
from hybriddp.params import BlenderParams
from hybriddp.series import strategy
from hybriddp.series.design import SeasonDesign
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import Prior, SeasonMeasured, WeekMeasured
from hybriddp.series.simulate import simulate_season
from tests.series.seasons import BUDGET

SEASON = SeasonDesign(n_weeks=4).season(BUDGET)
PARAMS = BlenderParams(4, "1e-5", strategy="high-utility", finding="gaussian", max_head_size=6)
# Ten queries with three urls each, and many rare ones; most of what is searched is rarer.
LAW = np.repeat(0.06 / np.arange(1, 11), 4) * np.tile([0.5, 0.25, 0.1, 0.15], 10)
RARE_URL = 3
N_PEOPLE, N_CLIENTS = 6_000, 4_000


def records(n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    drawn = rng.choice(len(LAW) + 1, n, p=np.append(LAW, 1 - LAW.sum()))
    is_rare, url_ids = drawn == len(LAW), drawn % 4
    query_ids = np.where(is_rare, rng.integers(100, 10**6, n), drawn // 4)
    return query_ids, np.where(url_ids == RARE_URL, rng.integers(RARE_URL, 10**5, n), url_ids)


def searched(rng: np.random.Generator, missing: int = 0) -> Iterator:
    for week in range(1, SEASON.n_weeks + 1):
        sizes = rng.integers(1, 4, N_PEOPLE)
        given = Searches(sizes, *records(int(sizes.sum()), rng)), records(N_CLIENTS, rng)
        yield None if week == missing else given


@pytest.fixture
def weeks(same_rng) -> list[WeekMeasured]:
    return list(simulate_season(SEASON, PARAMS, searched(same_rng), rng=same_rng))


def test_a_release_has_all_steps_of_a_strategy(weeks):
    draws = SeasonMeasured(SEASON, weeks)
    listed = draws.now.listed
    assert listed is not None
    assert listed.n_queries == PARAMS.max_head_size < draws.now.known.n_queries
    sides = strategy.denoise(PARAMS, listed, draws)
    blended = strategy.blend(PARAMS, listed, draws, sides)
    projected = strategy.project(listed, blended)
    bounded = strategy.bound(blended, projected)
    cells = listed.cells_of(np.arange(40) // 4, np.arange(40) % 4)
    truth = np.bincount(cells, LAW, listed.n_cells)
    truth[-1] = 1 - truth[:-1].sum()
    assert projected.records.values.sum() == pytest.approx(1)
    for level, exact in (
        (bounded.records, truth),
        (bounded.queries, np.add.reduceat(truth, listed.cell_starts)),
    ):
        np.testing.assert_allclose(level.values, exact, atol=0.006)
        assert ((level.low <= exact) & (exact <= level.high)).mean() > 0.8
    check = strategy.check(PARAMS, listed, draws, sides, blended)
    assert check.p_value > 1e-4
    assert strategy.weighed(PARAMS, listed, draws, sides, blended).records.values.sum() == (
        pytest.approx(1)
    )


def test_the_list_has_the_largest_queries_and_needs_no_reports_of_the_week(weeks):
    assert set(range(4)) <= set(weeks[-1].listed.query_ids.tolist())
    before_reports = SeasonMeasured(
        SEASON,
        [*weeks[:-1], WeekMeasured(*[getattr(weeks[-1], name) for name in (
            "week", "n_people", "known", "is_new", "sums", "weights", "measured")])],
    )  # fmt: skip
    chosen = strategy.choose(PARAMS, before_reports)
    np.testing.assert_array_equal(chosen.query_ids, weeks[-1].listed.query_ids)


def test_what_is_known_stays_known_and_publishes_a_weight_every_week(weeks):
    for before, after in pairwise(weeks):
        assert set(before.known.query_ids.tolist()) <= set(after.known.query_ids.tolist())
        assert (after.is_new.sum() + before.known.n_records) == after.known.n_records
        assert (after.sums[~after.is_new] == 0).all()
        assert (after.weights[after.is_new] == 0).all()


def test_a_week_that_is_missing_publishes_nothing(same_rng):
    weeks = list(simulate_season(SEASON, PARAMS, searched(same_rng, missing=2), rng=same_rng))
    assert [week.week for week in weeks] == [1, 3, 4]
    draws = SeasonMeasured(SEASON, weeks)
    cells = strategy.blend(PARAMS, draws.now.listed, draws, None).records
    assert np.isfinite(cells.values).all()


def test_names_from_before_the_season_are_known_from_its_first_week_on(same_rng):
    """With what was said of them."""
    names = HeadList.from_records(np.array([3, 9]), np.array([2, 2]))
    prior = Prior(1, np.array([0.03, 0.09]), np.array([1e-4, 1e-4]))
    (first, *_) = simulate_season(
        SEASON, PARAMS, searched(same_rng), rng=same_rng, first_known=names, prior=prior
    )
    at = {(int(q), int(u)): place for place, (q, u) in enumerate(
        zip(first.known.query_ids[first.known.query_of_record], first.known.url_ids,
            strict=True))}  # fmt: skip
    assert not first.is_new[[at[3, 2], at[9, 2]]].any()
    assert first.is_new.sum() == first.known.n_records - 2
    assert first.prior is not None
    assert first.prior.values[[at[3, 2], at[9, 2]]].tolist() == [0.03, 0.09]
    assert np.isfinite(first.prior.values).sum() == 2


def test_urls_of_names_from_before_were_looked_for_in_a_whole_season(same_rng):
    """So what is unlisted of them is as rare as what a season's last week does not name."""
    names = HeadList.from_records(np.array([3, 9]), np.array([2, 2]))
    shares = []
    for known in (None, names):
        weeks = simulate_season(SEASON, PARAMS, searched(same_rng), rng=same_rng, first_known=known)
        draws = SeasonMeasured(SEASON, list(weeks))
        for seen in (replace(draws, weeks=draws.weeks[:1]), draws):
            common = SeasonEvidence.of(PARAMS, seen).common
            shares.append(common.threshold * common.ratio.of_lightest)
    first, last, first_with_names, last_with_names = shares
    assert first > 1.3 * last
    assert [first_with_names, last_with_names] == pytest.approx([last, last])


def test_a_season_in_which_nothing_was_named_has_an_empty_list(same_rng):
    nobody = Searches(np.ones(50, dtype=np.int64), np.arange(50), np.arange(50))
    given = [(nobody, (np.arange(20), np.arange(20)))]
    (week,) = simulate_season(SEASON, PARAMS, given, rng=same_rng)
    draws = SeasonMeasured(SEASON, [week])
    blended = strategy.blend(PARAMS, week.listed, draws, None)
    assert blended.records.values.tolist() == [1.0]
