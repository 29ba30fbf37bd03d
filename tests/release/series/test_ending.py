"""A season that an operator ends: nothing private of it is left, and the next one begins."""

import json

import pytest

from tasks.budget import reserve
from tasks.budget.showing.overview import balance, runway
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.products.head_list import HEADLIST, JOINING
from tasks.products.head_list.run import identify
from tasks.products.head_list.series.season import ending
from tasks.products.head_list.series.season.ending import end_season
from tasks.publish.publish import published_folder
from tasks.publish.shelf import list_rows
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.verify.verify import verify_publication
from tests.docs.plainly import run_command
from tests.release.series.support import MANY, run_week, usual, week_request, write_week
from tests.release.support import charge, files_below

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]

WEEKLY = ("search", "all", "weekly")


def test_what_it_carries_is_gone_and_another_begins(begun, root):
    before = balance(begun, MANY[0]).spent
    assert any(begun.series.iterdir())
    done = run_command(f"hybriddp ledger end-season weekly --yes --json --home {begun.root}")
    assert json.loads(done.stdout) == {
        "status": "ended", "series": "weekly", "season": 1, "newest_week": 1,
    }  # fmt: skip
    assert list(begun.series.iterdir()) == []
    assert runway(begun).words.count("at week 1 of 3 of season 1. It was ended there.") == 1
    assert balance(begun, MANY[0]).spent == before, "nobody gets anything back"
    # The week that was published is still there, and still replays.
    first = identify(week_request(root / "week-1.tsv", 1), begun)
    shown = files_below(published_folder(first))
    assert files_below(published_folder(run_week(begun, root, 1, usual()))) == shown
    # Its second week is the first of another season, which knows the list and is paid for anew.
    second = run_week(begun, root, 2, usual())
    assert (second.place.season, second.place.week, second.place.first_epoch) == (2, 1, "2026-W41")
    assert {row["query"] for row in list_rows(published_folder(second), "trends")} == {
        "maps", "news",
    }  # fmt: skip
    key = bytes.fromhex((begun.public / "signing.pub").read_text())
    verify_publication(begun, published_folder(second), key)
    terms = second.reservation.groups
    paid = [Charge.of_terms(terms[group]) for group in (HEADLIST, JOINING)]
    assert balance(begun, MANY[0]).spent == Charge.sum([before, *paid])


def test_only_a_running_season_can_be_ended(begun, root):
    with pytest.raises(BadInput, match="has no series 'daily'"):
        end_season(begun, "search", "all", "daily")
    run = charge(identify(week_request(write_week(root / "w.tsv", usual()), 2), begun))
    with pytest.raises(BudgetRefused, match=f"void {run.release_id}"):
        end_season(begun, *WEEKLY)
    run_week(begun, root, 2, usual())
    run_week(begun, root, 3, usual())
    with pytest.raises(BadInput, match="has reached its last week"):
        end_season(begun, *WEEKLY)
    run_week(begun, root, 4, usual())
    end_season(begun, *WEEKLY)
    with pytest.raises(BadInput, match="season 2 of series weekly was ended before"):
        end_season(begun, *WEEKLY)


def test_a_week_that_is_reserved_meanwhile_comes_first(begun, root, monkeypatch):
    """Its draw would find nothing to go on from."""
    log = write_week(root / "week-2.tsv", usual())
    look = ending.verified_head

    def reserve_behind(home):
        head = look(home)
        monkeypatch.setattr(ending, "verified_head", look)
        charge(identify(week_request(log, 2), begun))
        return head

    monkeypatch.setattr(ending, "verified_head", reserve_behind)
    with pytest.raises(BudgetRefused, match="was paid for and is not drawn yet"):
        end_season(begun, *WEEKLY)
    kinds = [entry.kind for entry in Ledger(begun.ledger).entries()]
    assert Kind.ENDED not in kinds
    assert any(begun.series.iterdir())


@pytest.mark.parametrize("when", ["verified_head", "seal"])
def test_a_week_that_was_to_be_reserved_begins_the_next_season(begun, root, monkeypatch, when):
    """Also if it was decided already, and only its row is not written yet."""
    run = identify(week_request(write_week(root / "week-2.tsv", usual()), 2), begun)
    assert run.place.season == 1
    usually = getattr(reserve, when)

    def end_first(*arguments):
        monkeypatch.setattr(reserve, when, usually)
        end_season(begun, *WEEKLY)
        return usually(*arguments)

    monkeypatch.setattr(reserve, when, end_first)
    with pytest.raises(BudgetRefused, match="has gone on meanwhile; run again"):
        charge(run)
    again = charge(identify(week_request(root / "week-2.tsv", 2), begun))
    assert (again.place.season, again.place.week) == (2, 1)
