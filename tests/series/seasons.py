"""Seasons as the estimates assume them: records that go at random, with counts and noise."""

from collections.abc import Collection
from fractions import Fraction

import numpy as np

from hybriddp.blender.clients import client_mechanism, count_reports
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.weighted.weights import concentration_of, weight_of
from hybriddp.params import BlenderParams, Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.measured import SeasonMeasured, WeekMeasured
from hybriddp.series.season import Season

BUDGET = Budget(4, "1e-5")
# Names come over all weeks, and shares say as much as weights; the usual design names most at once.
DESIGN = SeasonDesign(
    n_weeks=12,
    most_records=3,
    finding_part=Fraction(4, 5),
    first_part=Fraction(0),
    falling_part=Fraction(7, 10),
)
SEASON = DESIGN.season(BUDGET)
PARAMS = BlenderParams(4, "1e-5", strategy="high-utility", finding="gaussian", max_head_size=10_000)
N_PEOPLE, N_ROWS, N_CLIENTS = 26_000, 2, 5_000


def walk(start: np.ndarray, n_weeks: int, step: float, rng: np.random.Generator) -> np.ndarray:
    """The probabilities of every week, (weeks, records)."""
    steps = step * rng.standard_normal((n_weeks, len(start)))
    steps[0] = 0
    return start * np.exp(np.cumsum(steps, axis=0))


def even_in_log(n: int, low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Probabilities of records that nobody selected: the prior of what is known from the start."""
    return np.exp(rng.uniform(np.log(low), np.log(high), n))


def power_law(n: int, low: float, high: float, rng: np.random.Generator) -> np.ndarray:
    """Probabilities with density 1/p^2."""
    return 1 / rng.uniform(1 / high, 1 / low, n)


def draw_season(
    laws: np.ndarray,
    rng: np.random.Generator,
    *,
    season: Season = SEASON,
    is_known: bool = True,
    missing: Collection[int] = (),
    ids: np.ndarray | None = None,
    with_clients: bool = True,
    n_people: int = N_PEOPLE,
    own_ratios: np.ndarray | float = 1.0,
) -> SeasonMeasured:
    """Everybody has two searches a week, and each record is a query's only one.

    Records are known from the start, or named when they pass a test. `ids` are the queries' ids,
    and `own_ratios` is how much more weight than others a record is given for its shares.
    """
    n_weeks, n_records = laws.shape
    ids = np.arange(n_records) if ids is None else ids
    known_then = np.full(n_records, is_known)
    given = np.zeros(laws.shape, dtype=np.int64)
    weeks = []
    for week in range(1, n_weeks + 1):
        p, is_missing = laws[week - 1], week in missing
        holders = rng.poisson(n_people * N_ROWS * p) * (not is_missing)
        weights = np.round(holders * weight_of(N_ROWS) * own_ratios).astype(np.int64)
        given[week - 1] = noisy(weights, season.weight_scales[week - 1], rng)
        if is_missing:
            continue
        sums, passes = _tested(season, week, given)
        is_new = passes & ~known_then
        known_then = known_then | is_new
        at = np.flatnonzero(known_then)
        at = at[np.argsort(ids[at])]
        known = HeadList.from_records(ids[at], np.zeros(len(at), dtype=np.int64))
        share = season.share_units // N_ROWS
        exact = np.zeros(known.n_cells, dtype=np.int64)  # the last is the concentration
        exact[known.record_cells] = holders[at] * share
        exact[-1] = holders[at].sum() * concentration_of(share)
        found = WeekMeasured(
            week,
            n_people,
            known,
            is_new[at],
            np.where(is_new[at][:, None], sums[at], 0),
            np.where(is_new[at], 0, given[week - 1, at]),
            noisy(exact, season.share_scales[week - 1], rng),
            *(_reported(known, p[at], rng) if with_clients else (known, None)),
        )
        weeks.append(found)
    return SeasonMeasured(season, weeks)


def noisy(exact: np.ndarray, scale: float, rng: np.random.Generator) -> np.ndarray:
    return exact + np.round(rng.normal(0, scale, exact.shape)).astype(np.int64)


def _tested(season: Season, week: int, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The sums of all tracks, and what passes a test of the week."""
    sums, passes = [], np.zeros(given.shape[1], dtype=np.bool_)
    for track in season.tracks:
        first = track.start_of(week)
        sums.append(np.array(track.coefficients[first - 1 : week]) @ given[first - 1 : week])
        threshold = track.thresholds[week - 1]
        if threshold is not None:
            passes |= sums[-1] > threshold
    return np.stack(sums, axis=1), passes


def _reported(
    known: HeadList, p: np.ndarray, rng: np.random.Generator
) -> tuple[HeadList, np.ndarray]:
    law = np.zeros(known.n_cells)
    law[known.record_cells] = p
    law[-1] = 1 - p.sum()
    channel = client_mechanism(known, PARAMS)
    cells = rng.choice(known.n_cells, N_CLIENTS, p=law)
    return known, count_reports(channel, channel.simulate(cells, rng=rng))


def truth_of(draws: SeasonMeasured, laws: np.ndarray, ids: np.ndarray | None = None) -> np.ndarray:
    """The last week's probabilities of the records that are known, in their order."""
    ids = np.arange(laws.shape[1]) if ids is None else ids
    order = np.argsort(ids)
    at = order[np.searchsorted(ids[order], draws.now.known.query_ids)]
    return laws[draws.now.week - 1, at]
