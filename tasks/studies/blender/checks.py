"""Studies that put strategy high-utility to the test: its gain, its intervals, its cross-check."""

from dataclasses import replace

from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.studies.blender.checks import DRIFT, FAKES, NOTHING, TOPIC
from hybriddp.studies.blender.settings import AGREEMENT, CALIBRATION, COMMON
from tasks.studies.model import (
    AOL_DEFAULTS,
    HIGH_UTILITY_SERIES,
    PAPER_SERIES,
    YANDEX_DEFAULTS,
    Plot,
    Study,
    Sweep,
)

_EPSILONS = (1, 2, 4)
_MANY = replace(AOL_DEFAULTS, population="aol-like-many")
_ZIPF = replace(AOL_DEFAULTS, population="zipf-like", max_head_size=100)
_YANDEX = replace(YANDEX_DEFAULTS, max_head_size=100)
_BASES = {
    "aol": ("AOL-like, M = 50", AOL_DEFAULTS),
    "many": ("AOL-like, many records, M = 50", _MANY),
    "zipf": ("Zipf-like, M = 100", _ZIPF),
    "yandex": ("Yandex-like, M = 100", _YANDEX),
}

_gain = Study(
    name="gain",
    title="What high-utility gains at the same privacy",
    question="By how much do the errors fall where the papers have their defaults?",
    reading="One record a user, and many records of which high-utility uses five at the weight "
    "of one. L1 of common queries is taken over those that both strategies list with the same "
    "users.",
    sweeps=tuple(
        Sweep(
            f"{name}-{size}",
            f"{title}, M = {size}",
            replace(base, kind=COMMON, max_head_size=size),
            "epsilon",
            _EPSILONS,
        )
        for name, title, base in (
            ("aol", "One record a user", AOL_DEFAULTS),
            ("many", "Many records a user", _MANY),
        )
        for size in (10, 50)
    ),
    plots=tuple(
        Plot(name, title, measure, ("aol-10", "aol-50", "many-10", "many-50"))
        for name, title, measure in (
            ("l1-records", "L1 of records", "l1_records"),
            ("l1-common", "L1 of the queries that both list", "l1_common"),
            ("ndcg", "NDCG of NDCGs", "ndcg_of_ndcgs"),
        )
    ),
)

_intervals = Study(
    name="intervals",
    title="Do the intervals cover, and how far is the error from its floor?",
    question="Is a 95 % interval right in 95 % of cases, for probabilities and for ranks?",
    reading="Coverage is counted over all published rows and over seeds, against the law that "
    "users were drawn from. The floor is the variance of the best unbiased blend of all opt-in "
    "counts and all client reports; estimates that know that rare records are many can go below.",
    sweeps=tuple(
        Sweep(name, title, replace(base, kind=CALIBRATION), "epsilon", _EPSILONS, (HIGH_UTILITY,))
        for name, (title, base) in _BASES.items()
    ),
    plots=tuple(
        Plot(name, title, measure, tuple(_BASES), (HIGH_UTILITY_SERIES,))
        for name, title, measure in (
            ("records", "Coverage of records", "coverage_records"),
            ("queries", "Coverage of queries", "coverage_queries"),
            ("ranks", "Coverage of ranks", "coverage_ranks"),
            ("width", "Width of the median interval", "relative_width"),
            ("floor", "Squared error over its floor", "error_over_floor"),
        )
    ),
)

_PLANTED = {
    NOTHING: "Nothing planted",
    DRIFT: "10 % of opt-in people: other order",
    TOPIC: "2 % of opt-in people: one query",
    FAKES: "0.5 % of clients push one url",
}
_cross_check = Study(
    name="cross-check",
    title="What the cross-check finds",
    question="Does comparing the groups find drift and false reports, and does it cry wolf?",
    reading="Alarm: the chi-square's p-value is below 1e-3, which happens in one honest release "
    "of a thousand. Withheld: below 1e-6, the default of min_agreement. Drift in which a tenth "
    "of the opt-in people search the same head in another order hides in the noise.",
    sweeps=tuple(
        Sweep(
            plant,
            title,
            replace(AOL_DEFAULTS, kind=AGREEMENT, plant=plant),
            "epsilon",
            _EPSILONS,
            (PAPER, HIGH_UTILITY),
        )
        for plant, title in _PLANTED.items()
    ),
    plots=tuple(
        Plot(name, title, measure, tuple(_PLANTED), (PAPER_SERIES, HIGH_UTILITY_SERIES))
        for name, title, measure in (
            ("alarm", "Releases with an alarm", "alarm"),
            ("withheld", "Releases that are withheld", "withheld"),
            ("suspicious", "Suspicious records", "suspicious"),
        )
    ),
    limits=(
        "One record a user. False reports are sent by clients who hold the pushed url's cell in "
        "every report; cleverer attackers would spread over several urls.",
    ),
)

CHECK_STUDIES = (_gain, _intervals, _cross_check)
