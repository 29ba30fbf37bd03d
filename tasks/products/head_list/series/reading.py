"""The weeks of a season as they lie in the home, and the list before it."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.series.measured import Prior
from tasks.ledger.payloads import Drawn, EarlierWeek, SeasonPlace
from tasks.ledger.rules import Kind
from tasks.log.epochs import Epoch
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST, OF_A_WEEK
from tasks.products.head_list.label import HeadListManifest
from tasks.products.head_list.measuring.left_out_file import named_records
from tasks.products.head_list.measuring.weighted import pairs_of
from tasks.products.head_list.run import HeadListRun
from tasks.products.head_list.series.measured import (
    MeasuredSeason,
    Pair,
    Said,
    WeekTables,
    found_weeks,
    prior_of,
)
from tasks.products.head_list.series.place import Week, season_of
from tasks.publish.shelf import list_rows
from tasks.release.refusals import BadInput
from tasks.release.run import Release
from tasks.store.reading import Unreadable, parse_json, read_file

_INTERVAL = ("probability", "ci_low", "ci_high")


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


def known_before(run: HeadListRun, before: Week | None) -> tuple[list[Pair], dict[Pair, Said]]:
    """Return the records that are known before a week, and what was said of them before the season.

    Known is what was measured in the last week that was drawn. Before the first one these are the
    names of the list that was published when the season began. What that list said is handed on
    from week to week as long as it stands. All of it is public.
    """
    folder = _list_before(run)
    if before is not None:
        table = load_measurement(Release(run.home, before.release_id, before.attempt), HEADLIST)
        return pairs_of(named_records(table)), {} if folder is None else prior_of(table)
    if folder is None:
        return [], {}
    rows = list(list_rows(folder, "head_list"))
    return sorted((row["query"], row["url"]) for row in rows), _said(run, folder, rows)


def _list_before(run: HeadListRun) -> Path | None:
    """Return the list whose names the season began with, unless it was taken down since."""
    if run.place.names_of is None:
        return None
    folder = run.home.shelf(run.request.product, run.request.locale) / run.place.names_of
    return folder if (folder / "manifest.json").exists() else None


def _said(run: HeadListRun, folder: Path, rows: list[dict[str, Any]]) -> dict[Pair, Said]:
    """Return what a list said of its records, if it is an earlier week of a season.

    How exact other lists are, and how far searches go in epochs of another length, is not known.
    """
    try:
        raw = parse_json(read_file(folder, "manifest.json"), "manifest.json")
        if raw.get("season") is None:
            return {}
        manifest = HeadListManifest.model_validate(raw)
        then, first = Epoch.parse(manifest.epoch), Epoch.parse(run.place.first_epoch)
    except (Unreadable, AttributeError, ValueError):
        raise BadInput(
            f"{folder} has a manifest that this version cannot read; restore the public zone from "
            "its backup. Nothing was drawn."
        ) from None
    weeks = first.index - then.index
    if then.kind != first.kind or weeks < 1:
        return {}
    columns = (np.array([row[name] for row in rows], dtype=np.float64) for name in _INTERVAL)
    prior = Prior.of(weeks, *columns, unit=10.0**-manifest.decimals)
    numbers = zip(prior.values.tolist(), prior.variances.tolist(), strict=True)
    return {
        (row["query"], row["url"]): (value, variance, weeks)
        for row, (value, variance) in zip(rows, numbers, strict=True)
        if np.isfinite(value)
    }


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
