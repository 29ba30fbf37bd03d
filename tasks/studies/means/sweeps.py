"""What the studies of hybrid means sweep and plot: over users, or over the trusted share."""

from collections.abc import Iterable, Mapping

from hybriddp.mean.estimate import KNOWN
from hybriddp.studies.means.data import HIGH, LOW, MEDIUM, UC_SALARIES, WAGES
from hybriddp.studies.means.runs import BY_FRACTION, BY_USERS, OF_SO_MANY, MeanStudySetting
from tasks.studies.model import Plot, Series, Sweep

DATA_TITLES = {
    LOW: "Beta(10, 10), sd .109",
    MEDIUM: "Beta(1, 1), sd .289",
    HIGH: "Beta(.1, .1), sd .456",
    UC_SALARIES: "UC salaries, sd 2.3 % of the range",
    WAGES: "CPS wages, sd 2.9 % of the range",
}
# MEAN20 section 4: c in {.5 %, 5 %} and epsilon in {.1, 1}; from .1 to 10 on the salaries.
FRACTIONS = {0.005: ".5 %", 0.05: "5 %"}
EPSILONS = (0.1, 1)
TABLE_EPSILONS = (0.1, 0.5, 1, 2, 5, 10)
KVH = Series(KNOWN, label="KVH", short="KVH")
WAGES_ARE_OURS = (
    "CPS wages are ours: 280,005 tax units, the largest wage 2,353,662, sd 68,758, 30 % zeros. "
    "Both tables' largest values count as known and as the range; a release must choose its range "
    "without looking."
)
NO_HEAT_MAP = (
    "The paper's heat maps over c and epsilon are lines over c here, one for each epsilon."
)


def by_users(
    data: Iterable[str],
    fraction: float,
    methods: tuple[str, ...] = (KNOWN,),
    titles: Mapping[str, str] = DATA_TITLES,
) -> tuple[Sweep, ...]:
    """Return a panel over n for each of these data, with a line for each epsilon."""
    return tuple(
        Sweep(
            f"{name}-{fraction:g}",
            f"{titles[name]}, c {FRACTIONS[fraction]}",
            MeanStudySetting(kind=BY_USERS, item_kind=name, optin_fraction=fraction),
            "epsilon",
            EPSILONS,
            methods,
        )
        for name in data
    )


def over_users(
    measure: str,
    words: str,
    data: Iterable[str],
    *series: Series,
    limits: tuple[float, float] | None = None,
    prefix: str = "",
) -> list[Plot]:
    """Return a plot for each c; without limits the measure's axis is logarithmic."""
    return [
        Plot(
            f"{prefix}{measure.replace('_', '-')}-{fraction:g}",
            f"{words}, {percent} of the users trusted",
            measure,
            tuple(f"{name}-{fraction:g}" for name in data),
            series,
            is_logarithmic=limits is None,
            is_over_parts=True,
            parts_label="n, users (count)",
            limits=limits,
        )
        for fraction, percent in FRACTIONS.items()
    ]


def by_fraction(
    name: str, data: str, epsilons: tuple[float, ...], methods: tuple[str, ...] = (KNOWN,)
) -> Sweep:
    """Return a panel over c, with a line for each epsilon."""
    setting = MeanStudySetting(kind=BY_FRACTION, item_kind=data, optin_fraction=0)
    return Sweep(name, DATA_TITLES[data], setting, "epsilon", epsilons, methods)


def over_fraction(
    name: str,
    title: str,
    measure: str,
    sweeps: tuple[str, ...],
    *series: Series,
    limits: tuple[float, float] | None = None,
) -> Plot:
    """Return a plot over c; without limits the measure's axis is logarithmic."""
    return Plot(
        name,
        title,
        measure,
        sweeps,
        series,
        is_logarithmic=limits is None,
        is_over_parts=True,
        parts_label=f"trusted users of every {OF_SO_MANY:,} (100: 1 %)",
        limits=limits,
    )
