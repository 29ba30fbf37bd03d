"""Texts that are kept back while a week that was paid for is on its way are asked about again."""

import pytest

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.head_list import CLIENTS
from tasks.products.head_list.run import identify
from tasks.publish.publication import wanted_facts
from tasks.publish.publish import approve, publish, published_folder
from tasks.publish.shelf import list_rows
from tasks.release.refusals import BadInput
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.walk import run_release
from tests.release.series.support import run_week, usual, week_request, write_week

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]


def queries(run):
    return [row["query"] for row in list_rows(published_folder(run), "trends")]


@pytest.fixture
def blocklist(root):
    path = root / "blocked.txt"
    path.write_text("maps\n")
    return path


@pytest.mark.parametrize("before", ["collect client reports", "publish"])
def test_a_week_that_is_drawn_is_not_published_without_the_blocklist(
    begun, root, blocklist, before
):
    first = identify(week_request(root / "week-1.tsv", 1), begun)
    run = identify(week_request(write_week(root / "week-2.tsv", usual()), 2), begun)
    run_release(run, before=before)
    if before == "publish":  # and somebody has signed it off
        approve(run, wanted_facts(run, run.request.settings))
    run_reprocess(
        ReprocessRequest(release_id=first.release_id, blocklist=blocklist, accept_collapse=True),
        begun,
    )
    rows = Ledger(begun.ledger).entries()
    with pytest.raises(BadInput, match="goes on with one for free"):
        publish(run, run.request.settings) if before == "publish" else run_release(run)
    assert Ledger(begun.ledger).entries() == rows
    assert run.state.has(Kind.DRAWN, CLIENTS) == (before == "publish")
    again = run_week(begun, root, 2, usual(), blocklist=blocklist, accept_collapse=True)
    assert again.attempt == 1
    assert queries(again) == ["news"]
    # What is published goes by its row, whatever is blocked since, and wherever.
    blocklist.write_text("news\n")
    run_reprocess(
        ReprocessRequest(release_id=first.release_id, blocklist=blocklist, accept_collapse=True),
        begun,
    )
    assert queries(run_week(begun, root, 2, usual())) == ["news"]
    run_reprocess(ReprocessRequest(release_id=again.release_id, decimals=3), begun)
    assert queries(again) == ["news"]
