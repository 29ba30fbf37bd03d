"""The cells <q,*> over time: shares and reports of all weeks, by a Kalman filter.

Which urls of a query are unlisted changes when one is named. What a week before said of <q,*> then
holds more than now, and what is known of the new record is taken off.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, client_source
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.evidence.posterior import other_cells
from hybriddp.blender.evidence.sources import CentralCounts, Source
from hybriddp.blender.headlist import HeadList
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.weeks import ReadWeek, places_of
from hybriddp.series.measured import WeekMeasured


@dataclass(frozen=True, slots=True)
class _Said:
    """What one week said of <q,*> of some queries, as they are now."""

    week: int
    queries: IntArray  # which, among those that are known now
    source: Source
    named_since: FloatArray  # the mass of their records that were not known then, to be taken off
    variances: FloatArray  # of that


def follow_others(
    known: HeadList,
    records: Estimate,
    weeks: Sequence[ReadWeek],
    clients: Sequence[WeekMeasured],
    params: BlenderParams,
    spread: float,
    step: float,
) -> Estimate:
    """Estimate <q,*> of every query that is known now, without any prior.

    Privacy claim: none; post-processing of SeasonWeeks and of reports.

    Args:
        known: The list as it is now.
        records: What is known of its records now.
        weeks: What everybody who opted in said.
        clients: The weeks whose clients are asked, too.
        params: How clients report.
        spread: The variance of a person's share of a record, as a part of p(1-p).
        step: How far log p goes in a week.
    """
    said = [_of_optin(known, records, week, spread) for week in weeks]
    for week in clients:
        if week.listed is not None and week.reports is not None and week.listed.n_queries:
            source = client_source(client_mechanism(week.listed, params), week.reports)
            said.append(_since(known, records, week.week, week.listed, source))
    said.sort(key=lambda one: one.week)
    # Noise alone first; then with the sampling of people and the steps that such cells have.
    rough = _filtered(said, np.zeros(known.n_queries), step)
    return _filtered(said, np.maximum(rough.values, 0) + np.sqrt(rough.variances), step)


def _filtered(said: Sequence[_Said], centres: FloatArray, step: float) -> Estimate:
    values, variances = np.zeros_like(centres), np.full_like(centres, np.inf)
    last = np.zeros_like(centres)
    for one in said:
        at = one.queries
        before = variances[at] + (one.week - last[at]) * (step * centres[at]) ** 2
        noise = one.source.variance_at(np.clip(centres[at], 0, 1)) + one.variances
        gain = 1 / (1 + noise / before)  # 1 where nothing was known
        values[at] += gain * (one.source.values - one.named_since - values[at])
        variances[at], last[at] = gain * noise, one.week
    return Estimate(values, variances)


def _of_optin(known: HeadList, records: Estimate, week: ReadWeek, spread: float) -> _Said:
    noise, n_people = week.noise, week.week.n_people
    source = CentralCounts(
        week.week.measured[:-1] / (noise.share_units * n_people),
        n_people,
        (noise.share_scale / noise.share_units) ** 2,
        spread,
    )
    return _since(known, records, week.week.week, week.week.known, source)


def _since(
    known: HeadList, records: Estimate, week: int, listed: HeadList, source: Source
) -> _Said:
    is_old = np.zeros(known.n_records, dtype=np.bool_)
    places = places_of(listed, known)
    is_old[places[places >= 0]] = True
    off, of_off = (
        np.bincount(known.query_of_record, np.where(is_old, 0.0, numbers), known.n_queries).astype(
            np.float64
        )
        for numbers in (records.values, records.variances)
    )
    kept = np.flatnonzero(np.isin(listed.query_ids, known.query_ids))
    at = np.searchsorted(known.query_ids, listed.query_ids[kept])
    return _Said(week, at, source.at(other_cells(listed)[kept]), off[at], of_off[at])
