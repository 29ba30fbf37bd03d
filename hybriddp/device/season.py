"""The season of a series' week: who may report in it, in which week, and when it is over.

Standard library only. A client reports once in a season, in a week that its device draws by itself.
"""

import hmac
from dataclasses import dataclass, fields, replace
from datetime import date, timedelta
from typing import Any

from hybriddp.device.canonical import NAME, REMEDY, canonical_json, check_text, read_object
from hybriddp.device.periods import days_of, periods_between
from hybriddp.errors import InvalidParameter, require
from hybriddp.params import MOST_WEEKS

# A period is released once it is over, with the opt-in people of that day. So a season may charge
# people for so many days after its last one; then the curator reserves no more of its weeks.
DAYS_TO_RESERVE = 28
# What the device's own week follows from.
SECRET_BYTES = 32

_MOST = {
    "season": 10_000, "week": MOST_WEEKS, "season_weeks": MOST_WEEKS, "clients_rotation": 10_000,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class WeekOfSeason:
    """A week of a season, as a collection package states it; an epoch of any length is a week."""

    series: str
    season: int
    week: int
    season_weeks: int
    first_epoch: str
    clients_rotation: int

    def __post_init__(self) -> None:
        for name in ("series", "first_epoch"):
            check_text(name, getattr(self, name), NAME)
        for name, most in _MOST.items():
            value = getattr(self, name)
            require(
                type(value) is int and 1 <= value <= most,
                f"{name} must be a whole number from 1 to {most}",
                "another value",
                REMEDY,
            )
        require(
            self.week <= self.season_weeks <= self.clients_rotation,
            "a season must have its week, and clients must serve at most once in it",
            f"week {self.week} of {self.season_weeks}, rotation {self.clients_rotation}",
            REMEDY,
        )
        self._days()

    @classmethod
    def read(cls, value: Any) -> "WeekOfSeason":
        """Read what a package or an account says of it."""
        return cls(**read_object("season", value, {field.name for field in fields(cls)}))

    def check_epoch(self, epoch: str) -> None:
        """See that the epoch is this week of the season."""
        require(
            periods_between(self.first_epoch, epoch) == self.week - 1,
            f"epoch must be week {self.week} of the season that began in {self.first_epoch}",
            epoch,
            REMEDY,
        )

    @property
    def first_day(self) -> date:
        """The day on which the season began."""
        return self._days()[0]

    @property
    def last_day(self) -> date:
        """The last day that any of its weeks is about."""
        return self._days()[1]

    @property
    def is_over_on(self) -> date:
        """The first day on which no curator reserves a week of it any more."""
        return self.last_day + timedelta(days=DAYS_TO_RESERVE + 1)

    def is_same_season(self, other: "WeekOfSeason") -> bool:
        """Whether both are of one season; two of one series have no day in common."""
        if self.series != other.series:
            return False
        are_apart = self.last_day < other.first_day or other.last_day < self.first_day
        return self.season == other.season or not are_apart

    @property
    def facts(self) -> "WeekOfSeason":
        """What all weeks of the season must state alike: the same, as its first week."""
        return replace(self, week=1)

    def own_week(self, secret: bytes, product: str, locale: str) -> int:
        """Return the week, of as many as the rotation has, in which the device of a secret reports.

        It is floor(R h / 2^256) + 1, where h is the HMAC-SHA256 as a number and R the rotation. If
        h is uniform, each week has a chance of 1/R up to 2^-256, so nobody needs to draw again.
        """
        which = {"product": product, "locale": locale, "series": self.series, "season": self.season}
        digest = hmac.digest(secret, canonical_json(which), "sha256")
        return 1 + (int.from_bytes(digest, "big") * self.clients_rotation >> 8 * len(digest))

    def _days(self) -> tuple[date, date]:
        first = days_of(self.first_epoch)
        last = days_of(self.first_epoch, later=self.season_weeks - 1)
        latest = date.max - timedelta(days=DAYS_TO_RESERVE + 1)
        if first is None or last is None or last[1] > latest:
            raise InvalidParameter(
                "first_epoch must be a week, month or day of the calendar with room for the "
                f"season, got another; {REMEDY}."
            )
        return first[0], last[1]
