"""The days of an epoch, as a device reads them off its name. Standard library only."""

import re
from datetime import date, timedelta

_WEEK = re.compile(r"(\d{4})-W(\d{2})", re.ASCII)
_MONTH = re.compile(r"(\d{4})-(\d{2})", re.ASCII)
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)


def days_of(epoch: str) -> tuple[date, date] | None:
    """Return the first and the last day of 2026-W46, 2026-11 or 2026-11-16; None for others."""
    try:
        if found := _WEEK.fullmatch(epoch):
            first = date.fromisocalendar(int(found[1]), int(found[2]), 1)
            return first, first + timedelta(days=6)
        if found := _MONTH.fullmatch(epoch):
            first = date(int(found[1]), int(found[2]), 1)
            next_month = (first.replace(day=28) + timedelta(days=4)).replace(day=1)
            return first, next_month - timedelta(days=1)
        if found := _DAY.fullmatch(epoch):
            day = date(int(found[1]), int(found[2]), int(found[3]))
            return day, day
    except (ValueError, OverflowError):  # a thirteenth month, a year beyond the calendar
        return None
    return None
