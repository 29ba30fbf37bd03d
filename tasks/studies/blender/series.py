"""The study of a year of weekly lists: releases that forget against a season that remembers."""

from hybriddp.studies.series.laws import BURSTS, SLOW, STEADY, SWAP
from hybriddp.studies.series.settings import (
    FORGETFUL,
    FORGETFUL_WEIGHTS,
    METHODS,
    ONCE,
    SECOND,
    SERIES,
    SeriesSetting,
)
from tasks.studies.model import Column, Plot, Series, Study, Sweep

_LABELS = {
    FORGETFUL: "a 52nd of the people, counts",
    FORGETFUL_WEIGHTS: "a 52nd of the people, weights",
    ONCE: "everybody once, in week 1",
    SERIES: "series: everybody every week",
    SECOND: "series, in its second season",
}
_SERIES = tuple(Series(method, label=_LABELS[method]) for method in METHODS)
_FEW = (FORGETFUL, ONCE, SERIES)
_YEAR = tuple(Series(method, "year", _LABELS[method]) for method in _FEW)
_TITLES = {
    STEADY: "nothing changes",
    SLOW: "5 % a week",
    BURSTS: "new queries",
    SWAP: "a swap in mid-year",
}
_CHANGES = tuple(
    Sweep(change, title, SeriesSetting(change=change), "epsilon", (4,), METHODS)
    for change, title in _TITLES.items()
)
_EPSILONS = tuple(
    Sweep(f"{change}-epsilon", _TITLES[change], SeriesSetting(change=change), "epsilon", (1, 2, 4),
          _FEW)
    for change in (STEADY, BURSTS)
)  # fmt: skip
_SIZES = tuple(
    Sweep(f"{change}-size", _TITLES[change], SeriesSetting(change=change), "n_users",
          (130_000, 520_000, 2_080_000), _FEW)
    for change in (STEADY, BURSTS)
)  # fmt: skip
_OVER_WEEKS = (
    ("queries", "Queries listed", "n_queries"),
    ("top", "Of the week's true top 50", "top_queries"),
    ("ndcg", "NDCG of queries", "ndcg_queries"),
    ("l1-records", "L1 of the records listed", "l1_records"),
    ("l1-top", "L1 over the true top 50 and the list", "l1_top_queries"),
    ("coverage", "Coverage of records", "coverage_records"),
    ("coverage-queries", "Coverage of queries", "coverage_queries"),
)


def _names(sweeps: tuple[Sweep, ...]) -> tuple[str, ...]:
    return tuple(sweep.name for sweep in sweeps)


SERIES_STUDY = Study(
    name="series",
    title="A year of weekly lists",
    question="What does a list that remembers show, week by week, for the budget of one year?",
    reading="Epsilon and delta are those of a whole year. Releases that forget have a 52nd of the "
    "people each week, so that each person pays once. A single release of everybody in week 1 is "
    "shown all year. In a series everybody who opted in takes part every week, with one budget, "
    "and a 52nd of the clients reports; its second season begins with the names that the first, in "
    "which nothing changed, has found. Everything is compared with the law of that very week.",
    sweeps=(*_CHANGES, *_EPSILONS, *_SIZES),
    plots=(
        *(
            Plot(name, title, measure, _names(_CHANGES), _SERIES, is_over_parts=True,
                 parts_label="week")
            for name, title, measure in _OVER_WEEKS
        ),
        Plot("epsilon", "Queries listed in the last week", "n_queries", _names(_EPSILONS), _YEAR),
        Plot("size", "Queries listed in the last week", "n_queries", _names(_SIZES), _YEAR),
        Plot("newcomers-epsilon", "Weeks until newcomers of the top 10 are listed",
             "frequent_newcomer_weeks", (f"{BURSTS}-epsilon",), _YEAR),
        Plot("newcomers-size", "Weeks until newcomers of the top 10 are listed",
             "frequent_newcomer_weeks", (f"{BURSTS}-size",), _YEAR),
    ),
    columns=tuple(Column(series.label, (("method", series.method),)) for series in _SERIES),
    limits=(
        "People have two records a week on average and at least one, drawn anew each week: nobody "
        "has habits of their own.",
        "New queries come in five weeks, each time four, as frequent as the queries of rank 5, 10, "
        "20 and 40; every other four lose half of their searches in eight weeks. In the swap ten "
        "queries of the top 40 change places with rare ones.",
        "Records beyond the 20,000 most frequent are as many as people who opted in, all alike.",
    ),
    seeds=5,
)  # fmt: skip
