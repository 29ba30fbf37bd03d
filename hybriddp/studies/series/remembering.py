"""Seasons that remember: everybody who opted in every week, with one budget for each year."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.estimation.high_utility import query_estimate
from hybriddp.blender.estimation.levels import Levels
from hybriddp.blender.weighted.searches import Searches
from hybriddp.params import BlenderParams
from hybriddp.series import strategy
from hybriddp.series.changes import find_changes
from hybriddp.series.design import SeasonDesign
from hybriddp.series.estimation.evidence import SeasonEvidence
from hybriddp.series.measured import Prior, SeasonMeasured, WeekMeasured
from hybriddp.series.simulate import simulate_season
from hybriddp.studies.series.laws import WeekLaw
from hybriddp.studies.series.measures import Published, Shown
from hybriddp.studies.series.people import People
from hybriddp.studies.series.settings import SeriesSetting


def series_weeks(
    setting: SeriesSetting,
    people: People,
    weeks: Iterator[tuple[WeekLaw, Searches]],
    *,
    rng: np.random.Generator,
    last: Published | None = None,
) -> Iterator[Published]:
    """Publish every week with everybody who opted in, and the clients whose week it is.

    A season may begin with the last list of another one, of the week before its first.

    Privacy claim: none; for studies, whose data is synthetic.
    """
    params, design = setting.params, SeasonDesign(n_weeks=setting.n_weeks)
    season = (design if last is None else design.after_a_season()).season(params.budget)
    names, prior = (None, None) if last is None else (last.head_list, _prior(last))
    n_clients = people.n_clients_of(setting.n_weeks)

    def given() -> Iterator[tuple[Searches, tuple[IntArray, IntArray]]]:
        for law, searches in weeks:
            yield searches, law.sample(n_clients, rng=rng)

    past: list[WeekMeasured] = []
    for measured in simulate_season(
        season, params, given(), rng=rng, first_known=names, prior=prior
    ):
        past.append(measured)
        assert measured.listed is not None
        yield _published(params, SeasonMeasured(season, list(past)))


def second_season(
    setting: SeriesSetting,
    people: People,
    before: WeekLaw,
    weeks: Iterator[tuple[WeekLaw, Searches]],
    *,
    rng: np.random.Generator,
) -> Iterator[Published]:
    """Publish a year after another one, in which nothing changed, from its last list.

    Privacy claim: none; for studies, whose data is synthetic.
    """
    first = ((before, people.searches(before, rng=rng)) for _ in range(setting.n_weeks))
    *_, last = series_weeks(setting, people, first, rng=rng)
    return series_weeks(setting, people, weeks, rng=rng, last=last)


def _prior(last: Published) -> Prior:
    shown, at = last.show()[0], last.head_list.record_cells
    return Prior.of(1, shown.values[at], shown.low[at], shown.high[at])


def _published(params: BlenderParams, draws: SeasonMeasured) -> Published:
    head_list = draws.now.listed
    assert head_list is not None

    @cache
    def evidence() -> SeasonEvidence:
        return SeasonEvidence.of(params, draws)

    def show() -> tuple[Shown, Shown]:
        # As strategy.blend does; what single groups say is not looked at.
        cells = evidence().cells(head_list)
        blended = Levels(cells, query_estimate(head_list, cells))
        bounded = strategy.bound(blended, strategy.project(head_list, blended))
        return _shown(bounded.records), _shown(bounded.queries)

    return Published(head_list, show, lambda: find_changes(params, draws, evidence()))


def _shown(estimate: IntervalEstimate) -> Shown:
    return Shown(estimate.values, estimate.low, estimate.high)
