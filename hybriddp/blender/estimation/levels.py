"""What the steps of an estimation pass on to each other."""

from dataclasses import dataclass
from typing import Protocol

from hybriddp.arrays import IntArray
from hybriddp.blender.estimation.estimates import Estimate, IntervalEstimate
from hybriddp.blender.headlist import HeadList


@dataclass(frozen=True, slots=True)
class Draws:
    """What the draws of a head list gave, and from how many people; all of it is public."""

    candidates: HeadList  # everything that S named
    noisy_counts: IntArray | None  # of its records; strategy `paper` does not keep them
    n_finders: int
    measured: IntArray | None  # T's noisy counts, if anybody measured
    n_measurers: int
    reports: IntArray | None  # how often clients reported each cell, once they have


class Reported(Protocol):
    """Whatever has clients' reports: the draws of a release, or a season's weeks."""

    @property
    def reports(self) -> IntArray | None:
        """How often clients reported each cell, once they have."""


@dataclass(frozen=True, slots=True)
class Levels:
    """The same quantity for records (cells, <*,*> last) and for queries (* last)."""

    records: Estimate
    queries: Estimate


@dataclass(frozen=True, slots=True)
class Sides:
    """What the opt-in groups say, and what the clients say."""

    optin: Levels
    clients: Levels


@dataclass(frozen=True, slots=True)
class Bounded:
    """Both levels with their intervals."""

    records: IntervalEstimate
    queries: IntervalEstimate
