"""What a study is: what it sweeps, the plots that it shows, what papers print of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import Any

from hybriddp.params import HIGH_UTILITY, PAPER
from hybriddp.studies.blender.runs import BLENDED
from hybriddp.studies.blender.settings import Setting
from tasks.studies.pages.measures import JUDGED as JUDGED
from tasks.studies.pages.measures import MEASURES as MEASURES
from tasks.studies.pages.measures import QUANTITIES as QUANTITIES
from tasks.studies.runners import AnySetting

AOL, YANDEX = "aol-like", "yandex-like"
# JPC19 figure 11.
AOL_DEFAULTS = Setting(population=AOL, delta=1e-5, optin_fraction=0.05, max_head_size=50)
YANDEX_DEFAULTS = Setting(population=YANDEX, delta=1e-7, optin_fraction=0.03, max_head_size=500)

BOTH_STRATEGIES = (PAPER, HIGH_UTILITY)


@dataclass(frozen=True, slots=True)
class Sweep:
    """One quantity varied, for each of some list sizes or other lines, by some methods.

    A sweep that names the panel of another one is drawn into it: against an axis of its own above
    it, if another quantity is varied, and as a level line if nothing is.
    """

    name: str
    title: str
    base: AnySetting
    x: str
    xs: tuple[float, ...]
    methods: tuple[str, ...] = BOTH_STRATEGIES
    line: str | None = None
    lines: tuple[float, ...] = ()
    panel: str = ""

    def settings(self, *, is_quick: bool) -> Iterator[AnySetting]:
        """Yield every setting; a quick study takes the ends and drops all lines but the first."""
        xs = (self.xs[0], self.xs[-1]) if is_quick and len(self.xs) > 2 else self.xs
        lines = self.lines[:1] if is_quick else self.lines
        for method in self.methods:
            for line in lines or (None,):
                fixed = {} if line is None or self.line is None else {self.line: line}
                for x in xs:
                    changes = {**fixed, self.x: x, "method": method, "is_quick": is_quick}
                    yield replace(self.base, **changes)  # type: ignore[arg-type]

    @property
    def fixed(self) -> dict[str, Any]:
        """What all settings of the sweep have in common."""
        varied = (self.x, self.line, "method", "is_quick")
        return {
            field.name: getattr(self.base, field.name)
            for field in fields(self.base)
            if field.name not in varied
        }


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a plot: what a method publishes, or what one group of its release says."""

    method: str
    part: str = BLENDED
    label: str = ""
    short: str = ""  # where a label begins with something else; else the method


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
    is_over_parts: bool = False  # parts are numbers, and the measure is shown over them
    parts_label: str = ""  # a quantity's name, or what they are if they go over several decades
    limits: tuple[float, float] | None = None  # of the measure's axis, if not the usual ones


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
class Column:
    """Which of our runs stands beside what papers print: a method, or any other of its fields."""

    title: str
    fields: tuple[tuple[str, Any], ...]


_STRATEGY_COLUMNS = (
    Column("ours, strategy paper", (("method", PAPER),)),
    Column("ours, high-utility", (("method", HIGH_UTILITY),)),
)


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
    columns: tuple[Column, ...] = _STRATEGY_COLUMNS
    seeds: int = 20  # if nothing else is asked for
    item_word: str = "items"  # what pages call the settings' field `item_kind`
    outcome: Callable[[list[dict[str, Any]]], str] | None = None  # a sentence about the summary

    def sweep(self, name: str) -> Sweep:
        """Return one of the sweeps."""
        return next(sweep for sweep in self.sweeps if sweep.name == name)

    def settings(self, *, is_quick: bool) -> list[AnySetting]:
        """Return every setting once; sweeps may share some."""
        every = (s for sweep in self.sweeps for s in sweep.settings(is_quick=is_quick))
        return list(dict.fromkeys(every))
