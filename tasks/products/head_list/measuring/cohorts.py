"""Who serves in which group of a head list, and with which records. Everything is private."""

from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tasks.budget.sums.files import sealed_file
from tasks.ledger.rules import Kind
from tasks.log.cohorts import hex_below, keyed_accounts, rotation_limits
from tasks.log.engine import Engine
from tasks.log.normalisation import normalise_records
from tasks.log.warehouse import open_warehouse
from tasks.products.head_list.request import EVERYBODY
from tasks.products.head_list.run import HeadListRun

if TYPE_CHECKING:
    from tasks.products.head_list.series.season.place import Week

_BEGUN = [("release_id", pa.string()), ("attempt", pa.int64())]


def choose_cohorts(run: HeadListRun) -> None:
    """Put every member who serves into a group, and choose and normalise their records."""
    if not run.needs_the_log:
        return
    with open_warehouse(run) as engine:
        # Written last: an earlier run came this far.
        if engine.has("records") and not is_overtaken(engine, run):
            return
        assign_groups(engine, run)
        params = run.request.params()
        if params.is_weighted:
            engine.step("head_list/weighted/searched")
            engine.map("searched", normalise_records, "searches")
        engine.step(
            "head_list/chosen_records",
            # With weights, opt-in people contribute all that they searched.
            max_records_optin=0 if params.is_weighted else params.max_records_optin,
            max_records_client=params.max_records_client,
        )
        engine.map("chosen_records", normalise_records, "records")


def is_overtaken(engine: Engine, run: HeadListRun) -> bool:
    """Whether groups of a week were chosen before its season went on: who joined is known now."""
    if run.request.series is None or run.state.has(Kind.RESERVED):
        return False
    return groups_are_stale(engine, run)


def assign_groups(engine: Engine, run: HeadListRun) -> None:
    """Fill `candidates`: who serves in this epoch and in which group."""
    keyed_accounts(engine, run)
    if run.request.series is not None:
        _put_members(engine, run)
        limits = _limits(run) | {"stay_unseen": run.request.roster is None}
        engine.step("head_list/series/candidates", **limits)
        return
    below = hex_below(run.request.params().headlist_user_fraction)
    engine.step("head_list/candidates", **_limits(run) | {"headlist_below": below})


def _limits(run: HeadListRun) -> dict[str, Any]:
    request = run.request
    source = request.optin_source
    by_hash = source.startswith("hash ")
    return {
        "optin_by_hash": by_hash,
        "optin_below": hex_below(Fraction(source.removeprefix("hash "))) if by_hash else "",
        "everybody_opts_in": source == EVERYBODY,
        "optin_only": request.clients == "reports",
        **rotation_limits(run),
    }


def _put_members(engine: Engine, run: HeadListRun) -> None:
    """Fill `season_participation`: who was sealed into earlier weeks whose noise may be drawn.

    A reservation whose draw has not begun may still be given back, and what whoever joins pays for
    the tests with it; so it does not count. Private.
    """
    begun = _begun_before(run)
    rows = {"release_id": [w.release_id for w in begun], "attempt": [w.attempt for w in begun]}
    engine.put("begun_weeks", pa.table(rows, pa.schema(_BEGUN)))
    engine.step("head_list/series/groups_chosen_after")
    files = dict.fromkeys(sealed_file(run.home, week.reserved.participation) for week in begun)
    if files:
        engine.read_sealed("season_participation", list(files))
    else:
        empty = {"account": pa.binary(), "cohort": pa.string()}
        engine.put("season_participation", pa.table({n: pa.array([], t) for n, t in empty.items()}))


def groups_are_stale(engine: Engine, run: HeadListRun) -> bool:
    """Whether a week before has begun since groups were chosen: others have joined then."""
    known = engine.fetch("groups_chosen_after").to_pylist()
    begun = {(week.release_id, week.attempt) for week in _begun_before(run)}
    return {(row["release_id"], row["attempt"]) for row in known} != begun


def _begun_before(run: HeadListRun) -> "list[Week]":
    from tasks.products.head_list.series.season.place import season_weeks  # needed by series alone

    before = (week for week in season_weeks(run) if week.place.week < run.place.week)
    return [week for week in before if week.has_begun]
