"""Epochs: read, written, and counted without gaps."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from tasks.log.epochs import Epoch

KINDS = ("day", "week", "month")
# A week more or less must exist for the tests of neighbours.
days = st.dates(date(1, 3, 1), date(9999, 10, 1))


def epoch_of(kind: str, day: date) -> Epoch:
    return Epoch.containing(kind, datetime(day.year, day.month, day.day, 12, tzinfo=UTC))


@pytest.mark.parametrize(
    ("text", "kind", "start"),
    [
        ("2026-W46", "week", date(2026, 11, 9)),
        ("2026-W53", "week", date(2026, 12, 28)),
        ("2027-W01", "week", date(2027, 1, 4)),
        ("2024-W01", "week", date(2024, 1, 1)),
        ("2026-11", "month", date(2026, 11, 1)),
        ("2028-02-29", "day", date(2028, 2, 29)),
        ("0001-W01", "week", date(1, 1, 1)),
    ],
)
def test_an_epoch_is_read_as_written(text, kind, start):
    assert Epoch.parse(text) == Epoch(kind, start)
    assert str(Epoch.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    ["2025-W53", "2026-W00", "2026-13", "2026-00", "2026-02-29", "2026-W5", "2026-1", "2026",
     "26-W46", "", " 2026-W46", "2026-W46\n", "2026-w46", "0000-01", "2026-W46-1"],
)  # fmt: skip
def test_what_is_no_period_of_the_calendar_is_refused(text):
    with pytest.raises(InvalidParameter, match="2026-W46, 2026-11 or 2026-11-16"):
        Epoch.parse(text)


@given(st.sampled_from(KINDS), days)
def test_an_epoch_comes_back_from_its_text_and_holds_its_day(kind, day):
    epoch = epoch_of(kind, day)
    assert Epoch.parse(str(epoch)) == epoch
    assert (
        epoch.start <= day < epoch.start + timedelta(days={"day": 1, "week": 7, "month": 31}[kind])
    )


@given(st.sampled_from(KINDS), days)
def test_the_index_counts_without_gaps_over_years(kind, day):
    """Else somebody would serve twice in a rotation, or never."""
    epoch = epoch_of(kind, day)
    length = {"day": 1, "week": 7, "month": 32}[kind]
    following = epoch_of(kind, epoch.start + timedelta(days=length))
    assert following.index == epoch.index + 1


def test_a_moment_belongs_to_its_epoch_in_universal_time():
    late = datetime(2026, 11, 8, 23, 30, tzinfo=timezone(timedelta(hours=-5)))
    assert str(Epoch.containing("week", late)) == "2026-W46", "Monday, 04:30 UTC"
    assert str(Epoch.containing("day", late)) == "2026-11-09"
