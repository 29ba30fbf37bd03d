"""Who could serve in a release, in which group, and with which record. Everything is private."""

from fractions import Fraction
from typing import Any

import pyarrow as pa

from tasks.budget.spending import sealed_file
from tasks.log.engine import Engine, open_warehouse
from tasks.log.normalisation import normalise_records
from tasks.products.head_list.run import HeadListRun
from tasks.release.refusals import BadInput
from tasks.release.run import LogRun
from tasks.store.keys import Keyring

_WORDS = 2**64
# Sorts after every hexadecimal digit: the limit that lets everybody pass.
_ABOVE_ALL_HASHES = "g"


def choose_cohorts(run: HeadListRun) -> None:
    """Put every member who serves into a group, and choose and normalise their records."""
    if not run.needs_the_log:
        return
    with open_warehouse(run.home.warehouse(run.release_id)) as engine:
        if engine.has("records"):  # written last: an earlier run came this far
            return
        assign_groups(engine, run)
        params = run.request.params()
        engine.step(
            "head_list/chosen_records",
            max_records_optin=params.max_records_optin,
            max_records_client=params.max_records_client,
        )
        engine.map("chosen_records", normalise_records, "records")


def assign_groups(engine: Engine, run: HeadListRun) -> None:
    """Fill `candidates`: who serves in this epoch and in which group."""
    keyed_accounts(engine, run)
    engine.step("head_list/candidates", **_limits(run))


def keyed_accounts(engine: Engine, run: LogRun) -> None:
    """Fill `accounts`: every member's account, and the keyed hashes that decide for them."""
    request, keys = run.request, Keyring.open(run.home)
    pads = {"account": keys.account.pads(), "cohort": keys.cohort.pads()}
    engine.put(
        "secrets",
        pa.table(
            {
                f"{name}_{side}": pa.array([pad], pa.binary())
                for name, both in pads.items()
                for side, pad in zip(("inner", "outer"), both, strict=True)
            }
        ),
    )
    engine.step("log/accounts", context="/".join((request.product, request.epoch, request.locale)))


def rotation_limits(run: LogRun) -> dict[str, str]:
    """Return the hashes between which a person's turn is now."""
    slot, n_slots = run.epoch.index % run.request.rotation, run.request.rotation
    return {
        "slot_from": hex_below(Fraction(slot, n_slots)),
        "slot_below": hex_below(Fraction(slot + 1, n_slots)),
    }


def _limits(run: HeadListRun) -> dict[str, Any]:
    request, params = run.request, run.request.params()
    source = request.optin_source
    by_hash = source.startswith("hash ")
    return {
        "optin_by_hash": by_hash,
        "optin_below": hex_below(Fraction(source.removeprefix("hash "))) if by_hash else "",
        "everybody_opts_in": source == "everybody in the log",
        "headlist_below": hex_below(params.headlist_user_fraction),
        "optin_only": request.clients == "reports",
        **rotation_limits(run),
    }


def hex_below(fraction: Fraction) -> str:
    """Return the limit that this share of all 16-digit hexadecimal texts lies below."""
    words = int(fraction * _WORDS)
    return _ABOVE_ALL_HASHES if words >= _WORDS else f"{words:016x}"


def read_participants(engine: Engine, run: LogRun) -> None:
    """Make everybody who was sealed into a release visible as `sealed`.

    The tables of the log must hold all of them: a release that goes on with a copy of the log that
    was made anew, under other settings, would be drawn from fewer people than it says.
    """
    engine.read_sealed("sealed", [sealed_file(run.home, run.reservation.participation)])
    engine.step("ledger/sealed_groups")
    found = {row["cohort"]: row["n_people"] for row in engine.fetch("sealed_groups").to_pylist()}
    if any(found.get(group, 0) != run.group_size(group) for group in run.request.groups_in_the_log):
        raise BadInput(
            f"the tables of the log do not hold everybody who was charged for release "
            f"{run.release_id}: they were made with other settings. Run it with those that it was "
            "reserved with. Nothing was drawn."
        )
