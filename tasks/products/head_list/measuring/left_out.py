"""Which queries are left out before devices are asked: decided once, before they are named to them.

The decision is a row of the ledger. Its file lies beside the measurements, for auditors; its digest
is in the manifest, and salted: without the salt anybody could test a guessed query against it.
"""

import secrets
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from tasks.gates.blocklist import left_out, read_blocklist, require_blocklist_again
from tasks.ledger.ledger import LedgerMoved
from tasks.ledger.payloads import Listed
from tasks.ledger.rules import Kind
from tasks.ledger.witnesses import write_witness
from tasks.log.raw.files import BadInput
from tasks.measured.stored import load_measurement
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM
from tasks.products.head_list.measuring.left_out_file import (
    LEFT_OUT_FILE,
    file_of,
    named_records,
    without,
)
from tasks.products.head_list.run import HeadListRun
from tasks.release.run import collection_id
from tasks.store.home import write_whole

_SALT_BYTES = 32


def is_settled(run: HeadListRun) -> bool:
    """Whether nothing is left to decide: no devices, decided, or drawn before version 0.2."""
    if not run.has_devices or run.state.has(Kind.LISTED):
        return True
    drawn = [group for group in run.groups if run.state.has(Kind.DRAW_STARTED, group)]
    return (
        HEADLIST not in drawn
        or CLIENTS in drawn
        or HISTOGRAM in drawn
        or run.home.collection(collection_id(run)).exists()
    )


def blocked_now(run: HeadListRun) -> list[str]:
    """Return the queries that S named and that the operator's blocklist holds."""
    require_blocklist_again(run, run.request.blocklist)
    named = named_records(load_measurement(run, HEADLIST))["query"].to_pylist()
    return sorted(read_blocklist(run.request.blocklist) & set(named))


def list_to_sign_off(run: HeadListRun, blocked: Collection[str]) -> list[dict[str, Any]]:
    """Return what S named, without what is blocked: all that devices may come to see."""
    listed = without(named_records(load_measurement(run, HEADLIST)), blocked)
    # Strategy `paper` keeps no counts of S; then the order is that of the texts.
    return sorted(listed.to_pylist(), key=lambda row: -(row.get("noisy_count") or 0))


def seal_list(run: HeadListRun, blocked: Collection[str], *, is_signed_off: bool) -> None:
    """Fix which queries are left out; whoever comes second finds what was fixed."""
    decision = Listed(
        left_out=sorted(blocked), salt=secrets.token_hex(_SALT_BYTES), signed_off=is_signed_off
    )
    while True:
        head = run.ledger.head()
        if run.state.has(Kind.LISTED):
            break
        # What is kept back from here on comes after the decision, and is asked about again.
        require_blocklist_again(run, run.request.blocklist)
        with suppress(LedgerMoved):
            run.ledger.append(
                Kind.LISTED, run.release_id, run.attempt, decision, expected_head=head
            )
    _write(run)


def settle_list(run: HeadListRun) -> None:
    """Decide by the blocklist alone, if nobody has to sign off and nothing was decided."""
    require_blocklist_again(run, run.request.blocklist)
    if is_settled(run):
        _write(run)
        _require_nothing_shown(run)
        return
    if run.request.sign_off:
        raise BadInput(
            f"the list of release {run.release_id} must be signed off before devices are asked "
            "about it; run it in a terminal or as a deployed run. Nothing is lost."
        )
    seal_list(run, blocked_now(run), is_signed_off=False)


def _require_nothing_shown(run: HeadListRun) -> None:
    """Refuse a blocklist that comes after devices were shown what it holds, and would do nothing.

    With the reports it does: then nothing of it is published, and the package is taken down.
    """
    is_asked = run.is_collecting and run.state.has(Kind.LISTED)  # else somebody else refuses
    if not is_asked or run.request.reports is not None:
        return
    n_shown = len(set(blocked_now(run)) - left_out(run))
    if n_shown:
        raise BadInput(
            f"devices are asked about {n_shown} of the blocklist's queries already: the list of "
            f"release {run.release_id} was settled with them, and was not changed. Take its "
            f"package down with `hybriddp withdraw {run.release_id}`, or give the blocklist with "
            "--reports: then they are not published."
        )


def require_settled(run: HeadListRun) -> None:
    """Refuse to measure or to publish a list of which nobody has decided what is left out."""
    if not is_settled(run):
        raise BadInput(
            f"the list of release {run.release_id} was not settled; run the release from its start."
        )


def _write(run: HeadListRun) -> None:
    row = run.state.find(Kind.LISTED)
    if row is None:
        return
    write_witness(run.folder, row)
    path = run.folder / LEFT_OUT_FILE
    if not path.exists():
        write_whole(path, file_of(row))
