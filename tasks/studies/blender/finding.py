"""The study of how a list is found: counts with Laplace noise, or weights with Gaussian noise."""

from hybriddp.params import GAUSSIAN, HIGH_UTILITY, PAPER
from hybriddp.studies.blender.finding import FINDERS, FIVE, FindingSetting
from tasks.studies.model import Column, Plot, Series, Study, Sweep

_RECORDS = (1, 2, 3, 6.3, 10, 20)
_SERIES = (
    Series(PAPER, label="strategy paper"),
    Series(HIGH_UTILITY, label="Laplace, one record"),
    Series(FIVE, label="Laplace, five records"),
    Series(GAUSSIAN, label="Gaussian weights"),
)
_SWEEPS = tuple(
    Sweep(
        f"epsilon-{epsilon}",
        f"epsilon {epsilon}",
        FindingSetting(epsilon=epsilon),
        "records_per_user",
        _RECORDS,
        FINDERS,
    )
    for epsilon in (1, 2, 4)
)

FINDING_STUDY = Study(
    name="gaussian-finding",
    title="Counts or weights: how a list is found",
    question="From how many records a person on do Gaussian weights list more than Laplace counts?",
    reading="People have so many records at the median, and some many more; with 1 everybody has "
    "one. Weights are given to at most twice the median, and everybody who opted in finds and "
    "measures; with counts 95 % find and the others measure. At most 100 queries are listed.",
    sweeps=_SWEEPS,
    plots=tuple(
        Plot(
            name,
            title,
            measure,
            tuple(sweep.name for sweep in _SWEEPS),
            series,
            limits=(0, 105) if name == "queries" else None,
        )
        for name, title, measure, series in (
            ("queries", "Queries listed", "n_queries", _SERIES),
            ("top", "Of the true top 50", "top_queries", _SERIES),
            ("ndcg", "NDCG of queries", "ndcg_queries", _SERIES),
            ("l1-records", "L1 of the records listed", "l1_records", _SERIES),
            ("l1-common", "L1 of the records that both list", "l1_common_records", _SERIES[2:]),
            ("coverage", "Coverage of records", "coverage_records", _SERIES[1:]),
        )
    ),
    columns=tuple(Column(series.label, (("method", series.method),)) for series in _SERIES),
    limits=(
        "Errors are against the law that people were drawn from, and NDCG against its top 50.",
        "With one record a person, weights are given to at most four.",
    ),
)
