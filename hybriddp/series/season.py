"""A season: what every week of it draws with, fixed before its first week."""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

from hybriddp.blender.weighted.weights import (
    SHARE_UNITS,
    WEIGHT_UNITS,
    squared_shift_of_shares,
    squared_shift_of_weights,
    weights_up_to,
)
from hybriddp.errors import require, require_count
from hybriddp.noise.dominated import delta_of, rho_of
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import MAX_RECORDS_OPTIN, MOST_WEEKS
from hybriddp.series.window import Window

# Who give one record weight in one week; noise exceeds so many standard deviations never.
MOST_PEOPLE, _MOST_SDS = 100_000_000, 40


@dataclass(frozen=True, slots=True)
class Track:
    """A sum of noisy weights that starts anew in some weeks, and is tested in some.

    A record's state is one number for each track, however long a season is.
    """

    starts: tuple[int, ...]  # weeks, ascending; the first one is 1
    coefficients: tuple[int, ...]  # what each week counts
    thresholds: tuple[int | None, ...]  # of each week, None where nothing is tested

    def __post_init__(self) -> None:
        require(
            len(self.coefficients) == len(self.thresholds)
            and self.starts[:1] == (1,)
            and all(before < after for before, after in pairwise(self.starts)),
            "a track must start in week 1, and have a coefficient and a threshold for each week",
            f"{len(self.coefficients)} and {len(self.thresholds)}",
            "give as many of both",
        )

    def start_of(self, week: int) -> int:
        """Return the week in which the sum of this week began."""
        return max(start for start in self.starts if start <= week)

    def window(self, week: int, threshold: int | None = None) -> Window | None:
        """Return the test of a week, if there is one; or with a threshold that is tried."""
        threshold = self.thresholds[week - 1] if threshold is None else threshold
        if threshold is None:
            return None
        weeks = range(self.start_of(week), week + 1)
        return Window(tuple(weeks), self.coefficients[weeks[0] - 1 : week], threshold)

    @property
    def windows(self) -> list[Window]:
        """All tests."""
        found = (self.window(week) for week in range(1, len(self.thresholds) + 1))
        return [window for window in found if window is not None]


@dataclass(frozen=True)
class Season:
    """Noise and tests of every week, for people who give at most `most_records` records a week."""

    most_records: int
    weight_scales: tuple[float, ...]
    share_scales: tuple[float, ...]
    tracks: tuple[Track, ...]
    weight_units: int = WEIGHT_UNITS
    share_units: int = SHARE_UNITS

    def __post_init__(self) -> None:
        for name in ("most_records", "weight_units", "share_units"):
            require_count(getattr(self, name), name)
        lengths = {len(self.share_scales), *(len(track.thresholds) for track in self.tracks)}
        require(
            1 <= self.n_weeks <= MOST_WEEKS and lengths <= {self.n_weeks},
            f"a season must have 1 to {MOST_WEEKS} weeks, each with all numbers",
            f"{self.n_weeks} and {sorted(lengths)}",
            "52 is a year",
        )
        require(
            self.most_records <= MAX_RECORDS_OPTIN,
            f"most_records must be at most {MAX_RECORDS_OPTIN}",
            self.most_records,
            "3 is a good choice for a week",
        )
        largest = MOST_PEOPLE * self.weight_units + _MOST_SDS * math.ceil(max(self.weight_scales))
        require(
            all(sum(track.coefficients) * largest < 2**63 for track in self.tracks),
            f"sums of {MOST_PEOPLE:,} people must fit into 64 bits",
            "larger ones",
            "use smaller coefficients",
        )
        _ = self.rho_in_all, self.leak  # refuse noise and thresholds that have no price

    @property
    def n_weeks(self) -> int:
        """How many weeks there are."""
        return len(self.weight_scales)

    def rho(self, week: int) -> Fraction:
        """Return what finding and measuring in a week cost everybody who opted in."""
        weights = DiscreteGaussian(self.weight_scales[week - 1])
        shares = DiscreteGaussian(self.share_scales[week - 1])
        return rho_of(weights, squared_shift_of_weights(self.weight_units)) + rho_of(
            shares, squared_shift_of_shares(self.share_units)
        )

    @cached_property
    def rho_in_all(self) -> Fraction:
        """What all weeks together cost."""
        return sum((self.rho(week) for week in range(1, self.n_weeks + 1)), Fraction(0))

    @cached_property
    def leak(self) -> float:
        """The chance that any test names what one person alone gave, in the whole season, at most.

        It is charged once, in a person's first week.
        """
        weights = weights_up_to(self.most_records, self.weight_units)
        return math.fsum(
            window.leak(weights, self.weight_scales)
            for track in self.tracks
            for window in track.windows
        )

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return what the whole season costs at epsilon at most."""
        return Fraction(self.leak) + Fraction(
            float(delta_of(float(epsilon), float(self.rho_in_all)))
        )

    def numbers(self) -> dict[str, Any]:
        """Return everything it was fixed with, exactly."""
        return {
            "most_records": self.most_records,
            "weight_units": self.weight_units,
            "share_units": self.share_units,
            "weight_scales": [scale.hex() for scale in self.weight_scales],
            "share_scales": [scale.hex() for scale in self.share_scales],
            "tracks": [
                [list(track.starts), list(track.coefficients), list(track.thresholds)]
                for track in self.tracks
            ],
        }

    @classmethod
    def of_numbers(cls, numbers: dict[str, Any]) -> "Season":
        """Build it again; everything is checked again."""
        return cls(
            numbers["most_records"],
            tuple(map(float.fromhex, numbers["weight_scales"])),
            tuple(map(float.fromhex, numbers["share_scales"])),
            tuple(Track(*map(tuple, track)) for track in numbers["tracks"]),
            numbers["weight_units"],
            numbers["share_units"],
        )
