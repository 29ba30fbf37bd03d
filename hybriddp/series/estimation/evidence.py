"""Everything that the weeks of a season say, up to now, read and followed once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.clients import client_mechanism, client_source
from hybriddp.blender.estimation.estimates import Estimate, IntervalEstimate, blend
from hybriddp.blender.evidence.combining import LEAST_HOLDERS, all_cells
from hybriddp.blender.evidence.posterior import estimate_other_urls, other_cells, summarised
from hybriddp.blender.evidence.sources import Fixed
from hybriddp.blender.headlist import HeadList
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.moments import (
    Common,
    client_moments,
    learn_common,
    memory_of,
    optin_moments,
    prior_moments,
)
from hybriddp.series.estimation.others import follow_others
from hybriddp.series.estimation.upheavals import find_upheavals
from hybriddp.series.estimation.walk import (
    STEPS,
    Grid,
    Moment,
    Weighed,
    follow,
    learn_steps,
    start_of,
    weigh,
)
from hybriddp.series.estimation.weeks import ReadWeek, places_of, read_weeks
from hybriddp.series.measured import SeasonMeasured, WeekMeasured

# Rounds of weighing moments by the noise that they have at their own mean.
_ROUNDS = 3


@dataclass(frozen=True, slots=True, eq=False)
class SeasonEvidence:
    """What all weeks say of the records that are known now. Build it once with `of`."""

    params: BlenderParams
    draws: SeasonMeasured
    weeks: Sequence[ReadWeek]
    clients: Sequence[WeekMeasured]  # whose reports are read
    common: Common
    grid: Grid
    start: FloatArray  # weights of points before any evidence
    moments: Sequence[Weighed]  # in the order of time
    likely: FloatArray  # how likely each of STEPS is
    shaken: FloatArray  # the chance, by weeks, that a record begins anew
    records: IntervalEstimate  # of every record that is known now

    @classmethod
    def of(
        cls, params: BlenderParams, draws: SeasonMeasured, *, with_clients: bool = True
    ) -> "SeasonEvidence":
        """Read all weeks, learn what they have in common, and follow every record.

        The list before the season is one more week, the first; without clients, who helped to make
        it, it is not looked at.

        Privacy claim: none; post-processing of SeasonWeeks and of reports.
        """
        weeks, clients = read_weeks(draws), draws.weeks if with_clients else []
        before = prior_moments(draws) if with_clients else []
        common = learn_common(draws, weeks)
        n_records = draws.now.known.n_records
        same, least = np.zeros(n_records), _least(before, draws)
        # A record whose ratio is its own has it in all weeks, which looks like no step at all.
        alike = [*before, *optin_moments(weeks, common, same, same)]
        reported = client_moments(params, draws, clients)
        centres = _centres(alike, least)
        # Then weights alone do not say where it is, however exactly they say it.
        own = optin_moments(weeks, common, common.ratio.deviations, centres)
        grid = Grid.around([*alike, *own], centres, least)
        exponents = np.where(common.is_first, common.exponent, 1.0)[:, None]
        start = start_of(grid, lambda p: -exponents * np.log(p))
        likely = learn_steps(grid, start, weigh(_in_order(alike, reported), grid, centres))
        memory = memory_of(alike, centres, _usual_step(likely))
        deviations = common.ratio.deviations * np.sqrt(memory)
        differing = optin_moments(weeks, common, deviations, centres)
        moments = weigh(_in_order(before, differing, reported), grid, centres)
        shaken = find_upheavals(grid, start, moments, STEPS[likely.argmax()])
        records = summarised(follow(grid, start, moments, likely, shaken), grid.points)
        return cls(
            params, draws, weeks, clients, common, grid, start, moments, likely, shaken, records
        )

    @property
    def step(self) -> float:
        """How far log p goes in a week."""
        return _usual_step(self.likely)

    def records_of(self, head_list: HeadList) -> IntervalEstimate:
        """Return what is known of some of the records.

        Privacy claim: none; post-processing of SeasonWeeks and of reports.
        """
        at = places_of(head_list, self.draws.now.known)
        known = self.records
        return IntervalEstimate(
            known.values[at], known.variances[at], known.low[at], known.high[at]
        )

    def cells(self, head_list: HeadList) -> IntervalEstimate:
        """Estimate every cell of a list of known queries with all their known urls.

        Privacy claim: none; post-processing of SeasonWeeks and of reports.
        """
        known, records = self.draws.now.known, self.records_of(head_list)
        said = follow_others(
            known,
            self.records,
            self.weeks,
            self.clients,
            self.params,
            self.common.spread,
            self.step,
        )
        at = np.searchsorted(known.query_ids, head_list.query_ids)
        others = Estimate(said.values[at], said.variances[at])
        source = self._source(head_list, records, others)
        return all_cells(
            head_list,
            records,
            estimate_other_urls(head_list, [source], records, self.common.threshold),
        )

    def _source(self, head_list: HeadList, records: Estimate, others: Estimate) -> Fixed:
        """Return what is known of <q,*>, and of <*,*>, of which this week's clients know much."""
        values, variances = np.zeros(head_list.n_cells), np.ones(head_list.n_cells)
        cells = other_cells(head_list)
        values[cells], variances[cells] = others.values, others.variances
        outside = Estimate(
            np.array([1 - records.values.sum() - others.values.sum()]),
            np.array([records.variances.sum() + others.variances.sum()]),
        )
        now = self.draws.now
        if self.clients and now.reports is not None and now.listed is not None and _same(
            now.listed, head_list
        ):  # fmt: skip
            clients = client_source(client_mechanism(head_list, self.params), now.reports)
            last = clients.at(np.array([head_list.n_cells - 1]))
            said = Estimate(last.values, last.variance_at(np.clip(outside.values, 0, 1)))
            outside = blend(outside, said)
        values[-1:], variances[-1:] = outside.values, outside.variances
        return Fixed(values, np.maximum(variances, 1e-30))


def _same(one: HeadList, other: HeadList) -> bool:
    return np.array_equal(one.query_ids, other.query_ids) and np.array_equal(
        one.url_ids, other.url_ids
    )


def _usual_step(likely: FloatArray) -> float:
    return float(np.sqrt((likely * STEPS**2).sum()))


def _in_order(*moments: Sequence[Moment]) -> list[Moment]:
    return sorted((one for some in moments for one in some), key=lambda moment: moment.time)


def _least(before: Sequence[Moment], draws: SeasonMeasured) -> FloatArray:
    """Return the least probability of each record that is looked at.

    Who found it a season ago may have been many more people than are here now.
    """
    least = np.full(draws.now.known.n_records, LEAST_HOLDERS / draws.now.n_people)
    for moment in before:
        least[moment.records] = np.minimum(least[moment.records], moment.source.values / 4)
    return least


def _centres(moments: Sequence[Moment], least: FloatArray) -> FloatArray:
    """Return the mean of all moments, weighed by their noise."""
    centres = least
    for _ in range(_ROUNDS):
        sums, precisions = np.zeros(len(least)), np.full(len(least), 1e-300)
        for moment in moments:
            at: IntArray = moment.records
            precision = 1 / moment.source.variance_at(centres[at])
            sums[at] += precision * moment.source.values
            precisions[at] += precision
        centres = np.clip(sums / precisions, least, 1)
    return centres
