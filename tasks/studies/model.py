"""What a study is: what it sweeps, the plots that it shows, what papers print of it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.study_runs import BLENDED
from hybriddp.study_settings import Setting

AOL, YANDEX = "aol-like", "yandex-like"
# JPC19 figure 11.
AOL_DEFAULTS = Setting(population=AOL, delta=1e-5, optin_fraction=0.05, max_head_size=50)
YANDEX_DEFAULTS = Setting(population=YANDEX, delta=1e-7, optin_fraction=0.03, max_head_size=500)

BOTH_STRATEGIES = (PAPER, HIGH_UTILITY)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One quantity varied, for each of some list sizes or other lines, by some methods."""

    name: str
    title: str
    base: Setting
    x: str
    xs: tuple[float, ...]
    methods: tuple[str, ...] = BOTH_STRATEGIES
    line: str | None = None
    lines: tuple[float, ...] = ()

    def settings(self, *, is_quick: bool) -> Iterator[Setting]:
        """Yield every setting; a quick study takes the ends and drops all lines but the first."""
        xs = (self.xs[0], self.xs[-1]) if is_quick and len(self.xs) > 2 else self.xs
        lines = self.lines[:1] if is_quick else self.lines
        for method in self.methods:
            for line in lines or (None,):
                fixed = {} if line is None or self.line is None else {self.line: line}
                for x in xs:
                    changes = {**fixed, self.x: x, "method": method, "is_quick": is_quick}
                    yield replace(self.base, **changes)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot: what a method publishes, or what one group of its release says."""

    method: str
    part: str = BLENDED
    label: str = ""


PAPER_SERIES = Series(PAPER, label="strategy paper")
HIGH_UTILITY_SERIES = Series(HIGH_UTILITY, label="strategy high-utility")


@dataclass(frozen=True, slots=True)
class Plot:
    """A measure over what was varied; one panel for each sweep."""

    name: str
    title: str
    measure: str
    sweeps: tuple[str, ...]
    series: tuple[Series, ...] = (PAPER_SERIES, HIGH_UTILITY_SERIES)
    is_logarithmic: bool = False
    is_loss: bool = False  # show 1 - measure: what is missing to the best


@dataclass(frozen=True, slots=True)
class Published:
    """A number that a paper prints: at which x of which sweep, of which measure, and where."""

    sweep: str
    x: float
    measure: str
    value: float
    source: str
    part: str = BLENDED


@dataclass(frozen=True, slots=True)
class Study:
    """A question, the runs that answer it, and how the answer is shown."""

    name: str
    title: str
    question: str
    reading: str
    sweeps: tuple[Sweep, ...]
    plots: tuple[Plot, ...]
    figures: tuple[str, ...] = ()  # such as "JPC19 figure 13"
    published: tuple[Published, ...] = ()
    statements: tuple[str, ...] = ()  # what the papers say in words, with the place
    limits: tuple[str, ...] = ()  # how this study differs from the papers'

    def sweep(self, name: str) -> Sweep:
        """Return one of the sweeps."""
        return next(sweep for sweep in self.sweeps if sweep.name == name)

    def settings(self, *, is_quick: bool) -> list[Setting]:
        """Return every setting once; sweeps may share some."""
        every = (s for sweep in self.sweeps for s in sweep.settings(is_quick=is_quick))
        return list(dict.fromkeys(every))


@dataclass(frozen=True, slots=True)
class Measure:
    """How a measure is called on an axis and in a table."""

    label: str
    short: str
    more_is_better: bool = False
    limits: tuple[float, float] | None = None  # of the axis, where 0 would hide the differences
    nominal: float | None = None  # what it should be, drawn as a line


def _covering(what: str) -> Measure:
    return Measure(
        f"share of {what} whose\n95 % interval covers",
        f"covered {what}",
        limits=(0.85, 1.0),
        nominal=0.95,
    )


MEASURES = {
    "l1_records": Measure("L1 distance of records (probability)", "L1 records"),
    "l1_queries": Measure("L1 distance of queries (probability)", "L1 queries"),
    "l1_top_queries": Measure(
        "L1 distance over the true top M\nand the list (probability)", "L1 of the top"
    ),
    "ndcg_queries": Measure("NDCG of queries (1 is best)", "NDCG queries", True),
    "ndcg_of_ndcgs": Measure("NDCG of NDCGs (1 is best)", "NDCG of NDCGs", True),
    "n_queries": Measure("queries on the list (count)", "queries", True),
    "n_records": Measure("records on the list (count)", "records", True),
    "p_true": Measure("true share of users (probability)", "true share"),
    "p_blended": Measure("published probability", "published"),
    "p_optin": Measure("opt-in estimate (probability)", "opt-in"),
    "p_clients": Measure("client estimate (probability)", "clients"),
    "p_clients_summed": Measure("client estimate, summed over urls (probability)", "clients, sum"),
    "abs_error": Measure("absolute error (probability)", "absolute error"),
    "listed": Measure("share of runs that list the query", "listed"),
    "l1_common": Measure("L1 of queries that both strategies list", "L1 common"),
    "coverage_records": _covering("records"),
    "coverage_queries": _covering("queries"),
    "coverage_ranks": _covering("ranks"),
    "relative_width": Measure("width of the median interval (part of p)", "relative width"),
    "error_over_floor": Measure("squared error over its floor", "error/floor", nominal=1.0),
    "alarm": Measure("share of releases with p below 1e-3", "p < 1e-3", limits=(-0.03, 1.03)),
    "withheld": Measure("share of releases that are withheld", "withheld", limits=(-0.03, 1.03)),
    "suspicious": Measure("suspicious records (count)", "suspicious"),
    "found_pushed": Measure("share of runs that find the pushed url", "found"),
}
# Compared between strategies, with a verdict; list sizes are shown but not judged.
JUDGED = (
    "l1_records", "l1_queries", "l1_common", "l1_top_queries", "ndcg_queries", "ndcg_of_ndcgs",
)  # fmt: skip

QUANTITIES = {
    "epsilon": "epsilon (privacy loss of each user)",
    "delta": "delta (probability)",
    "optin_fraction": "opt-in users (share of all users)",
    "max_head_size": "M, queries wanted (count)",
    "headlist_user_fraction": "f_O, opt-in users who find the list (share)",
    "query_budget_fraction": "f_C, budget of a client's query (share)",
    "part": "query (rank in the population)",
    "population": "population",
    "plant": "what was planted",
    "method": "method",
}
