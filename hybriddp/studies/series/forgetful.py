"""Releases that forget: a part of the people each week, or everybody once."""

from collections.abc import Iterator

import numpy as np

from hybriddp.arrays import BoolArray
from hybriddp.blender.simulate import SimulatedRelease, simulate, simulate_searches
from hybriddp.blender.weighted.searches import Searches
from hybriddp.studies.series.laws import WeekLaw
from hybriddp.studies.series.measures import Published, Shown
from hybriddp.studies.series.people import People
from hybriddp.studies.series.settings import SeriesSetting


def forgetful_weeks(
    setting: SeriesSetting,
    people: People,
    weeks: Iterator[tuple[WeekLaw, Searches]],
    *,
    rng: np.random.Generator,
) -> Iterator[Published]:
    """Publish every week with the people whose week it is, each once a year.

    Privacy claim: none; for studies, whose data is synthetic.
    """
    for week, (law, searches) in enumerate(weeks, 1):
        own = searches.of(people.group(week, setting.n_weeks))
        n_clients = people.n_clients_of(setting.n_weeks)
        yield _published(_release(setting, own, law, n_clients, rng))


def once(
    setting: SeriesSetting,
    people: People,
    weeks: Iterator[tuple[WeekLaw, Searches]],
    *,
    rng: np.random.Generator,
) -> Iterator[Published]:
    """Publish with everybody in the first week, and show the same in every other one.

    Privacy claim: none; for studies, whose data is synthetic.
    """
    published: Published | None = None
    for law, searches in weeks:
        if published is None:
            release = _release(setting, searches, law, people.n_clients, rng)
            published = _published(release)
        yield published


def _release(
    setting: SeriesSetting,
    own: Searches,
    law: WeekLaw,
    n_clients: int,
    rng: np.random.Generator,
) -> SimulatedRelease:
    """Publish once with some people who opted in and so many clients with one record each."""
    query_ids, url_ids = law.sample(n_clients, rng=rng)
    is_optin = _first(own.n_people, n_clients)
    params = setting.params
    if params.is_weighted:
        sizes = np.append(own.n_records, np.ones(n_clients, dtype=np.int64))
        queries, urls = np.append(own.query_ids, query_ids), np.append(own.url_ids, url_ids)
        return simulate_searches(Searches(sizes, queries, urls), is_optin, params, rng=rng)
    firsts = own.firsts()
    ids = np.append(firsts[0], query_ids), np.append(firsts[1], url_ids)
    return simulate(*ids, is_optin, params, rng=rng)


def _first(n_optin: int, n_clients: int) -> BoolArray:
    return np.arange(n_optin + n_clients) < n_optin


def _published(release: SimulatedRelease) -> Published:
    records, queries = (
        Shown(level.projected, level.low, level.high)
        for level in (release.records, release.queries)
    )
    return Published(release.head_list, lambda: (records, queries))
