"""Epochs: the days, weeks or months that releases are made for."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta

from hybriddp.errors import InvalidParameter

# Whether rows are known to lie in their epoch.
TIMES_CHECKED, TIMES_MISSING = "checked", "not in the log"
# What a schedule asks for: the last period that is over.
LAST = {"last-week": "week", "last-month": "month", "yesterday": "day"}

_FORMS = {
    "day": re.compile(r"(\d{4})-(\d{2})-(\d{2})"),
    "week": re.compile(r"(\d{4})-W(\d{2})"),
    "month": re.compile(r"(\d{4})-(\d{2})"),
}


@dataclass(frozen=True, slots=True)
class Epoch:
    """One period; `index` counts periods of its kind without gaps, which rotation needs."""

    kind: str
    start: date

    @classmethod
    def parse(cls, text: str) -> "Epoch":
        """Read 2026-W46 (ISO week), 2026-11 or 2026-11-16."""
        for kind, form in _FORMS.items():
            match = form.fullmatch(text)
            if match:
                try:
                    epoch = cls(kind, _first_day(kind, *map(int, match.groups())))
                    epoch.end  # noqa: B018 - the last week of the calendar has none
                except (ValueError, OverflowError):
                    break  # a thirteenth month, a 54th week
                return epoch
        raise InvalidParameter(
            f"epoch must be a week, month or day of the calendar, got {text!r}; "
            "write it like 2026-W46, 2026-11 or 2026-11-16, or last-week, last-month, yesterday."
        )

    @classmethod
    def containing(cls, kind: str, moment: datetime) -> "Epoch":
        """Return the period of this kind that a moment lies in."""
        day = moment.astimezone(UTC).date()
        match kind:
            case "week":
                return cls(kind, day - timedelta(days=day.weekday()))
            case "month":
                return cls(kind, day.replace(day=1))
            case _:
                return cls(kind, day)

    @classmethod
    def resolve(cls, text: str, moment: datetime) -> "Epoch":
        """Read an epoch; `last-week`, `last-month` and `yesterday` are seen from the moment."""
        if text not in LAST:
            return cls.parse(text)
        now = cls.containing(LAST[text], moment)
        a_day_before = datetime.combine(now.start - timedelta(days=1), time(12), tzinfo=UTC)
        return cls.containing(LAST[text], a_day_before)

    @property
    def end(self) -> date:
        """The first day that is not in it any more."""
        match self.kind:
            case "week":
                return self.start + timedelta(days=7)
            case "month":
                return (self.start + timedelta(days=31)).replace(day=1)
            case _:
                return self.start + timedelta(days=1)

    @property
    def period(self) -> tuple[datetime, datetime]:
        """When it starts, and when it is over, in UTC and without saying so, as SQL has times."""
        return datetime.combine(self.start, time()), datetime.combine(self.end, time())

    def require_over(self, moment: datetime) -> None:
        """Refuse a period of which rows are still to come."""
        if moment.astimezone(UTC).date() < self.end:
            raise InvalidParameter(
                f"epoch must be over before it is released, got {self}, which ends on {self.end} "
                "at 00:00 UTC; release it then, or an earlier one. Nobody was charged."
            )

    @property
    def index(self) -> int:
        """Number of this period among all of its kind."""
        match self.kind:
            case "week":
                return self.start.toordinal() // 7
            case "month":
                return self.start.year * 12 + self.start.month - 1
            case _:
                return self.start.toordinal()

    def __str__(self) -> str:
        match self.kind:
            case "week":
                year, week, _ = self.start.isocalendar()
                return f"{year:04d}-W{week:02d}"
            case "month":
                return f"{self.start.year:04d}-{self.start.month:02d}"
            case _:
                return self.start.isoformat()


def _first_day(kind: str, year: int, part: int = 1, day: int = 1) -> date:
    return date.fromisocalendar(year, part, 1) if kind == "week" else date(year, part, day)
