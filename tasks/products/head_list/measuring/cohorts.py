"""Who serves in which group of a head list, and with which records. Everything is private."""

from fractions import Fraction
from typing import Any

from tasks.ledger.rules import Kind
from tasks.log.cohorts import hex_below, keyed_accounts, rotation_limits
from tasks.log.engine import Engine, open_warehouse
from tasks.log.normalisation import normalise_records
from tasks.products.head_list.request import EVERYBODY
from tasks.products.head_list.run import HeadListRun


def choose_cohorts(run: HeadListRun) -> None:
    """Put every member who serves into a group, and choose and normalise their records."""
    if not run.needs_the_log:
        return
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
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
    from tasks.products.head_list.series.place import groups_are_stale

    return groups_are_stale(engine, run)


def assign_groups(engine: Engine, run: HeadListRun) -> None:
    """Fill `candidates`: who serves in this epoch and in which group."""
    keyed_accounts(engine, run)
    if run.request.series is not None:
        from tasks.products.head_list.series.place import put_members

        put_members(engine, run)
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
