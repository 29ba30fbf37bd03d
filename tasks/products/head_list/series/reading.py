"""The weeks of a season as they lie in the home, and the list before it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from hybriddp.series.measured import Prior
from tasks.ledger.ledger import LedgerCorrupt
from tasks.ledger.payloads import EarlierWeek, SeasonPlace
from tasks.ledger.rules import Kind
from tasks.log.epochs import Epoch
from tasks.measured.stored import load_measurement
from tasks.products.head_list import HEADLIST, OF_A_WEEK
from tasks.products.head_list.label import HeadListManifest
from tasks.products.head_list.measuring.left_out_file import named_records
from tasks.products.head_list.measuring.weighted import pairs_of
from tasks.products.head_list.run import HeadListRun
from tasks.products.head_list.series.earlier import measured_week
from tasks.products.head_list.series.measured import (
    MeasuredSeason,
    Pair,
    Said,
    WeekTables,
    found_weeks,
    prior_of,
)
from tasks.products.head_list.series.season.place import Week, season_of
from tasks.publish.notices import is_taken_down
from tasks.publish.standing import Standing
from tasks.release.refusals import BadInput
from tasks.release.run import Release
from tasks.store.keys import Keyring
from tasks.verify.checks import VerificationFailed
from tasks.verify.found import Found
from tasks.verify.verify import known_release

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
        before = measured_week(release.home, earlier)
        weeks.append(WeekTables(earlier.week, before.n_people, before.tables))
    weeks.append(WeekTables(place.week, release.group_size(HEADLIST), tables))
    return MeasuredSeason.of(season_of(place), weeks, place.unseen)


def require_measured(run: HeadListRun) -> None:
    """See that what a week is estimated from can be read, before anybody pays for it."""
    for earlier in run.place.earlier:
        try:
            measured_week(run.home, earlier)
        except LedgerCorrupt as error:
            raise LedgerCorrupt(
                f"{error} Week {run.place.week} of series {run.place.series} is estimated from it, "
                "too: until then nobody is charged. If it is lost for good, go on without that "
                f"week: `hybriddp withdraw {earlier.release_id}`."
            ) from None


def known_before(run: HeadListRun, drawn: Sequence[Week]) -> tuple[list[Pair], dict[Pair, Said]]:
    """Return the records that are known before a week, and what was said of them before the season.

    Known is what was measured in the last week that was drawn. Before the first one these are the
    names of the list that was published when the season began. What that list said stands in the
    first week that was drawn, and is handed on as long as the ledger lets the list stand. All of
    it is public.

    Args:
        drawn: The weeks of the season that were drawn before it, in order.
    """
    folder = _list_before(run)
    if drawn:
        first, last = (_measured(run, week) for week in (drawn[0], drawn[-1]))
        return pairs_of(named_records(last)), {} if folder is None else prior_of(first)
    if folder is None:
        return [], {}
    found = _as_published(run, folder)
    rows = found.tables["head_list"].to_pylist()
    known = sorted((row["query"], row["url"]) for row in rows)
    if len(set(known)) < len(known):
        raise _not_published(run, folder, "it names a record twice.")
    assert isinstance(found.manifest, HeadListManifest)
    return known, _said(run, found.manifest, rows)


def _measured(run: HeadListRun, week: Week) -> pa.Table:
    return load_measurement(Release(run.home, week.release_id, week.attempt), HEADLIST)


def _list_before(run: HeadListRun) -> Path | None:
    """Return the list whose names the season began with, if the ledger lets it stand.

    A folder that shows what was taken down is refused: whoever restored it may use it again.
    """
    request, name = run.request, run.place.names_of
    if name is None:
        return None
    standing = Standing.of(run.home, request.product, request.locale)
    publication = standing.named(name)
    folder = run.home.shelf(request.product, request.locale) / name
    if publication is None:
        raise LedgerCorrupt(
            f"the ledger does not know {name}, the list that a season of series {run.place.series} "
            "begins with; restore the ledger from its newest backup. Nothing was drawn."
        )
    row = standing.taken_down_by(publication)
    if row is not None and folder.exists() and not is_taken_down(folder):
        command = "reprocess" if row.kind is Kind.REVISED else "withdraw"
        raise BadInput(
            f"{folder} is the list that season {run.place.season} of series {run.place.series} "
            "began with. The ledger says that it was taken down, and its folder does not: "
            f"`hybriddp {command} {publication.release_id}` mends it. Until then nobody is charged "
            "and nothing is drawn."
        )
    return folder if row is None else None


def _as_published(run: HeadListRun, folder: Path) -> Found:
    """Read a list of this home, which is what was signed, and what the ledger knows."""
    try:
        return known_release(run.home, folder, Keyring.open(run.home).public_key)
    except VerificationFailed as error:
        raise _not_published(run, folder, str(error)) from None


def _not_published(run: HeadListRun, folder: Path, why: str) -> BadInput:
    release_id = folder.name.partition(".")[0]
    return BadInput(
        f"season {run.place.season} of series {run.place.series} begins with the list in {folder}, "
        f"and that is not what was published there: {why} Restore the folder from the backup of "
        f"the public zone; or move it away and run release {release_id} again, which makes it "
        f"again for free; or do without the list: `hybriddp withdraw {release_id}`. Until then "
        "nobody is charged and nothing is drawn."
    )


def _said(
    run: HeadListRun, manifest: HeadListManifest, rows: list[dict[str, Any]]
) -> dict[Pair, Said]:
    """Return what a list said of its records, if it is an earlier week of a season.

    How exact other lists are, and how far searches go in epochs of another length, is not known.
    """
    if manifest.season is None:
        return {}
    then, first = Epoch.parse(manifest.epoch), Epoch.parse(run.place.first_epoch)
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
        **({"prior_from": place.names_of} if prior_of(own[HEADLIST]) else {}),
    }


def _stated_week(release: Release, earlier: EarlierWeek) -> dict[str, Any]:
    before = measured_week(release.home, earlier)
    return {
        **earlier.as_json(),
        "people": before.n_people,
        "measurements": dict(before.digests),
    }
