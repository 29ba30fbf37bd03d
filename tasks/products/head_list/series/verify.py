"""Is a week what its season's measurements give, and is what it costs what it promises?"""

from collections.abc import Iterator, Mapping
from functools import partial

import numpy as np
import pyarrow as pa

from hybriddp.accounting.price import Price
from hybriddp.params import Budget
from hybriddp.randomizers.laws import client_budget
from hybriddp.series.finding import Carried, WeekFinding
from hybriddp.series.measured import WeekMeasured
from hybriddp.series.season import Season
from tasks.ledger.payloads import SeasonPlace
from tasks.log.epochs import Epoch
from tasks.products.head_list import HEADLIST, OF_A_WEEK
from tasks.products.head_list.estimation.listing import Measured
from tasks.products.head_list.label import HeadListManifest
from tasks.products.head_list.series.changes import changes_of, changes_table
from tasks.products.head_list.series.measured import MeasuredSeason, WeekTables, found_weeks
from tasks.products.head_list.series.request import SERIES_VERSION, week_prices
from tasks.products.head_list.series.season.place import season_of
from tasks.verify.checks import VerificationFailed


def season_prices(manifest: HeadListManifest) -> dict[str, Budget | Price]:
    """Return what each group of a week pays, if its season keeps what it promises."""
    stated, parameters = manifest.season, manifest.parameters
    assert stated is not None
    place = stated.place(parameters)
    season = season_of(place)
    facts = (
        (season.n_weeks, parameters.season_weeks),
        (season.most_records, parameters.params.max_records_optin),
        (SERIES_VERSION, parameters.mechanism_version),
        (place.week, _week_of(manifest, place)),
        (max(season.n_weeks, parameters.rotation), parameters.rotation),
    )
    if any(drawn != said for drawn, said in facts):
        raise VerificationFailed("the season is not the one that the parameters speak of.")
    weeks = [week.week for week in stated.earlier]
    every = [*weeks, *stated.unseen]
    is_ordered = all(some == sorted(some) for some in (weeks, stated.unseen))
    if not is_ordered or len(set(every)) < len(every) or any(week >= place.week for week in every):
        raise VerificationFailed("the weeks before are not in order.")
    return week_prices(place, client_budget(parameters.params))


def _week_of(manifest: HeadListManifest, place: SeasonPlace) -> int:
    """Return which week of its season an epoch is."""
    epoch, first = Epoch.parse(manifest.epoch), Epoch.parse(place.first_epoch)
    return epoch.index - first.index + 1 if epoch.kind == first.kind else 0


def earlier_files(manifest: HeadListManifest) -> Iterator[tuple[str, str, int, str, str]]:
    """Return the measurements of the weeks before: key, release, attempt, group and digest."""
    stated = manifest.season
    for week in [] if stated is None else stated.earlier:
        if set(week.measurements) != set(OF_A_WEEK):
            raise VerificationFailed("a week before lacks a measurement.")
        for group, digest in week.measurements.items():
            yield _key(week.week, group), week.release_id, week.attempt, group, digest


def season_again(manifest: HeadListManifest, tables: Mapping[str, pa.Table]) -> MeasuredSeason:
    """Read all weeks; see that the list, and when its records were found, follow from them."""
    stated, params = manifest.season, manifest.parameters.params
    assert stated is not None
    place = stated.place(manifest.parameters)
    weeks = [
        WeekTables(week.week, week.people, {g: tables[_key(week.week, g)] for g in OF_A_WEEK})
        for week in stated.earlier
    ]
    own = {group: tables[group] for group in OF_A_WEEK}
    weeks.append(WeekTables(place.week, manifest.guarantees[HEADLIST].people, own))
    found = MeasuredSeason.of(season_of(place), weeks, stated.unseen)
    if not all(map(partial(_passed, found.draws.season), found.draws.weeks)):
        raise VerificationFailed("a record was named without passing a test of its week.")
    if (stated.prior_from is None) != (found.draws.now.prior is None):
        raise VerificationFailed("the season began with another list than the manifest says.")
    if found.listing(params).cells != found.chosen(params).cells:
        raise VerificationFailed("clients were asked about another list than the weeks give.")
    when = found_weeks(found)
    said = {(q, u): week for q, urls in stated.found.items() for u, week in urls.items()}
    if any(when.get(record) != week for record, week in said.items()):
        raise VerificationFailed("records were found in other weeks than the manifest says.")
    return found


def _passed(season: Season, week: WeekMeasured) -> bool:
    """Whether every record that a week named passes a test of it."""
    sums = week.sums[week.is_new]
    named = Carried(week.week, sums, np.ones_like(sums, dtype=np.bool_))
    return bool(WeekFinding(season, week.week).named(named).all())


def changes_again(
    manifest: HeadListManifest,
    found: Measured | MeasuredSeason,
    published: Mapping[str, pa.Table],
    blocked: frozenset[str],
    *,
    is_sure: bool,
) -> pa.Table:
    """Find what changed again; as many queries are hidden as the manifest says.

    Args:
        is_sure: These are all texts that are left out; else what is missing may be, too.
    """
    assert isinstance(found, MeasuredSeason)
    assert manifest.season is not None
    every = changes_of(manifest.parameters.params, found)
    rows = published["head_list"].select(["query", "url"]).to_pylist()
    stated = {(query, url) for query, urls in manifest.season.found.items() for url in urls}
    if {(row["query"], row["url"]) for row in rows} != stated:
        raise VerificationFailed("the season speaks of other records than are published.")
    shown = set(published["changes"]["query"].to_pylist())
    hidden = blocked if is_sure else blocked | (set(every["query"].to_list()) - shown)
    again = changes_table(every, manifest.decimals, hidden)
    if len(every) - again.num_rows != manifest.season.hidden_changes:
        raise VerificationFailed("changes are missing beyond those that were blocked.")
    return again


def _key(week: int, group: str) -> str:
    return f"{group} of week {week}"
