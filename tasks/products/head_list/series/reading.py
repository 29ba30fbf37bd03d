"""The weeks of a season as they lie in the home."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from tasks.ledger.payloads import Drawn, EarlierWeek, SeasonPlace
from tasks.ledger.rules import Kind
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST, OF_A_WEEK
from tasks.products.head_list.series.measured import MeasuredSeason, WeekTables, found_weeks
from tasks.products.head_list.series.place import season_of
from tasks.release.run import Release


def place_of_release(release: Release) -> SeasonPlace:
    """Return the place that a release was reserved for."""
    place = release.reservation.place
    assert place is not None
    return place


def measured_season(release: Release, tables: Mapping[str, pa.Table]) -> MeasuredSeason:
    """Read a week with those before it that its reservation names."""
    place = place_of_release(release)
    weeks = []
    for earlier in place.earlier:
        before = Release(release.home, earlier.release_id, earlier.attempt)
        found = {group: load_measurement(before, group) for group in OF_A_WEEK}
        weeks.append(WeekTables(earlier.week, before.group_size(HEADLIST), found))
    weeks.append(WeekTables(place.week, release.group_size(HEADLIST), tables))
    return MeasuredSeason.of(season_of(place), weeks, place.unseen)


def stated_season(release: Release, head_list: pa.Table) -> dict[str, Any]:
    """Return what the manifest says of a week's season; of records only what is published."""
    place = place_of_release(release)
    own = {group: load_measurement(release, group) for group in OF_A_WEEK}
    when = found_weeks(measured_season(release, own))
    found: dict[str, dict[str, int]] = {}
    rows = zip(head_list["query"].to_pylist(), head_list["url"].to_pylist(), strict=True)
    for query, url in sorted(rows):
        found.setdefault(query, {})[url] = when[query, url]
    return {
        "first_epoch": place.first_epoch,
        "numbers": place.numbers,
        "earlier": [_stated_week(release, week) for week in place.earlier],
        "unseen": place.unseen,
        "found": found,
    }


def _stated_week(release: Release, earlier: EarlierWeek) -> dict[str, Any]:
    before = Release(release.home, earlier.release_id, earlier.attempt)
    drawn = {group: before.state.find(Kind.DRAWN, group) for group in OF_A_WEEK}
    return {
        **earlier.as_json(),
        "people": before.group_size(HEADLIST),
        "measurements": {g: row.said(Drawn).sha256 for g, row in drawn.items() if row is not None},
    }
