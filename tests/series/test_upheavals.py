"""Weeks in which much changes at once: found where planted, nowhere else, and intervals cover."""

import numpy as np
import pytest

from hybriddp.series.changes import _fieller
from hybriddp.series.estimation import evidence as estimation
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import SeasonMeasured
from tests.series.seasons import PARAMS, SEASON, draw_season, even_in_log, truth_of, walk

N_RECORDS, N_FALLEN, UPHEAVAL, N_WEEKS = 60, 12, 5, 6


def season(rng: np.random.Generator, *, factor: float) -> tuple[SeasonMeasured, np.ndarray]:
    """Sixty records with 3 % drift, of which twelve change by a factor in week 5."""
    laws = walk(even_in_log(N_RECORDS, 5e-4, 0.02, rng), N_WEEKS, 0.03, rng)
    laws *= np.minimum(1, 0.9 / laws.sum(axis=1, keepdims=True))
    laws[UPHEAVAL - 1 :, :N_FALLEN] *= factor
    return draw_season(laws, rng, with_clients=False), laws


def until(draws: SeasonMeasured, week: int) -> SeasonMeasured:
    return SeasonMeasured(SEASON, draws.weeks[:week])


def covered(draws: SeasonMeasured, laws: np.ndarray) -> np.ndarray:
    known, truth = SeasonEvidence.of(PARAMS, draws).records, truth_of(draws, laws)
    return (known.low <= truth) & (truth <= known.high)


@pytest.mark.statistical
def test_a_week_in_which_much_changes_is_found_and_no_other(same_rng):
    """In its own week and after, in four seasons; in four without, none is.

    Measured with 60 seeds of each: all were found, in the right week, and no other week was.
    """
    for factor, found in ((1 / 50, [UPHEAVAL]), (1.0, [])):
        for _ in range(4):
            draws, _ = season(same_rng, factor=factor)
            for week in (UPHEAVAL, N_WEEKS):
                evidence = SeasonEvidence.of(PARAMS, until(draws, week))
                assert np.flatnonzero(evidence.shaken).tolist() == found


@pytest.mark.statistical
def test_intervals_cover_in_the_very_week_and_after(same_rng, monkeypatch):
    """Of 240 records 93 % to 99.5 % are covered in either week; with 60 seeds 97.5 % and 96.2 %.

    A little too many in the very week: it does not yet say which records fell. Planted: estimates
    that know of no such weeks.
    """
    seasons = [season(same_rng, factor=1 / 50) for _ in range(4)]

    def shares() -> list[np.ndarray]:
        return [
            np.stack([covered(until(draws, week), laws) for draws, laws in seasons])
            for week in (UPHEAVAL, N_WEEKS)
        ]

    for share in shares():
        assert 0.93 <= share.mean() <= 0.995
        assert share[:, :N_FALLEN].mean() > 0.85
    monkeypatch.setattr(estimation, "find_upheavals", lambda *_: np.zeros(SEASON.n_weeks + 1))
    for share in shares():
        assert share.mean() < 0.92
        assert share[:, :N_FALLEN].mean() < 0.7


@pytest.mark.statistical
def test_what_fell_to_nearly_nothing_surely_fell(same_rng):
    """Its logarithm may be anything, but its ratio's interval covers, and lies below 1.

    100,000 normal draws: 94.5 % to 95.5 % cover, 7 standard deviations to either side.
    """
    n = 100_000
    before, now = same_rng.normal(3e-3, 2e-4, n), np.abs(same_rng.normal(1e-4, 3e-4, n))
    ratios = _fieller(before, now, np.full(n, 4e-8), np.full(n, 9e-8), np.zeros(n))
    assert (ratios.standard_errors > 3).mean() > 0.99
    is_sure = ratios.standard_errors > 1.96
    assert (ratios.high[is_sure] < 1).all()
    assert (ratios.low >= 0).all()
    now = same_rng.normal(3e-3, 3e-4, n)
    ratios = _fieller(before, now, np.full(n, 4e-8), np.full(n, 9e-8), np.zeros(n))
    share = np.mean((ratios.low <= 1) & (ratios.high >= 1))
    assert 0.945 <= share <= 0.955


def test_of_what_was_hardly_known_before_the_ratio_is_lognormal():
    ratios = _fieller(*(np.array([x]) for x in (1e-3, 4e-3, 1e-6, 1e-8, 0.0)))
    assert ratios.low < 1 < ratios.high < 100
    assert ratios.standard_errors < 1.96
