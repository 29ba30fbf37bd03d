"""The noise of many weeks in few draws: the same law, and the same in every sum."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hybriddp.noise.exact_gaussian import MAX_NUMERATOR
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.lumps import lumps_before, roots_of
from hybriddp.series.season import Season, Track

pytestmark = pytest.mark.exact

FALLING = SeasonDesign(n_weeks=20, falling_part=Fraction(1, 2)).season(Budget(4, "1e-5"))
YEAR = SeasonDesign().season(Budget(4, "1e-5"))
# No sum goes back to the first weeks.
SHORT = Season(2, (2.5,) * 6, (2.5,) * 6, (
    Track((1, 3, 5), (2, 1, 1, 1, 3, 3), (5_000, None, None, 9_000, None, None)),
    Track((1, 4), (2, 1, 1, 1, 3, 3), (None, None, None, None, None, 9_000)),
))  # fmt: skip


@pytest.mark.parametrize("season", [YEAR, FALLING, SHORT], ids=["year", "falling", "short"])
def test_lumps_have_the_variances_and_covariances_of_their_weeks(season):
    """Sums of Gaussians have no other numbers."""
    tracks = season.tracks
    for week in range(1, season.n_weeks + 1):
        wanted = [[Fraction(0)] * len(tracks) for _ in tracks]
        found = [[Fraction(0)] * len(tracks) for _ in tracks]
        for earlier in range(1, week):
            counts = [
                track.coefficients[earlier - 1] * (earlier >= track.start_of(week))
                for track in tracks
            ]
            _add(wanted, counts, season.weight_scales[earlier - 1])
        for lump in lumps_before(season, week):
            _add(found, lump.coefficients, lump.noise.scale)
        assert found == wanted


def _add(covariances, counts, scale):
    for row, one in zip(covariances, counts, strict=True):
        for column, other in enumerate(counts):
            row[column] += one * other * Fraction(scale) ** 2


def test_a_new_record_of_a_years_last_weeks_needs_few_draws():
    """Week 1 has a scale of its own; then there are past quarters, past months, and this month."""
    n_draws = [len(lumps_before(YEAR, week)) for week in range(1, 53)]
    assert max(n_draws) <= 12, "one for each week would be 51"


@pytest.mark.parametrize(("scale", "n_weeks"), [(2.5, 2), (2.5, 3), (2.5, 4), (3.0, 9), (7.0, 6)])
def test_a_lump_has_the_law_of_its_weeks(scale, n_weeks):
    """Planted: the nearest whole scale in place of a sum of squares."""
    weeks = convolved([scale] * n_weeks)
    lump = convolved([root * scale for root in roots_of(n_weeks, MAX_NUMERATOR)])
    far = math.ceil(6 * scale * math.sqrt(n_weeks))
    ratios = np.array([weeks[n] / lump[n] for n in range(far)])
    assert np.abs(ratios - 1).max() < 1e-9
    if math.isqrt(n_weeks) ** 2 < n_weeks:
        rounded = convolved([float(round(scale * math.sqrt(n_weeks)))])
        assert max(abs(weeks[n] / rounded[n] - 1) for n in range(far)) > 1e-3


def convolved(scales: list[float]) -> np.ndarray:
    """The law of a sum of discrete Gaussians at 0, 1, 2, ..."""
    reach = math.ceil(12 * math.sqrt(sum(scale**2 for scale in scales)))
    values = np.arange(-reach, reach + 1)
    law = (values == 0).astype(float)
    for scale in scales:
        law = np.convolve(law, DiscreteGaussian(scale).pmf(values), mode="same")
    return law[reach:]


@pytest.mark.parametrize("number", range(1, 105))
def test_every_number_is_a_sum_of_at_most_four_squares(number):
    roots = roots_of(number, MAX_NUMERATOR)
    assert sum(root**2 for root in roots) == number
    assert len(roots) <= 4
    assert roots_of(number, 1) == (1,) * number, "wide noise has no room for a factor"
