"""Seal who takes part, and charge them: the one step that spends budget."""

from datetime import datetime
from functools import partial
from typing import Any

import pyarrow as pa

from tasks.budget.accounts import stopped_accounts
from tasks.budget.one_human import require_one_budget
from tasks.budget.paid import parts_in_words, rho_in_words
from tasks.budget.policy import Policy, current_policy
from tasks.budget.spending import Spent, columns_of, first_fit, history, put_spending, total
from tasks.budget.sums.files import seal
from tasks.budget.sums.sealing import seal_sums
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Head, LedgerMoved, Recheck
from tasks.ledger.payloads import Nothing, Reserved
from tasks.ledger.rules import Entry, Kind, full_release_id
from tasks.ledger.witnesses import verified_head
from tasks.log.engine import DuckDBEngine
from tasks.log.epochs import Epoch
from tasks.log.warehouse import open_candidates
from tasks.release.refusals import BudgetRefused
from tasks.release.run import LogRun, require_free_epoch
from tasks.store.home import Home
from tasks.store.keys import open_for_writing
from tasks.store.working_copies import let_go

# Rows behind a decision that may make it another one.
_MATTERS = (
    Kind.RESERVED, Kind.VOIDED, Kind.POLICY, Kind.DRAW_STARTED, Kind.OPTED_OUT, Kind.ERASED,
    Kind.ENDED,
)  # fmt: skip


def reserve(run: LogRun) -> None:
    """Charge everybody who takes part, in one row of the ledger, or nobody.

    The decision is made on the ledger as it stands at one head. The transaction that writes it
    looks at the rows behind that head: if one of them matters, the decision is made again.
    """
    if not run.state.has(Kind.RESERVED):
        seal_sums(run.home)
    while not run.state.has(Kind.RESERVED):
        head = verified_head(run.home)
        with open_candidates(run) as engine:
            moment = run.ledger.moment()
            payload = _decide(engine, run, head, moment)
            recheck = Recheck(head, _MATTERS, partial(_decide_again, engine, payload, moment))
            try:
                run.ledger.append(
                    Kind.RESERVED, run.release_id, run.attempt, payload, recheck=recheck
                )
            except LedgerMoved:
                continue


def _decide_again(
    engine: DuckDBEngine,
    payload: Reserved,
    moment: datetime,
    rows: list[Entry],
    date: datetime,
) -> None:
    """Raise LedgerMoved if a decision made at `moment` does not hold any more.

    A draw that starts behind it moves a charge to another date, which matters to windows only.
    Whoever leaves meanwhile matters if they were to take part.
    """
    left = (Kind.OPTED_OUT, Kind.ERASED)
    harmless = left if payload.policy.window_days else (*left, Kind.DRAW_STARTED)
    if date < moment or any(row.kind not in harmless for row in rows):
        raise LedgerMoved("somebody was charged, or the cap changed, since the decision.")
    accounts = [bytes.fromhex(row.draw) for row in rows if row.kind in left]
    if accounts:
        engine.put("left_meanwhile", pa.table({"account": pa.array(accounts, pa.binary())}))
        engine.step("ledger/left_participants")
        if engine.fetch("left_participants").num_rows:
            raise LedgerMoved("somebody who was to take part has left since the decision.")


def _decide(engine: DuckDBEngine, run: LogRun, head: Head, now: datetime) -> Reserved:
    entries = [entry for entry in run.ledger.entries() if entry.seq <= head.seq]
    policy = current_policy(entries)
    require_free_epoch(run.request, run.release_id, entries)
    require_one_budget(run.request, entries)
    place = run.place_among(entries)
    charges = {group: Charge.of(budget) for group, budget in run.request.prices().items()}
    put_spending(engine, run.home, entries, policy, now)
    stopped = pa.array(stopped_accounts(entries), pa.binary())
    engine.put("stopped_accounts", pa.table({"account": stopped}))
    engine.put("prices", _price_table(charges))
    engine.step("ledger/affordable", **policy.limits)
    engine.step("ledger/candidate_groups")
    groups = {row["cohort"]: row for row in engine.fetch("candidate_groups").to_pylist()}
    charged = run.request.groups_in_the_log
    for together in run.product.people_of(charged):
        asked = Charge.sum(charges[group] for group in together)
        for group in together:
            _require_size(engine, run, entries, group, groups.get(group), asked, policy, now)
    terms = {
        group: charge.terms(_n_affordable(groups.get(group)) if group in charged else None)
        for group, charge in charges.items()
    }
    reserved = Reserved(
        product=run.request.product,
        epoch=run.request.epoch,
        locale=run.request.locale,
        parameters=run.request.measurement_parameters(),
        policy=policy.statement,
        groups=terms,
        participation=seal(engine, "affordable", run.home.participation),
    )
    # Rows of other releases are spelt as they always were.
    return reserved if place is None else Reserved(**{**dict(reserved), "place": place})


def _n_affordable(found: dict[str, Any] | None) -> int:
    """Return how many of a group's people can pay; nobody may be in a part of a group."""
    return int(found["n_affordable"]) if found else 0


def _price_table(charges: dict[str, Charge]) -> pa.Table:
    return pa.table({"cohort": list(charges), **columns_of(list(charges.values()))})


def _require_size(
    engine: DuckDBEngine,
    run: LogRun,
    entries: list[Entry],
    group: str,
    found: dict[str, Any] | None,
    asked: Charge,
    policy: Policy,
    now: datetime,
) -> None:
    least = 0 if run.product.groups[group].is_part else run.request.min_group_size
    if _n_affordable(found) >= least:
        return
    who = f"group {group} ({run.product.groups[group].called})"
    if found is None or found["n_candidates"] < least:
        raise BudgetRefused(
            f"{who} would have fewer than {least} people in epoch {run.request.epoch}; enlarge the "
            "opt-in group, lower --rotation or --min-group-size. Nobody was charged."
        )
    charges = _charges_of(engine, run, entries, found["poorest"], policy, now)
    inside = [spent for spent in charges if spent.at >= policy.window_start(now)]
    spent = total(inside)
    has_gaussian = asked.rho + spent.rho > 0
    limit = policy.limit(has_gaussian=has_gaussian)
    when = first_fit(charges, asked, policy, now)
    fits = str(Epoch.containing(run.epoch.kind, when)) if when else "never"
    raise BudgetRefused(
        f"{who} has fewer than {least} people who can afford the release. Cap "
        f"{policy if has_gaussian else limit}; the least charged of the others has spent {spent}; "
        f"asked {asked}; remaining {limit.less(spent).as_left}. First epoch in which it fits: "
        f"{fits}.{_why_parts(policy, asked) if has_gaussian else ''} Nobody was charged."
    )


def _charges_of(
    engine: DuckDBEngine,
    run: LogRun,
    entries: list[Entry],
    account: bytes,
    policy: Policy,
    now: datetime,
) -> list[Spent]:
    """Return what an account was charged: for life its sum is enough, and takes no old files."""
    if policy.window_days is not None:
        return history(engine, run.home, entries, account)
    engine.step("ledger/account_sum", account=account)
    [row] = engine.fetch("account_sum").to_pylist()
    return [Spent(now, "", "", Charge(int(row["epsilon"]), int(row["delta"]), int(row["rho"])))]


def _why_parts(policy: Policy, asked: Charge) -> str:
    """Say what a Gaussian loss is, and that the cap has a part for it or none."""
    words = " ".join(filter(None, (rho_in_words(policy, asked), parts_in_words(policy))))
    if policy.with_gaussian is None:
        words += " `hybriddp ledger policy --pure-epsilon` makes a part for it, on record."
    return f" {words}"


def void_reservation(home: Home, release_id: str) -> tuple[str, int]:
    """Give the newest reservation of a release back, of which nothing was drawn; say which."""
    ledger = open_for_writing(home)
    verified_head(home)  # one that forgot a draw would give back what was drawn
    release_id = full_release_id(ledger.entries(), release_id)
    attempts = ledger.attempts(release_id)
    if not attempts:
        raise BudgetRefused(f"no release has the id {release_id!r}; `hybriddp ledger show` lists.")
    ledger.append(Kind.VOIDED, release_id, attempts[-1], Nothing())
    let_go(home.warehouse(release_id), is_needed=False)  # nothing is to be drawn from it
    return release_id, attempts[-1]
