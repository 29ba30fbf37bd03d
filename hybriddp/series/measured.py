"""What the weeks of a season published, as arrays: all that estimates over time are made from."""

from collections.abc import Sequence
from dataclasses import dataclass

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import require
from hybriddp.series.season import Season


@dataclass(frozen=True, slots=True, eq=False)
class WeekMeasured:
    """What one week said; all of it is public. Ids of queries and urls are the same in all weeks.

    `known` are the records that were known when the week was measured: those that the season began
    with, those that were named before, and those that were named in this very week.
    """

    week: int  # from 1
    n_people: int  # who opted in and took part
    known: HeadList
    is_new: BoolArray  # of known's records: whether this week's tests named it
    sums: IntArray  # (records, tracks): of new ones the noisy sums of the week; else 0
    weights: IntArray  # of the others the noisy weight of this week alone; of new ones 0
    measured: IntArray  # noisy shares of all cells of `known` but <*,*>, then the concentration
    listed: HeadList | None = None  # what clients were asked about: some of known's queries
    reports: IntArray | None = None  # how often they reported each cell of it; None: they have not


@dataclass(frozen=True, slots=True, eq=False)
class SeasonMeasured:
    """The weeks of a season up to one that is to be published, which is the last.

    Weeks that are missing, withheld or withdrawn are not among them.
    """

    season: Season
    weeks: Sequence[WeekMeasured]

    def __post_init__(self) -> None:
        numbers = [week.week for week in self.weeks]
        require(
            bool(numbers) and numbers == sorted(set(numbers)) and numbers[0] >= 1
            and numbers[-1] <= self.season.n_weeks,
            f"weeks must be different ones of 1 to {self.season.n_weeks}, in order",
            numbers,
            "leave out those that are missing",
        )  # fmt: skip

    @property
    def now(self) -> WeekMeasured:
        """The week that is to be published."""
        return self.weeks[-1]

    @property
    def reports(self) -> IntArray | None:
        """What clients reported in that week, if they have."""
        return self.now.reports
