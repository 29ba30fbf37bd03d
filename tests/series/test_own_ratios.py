"""Records that are given more weight for their shares than others, as heavy searchers do.

Such an error is a record's own in every week and every season, so that nothing averages it out.
"""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.searches import Searches
from hybriddp.series.design import SeasonDesign
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import Prior, SeasonMeasured
from hybriddp.series.simulate import simulate_season
from tests.series.seasons import BUDGET, PARAMS, draw_season, even_in_log

pytestmark = [pytest.mark.statistical, pytest.mark.slow]
N_RECORDS = 80


def coverages(
    deviation: float, rng: np.random.Generator, *, n_people: int, n_weeks: int, n_seasons: int
) -> np.ndarray:
    """Which records are covered in the first and last week of seasons, each after the one before.

    Shape (seasons, 2, records); nothing changes in all that time.
    """
    law = even_in_log(N_RECORDS, 5e-4, 0.012, rng)
    ratios = np.exp(deviation * rng.standard_normal(N_RECORDS))
    found, prior = [], None
    for number in range(n_seasons):
        design = SeasonDesign(n_weeks=n_weeks, most_records=3)
        season = (design.after_a_season() if number else design).season(BUDGET)
        draws = draw_season(
            np.tile(law, (n_weeks, 1)), rng, season=season, with_clients=False, n_people=n_people,
            own_ratios=ratios,
        )  # fmt: skip
        for week in (1, n_weeks):
            now = replace(draws.weeks[week - 1], prior=prior)
            until = SeasonMeasured(season, [*draws.weeks[: week - 1], now])
            said = SeasonEvidence.of(PARAMS, until).records
            found.append((said.low <= law) & (law <= said.high))
        prior = Prior.of(1, said.values, said.low, said.high)
    return np.array(found).reshape(n_seasons, 2, N_RECORDS)


def test_large_ratios_of_their_own_lie_on_the_grid(same_rng):
    """Of 640 records 91 % at least; .946 and .963 over 12 seeds, and .69 and .81 on the grid that
    holds what the weights say alone."""
    found = [coverages(0.3, same_rng, n_people=60_000, n_weeks=12, n_seasons=1) for _ in range(8)]
    assert np.mean(found, axis=(0, 1, 3)).min() > 0.91


@pytest.mark.long
def test_their_error_is_counted_once_in_all_weeks_and_seasons(same_rng):
    """Of 400 records 88 % at least in the last weeks of two years; .951 and .930 over 10 seeds.

    It was .87 and .78 where each week's blend followed its own noise, and where the last list was
    one more week that errs by itself.
    """
    found = [coverages(0.1, same_rng, n_people=26_000, n_weeks=52, n_seasons=2) for _ in range(5)]
    assert np.mean(found, axis=(0, 3))[:, 1].min() > 0.88


WEEKS = SeasonDesign(n_weeks=6, most_records=3).season(BUDGET)


def covered(law: np.ndarray, ratios: np.ndarray, n_people: int, rng: np.random.Generator):
    """Which records are covered after six weeks in which nothing changes."""
    draws = draw_season(
        np.tile(law, (6, 1)), rng, season=WEEKS, with_clients=False, n_people=n_people,
        own_ratios=ratios,
    )  # fmt: skip
    said = SeasonEvidence.of(PARAMS, draws).records
    return (said.low <= law) & (law <= said.high)


def test_ratios_may_follow_popularity(same_rng):
    """Of 800 records 89 % at least; .957 over 20 seeds, with a standard deviation of .015: a
    false alarm is rarer than once in 10,000. One ratio for all records has .73 (six seeds)."""
    found = []
    for _ in range(10):
        law = np.sort(even_in_log(N_RECORDS, 1.3e-3, 0.012, same_rng))
        found.append(covered(law, np.linspace(2, 1, N_RECORDS), 5_000, same_rng))
    assert np.mean(found) > 0.89


@pytest.mark.parametrize("n_records", [2, 5])
def test_short_lists_know_how_little_they_know(n_records, same_rng):
    """Of 200 records 90 % at least; .970 and .957 over 10 seeds, with standard deviations of .012
    and .017: a false alarm once in 1,500. Where a record's own share taught the ratio by which its
    weight is read, it was .83 of two, always seen, and .89 of five, seen in three of four."""
    found = []
    for _ in range(200 // n_records):
        law = even_in_log(n_records, 5e-4, 0.012, same_rng)
        ratios = np.exp(0.3 * same_rng.standard_normal(n_records))
        found.append(covered(law, ratios, 26_000, same_rng))
    assert np.mean(found) > 0.9


N_DIFFERENT = 3_000
POPULARITY = (np.arange(N_DIFFERENT) + 3.0) ** -0.9
REPEATS = np.round(1 + 7 * np.exp(-np.arange(N_DIFFERENT) / 15)).astype(np.int64)


def searches(n_people: int, rng: np.random.Generator) -> tuple[Searches, np.ndarray]:
    """People who search three records each, the most popular ones eight times; and all shares."""
    own = rng.choice(N_DIFFERENT, (n_people, 3), p=POPULARITY / POPULARITY.sum())
    repeats = REPEATS[own]
    total = repeats.sum(axis=1)
    queries = np.repeat(own.ravel(), repeats.ravel())
    shares = np.bincount(own.ravel(), (repeats / total[:, None]).ravel(), N_DIFFERENT) / n_people
    return Searches(total, queries, np.zeros(len(queries), dtype=np.int64)), shares


def test_people_who_repeat_popular_searches(same_rng):
    """Of about 240 records 86 % are covered at least, and rare ones are not overstated by half.

    .929 and 1.11 times the truth over 10 seeds, with standard deviations of .017 and .10: a false
    alarm once in 5,000. With one ratio for all records it is 1.77 (.07; four seeds)."""
    law = np.mean([searches(200_000, same_rng)[1] for _ in range(3)], axis=0)
    first = HeadList.from_records(np.arange(80), np.zeros(80, dtype=np.int64))
    nobody = np.zeros(0, dtype=np.int64)
    found, errors = [], []
    for _ in range(3):
        weeks = [(searches(5_000, same_rng)[0], (nobody, nobody)) for _ in range(6)]
        past = list(simulate_season(WEEKS, PARAMS, weeks, rng=same_rng, first_known=first))
        draws = SeasonMeasured(WEEKS, past)
        said = SeasonEvidence.of(PARAMS, draws, with_clients=False).records
        truth = law[draws.now.known.query_ids]
        found.append((said.low <= truth) & (truth <= said.high))
        is_rare = truth < np.median(truth)
        errors.append(np.median(said.values[is_rare] / truth[is_rare]))
    assert np.concatenate(found).mean() > 0.86
    assert 0.7 < np.mean(errors) < 1.5
