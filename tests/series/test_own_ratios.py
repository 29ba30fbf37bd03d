"""Records that are given more weight for their shares than others, as heavy searchers do.

Such an error is a record's own in every week and every season, so that nothing averages it out.
"""

from dataclasses import replace

import numpy as np
import pytest

from hybriddp.series.design import SeasonDesign
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import Prior, SeasonMeasured
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
