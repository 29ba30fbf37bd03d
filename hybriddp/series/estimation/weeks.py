"""What each week published, and where its records are among those that are known now.

A record's first evidence is the sums that named it: weighted means of its noisy weights over past
weeks. Given the power law of records and these very sums, that they passed a threshold adds nothing
(hybriddp/blender/evidence/posterior.py); nor does that it did not pass before, because sums weigh
weeks by how exact they are, and what was known earlier says no more of a record than the sum does.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.records import Given
from hybriddp.series.measured import SeasonMeasured, WeekMeasured
from hybriddp.series.season import Season

# Sums that are combinations of others, but for rounding, say nothing more.
_ALIKE = 1e-9


@dataclass(frozen=True, slots=True)
class WeekNoise:
    """What weights and shares of one week were drawn with."""

    most_records: int
    weight_units: int
    weight_scale: float
    share_units: int
    share_scale: float

    @classmethod
    def of(cls, season: Season, week: int) -> "WeekNoise":
        """Return that of a week."""
        scales = season.weight_scales[week - 1], season.share_scales[week - 1]
        return cls(
            season.most_records, season.weight_units, scales[0], season.share_units, scales[1]
        )


@dataclass(frozen=True, slots=True)
class FirstMean:
    """A weighted mean of past weeks' weights, of records that a week named."""

    values: FloatArray  # in people's weights
    n_people: int  # who gave them: as many as in these weeks, weighted alike
    noise: float  # its variance
    age: float  # it is off from now as a step of so many weeks would be
    first: int  # the first of these weeks
    part: float  # of a week's variance by sampling of people that is left in the mean


@dataclass(frozen=True, slots=True)
class ReadWeek:
    """A week, with the places of its records among those that are known now."""

    week: WeekMeasured
    noise: WeekNoise
    places: IntArray  # -1 where a record is not known any more
    means: Sequence[FirstMean]  # of new records, the oldest first

    @property
    def shares(self) -> IntArray:
        """The noisy shares of its records."""
        return self.week.measured[:-1][self.week.known.record_cells]

    def weights(self) -> tuple[FloatArray, BoolArray]:
        """Return this week's noisy weights in units, and of which records they are known."""
        weights, is_new = self.week.weights.astype(np.float64), self.week.is_new
        if self.means and self.means[-1].age == 0:
            weights[is_new] = self.means[-1].values * self.noise.weight_units
            return weights, np.ones_like(is_new)
        return weights, ~is_new

    def given(self) -> tuple[Given, BoolArray]:
        """Return weights and shares, and of which records both are known."""
        weights, has_weight = self.weights()
        return Given.of(self.noise, weights, self.shares), has_weight


def read_weeks(draws: SeasonMeasured) -> list[ReadWeek]:
    """Find every week's records among those that are known now.

    Privacy claim: none; post-processing of SeasonWeeks.
    """
    n_people = _people_of_weeks(draws)
    return [
        ReadWeek(
            week,
            WeekNoise.of(draws.season, week.week),
            places_of(week.known, draws.now.known),
            _first_means(draws.season, week, n_people) if week.is_new.any() else [],
        )
        for week in draws.weeks
    ]


def _people_of_weeks(draws: SeasonMeasured) -> FloatArray:
    """Return how many people gave weights in each week of the season, 0 where nobody did.

    Of a week that was drawn and is not seen any more nobody can say: as many as between its
    neighbours.
    """
    weeks, sizes = zip(*((week.week, week.n_people) for week in draws.weeks), strict=True)
    there = np.array([*weeks, *draws.unseen], dtype=np.int64)
    n_people = np.zeros(draws.season.n_weeks)
    n_people[there - 1] = np.interp(there, weeks, sizes)
    return n_people


def places_of(then: HeadList, now: HeadList) -> IntArray:
    """Return where each record of a list is among those of another; -1 where it is not.

    Privacy claim: none; post-processing of names.
    """
    numbers = np.full(now.n_cells, -1)
    numbers[now.record_cells] = np.arange(now.n_records)
    return numbers[now.cells_of(then.query_ids[then.query_of_record], then.url_ids)]


def _first_means(season: Season, week: WeekMeasured, n_people: FloatArray) -> list[FirstMean]:
    """Turn the sums of all tracks into independent means, the oldest first.

    Tracks share weeks. From what began earlier we take what follows from what began later, as a
    regression does; with coefficients in proportion that leaves the weeks before.
    """
    variances = np.array(season.weight_scales[: week.week]) ** 2
    tracks = sorted(enumerate(season.tracks), key=lambda track: -track[1].start_of(week.week))
    kept: list[tuple[FloatArray, FloatArray]] = []
    for number, track in tracks:
        first = track.start_of(week.week)
        coefficients = np.array(track.coefficients[: week.week], dtype=np.float64)
        coefficients[: first - 1] = 0
        sums = week.sums[week.is_new, number].astype(np.float64)
        whole = (coefficients**2 * variances).sum()
        for others, of_others in kept:
            slope = (coefficients * others * variances).sum() / (others**2 * variances).sum()
            coefficients, sums = coefficients - slope * others, sums - slope * of_others
        if (coefficients**2 * variances).sum() > _ALIKE * whole:
            kept.append((coefficients, sums))
    # In a week that is missing nobody gave weight: it is noise alone.
    people = n_people[: week.week]
    return [
        _mean(coefficients, sums, variances, people, season.weight_units)
        for coefficients, sums in reversed(kept)
        if min(coefficients[people > 0].sum(), coefficients @ people) > 0
    ]


def _mean(
    coefficients: FloatArray,
    sums: FloatArray,
    variances: FloatArray,
    people: FloatArray,
    units: int,
) -> FirstMean:
    counted = np.where(people > 0, coefficients, 0)
    total, gave = counted.sum(), (counted * people).sum()
    # A walk's mean is off from its end by the sum of all steps, each as often as weeks before it.
    before = np.cumsum(counted / total)[:-1]
    return FirstMean(
        sums / total / units,
        max(round(gave / total), 1),
        float((coefficients**2 * variances).sum() / (total * units) ** 2),
        float((before**2).sum()),
        int(np.flatnonzero(np.abs(counted) > _ALIKE * total)[0]) + 1,
        float((counted**2 * people).sum() / (total * gave)),
    )
