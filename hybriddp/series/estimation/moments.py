"""What each week says of the records that are known now, as sources, and what they all share."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, client_source
from hybriddp.blender.evidence.posterior import tail_exponent
from hybriddp.blender.evidence.sources import CentralCounts
from hybriddp.blender.weighted.ratios import ratio_of
from hybriddp.blender.weighted.records import (
    Given,
    Ratio,
    records_of,
    spread_of,
    spread_of_weights,
)
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.walk import Moment
from hybriddp.series.estimation.weeks import ReadWeek, places_of
from hybriddp.series.measured import SeasonMeasured, WeekMeasured
from hybriddp.series.season import Season


@dataclass(frozen=True, slots=True)
class Common:
    """What all records and weeks have in common."""

    ratio: Ratio
    spread: float  # the variance of a person's share of a record, as a part of p(1-p)
    exponent: float  # of the power law of records
    threshold: float  # the share that a record needed to be named until now
    is_first: BoolArray  # of records: whether a test named it; else it was known before


def learn_common(draws: SeasonMeasured, weeks: Sequence[ReadWeek]) -> Common:
    """Learn it from all weeks so far.

    Privacy claim: none; post-processing of SeasonWeeks.
    """
    given, is_first = _means_of_weeks(draws, weeks)
    ratio = ratio_of(given)
    precisions = np.array([1 / week.noise.share_scale**2 for week in weeks])
    precisions /= precisions.sum()
    concentration, total = (
        float(precisions @ np.array(numbers, dtype=np.float64))
        for numbers in (
            [week.week.measured[-1] for week in weeks],
            [week.shares.sum() for week in weeks],
        )
    )
    scales = np.array([week.noise.share_scale for week in weeks])
    spread = spread_of(float(np.sqrt((precisions**2) @ scales**2)), concentration, total)
    threshold = _least_mean_named(draws.season, draws.now.week)
    exponent = tail_exponent(given.weights[given.weights >= threshold], threshold)
    if draws.is_from_before.any():
        # Urls of names from before were looked for in a whole season, one like this.
        threshold = _least_mean_named(draws.season)
    return Common(
        ratio,
        spread,
        exponent,
        threshold / (ratio.of_lightest * draws.now.n_people),
        is_first,
    )


def _least_mean_named(season: Season, last: int | None = None) -> float:
    """Return the least mean weight that any test until a week lets pass, in people's weights."""
    means = [
        window.threshold / (sum(window.coefficients) * season.weight_units)
        for track in season.tracks
        for window in track.windows
        if last is None or window.last <= last
    ]
    return min(means, default=1.0)


def _means_of_weeks(draws: SeasonMeasured, weeks: Sequence[ReadWeek]) -> tuple[Given, BoolArray]:
    """Return each record's weights and shares, both averaged over the weeks that have both."""
    n_records = draws.now.known.n_records
    total, weights, shares, of_weights, of_shares = np.zeros((5, n_records))
    is_first = np.zeros(n_records, dtype=np.bool_)
    for week in weeks:
        given, has_weight = week.given()
        is_known = week.places >= 0
        is_first[week.places[is_known & week.week.is_new]] = True
        rows = np.flatnonzero(is_known & has_weight)
        at, counts = week.places[rows], 1 / float(np.mean(given.of_weights))
        total[at] += counts
        weights[at] += counts * given.weights[rows]
        shares[at] += counts * given.shares[rows]
        of_weights[at] += counts**2 * given.of_weights
        of_shares[at] += counts**2 * given.of_shares
        if not has_weight.all() and week is weeks[-1]:
            # Of what was named just now there is nothing better than its sums.
            rows = np.flatnonzero(is_known & ~has_weight)
            at = week.places[rows]
            mean = week.means[-1]
            by = week.week.n_people / mean.n_people  # as many people as gave the shares
            sums = mean.values[np.isin(np.flatnonzero(~has_weight), rows)]
            total[at], weights[at], of_weights[at] = 1, by * sums, by**2 * mean.noise
            shares[at] = given.shares[rows]
            of_shares[at] = given.of_shares
    total = np.maximum(total, 1e-300)
    means, noises = (weights / total, shares / total), (of_weights / total**2, of_shares / total**2)
    return Given(*means, *noises, draws.season.most_records**-0.5), is_first


def optin_moments(
    weeks: Sequence[ReadWeek], common: Common, deviations: FloatArray, centres: FloatArray
) -> list[Moment]:
    """Return what everybody who opted in said of records, week by week.

    `deviations` is how far each record's ratio may be from the common one, as noise of a week, and
    `centres` is about where the records are, whatever a week says of them.

    Privacy claim: none; post-processing of SeasonWeeks.
    """
    return [moment for week in weeks for moment in _moments_of(week, common, deviations, centres)]


def _moments_of(
    week: ReadWeek, common: Common, deviations: FloatArray, centres: FloatArray
) -> list[Moment]:
    n_people, time = week.week.n_people, float(week.week.week)
    given, has_weight = week.given()
    values, own, near = (
        np.where(week.places >= 0, of_records[week.places], gone)
        for of_records, gone in ((common.ratio.values, 1), (deviations, 0), (centres * n_people, 0))
    )
    ratio = replace(common.ratio, values=values, deviations=own)
    found = []
    for mean in week.means:
        if mean.age > 0:
            new = np.flatnonzero(week.week.is_new)
            source = CentralCounts(
                mean.values / (values[new] * mean.n_people),
                mean.n_people,
                mean.noise / values[new] ** 2,
                mean.part * spread_of_weights(values[new], given.least_weight),
                deviation=own[new],
            )
            of_mean = _moment(week, new, time - mean.age, mean.first, source)
            found.append(replace(of_mean, is_before=True))
    both = records_of(given, ratio, common.spread, n_people, near)
    shares = CentralCounts(given.shares / n_people, n_people, given.of_shares, common.spread)
    for rows, source in ((has_weight, both), (~has_weight, shares)):
        numbers = np.flatnonzero(rows)
        found.append(_moment(week, numbers, time, week.week.week, source.at(numbers)))
    return [moment for moment in found if len(moment.records)]


def _moment(
    week: ReadWeek, rows: IntArray, time: float, first: int, source: CentralCounts
) -> Moment:
    """Return what a source says of rows of a week's records, without those that are gone."""
    is_known = week.places[rows] >= 0
    kept = np.flatnonzero(is_known)
    at = week.places[rows[kept]]
    return Moment(at, time, first, source.at(kept))


def prior_moments(draws: SeasonMeasured) -> list[Moment]:
    """Return what the last list before the season said, as of its own week.

    It was the mean and the variance of what was known then. So it counts as a number of people
    would that was counted without noise: with the even law of log p that names from before start
    with, the mean of what is known after it is just that (a gamma law).

    Privacy claim: none; post-processing of what was published before.
    """
    prior = draws.now.prior
    if prior is None or not np.isfinite(prior.values).any():
        return []
    at = np.flatnonzero(np.isfinite(prior.values))
    p, n_people = prior.values[at], draws.now.n_people
    spread = n_people * prior.variances[at] / (p * np.maximum(1 - p, 1e-3))
    source = CentralCounts(p, n_people, 0.0, spread)
    return [Moment(at, 1.0 - prior.weeks, 0, source, is_list=True)]


def client_moments(
    params: BlenderParams, draws: SeasonMeasured, weeks: Sequence[WeekMeasured]
) -> list[Moment]:
    """Return what clients said of records in these weeks.

    Privacy claim: none; post-processing of client reports.
    """
    found = []
    for week in weeks:
        if week.listed is not None and week.reports is not None and week.listed.n_records:
            source = client_source(client_mechanism(week.listed, params), week.reports)
            places = places_of(week.listed, draws.now.known)
            kept = np.flatnonzero(places >= 0)
            of_records = source.at(week.listed.record_cells[kept])
            found.append(Moment(places[kept], float(week.week), week.week, of_records))
    return found


def memory_of(moments: Sequence[Moment], centres: FloatArray, step: float) -> FloatArray:
    """Return how many weeks' worth each record's estimate is an average of.

    An error that is a record's own in all weeks does not average out. Counted as noise of every
    week it must be so many times larger to weigh as much as it does: 1 over the sum of squares of
    what each moment counts, by a Kalman filter of relative errors. The list before the season has
    the same error already, as large as a list has it; so if that counts b, the weeks need only add
    what is missing to 1: 1 - b^2.

    Privacy claim: none; post-processing of what weeks published.
    """
    variance, times = np.full(len(centres), np.inf), np.full(len(centres), np.nan)
    squares, of_list = np.zeros(len(centres)), np.zeros(len(centres))
    for moment in moments:
        at, own = moment.records, centres[moment.records]
        before = variance[at] + np.nan_to_num(moment.time - times[at]) * step**2
        noise = moment.source.variance_at(own) / own**2
        gain = 1 / (1 + noise / before)  # 1 where nothing was known
        of_weeks = 0 if moment.is_list else gain
        squares[at] = (1 - gain) ** 2 * squares[at] + of_weeks**2
        of_list[at] = (1 - gain) * of_list[at] + gain - of_weeks
        variance[at], times[at] = gain * noise, moment.time
    memory = np.ones(len(centres))
    return np.divide(1 - of_list**2, squares, where=squares > 0, out=memory)
