"""Who could serve in a release, by keyed hashes, and who does. Everything is private."""

from fractions import Fraction

import pyarrow as pa

from tasks.budget.sums.files import sealed_file
from tasks.log.engine import Engine
from tasks.release.refusals import BadInput
from tasks.release.run import LogRun
from tasks.store.keys import Keyring

_WORDS = 2**64
# Sorts after every hexadecimal digit: the limit that lets everybody pass.
_ABOVE_ALL_HASHES = "g"


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
    context = "/".join((request.product, request.epoch, request.locale))
    engine.each_row("log/accounts", "members", beside=("secrets",), context=context)


def rotation_limits(run: LogRun) -> dict[str, str]:
    """Return the hashes between which a person's turn is now."""
    slot, n_slots = run.epoch.index % run.request.rotation, run.request.rotation
    return {
        "slot_from": hex_below(Fraction(slot, n_slots)),
        "slot_below": hex_below(Fraction(slot + 1, n_slots)),
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
