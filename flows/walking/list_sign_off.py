"""Sign-off of a list before devices are asked about it: a package names every query in public."""

import hashlib
from typing import Any

from flows.console.terminal import Console, Table
from flows.walking.sign_off import COST, Question, require_approval
from hybriddp.device.package import canonical_json
from tasks.orchestration.tasks import guarded, ledger_turn, show
from tasks.products.head_list.artifacts import listing_to_sign_off
from tasks.products.head_list.measuring.left_out import (
    blocked_now,
    is_settled,
    list_to_sign_off,
    seal_list,
)
from tasks.products.head_list.run import HeadListRun
from tasks.release.walk import discard_private_tables


def wait_for_list_sign_off(run: HeadListRun) -> None:
    """Ask whether devices may see the list, if the request wants that and it is not settled."""
    if not run.request.sign_off or is_settled(run):
        return
    blocked = guarded("read the blocklist", run.home, lambda: blocked_now(run))
    listed = list_to_sign_off(run, blocked)
    digest = hashlib.sha256(canonical_json(listed)).hexdigest()[:16]
    text = (
        f"Devices would be shown this list of release {run.release_id}, in public. To leave "
        f"queries out, answer later and run again with a blocklist. Never: {COST}"
    )
    question = Question(
        # The key holds the list: an answer about another one is no answer.
        f"list-{digest}",
        text,
        lambda: show(run.release_id, listing_to_sign_off(run, listed)),
        lambda console: _show(console, listed),
    )
    try:
        require_approval(run, question)
    finally:
        discard_private_tables(run)  # if it is never to be published

    def seal() -> None:  # what was shown, whatever became of the blocklist meanwhile
        seal_list(run, blocked, is_signed_off=True)

    with ledger_turn():
        guarded("settle the list", run.home, seal)


def _show(console: Console, listed: list[dict[str, Any]]) -> None:
    shown = Table(*(listed[0] if listed else ()), title="the list that devices would see")
    for row in listed:
        shown.add_row(*(str(value) for value in row.values()))
    console.print(shown)
