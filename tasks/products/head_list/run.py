"""One run of a head list's release: which one it is, and whether devices report."""

from dataclasses import dataclass
from typing import ClassVar

from hybriddp.params import BlenderParams
from tasks.budget.policy import current_policy
from tasks.ledger.payloads import Reserved, SeasonPlace
from tasks.ledger.rules import Entry, Kind
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.head_list.request import ReleaseRequest
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.release.run import Release, SearchRun, find_attempt, release_ids_of
from tasks.store.home import Home
from tasks.store.keys import open_for_writing


def parameters_of(release: Release) -> HeadListParameters:
    """Return everything that was reserved to decide what is measured."""
    return HeadListParameters.read(release.reservation.parameters)


def params_of(release: Release) -> BlenderParams:
    """Return the exact parameters of the mechanisms that were reserved."""
    return parameters_of(release).params


@dataclass(frozen=True)
class HeadListRun(SearchRun):
    """One run of a head list's release."""

    request: ReleaseRequest
    active_people: ClassVar[str] = "head_list/active_people"

    @property
    def has_devices(self) -> bool:
        """Whether real devices report; simulated clients need no package, so none is published."""
        return self.request.clients == "reports"

    def place_among(self, entries: list[Entry]) -> SeasonPlace | None:
        """Return its place in a season, if it has one; refuse if others have taken it."""
        if self.request.series is None:
            return None
        from tasks.log.warehouse import open_warehouse
        from tasks.products.head_list.measuring.cohorts import groups_are_stale
        from tasks.products.head_list.series.draws import require_carried
        from tasks.products.head_list.series.reading import require_measured
        from tasks.products.head_list.series.season.place import place_of, require_lasting_cap

        place = place_of(self.request, entries)
        with open_warehouse(self) as engine:
            is_stale = groups_are_stale(engine, self)
        if place != self.place or is_stale:  # who takes part was decided on what was known then
            raise BudgetRefused(
                f"series {place.series} has gone on meanwhile; run again. Nobody was charged."
            )
        require_lasting_cap(current_policy(entries), place.series)
        _require_season_lasts(self)
        require_carried(self)
        require_measured(self)
        return place

    @property
    def place(self) -> SeasonPlace:
        """Its place in a season, as the request knows it."""
        place: SeasonPlace = getattr(self.request, "place")  # noqa: B009 - only weeks have one
        return place

    @property
    def is_collecting(self) -> bool:
        """Whether reports of devices are awaited."""
        return self.has_devices and not self.state.has(Kind.DRAWN, CLIENTS)


def identify(request: ReleaseRequest, home: Home) -> HeadListRun:
    """Find out which release of a head list this is."""
    request = _as_reserved(request, home)
    if request.series is not None:
        request = _placed(request, home)
    run = HeadListRun(home, *find_attempt(request, home), request)
    _require_opted_in_people_named(run)
    if not run.state.has(Kind.RESERVED):
        _require_season_lasts(run)
    return run


def _require_season_lasts(run: HeadListRun) -> None:
    """Refuse a week that comes too late to ask devices of, as reserving it would."""
    if run.has_devices and run.request.series is not None:
        from tasks.products.head_list.measuring.collection import require_season_lasts

        require_season_lasts(run)


def _placed(request: ReleaseRequest, home: Home) -> ReleaseRequest:
    """Give a week of a series its place, which only the ledger knows."""
    # Most releases are none, and what seasons draw with takes long to import.
    from tasks.products.head_list.series.request import WeekRequest
    from tasks.products.head_list.series.season.place import place_of
    from tasks.products.head_list.series.season.state import forget_ended

    ledger = open_for_writing(home)
    entries = ledger.entries()
    # A burnt last week is refused before anything else.
    forget_ended(entries, home, ledger.moment())
    return WeekRequest.at_place(request, place_of(request, entries))


def _as_reserved(request: ReleaseRequest, home: Home) -> ReleaseRequest:
    """Return the request as earlier versions read it, if people have paid for that.

    The same words asked for five records of a person until 0.2.0, and are still a replay of it.
    """
    before = request.as_before
    if before is None or not _is_known(before, home) or _is_known(request, home):
        return request
    return before


def _is_known(request: ReleaseRequest, home: Home) -> bool:
    """Whether the ledger has a release of this very request."""
    ledger = open_for_writing(home)
    reserved = (e.said(Reserved) for e in ledger.entries() if e.kind is Kind.RESERVED)
    if not any(reservation.slot == request.slot for reservation in reserved):
        return False  # without reading the log
    return any(ledger.attempts(known) for known in release_ids_of(request, home))


def _require_opted_in_people_named(run: HeadListRun) -> None:
    """Refuse to take everybody in a log for opted in unless somebody says so.

    What version 0.1.0 has charged in that way goes on to its end.
    """
    if run.request.names_opted_in_people or run.state.has(Kind.RESERVED):
        return
    raise BadInput(
        "with reports of devices nobody knows who of the log opted in, and whose device may "
        "report: name opt-in people by a roster (--roster) or a column (--columns optin=NAME), or "
        "say that everybody in the log opted in (--everybody-opted-in). Nobody was charged."
    )
