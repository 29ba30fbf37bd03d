"""What changed since the list before: what entered and left, and what surely rose or fell.

A record's probabilities of both weeks are known together, from all weeks until now, on its grid. A
query's ratio is that of the sums of its records that were known in both weeks; they are taken to be
normal with their first two moments (Fieller's intervals), and its other urls, of which little is
known, to have changed alike, as far as there was room: the probabilities of a week sum to 1. Of all
that is said to have risen or fallen, at most 5 % did not (Benjamini-Hochberg on the two-sided
chance of the direction), and every such interval lies on one side of 1.
"""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import special

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.crosscheck import discoveries
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.estimation.high_utility import project, projected_cells, query_estimate
from hybriddp.blender.estimation.intervals import STANDARD_ERRORS
from hybriddp.blender.estimation.levels import Levels
from hybriddp.blender.headlist import HeadList
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.estimation.walk import POINTS, STEPS, Followed
from hybriddp.series.estimation.weeks import places_of
from hybriddp.series.measured import SeasonMeasured, WeekMeasured

ENTERED, LEFT, ROSE, FELL, UNCLEAR = KINDS = ("entered", "left", "rose", "fell", "unclear")
# Records whose joint grids are held at once.
_AT_ONCE = 32


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Every query that is listed now or was then, in the order of ids.

    `now` is what is published; of a query that left, what would be if it were on the list. `before`
    is what all weeks until now say of then, which may differ from what was published then; together
    they are at most 1. Numbers are nan where nothing is known, as of a query that was named since.
    """

    since: int  # the week of the list before
    query_ids: IntArray
    kinds: npt.NDArray[np.str_]
    now: FloatArray
    before: FloatArray
    ratio_low: FloatArray  # of the 95 % interval of now/before, which holds the ratio of the two
    ratio_high: FloatArray


def find_changes(
    params: BlenderParams, draws: SeasonMeasured, evidence: SeasonEvidence | None = None
) -> Changes | None:
    """Compare the list of now with the one before; None if there is none.

    Whoever has the evidence of these weeks already may pass it, and saves half of the time.

    Privacy claim: none; post-processing of SeasonWeeks and of reports.
    """
    then = _listed_before(draws)
    if then is None or then.listed is None or draws.now.listed is None:
        return None
    evidence, known = evidence or SeasonEvidence.of(params, draws), draws.now.known
    listed, listed_then = draws.now.listed, then.listed
    union = np.union1d(listed.query_ids, listed_then.query_ids)
    union = union[np.isin(union, known.query_ids)]
    now = _queries(evidence, known.keep(np.isin(known.query_ids, union)))
    is_listed, was_listed = (np.isin(union, some.query_ids) for some in (listed, listed_then))
    now[is_listed] = _queries(evidence, listed)
    ratios = _ratios(evidence, then, union)
    before = _before(now, ratios)
    shown = np.divide(now, before, out=ratios.values.copy(), where=before > 0)
    kinds = np.full(len(union), UNCLEAR, dtype=f"<U{max(map(len, KINDS))}")
    is_sure = np.zeros(len(union), dtype=np.bool_)
    both = np.flatnonzero(is_listed & was_listed & np.isfinite(ratios.values))
    is_sure[both] = discoveries(2 * special.ndtr(-ratios.standard_errors[both]))
    is_sure &= (shown > 1) == (ratios.values > 1)  # nobody rises who is shown to have fallen
    kinds[is_sure] = np.where(ratios.values[is_sure] > 1, ROSE, FELL)
    kinds[is_listed & ~was_listed], kinds[was_listed & ~is_listed] = ENTERED, LEFT
    low, high = np.minimum(ratios.low, shown), np.maximum(ratios.high, shown)
    return Changes(then.week, union, kinds, now, before, low, high)


def _listed_before(draws: SeasonMeasured) -> WeekMeasured | None:
    listed = [week for week in draws.weeks[:-1] if week.listed is not None]
    return listed[-1] if listed else None


def _queries(evidence: SeasonEvidence, head_list: HeadList) -> FloatArray:
    """Return what is published of queries, if they are the list."""
    cells = evidence.cells(head_list)
    blended = Levels(cells, query_estimate(head_list, cells))
    return project(head_list, blended).queries.values[:-1]


def _before(now: FloatArray, ratios: "_Ratios") -> FloatArray:
    """Return what queries had then, so that it is now as many times as much as the ratios say.

    Other urls changed alike, as far as we know. Where records fell to little, what is left beside
    them is too much to have been there then: all that queries had was at most 1. So both parts of
    each are brought to a distribution as the cells of a list are, the least certain ones first.
    """
    before = np.full(len(now), np.nan)
    at = np.flatnonzero(np.isfinite(ratios.values))
    of_records = np.minimum(now, ratios.now)[at] / ratios.values[at]
    others = np.maximum(now - ratios.now, 0)[at] / ratios.values[at]
    values = np.concatenate([of_records, others])
    variances = np.concatenate([ratios.of_before[at], others**2])
    cells = Estimate(np.append(values, 1 - values.sum()), np.append(variances, variances.sum()))
    before[at] = projected_cells(cells)[:-1].reshape(2, -1).sum(axis=0)
    return before


@dataclass(frozen=True, slots=True)
class _Ratios:
    """Now/then of queries; nan where it is not known."""

    now: FloatArray  # of their records that were known in both weeks
    of_before: FloatArray  # the variance of what these had then
    values: FloatArray
    standard_errors: FloatArray  # so many it is off from 1
    low: FloatArray
    high: FloatArray


def _ratios(evidence: SeasonEvidence, then: WeekMeasured, query_ids: IntArray) -> _Ratios:
    known = evidence.draws.now.known
    places = places_of(then.known, known)
    records = np.sort(places[places >= 0])
    query = known.query_ids[known.query_of_record[records]]
    records, query = records[np.isin(query, query_ids)], query[np.isin(query, query_ids)]
    moments = _joint_moments(evidence, then.week, records)
    at = np.searchsorted(query_ids, query)
    before, now, of_before, of_now, both = (
        np.bincount(at, numbers, len(query_ids)).astype(np.float64) for numbers in moments
    )
    for means in (before, now):
        means[means == 0] = np.nan  # no record of the query was known then
    return _fieller(before, now, of_before, of_now, both)


def _fieller(
    before: FloatArray, now: FloatArray, of_before: FloatArray, of_now: FloatArray, both: FloatArray
) -> _Ratios:
    """Return which ratios r leave now - r before as near to 0 as a normal number would be.

    Of what fell to nearly nothing the logarithm may be anything, and yet it surely fell. Where as
    little is known of `before`, there is no such interval: the ratio is taken to be lognormal.
    """
    squared = STANDARD_ERRORS**2
    first, last = before**2 - squared * of_before, now**2 - squared * of_now
    middle = now * before - squared * both
    root = np.sqrt(np.maximum(middle**2 - first * last, 0))
    of_difference = np.maximum(of_now + of_before - 2 * both, 1e-12 * before**2)
    is_known = first > 0
    divisor = np.where(is_known, first, 1.0)
    logs = np.log(now / before)
    of_logs = of_now / now**2 + of_before / before**2 - 2 * both / (now * before)
    error = np.where(is_known, 1.0, np.sqrt(np.maximum(of_logs, 1e-12)))
    low, high = (np.exp(logs + side * STANDARD_ERRORS * error) for side in (-1, 1))
    return _Ratios(
        now,
        of_before,
        now / before,
        np.abs(np.where(is_known, (now - before) / np.sqrt(of_difference), logs / error)),
        np.where(is_known, np.maximum((middle - root) / divisor, 0), low),
        np.where(is_known, (middle + root) / divisor, high),
    )


def _joint_moments(evidence: SeasonEvidence, week: int, records: IntArray) -> FloatArray:
    """Return means then and now, variances then and now, and covariances: shape (5, records)."""
    raw = np.zeros((5, len(records)))
    points = evidence.grid.points[records]
    for weight, step in zip(evidence.likely, STEPS, strict=True):
        if weight > 0:
            followed = Followed(evidence.grid, evidence.start, step, evidence.shaken)
            for moment in evidence.moments:
                if moment.time <= week:
                    followed.see(moment)
            for first in range(0, len(records), _AT_ONCE):
                some = slice(first, first + _AT_ONCE)
                joint = _joint(evidence, followed, week, records[some])
                then, now = points[some][:, :, None], points[some][:, None, :]
                for number, value in enumerate((then, now, then**2, now**2, then * now)):
                    raw[number, some] += weight * (joint * value).sum(axis=(1, 2))
    then, now = raw[:2]
    raw[2:] -= np.stack([then**2, now**2, then * now])
    return raw


def _joint(
    evidence: SeasonEvidence, followed: Followed, week: int, records: IntArray
) -> FloatArray:
    """Return the weights of pairs of points, of a week and of now: (records, then, now)."""
    joint = followed.weights[records][:, :, None] * np.eye(POINTS)
    seen = followed.seen[records]
    for moment in evidence.moments:
        rows = np.flatnonzero(np.isin(records, moment.records))
        if moment.time > week and len(rows):
            at = np.searchsorted(moment.records, records[rows])
            passed = followed.passed(joint[rows], records[rows], seen[rows], moment)
            passed = passed * moment.likelihood[at][:, None, :]
            joint[rows] = passed / passed.sum(axis=(1, 2), keepdims=True)
            seen[rows] = moment.mark
    return joint
