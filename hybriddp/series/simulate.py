"""A whole season on integer arrays, in memory: for studies and tests.

The steps are those of the product's weekly release; only the randomness is a study's generator.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.blender.clients import client_mechanism, count_reports
from hybriddp.blender.headlist import HeadList, RecordCounts
from hybriddp.blender.weighted.searches import Searches
from hybriddp.params import BlenderParams
from hybriddp.series.estimation.weeks import places_of
from hybriddp.series.finding import Carried, WeekFinding
from hybriddp.series.measured import Prior, SeasonMeasured, WeekMeasured
from hybriddp.series.season import Season
from hybriddp.series.strategy import choose

# Ids of urls are below that: a record is one number.
_URLS = 1 << 31

# What opt-in people searched in a week, and the clients' one record each; None if it is missing.
Week = tuple[Searches, tuple[IntArray, IntArray]] | None


@dataclass(frozen=True, slots=True, eq=False)
class _State:
    """What is carried, of which records, and what is known."""

    carried: Carried
    tested: IntArray  # the records that are carried, in their order
    known: IntArray  # ascending


def simulate_season(
    season: Season,
    params: BlenderParams,
    weeks: Iterable[Week],
    *,
    rng: np.random.Generator,
    first_known: HeadList | None = None,
    prior: Prior | None = None,
) -> Iterator[WeekMeasured]:
    """Run a season, week by week, and return what each week publishes, reports included.

    Privacy claim: none; for studies and tests, whose data is synthetic.

    Args:
        season: Noise and tests of all weeks.
        params: How long the list is, and how clients report.
        weeks: The records of everybody who opted in, and query ids and url ids of the clients of
            the week, one record each, negative where they have none. None is a week that is
            missing.
        rng: The study's generator.
        first_known: Names that are known before the season.
        prior: What was published of their records.
    """
    known = np.zeros(0, np.int64) if first_known is None else np.sort(_keys_of(first_known))
    state = _State(Carried.nothing(season), np.zeros(0, np.int64), known)
    past: list[WeekMeasured] = []
    for number, given in enumerate(weeks, 1):
        finding = WeekFinding(season, number)
        if given is None:
            nothing = np.zeros(len(state.tested), np.int64)
            carried = finding.simulate(state.carried, nothing, rng=rng)
            state = replace(state, carried=carried)
            continue
        searches, clients = given
        state, found = _found(state, finding, searches, rng)
        if first_known is not None and prior is not None:
            found = replace(found, prior=prior.at(places_of(found.known, first_known)))
        listed = choose(params, SeasonMeasured(season, [*past, found]))
        channel = client_mechanism(listed, params)
        cells = listed.cells_of(*clients)
        reports = count_reports(channel, channel.simulate(cells, rng=rng))
        past.append(replace(found, listed=listed, reports=reports))
        yield past[-1]


def _found(
    state: _State, finding: WeekFinding, searches: Searches, rng: np.random.Generator
) -> tuple[_State, WeekMeasured]:
    """Add a week's weights, name what passes, and measure all that is known."""
    occurring = searches.weights(finding.season.most_records, rng=rng)
    keys = _keys(occurring.query_ids, occurring.url_ids)
    is_known = np.isin(keys, state.known)
    of_known = _counts_of(state.known, keys, occurring)
    noisy = finding.known.simulate(of_known, rng=rng)

    new = keys[~is_known & ~np.isin(keys, state.tested)]
    tested = np.concatenate([state.tested, new])
    carried = finding.simulate(state.carried, _counts_of(tested, keys, occurring), rng=rng)
    is_named = finding.named(carried)
    named, sums = tested[is_named], carried.sums[is_named]
    after = _State(
        carried.without(is_named),
        tested[~is_named],
        np.sort(np.concatenate([state.known, named])),
    )
    known, is_new = _list_of(after.known), np.isin(after.known, named)
    all_sums = np.zeros((len(is_new), sums.shape[1]), np.int64)
    all_sums[is_new] = sums[np.argsort(named)]
    weights = np.zeros(len(is_new), np.int64)
    weights[~is_new] = noisy
    measured = finding.measuring.simulate(searches.shares(known), rng=rng)
    return after, WeekMeasured(
        finding.week, searches.n_people, known, is_new, all_sums, weights, measured
    )


def _keys(query_ids: IntArray, url_ids: IntArray) -> IntArray:
    return query_ids * _URLS + url_ids


def _keys_of(known: HeadList) -> IntArray:
    return _keys(known.query_ids[known.query_of_record], known.url_ids)


def _list_of(keys: IntArray) -> HeadList:
    query_ids, url_ids = np.divmod(keys, _URLS)
    return HeadList.from_records(query_ids, url_ids)


def _counts_of(wanted: IntArray, keys: IntArray, occurring: RecordCounts) -> IntArray:
    """Return the weights of these records, 0 where nobody gave any; `keys` are not in order."""
    order = np.argsort(keys)
    place = np.searchsorted(keys[order], wanted)
    is_given = np.append(keys[order], -1)[place] == wanted
    return np.where(is_given, np.append(occurring.counts[order], 0)[place], 0)
