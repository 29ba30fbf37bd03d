"""What the weeks of a season published, as arrays: all that estimates over time are made from."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.estimation.intervals import STANDARD_ERRORS
from hybriddp.blender.headlist import HeadList
from hybriddp.errors import require
from hybriddp.series.season import Season


@dataclass(frozen=True, slots=True, eq=False)
class Prior:
    """What the last list before a season said of some records; it was published."""

    weeks: int  # from the week of that list to the first one of the season
    values: FloatArray  # nan where it said nothing
    variances: FloatArray  # nan there, too

    def __post_init__(self) -> None:
        is_said = np.isfinite(self.values)
        values, variances = self.values[is_said], self.variances[is_said]
        require(
            self.weeks >= 1 and np.array_equal(is_said, np.isfinite(self.variances))
            and bool(np.all((values > 0) & (values <= 1) & (variances > 0))),
            "a prior must be of a week before the season, and have probabilities and variances",
            self.weeks,
            "leave out what the last list did not say",
        )  # fmt: skip

    @classmethod
    def of(
        cls,
        weeks: int,
        values: FloatArray,
        low: FloatArray,
        high: FloatArray,
        *,
        unit: float = 0.0,
    ) -> "Prior":
        """Read 95 % intervals of numbers that were rounded to a unit; 0 and no width say nothing.

        Privacy claim: none; post-processing of what was published.
        """
        errors = (high - low + unit) / (2 * STANDARD_ERRORS)
        is_said = (values > 0) & (errors > 0)
        said = (np.where(is_said, numbers, np.nan) for numbers in (values, errors**2))
        return cls(weeks, *said)

    def at(self, places: IntArray) -> "Prior":
        """Return the same of records that stand at these places; nothing where one is negative.

        Privacy claim: none; post-processing of what was published.
        """
        values, variances = (np.append(n, np.nan) for n in (self.values, self.variances))
        at = np.where(places < 0, len(self.values), places)
        return replace(self, values=values[at], variances=variances[at])


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
    prior: Prior | None = None  # of known's records, if a list before the season spoke of them


@dataclass(frozen=True, slots=True, eq=False)
class SeasonMeasured:
    """The weeks of a season up to one that is to be published, which is the last.

    Weeks that are missing, withheld or withdrawn are not among them. `unseen` are those that were
    drawn all the same: what people gave in them is in the sums of later weeks.
    """

    season: Season
    weeks: Sequence[WeekMeasured]
    unseen: Sequence[int] = ()

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
    def is_from_before(self) -> BoolArray:
        """Which of the first week's records were known before the season.

        Those that no test of it named; but a week before it that was drawn and is not seen any more
        may have named them. Then only what a list before the season spoke of is sure.
        """
        first = self.weeks[0]
        if not any(week < first.week for week in self.unseen):
            return ~first.is_new
        nothing = np.zeros(first.known.n_records, dtype=np.bool_)
        return nothing if first.prior is None else np.isfinite(first.prior.values)

    @property
    def reports(self) -> IntArray | None:
        """What clients reported in that week, if they have."""
        return self.now.reports
