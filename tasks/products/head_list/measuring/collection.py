"""The collection package: the signed list and parameters that devices report on."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from hybriddp.device.curator import CuratorStatement, Loss
from hybriddp.device.package import (
    PACKAGE_FILE,
    SIGNATURE_FILE,
    TOMBSTONE_FILE,
    CollectionPackage,
    read_package,
    signed_bytes,
)
from hybriddp.device.season import DAYS_TO_RESERVE, WeekOfSeason
from hybriddp.errors import HybridDPError
from tasks.budget.policy_change import promised_policy
from tasks.ledger.charges import DELTA_UNITS, EPSILON_UNITS
from tasks.ledger.ledger import LedgerCorrupt
from tasks.ledger.payloads import SeasonPlace
from tasks.ledger.rules import Entry, Kind
from tasks.log.raw.files import BadInput
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.estimation.processing import published_listing
from tasks.products.head_list.measuring.left_out import blocked_now, require_settled
from tasks.products.head_list.parameters import HeadListParameters
from tasks.products.head_list.run import HeadListRun, parameters_of, params_of
from tasks.release.refusals import BudgetRefused
from tasks.release.run import Release
from tasks.release.run import collection_id as collection_id  # many know it from here
from tasks.store.home import whole_directory
from tasks.store.keys import Keyring
from tasks.verify.signatures import is_signed

# The rows after which the ledger may promise another cap.
_CHANGES_THE_CAP = (Kind.POLICY, Kind.RESERVED, Kind.VOIDED)


def build_package(release: Release) -> CollectionPackage:
    """Describe the release to devices; everything in it is public."""
    reserved = release.reservation
    return CollectionPackage(
        release_id=collection_id(release),
        product=reserved.product,
        epoch=reserved.epoch,
        locale=reserved.locale,
        params=params_of(release),
        head_list=tuple(
            (query, tuple(urls)) for query, urls in published_listing(release).urls_by_query.items()
        ),
        curator=_statement(release),
        season=season_stated(release),
    )


def season_stated(release: Release) -> WeekOfSeason | None:
    """Return which week of which season it is, if it is one, as it was reserved."""
    place = release.reservation.place
    return None if place is None else _week_of(place, parameters_of(release))


def _week_of(place: SeasonPlace, asked: HeadListParameters) -> WeekOfSeason:
    """Return a week as devices are told of it."""
    assert asked.season_weeks is not None
    return WeekOfSeason(
        series=place.series,
        season=place.season,
        week=place.week,
        season_weeks=asked.season_weeks,
        first_epoch=place.first_epoch,
        clients_rotation=asked.rotation,
    )


def require_season_lasts(run: HeadListRun) -> None:
    """Refuse a week of a season that devices take for over: who reported in it may opt in since.

    They would be charged for the season a second time, in the ledger.
    """
    week = _week_of(run.place, run.request.parameters())
    if run.ledger.moment().date() >= week.is_over_on:
        raise BudgetRefused(
            f"season {week.season} of series {week.series} ended on {week.last_day}, and with "
            f"devices its weeks can be reserved for {DAYS_TO_RESERVE} more days: from "
            f"{week.is_over_on} on people whose device reported in it may opt in, and would pay "
            f"for it twice. Epoch {run.request.epoch} is missing from the series for good; go on "
            "with one of the next season. Nobody was charged."
        )


def _statement(release: Release) -> CuratorStatement:
    """State what the ledger promises now, and its head as early as it promised that.

    So a package that is made again is the same: when the list was complete, all was there that it
    says. Only if the policy was changed since, it may have to speak of a later row.
    """
    entries, listed = release.ledger.entries(), _last_row(release)
    cap = lifetime_cap(entries)
    head = next(
        entry
        for number, entry in enumerate(entries, start=1)
        if entry.seq >= listed.seq
        and (entry.seq == listed.seq or entry.kind in _CHANGES_THE_CAP)
        and lifetime_cap(entries[:number]) == cap
    )
    return CuratorStatement(head.seq, head.hash, cap)


def _last_row(release: Release) -> Entry:
    """Return the row with which everything was there that the package says."""
    rows = [
        entry
        for entry in release.state.entries
        if entry.kind is Kind.LISTED or (entry.kind is Kind.DRAWN and entry.draw != CLIENTS)
    ]
    return rows[-1]


def lifetime_cap(entries: list[Entry]) -> Loss | None:
    """Return what nobody was or is charged beyond; None if the budget refills or ever did."""
    promised = promised_policy(entries)
    if promised.window_days is not None:
        return None
    cap = promised.cap
    return Loss(Fraction(cap.epsilon, EPSILON_UNITS), Fraction(cap.delta, DELTA_UNITS))


def publish_package(run: HeadListRun) -> Path:
    """Write the signed package, or find that it is there already; return its folder."""
    folder = run.home.collection(collection_id(run))
    # Once the reports are in, nobody needs it any more: what is gone or taken down stays so.
    if (folder / TOMBSTONE_FILE).exists() or run.state.has(Kind.DRAWN, CLIENTS):
        return folder
    require_settled(run)
    package = build_package(run)
    if folder.exists():
        _require_same(run, folder, package)
        return folder
    _require_nothing_blocked(run)
    return write_package(run, package)


def write_package(release: Release, package: CollectionPackage) -> Path:
    """Sign a package and put it where devices find it; return its folder."""
    folder, data = release.home.collection(package.release_id), package.to_bytes()
    with whole_directory(folder) as partial:
        (partial / PACKAGE_FILE).write_bytes(data)
        signature = Keyring.open(release.home).signing.sign(signed_bytes(data))
        (partial / SIGNATURE_FILE).write_bytes(signature)
    return folder


def _require_same(run: HeadListRun, folder: Path, package: CollectionPackage) -> None:
    """Refuse a package that asks something else.

    What it states of the ledger is what we signed then: version 0.1.0 stated nothing, and a cap
    that was raised since was not known.
    """
    try:
        there = read_package(folder, Keyring.open(run.home).public_key, verify=is_signed)
    except HybridDPError:
        there = None
    if there is None or _question_of(there) != _question_of(package):
        raise LedgerCorrupt(
            f"{folder} holds another package than these measurements give; restore it."
        )


def _question_of(package: CollectionPackage) -> tuple[bytes, WeekOfSeason | None]:
    """Return the package without what it states of the ledger, as version 0.1.0 wrote it.

    In bytes: how opt-in people found the list is not in a package, and devices need not know it.
    """
    return replace(package, curator=None, season=None).to_bytes(), package.season


def _require_nothing_blocked(run: HeadListRun) -> None:
    """Refuse to name what is to be withheld, where version 0.1.0 drew before anybody decided."""
    if run.state.has(Kind.LISTED):
        return
    if run.request.sign_off or blocked_now(run):
        raise BadInput(
            f"release {run.release_id} was drawn by a version that could not leave queries out of "
            "a package, and nobody has decided on its list. Nothing was published; run it without "
            "a blocklist and a sign-off, or make another epoch's release."
        )
