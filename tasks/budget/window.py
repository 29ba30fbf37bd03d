"""Whether a draw may start now: nobody's draws in any window of days exceed the cap.

A charge is dated by its reservation until its draw starts, and by the start from then on, so a
draw that starts late moves its charge towards today, where others may have counted on its absence.
What must hold: whenever a draw starts, at date d under the policy (cap, W) of that moment, the
draws of each of its people that are dated in [d - W, d] sum up to the cap at most. Every window
then keeps the cap, because it ends at some draw or can be moved back to its last one.

The rule: a draw starts only if its reservation, by its own date, was inside the window of every
reservation behind it, and is inside the window now. That is enough while the policy stays.
Take a draw that starts at d, one of its people, and that person's draws in [d - W, d]; let r be
the newest of their reservations, written under the same policy. Each of the other draws was
counted when r was decided: if it had started by then, its date lies in [d - W, r], so in
[r - W, r]; if it started later, the rule held r against it. So all of them, and r's own, were
under the cap.

If the policy was changed behind the reservation, r may have been decided under another cap. Then
the sums are made anew: of all draws that were started in the window, and of this release.

All of it is looked at inside the transaction that writes DRAW_STARTED; rows are never dated
backwards. docs/adr/0013 says more.
"""

from datetime import datetime

from tasks.budget.paid import parts_in_words
from tasks.budget.policy import Policy
from tasks.budget.spending import (
    charge_of,
    dated_charges,
    put_sums,
    started_draws,
)
from tasks.budget.sums.files import sealed_file
from tasks.ledger.ledger import Head, LedgerMoved, Recheck
from tasks.ledger.payloads import PolicySet, Reserved
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import open_memory
from tasks.release.refusals import BudgetRefused
from tasks.release.run import Release

# The rows that may change what a draw may do.
_KINDS = (Kind.RESERVED, Kind.VOIDED, Kind.POLICY, Kind.DRAW_STARTED)


def may_start(release: Release, group: str) -> Recheck | None:
    """Refuse a draw that must not start; return what its transaction has to look at again.

    None: nobody is charged here. Devices keep their own accounts.
    """
    reserved = release.state.find(Kind.RESERVED)
    if reserved is None or reserved.said(Reserved).groups[group].are_devices:
        return None
    entries = release.ledger.entries(*_KINDS, Kind.SUMMED)
    moment = release.ledger.moment()
    behind = [entry for entry in entries if entry.seq > reserved.seq]
    _require_counted(reserved, behind, moment)
    if _has_changed(behind):
        _require_affordable(release, reserved, group, entries, moment)
    newest = entries[-1].seq

    def check(rows: list[Entry], date: datetime) -> None:
        _require_counted(reserved, rows, date)
        is_newer = any(entry.seq > newest for entry in rows)
        if _has_changed(rows) and (is_newer or date < moment):
            raise LedgerMoved("the sums under the new policy were made on an older ledger.")

    return Recheck(Head(reserved.seq, reserved.hash), _KINDS, check)


def _has_changed(behind: list[Entry]) -> bool:
    return any(entry.kind is Kind.POLICY for entry in behind)


def _require_counted(reserved: Entry, behind: list[Entry], date: datetime) -> None:
    """Refuse if anybody decided, or would now decide, without this charge."""
    at = datetime.fromisoformat(reserved.at)
    voided = {e.key for e in behind if e.kind is Kind.VOIDED}
    decisions = [
        (Policy.stated(entry.said(Reserved).policy), datetime.fromisoformat(entry.at))
        for entry in behind
        if entry.kind is Kind.RESERVED and entry.key not in voided
    ]
    decisions.append((_policy_now(reserved, behind), date))
    if any(at < policy.window_start(moment) for policy, moment in decisions):
        raise BudgetRefused(
            f"release {reserved.release_id} was reserved on {reserved.at}, before the cap's window "
            "began: its people may have spent that budget since. Nothing was drawn; make another "
            "epoch's release."
        )


def _policy_now(reserved: Entry, behind: list[Entry]) -> Policy:
    since = [entry.said(PolicySet) for entry in behind if entry.kind is Kind.POLICY]
    return Policy.stated([reserved.said(Reserved).policy, *since][-1])


def _require_affordable(
    release: Release, reserved: Entry, group: str, entries: list[Entry], moment: datetime
) -> None:
    """Refuse if somebody of the group would be above the cap that holds now."""
    policy = _policy_now(reserved, [entry for entry in entries if entry.seq > reserved.seq])
    started = started_draws(entries)
    counted = [
        (entry, drawn)
        for entry, drawn, at in dated_charges(entries)
        if entry.seq == reserved.seq
        or (
            (entry.release_id, entry.attempt, drawn) in started
            and at >= policy.window_start(moment)
        )
    ]
    with open_memory(release.home.spill) as engine:
        put_sums(engine, release.home, entries, counted)
        sealed = sealed_file(release.home, reserved.said(Reserved).participation)
        engine.read_sealed("sealed", [sealed])
        engine.step("ledger/overdrawn", cohort=group, **policy.limits)
        is_overdrawn = engine.fetch("overdrawn")["n_people"][0].as_py() > 0
    if is_overdrawn:
        has_gaussian = any(charge_of(entry, drawn).rho for entry, drawn in counted)
        parts = f"{parts_in_words(policy)} " if has_gaussian else ""
        raise BudgetRefused(
            f"the cap was changed to {policy} after release {reserved.release_id} was reserved, "
            f"and its people would exceed it. {parts}Nothing was drawn; give the reservation back "
            f"with `hybriddp ledger void {reserved.release_id}` and run the release again."
        )
