"""How many queries a season is expected to find by which week, by its laws alone: quick."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from hybriddp.arrays import FloatArray
from hybriddp.blender.weighted.weights import weight_of
from hybriddp.planning.prior import Prior
from hybriddp.series.season import Season

_SHOWN = (1, 4, 13, 26, 52)


@dataclass(frozen=True, slots=True)
class SeasonForecast:
    """What is found by some weeks, if searches do not change."""

    weeks: tuple[int, ...]
    queries: tuple[float, ...]
    records: tuple[float, ...]


def forecast_season(
    prior: Prior, season: Season, n_people: int, records_per_user: float, n_known: int = 0
) -> SeasonForecast:
    """Predict from everybody who opted in, each with so many different records a week.

    A record counts as found by a week if the best of the tests until then passes it; that another
    one might have is left out, so this is no optimist. The first `n_known` queries of the prior are
    known from the start, with all of their records.

    Privacy claim: none; the prior is public, and so are the sizes of groups.
    """
    shown = sorted({*(week for week in _SHOWN if week <= season.n_weeks), season.n_weeks})
    is_known = prior.is_nameable & (prior.query_ids < n_known)
    chances = [
        np.where(is_known, 1.0, _chances(prior, season, week, n_people, records_per_user))
        for week in shown
    ]
    return SeasonForecast(
        tuple(shown),
        tuple(_queries(prior, chance) for chance in chances),
        tuple(float(chance.sum()) for chance in chances),
    )


def found_by(
    prior: Prior, season: Season, week: int, n_people: int, records_per_user: float
) -> float:
    """Return how many queries a season without names of its own is expected to find by a week.

    Privacy claim: none; the prior is public, and so are the sizes of groups.
    """
    return _queries(prior, _chances(prior, season, week, n_people, records_per_user))


def _chances(
    prior: Prior, season: Season, week: int, n_people: int, records_per_user: float
) -> FloatArray:
    n_each = min(max(round(records_per_user), 1), season.most_records)
    weight = weight_of(n_each, season.weight_units)
    holders = n_people * n_each * prior.probabilities * prior.is_nameable
    return _named_by(season, week, holders * weight, holders * weight**2)


def _named_by(season: Season, week: int, means: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the chance that the best of the tests until a week passes each record."""
    best = np.zeros_like(means)
    for track in season.tracks:
        for window in track.windows:
            if window.last <= week:
                scales = [season.weight_scales[t - 1] for t in window.weeks]
                best = np.maximum(
                    best, _passes(window.threshold, window.coefficients, scales, means, variances)
                )
    return np.where(means > 0, best, 0.0)


def _passes(
    threshold: int,
    coefficients: Sequence[int],
    scales: Sequence[float],
    means: FloatArray,
    variances: FloatArray,
) -> FloatArray:
    counts, noise = np.array(coefficients, dtype=np.float64), np.array(scales)
    variance = (counts**2 * noise**2).sum() + (counts**2).sum() * variances
    passes: FloatArray = special.ndtr((counts.sum() * means - threshold) / np.sqrt(variance))
    return passes


def _queries(prior: Prior, chances: FloatArray) -> float:
    """Return how many queries have a record that is found."""
    none = np.bincount(prior.query_ids, np.log1p(-np.minimum(chances, 1 - 1e-12)))
    return float(-np.expm1(none).sum())
