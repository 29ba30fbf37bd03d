"""The days of epochs, as a device reads them off their names. Standard library only."""

import re
from datetime import date, timedelta

_WEEK, _MONTH, _DAY = "week", "month", "day"
_FORMS = {
    _WEEK: re.compile(r"(\d{4})-W(\d{2})", re.ASCII),
    _MONTH: re.compile(r"(\d{4})-(\d{2})", re.ASCII),
    _DAY: re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII),
}
Days = tuple[date, date]


def days_of(epoch: str, later: int = 0) -> Days | None:
    """Return the first and the last day of 2026-W46, 2026-11 or 2026-11-16; None for others.

    Or those of the period of the same kind that comes so many `later`.
    """
    period = _period(epoch)
    try:
        return None if period is None else _days(period[0], period[1] + later)
    except (ValueError, OverflowError):  # beyond the calendar
        return None


def periods_between(first: str, epoch: str) -> int | None:
    """Return how many periods an epoch comes after the first; None if they are not of one kind."""
    one, other = _period(first), _period(epoch)
    if one is None or other is None or one[0] != other[0]:
        return None
    return other[1] - one[1]


def _period(epoch: str) -> tuple[str, int] | None:
    """Return the kind of an epoch, and its number among all of its kind."""
    for kind, form in _FORMS.items():
        if found := form.fullmatch(epoch):
            year, part, day = (*map(int, found.groups()), 1)[:3]
            try:
                if kind == _WEEK:
                    return kind, date.fromisocalendar(year, part, 1).toordinal() // 7
                first = date(year, part, day)
            except ValueError:  # a thirteenth month
                return None
            return kind, first.toordinal() if kind == _DAY else 12 * year + part - 1
    return None


def _days(kind: str, number: int) -> Days:
    if kind == _WEEK:
        first = date.fromordinal(7 * number + 1)
        return first, first + timedelta(days=6)
    if kind == _MONTH:
        first = date(number // 12, number % 12 + 1, 1)
        next_month = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
        return first, next_month - timedelta(days=1)
    day = date.fromordinal(number)
    return day, day
