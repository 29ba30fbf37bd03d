"""One run of a year: a method on the people of a seed, measured against the law of each week."""

from collections.abc import Iterator

import numpy as np

from hybriddp.blender.weighted.searches import Searches
from hybriddp.planning.populations import Population, study_rng
from hybriddp.studies.blender.settings import derived_seed
from hybriddp.studies.series.forgetful import forgetful_weeks, once
from hybriddp.studies.series.laws import WeekLaw, Year
from hybriddp.studies.series.measures import Published, Row, week_row, year_row
from hybriddp.studies.series.people import People
from hybriddp.studies.series.remembering import second_season, series_weeks
from hybriddp.studies.series.settings import ONCE, SECOND, SERIES, SeriesSetting

# Weeks that are looked at closely; what is listed is looked at in all.
MEASURED = (1, 2, 4, 8, 13, 20, 26, 27, 28, 32, 39, 45, 52)


def run_series(study: str, setting: SeriesSetting, seed: int, law: Population) -> list[Row]:
    """Publish for a year; people and what they search are the same for all methods of a seed."""
    parts = setting.change, setting.n_people, setting.records_per_user, setting.optin, seed
    people_rng = study_rng(derived_seed("people of a year", *parts))
    people = People.sample(
        setting.n_people, setting.optin, setting.records_per_user, rng=people_rng
    )
    year = Year.of(law, setting.change, setting.n_weeks, people.n_optin)
    rows: list[Row] = []
    laws: list[WeekLaw] = []
    first_listed: dict[int, int] = {}

    def weeks() -> Iterator[tuple[WeekLaw, Searches]]:
        for of_week in year.laws(rng=study_rng(derived_seed("laws of a year", *parts))):
            laws.append(of_week)
            yield of_week, people.searches(of_week, rng=people_rng)

    rng = study_rng(derived_seed("draws", study, setting.method, setting.epsilon, *parts))
    for week, published in enumerate(_publish(setting, people, year, weeks(), rng=rng), 1):
        for query_id in published.head_list.query_ids.tolist():
            first_listed.setdefault(query_id, week)
        if week in MEASURED:
            rows.append(week_row(published, laws[:week]))
    return [*rows, year_row(rows[-1], year.newcomers, first_listed, setting.n_weeks)]


def _publish(
    setting: SeriesSetting,
    people: People,
    year: Year,
    weeks: Iterator[tuple[WeekLaw, Searches]],
    *,
    rng: np.random.Generator,
) -> Iterator[Published]:
    if setting.method == ONCE:
        return once(setting, people, weeks, rng=rng)
    if setting.method == SERIES:
        return series_weeks(setting, people, weeks, rng=rng)
    if setting.method == SECOND:
        before = next(year.laws(rng=rng))
        return second_season(setting, people, before, weeks, rng=rng)
    return forgetful_weeks(setting, people, weeks, rng=rng)
