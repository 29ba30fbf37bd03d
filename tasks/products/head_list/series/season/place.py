"""Which week of which season a release is: decided by the ledger, fixed when it is reserved.

The first week of a season that is reserved fixes with what all of its weeks draw, tests and pay;
later ones repeat it. An epoch is a week here, whatever its length.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hybriddp.exact import exact
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.season import Season
from tasks.budget.policy import Policy
from tasks.gates.blocklist import require_blocklist
from tasks.ledger.payloads import Drawn, EarlierWeek, Reserved, SeasonPlace
from tasks.ledger.rules import (
    Entry,
    Kind,
    ended_seasons,
    live_reservations,
    season_key,
)
from tasks.log.epochs import Epoch
from tasks.products.head_list import HEAD_LIST, HEADLIST, JOINING
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun
from tasks.products.registry import product_of
from tasks.publish.standing import Standing, folder_name
from tasks.release.refusals import BadInput, BudgetRefused


@dataclass(frozen=True, slots=True)
class Week:
    """A reserved week of a season, and how far the ledger says it came."""

    release_id: str
    attempt: int
    reserved: Reserved
    place: SeasonPlace
    has_begun: bool  # noise may have been drawn: whoever joined in it has paid for the tests
    state: str | None  # the digest of what it carries on, once it is drawn
    is_drawn: bool
    stands: bool  # it is published, and not withdrawn


def weeks_of(entries: list[Entry], product: str, locale: str, series: str) -> list[Week]:
    """Return every week of a series that was reserved, in the order of the ledger."""
    by_key: dict[tuple[str, int], list[Entry]] = {}
    for entry in entries:
        by_key.setdefault(entry.key, []).append(entry)
    found = []
    for entry in live_reservations(entries):
        reserved = entry.said(Reserved)
        place = reserved.place
        if place is None or (reserved.product, reserved.locale, place.series) != (
            product, locale, series,
        ):  # fmt: skip
            continue
        rows = {(row.kind, row.draw): row for row in by_key[entry.key]}
        drawn = rows.get((Kind.DRAWN, HEADLIST))
        found.append(
            Week(
                entry.release_id,
                entry.attempt,
                reserved,
                place,
                (Kind.DRAW_STARTED, JOINING) in rows,
                None if drawn is None else drawn.said(Drawn).state,
                drawn is not None,
                (Kind.PUBLISHED, "") in rows and (Kind.WITHDRAWN, "") not in rows,
            )
        )
    return found


def season_weeks(run: HeadListRun) -> list[Week]:
    """Return the reserved weeks of a run's season, as the ledger has them now."""
    request, key = run.request, run.place.key
    weeks = weeks_of(run.ledger.entries(), request.product, request.locale, run.place.series)
    return [week for week in weeks if week.place.key == key]


def season_of(place: SeasonPlace) -> Season:
    """Build the season again; everything is checked, once for each season."""
    return _checked(json.dumps(place.numbers))


@lru_cache(8)
def _checked(numbers: str) -> Season:
    return Season.of_numbers(json.loads(numbers))


def budget_of(place: SeasonPlace) -> Budget:
    """Return what the whole season promises."""
    return Budget(place.epsilon, place.delta)


def place_of(request: ReleaseRequest, entries: list[Entry]) -> SeasonPlace:
    """Return the place of a request; refuse what its season has no place for."""
    assert request.series is not None
    weeks = weeks_of(entries, request.product, request.locale, request.series)
    same = [week for week in weeks if week.reserved.epoch == request.epoch]
    if same:
        _require_as_sealed(request, same[-1])
        return same[-1].place
    require_blocklist(request, entries)
    if not weeks:
        return _first_place(request, 1, entries)
    last = max(weeks, key=lambda week: (week.place.season, week.place.week))
    newest, number = last.place, _number(request, last.place)
    require_begun(weeks, newest)
    was_ended = season_key(request.product, request.locale, newest) in ended_seasons(entries)
    if number > season_of(newest).n_weeks or (was_ended and number > newest.week):
        return _first_place(request, newest.season + 1, entries)
    if number <= newest.week:
        raise BudgetRefused(
            f"series {request.series} has gone on to week {newest.week} of season {newest.season}, "
            f"so epoch {request.epoch} is missing from it for good: sums cannot be added to later. "
            "Release the epochs of a series in order. Nobody was charged."
        )
    _require_as_sealed(request, last)
    drawn = sorted(
        (week for week in weeks if week.place.key == newest.key and week.is_drawn),
        key=lambda week: week.place.week,
    )
    earlier = [
        EarlierWeek(week=w.place.week, release_id=w.release_id, attempt=w.attempt)
        for w in drawn
        if w.stands
    ]
    unseen = [week.place.week for week in drawn if not week.stands]
    return newest.model_copy(update={"week": number, "earlier": earlier, "unseen": unseen})


def require_begun(weeks: Iterable[Week], newest: SeasonPlace) -> None:
    """Refuse to go on while a week is reserved and not drawn: who has joined is not known yet."""
    for week in weeks:
        if week.place.key == newest.key and not week.has_begun:
            raise BudgetRefused(
                f"week {week.place.week} of series {newest.series}, epoch {week.reserved.epoch}, "
                "was paid for and is not drawn yet. Run it first, or give it back with `hybriddp "
                f"ledger void {week.release_id}`: it is missing then. Nobody was charged."
            )


def require_lasting_cap(policy: Policy, series: str) -> None:
    """Refuse a series under a cap that refills: tests look back at weeks that have left it."""
    if policy.window_days is not None:
        raise BudgetRefused(
            f"series {series} needs a cap for life, and this one refills every "
            f"{policy.window_days} days: what a week publishes may hold weeks whose charge has "
            "left the window. Set one with `hybriddp ledger policy --window-days 0`, or make "
            "single releases. Nobody was charged."
        )


def _number(request: ReleaseRequest, newest: SeasonPlace) -> int:
    """Return which week of the newest season an epoch would be."""
    epoch, first = Epoch.parse(request.epoch), Epoch.parse(newest.first_epoch)
    if epoch.kind != first.kind:
        raise BadInput(
            f"series {request.series} is released every {first.kind}, got epoch {request.epoch}; "
            "give a period of the same length, or another series. Nobody was charged."
        )
    return epoch.index - first.index + 1


def _first_place(request: ReleaseRequest, number: int, entries: list[Entry]) -> SeasonPlace:
    """Begin a season: fix what all of its weeks draw with, by what the ledger lets stand."""
    assert request.series is not None
    standing = Standing.among(entries, request.product, request.locale)
    params, before = request.params(), standing.newest(lambda e: _is_list(standing, e))
    budget, design = params.budget, SeasonDesign(request.season_weeks, params.max_records_optin)
    # Other lists than weeks of a series may name few records.
    if before is not None and standing.reservation(before).place is not None:
        design = design.after_a_season()
    return SeasonPlace(
        series=request.series,
        season=number,
        week=1,
        first_epoch=request.epoch,
        epsilon=str(budget.epsilon),
        delta=str(budget.delta),
        numbers=design.season(budget).numbers(),
        names_of=None if before is None else folder_name(before),
        earlier=[],
        unseen=[],
    )


def _is_list(standing: Standing, publication: Entry) -> bool:
    return product_of(standing.reservation(publication).parameters) is HEAD_LIST


def clients_rotation(request: ReleaseRequest) -> int:
    """Return in every which epoch a client serves: once in a season at most."""
    return max(request.rotation, request.season_weeks)


def _require_as_sealed(request: ReleaseRequest, week: Week) -> None:
    """Refuse settings that are not those of the season."""
    sealed = week.place
    season = season_of(sealed)
    params, then = request.params(), week.reserved.parameters
    asked: dict[str, Any] = {
        "epsilon": exact(request.epsilon, "epsilon"),
        "delta": exact(request.delta, "delta"),
        "season_weeks": request.season_weeks,
        "max_records_optin": params.max_records_optin,
        "rotation": clients_rotation(request),
        "client_report": params.client_report,
        "query_budget_fraction": params.query_budget_fraction,
    }
    fixed: dict[str, Any] = {
        "epsilon": exact(sealed.epsilon, "epsilon"),
        "delta": exact(sealed.delta, "delta"),
        "season_weeks": season.n_weeks,
        "max_records_optin": season.most_records,
        "rotation": then["rotation"],
        "client_report": then["client_report"],
        "query_budget_fraction": exact(then["query_budget_fraction"], "a fraction"),
    }
    wrong = [name for name, value in asked.items() if value != fixed[name]]
    if wrong:
        name = wrong[0]
        was, given = (
            v if isinstance(v, str) else f"{float(v):g}" for v in (fixed[name], asked[name])
        )
        raise BadInput(
            f"season {sealed.season} of series {sealed.series} was begun in {sealed.first_epoch} "
            f"with {name} {was}, got {given}; it stays so until "
            "its last week. Give the same, or begin another series. Nobody was charged."
        )
