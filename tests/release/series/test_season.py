"""A season through the product: what is found stays, everybody pays once for each week, and who
comes later, leaves or is absent is counted as the ledger says."""

import json
import math
from dataclasses import replace
from datetime import timedelta
from fractions import Fraction

import pytest

from hybriddp.errors import HybridDPError
from hybriddp.noise.gaussian import DiscreteGaussian
from hybriddp.params import Budget
from hybriddp.series.design import SeasonDesign
from hybriddp.series.season import Track
from tasks.budget.policy import Policy, set_policy
from tasks.budget.reserve import void_reservation
from tasks.budget.showing.overview import balance, runway, set_membership
from tasks.ledger.chain import moment_of
from tasks.ledger.charges import DELTA_UNITS, RHO_UNITS, Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Kind
from tasks.log.ingest import ingest
from tasks.measured.stored import load_measurement
from tasks.plan.prior import from_published
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.measuring.cohorts import choose_cohorts
from tasks.products.head_list.run import identify
from tasks.products.head_list.series.season import place
from tasks.products.head_list.series.season.place import season_of
from tasks.products.head_list.series.season.state import _DAYS, forget_ended
from tasks.products.head_list.series.unseen import UNSEEN
from tasks.publish.publish import published_folder, withdraw
from tasks.publish.shelf import list_rows, read_rows
from tasks.release.refusals import BadInput, BudgetRefused
from tasks.release.walk import run_release
from tasks.verify.verify import verify_publication
from tests.homes import new_home
from tests.release.series.support import CLIENTS as IN_THE_LOG
from tests.release.series.support import (
    MANY,
    N_WEEKS,
    run_week,
    series_home,
    usual,
    week_request,
    write_week,
)
from tests.release.support import COLUMNS, charge, files_below

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]


@pytest.fixture
def home(root):
    return series_home(root / "home")


def listed(run) -> set[str]:
    return {row["query"] for row in list_rows(published_folder(run), "trends")}


def changed(run) -> dict[str, str]:
    return {row["query"]: row["change"] for row in read_rows(published_folder(run), "changes")}


def key_of(home) -> bytes:
    return bytes.fromhex((home.public / "signing.pub").read_text())


def test_a_season_grows_and_is_what_its_measurements_give(home, root):
    """Three weeks; in the second `weather` appears, and in the third nobody searches for news."""
    first = run_week(home, root, 1, usual())
    assert listed(first) == {"maps", "news"}
    assert read_rows(published_folder(first), "changes") == []
    again = {p: [*own, "weather"] for p, own in usual().items()}
    second = run_week(home, root, 2, again)
    assert listed(second) == {"maps", "news", "weather"}
    changes = {
        row["query"]: row["change"] for row in read_rows(published_folder(second), "changes")
    }
    assert changes["weather"] == "entered"
    # Nobody's word is asked for: that changes are others than last week says nothing of the list.
    third = run_week(home, root, 3, {p: ["maps"] for p in usual()})
    assert listed(third) == {"maps", "news", "weather"}, "what was found is measured to the end"
    changes = changed(third)
    assert changes["maps"] == "rose"
    assert changes["news"] == changes["weather"] == "fell"
    season = json.loads((published_folder(third) / "manifest.json").read_bytes())["season"]
    assert {q: next(iter(urls.values())) for q, urls in season["found"].items()} == {
        "maps": 1, "news": 1, "weather": 2,
    }  # fmt: skip
    for run in (first, second, third):
        verify_publication(home, published_folder(run), key_of(home))
    assert list(home.series.iterdir()) == [], "after its last week nothing is carried on"


def test_weeks_add_up_to_the_last_unit(home, root):
    """Who is there from the start, who joins later, who is absent, and who leaves for good."""
    run = run_week(home, root, 1, usual(100))
    season = season_of(run.place)
    absent = {person: own for person, own in usual().items() if person != MANY[0]}
    run_week(home, root, 2, absent)
    ledger = Ledger(home.ledger)
    set_membership(home, MANY[1], Kind.OPTED_OUT)
    run_week(home, root, 3, absent)
    leak = math.ceil(Fraction(season.leak) * DELTA_UNITS)
    rho = [math.ceil(season.rho(week) * RHO_UNITS) for week in range(1, N_WEEKS + 1)]
    expected = {
        MANY[0]: (leak, sum(rho)),  # absent in two weeks, and charged
        MANY[1]: (leak, sum(rho[:2])),  # left after two
        MANY[2]: (leak, sum(rho)),
        MANY[110]: (leak, sum(rho[1:])),  # joined in the second
    }
    for person, (delta, loss) in expected.items():
        spent = balance(home, person).spent
        assert (spent.epsilon, spent.delta, spent.rho) == (0, delta, loss), person
    reserved = [e.payload for e in ledger.entries() if e.kind is Kind.RESERVED]
    assert [r.groups[JOINING].members for r in reserved] == [100, 20, 0]
    assert [r.groups[HEADLIST].members for r in reserved] == [100, 120, 119]


def test_who_does_not_search_this_week_changes_nothing_of_what_the_others_search(
    home, root, monkeypatch
):
    """Half of everybody is absent. Without noise, so what they would take from each is plain."""
    monkeypatch.setattr(DiscreteGaussian, "draw", lambda _, exact: exact)
    run_week(home, root, 1, usual())
    present = {person: own for n, (person, own) in enumerate(usual().items()) if n % 4 < 2}
    run = run_week(home, root, 2, present)
    assert run.reservation.groups[HEADLIST].members == len(MANY), "who joined stays"
    measured = load_measurement(run, HEADLIST).to_pylist()
    absent = [row["noisy_share"] for row in measured if row["url"] == UNSEEN]
    assert absent == [len(MANY) // 2 * season_of(run.place).share_units]
    trends = {row["query"]: row for row in list_rows(published_folder(run), "trends")}
    assert trends.keys() == {"maps", "news"}
    assert all(row["ci_low"] > 0.35 for row in trends.values())
    assert changed(run) == {}
    verify_publication(home, published_folder(run), key_of(home))


def test_a_rerun_of_a_week_replays(two_weeks, root):
    home = two_weeks
    before, rows = files_below(home.public), Ledger(home.ledger).entries()
    for week in (2, 1):
        run_release(identify(week_request(root / f"week-{week}.tsv", week), home))
    assert files_below(home.public) == before
    assert Ledger(home.ledger).entries() == rows


def test_a_missed_week_is_missing(begun, root):
    """Its noise is drawn with the next one, and what comes later than it is refused."""
    third = run_week(begun, root, 3, usual())
    assert third.place.week == 3
    with pytest.raises(BudgetRefused, match=r"2026-W41 is missing from it for good"):
        run_week(begun, root, 2, usual())
    verify_publication(begun, published_folder(third), key_of(begun))


def test_a_name_is_published_in_a_week_without_it(home, root, monkeypatch):
    """Only the second week tests, and nobody searches for it then; without noise, so it is sure."""
    track = Track((1,), (1, 1, 1), (None, 50_000, None))
    usual_season = SeasonDesign.season
    monkeypatch.setattr(
        SeasonDesign, "season", lambda *args: replace(usual_season(*args), tracks=(track,))
    )
    monkeypatch.setattr(DiscreteGaussian, "draw", lambda _, exact: exact)
    rare = usual() | {person: ["rare"] for person in MANY[:60]}
    run_week(home, root, 1, rare, accept_collapse=True)  # nothing is found yet
    [state] = home.series.glob("*/*.state")
    assert b"rare" not in state.read_bytes(), "names are kept under a key"
    second = run_week(home, root, 2, usual())
    assert listed(second) == {"maps", "news", "rare"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epsilon": 3.0}, "epsilon 4, got 3"),
        ({"season_weeks": 5}, "season_weeks 3, got 5"),
        ({"max_records_optin": 2}, "max_records_optin 5, got 2"),
        ({"rotation": 4}, "rotation 3, got 4"),
        ({"epoch": "2026-11"}, "is released every week"),
    ],
)
def test_a_season_stays_as_it_was_begun(begun, root, settings, message):
    with pytest.raises(BadInput, match=message):
        identify(week_request(root / "week-1.tsv", 2, **settings), begun)


def test_a_second_log_for_a_week_is_refused(begun, root):
    other = write_week(root / "other.tsv", usual(90))
    with pytest.raises(BudgetRefused, match="has release"):
        identify(week_request(other, 1), begun)
    for agreed in ("pay_again", "new_attempt"):
        with pytest.raises(ValueError, match="is drawn once"):
            week_request(other, 1, **{agreed: True})


def test_a_withdrawn_week_is_a_missing_observation(two_weeks, root):
    home = two_weeks
    first, second = (
        identify(week_request(root / f"week-{week}.tsv", week), home) for week in (1, 2)
    )
    withdraw(second, "a mistake")
    third = run_week(home, root, 3, usual())
    reserved = third.reservation.place
    assert ([week.week for week in reserved.earlier], reserved.unseen) == ([1], [2])
    assert listed(third) == {"maps", "news"}
    verify_publication(home, published_folder(third), key_of(home))
    assert first.place.key == third.place.key


def test_the_next_season_knows_the_last_list(two_weeks, root):
    """`news` is not searched for any more, and is measured because it was public."""
    home = two_weeks
    run_week(home, root, 3, usual())
    run = run_week(home, root, 4, {person: ["maps"] for person in usual()})
    assert (run.place.season, run.place.week) == (2, 1)
    assert load_measurement(run, JOINING).num_rows == 0
    assert listed(run) == {"maps", "news"}
    assert run.reservation.groups[JOINING].members == len(MANY), "a season is joined anew"
    verify_publication(home, published_folder(run), key_of(home))
    again = run_week(home, root, 5, usual())
    assert (again.place.season, again.place.week) == (2, 2)
    source = from_published(published_folder(again))
    assert (source.n_known, source.is_of_a_season) == (2, True)
    n_clients = again.reservation.groups[CLIENTS].members
    assert source.n_users == len(MANY) + N_WEEKS * n_clients, "who joined is counted once"
    assert source.rotation == 1


def test_only_a_season_after_another_saves_its_first_week(two_weeks, root, monkeypatch):
    """By what the ledger says of the last list; and what was sealed stays, whatever is usual."""
    usual_design = SeasonDesign(N_WEEKS, 5)
    designs = usual_design, usual_design.after_a_season()
    numbers, after = (design.season(Budget(4, "1e-5")).numbers() for design in designs)
    home, log = two_weeks, write_week(root / "more.tsv", usual())

    def planned(week, **settings):
        return identify(week_request(log, week, **settings), home).place.numbers

    assert planned(3) == numbers, "the season that has begun"
    assert planned(4) == planned(4, series="other") == after, "the last list is of a season"
    assert planned(4, product="elsewhere") == numbers, "no list is known"
    with monkeypatch.context() as patched:
        patched.setattr(SeasonDesign, "after_a_season", lambda design: design)
        run_week(home, root, 4, usual())
    assert planned(5) == numbers != after
    single = {
        "product": "single",
        "series": None,
        "season_weeks": 52,
        "headlist_user_fraction": 0.5,
    }
    run_release(identify(week_request(log, 3, **single), home))
    assert planned(4, product="single") == numbers, "a single release may know few names"


def test_a_week_that_is_reserved_is_drawn_or_given_back_first(begun, root):
    """Else nobody would know who has joined, nor which weeks the sums hold."""
    log = write_week(root / "late.tsv", usual())
    late = charge(identify(week_request(log, 2), begun))
    with pytest.raises(BudgetRefused, match=r"is not drawn yet.*ledger void"):
        run_week(begun, root, 3, usual())
    void_reservation(begun, late.release_id)
    third = run_week(begun, root, 3, usual())
    assert [week.week for week in third.reservation.place.earlier] == [1]


def test_after_a_gap_the_runway_knows_whose_week_is_still_ahead(begun, root):
    """The second season begins in another week of the rotation: who has paid once pays later."""
    [client] = {one for one in runway(begun).spent if one.epsilon}
    run_week(begun, root, 5, usual(), accept_collapse=True)
    ahead = runway(begun)
    assert Charge.largest(ahead.spent).epsilon == client.epsilon, "nobody has served twice"
    assert ahead.season is not None
    assert (ahead.season.place.season, ahead.season.place.week) == (2, 1)
    assert ahead.season.fits_clients == 12 // 4 - 2


def test_a_week_that_was_overtaken_is_not_drawn(begun, root, monkeypatch):
    """Planted: nobody asks whether weeks before are drawn."""
    log = write_week(root / "late.tsv", usual())
    late = charge(identify(week_request(log, 2), begun))
    monkeypatch.setattr(place, "require_begun", lambda *_: None)
    run_week(begun, root, 3, usual())
    with pytest.raises(BudgetRefused, match="was drawn before week 2"):
        run_release(late)


def test_a_cap_that_refills_has_no_series(root):
    """What a week publishes may hold weeks whose charge has left the window."""
    home = new_home(root / "refilling")
    set_policy(Ledger(home.ledger), Policy.of(12, "1e-4", 30, pure_epsilon=4))
    with pytest.raises(BudgetRefused, match="needs a cap for life"):
        run_week(home, root, 1, usual())


def test_no_room_in_the_cap_is_refused_before_anybody_pays(root):
    home = new_home(root / "poor")
    set_policy(Ledger(home.ledger), Policy.of(1, "1e-6", None, pure_epsilon=0))
    with pytest.raises(HybridDPError, match="who can afford the release"):
        run_week(home, root, 1, usual())
    assert not any(e.kind is Kind.RESERVED for e in Ledger(home.ledger).entries())


def test_a_group_is_for_a_season(begun, root):
    """Everybody changes sides. Who has taken part is on neither until the season is over.

    Else they would lose more than it promises: rho and delta, and epsilon beside them.
    """
    first = identify(week_request(root / "week-1.tsv", 1), begun)
    others = {f"other{number}": ["maps"] for number in range(120)}  # a third of whom serve
    log = write_week(root / "week-2.tsv", usual() | others)
    changed = [
        line if line.startswith("other") else f"{line[:-1]}{'10'[int(line[-1])]}"
        for line in log.read_text().splitlines()[1:]
    ]
    log.write_text("\n".join([COLUMNS, *changed]) + "\n")
    run = charge(identify(week_request(log, 2), begun))
    n_reported, now = first.reservation.groups[CLIENTS].members, run.reservation.groups
    assert 0 < n_reported < len(IN_THE_LOG)
    assert now[HEADLIST].members == now[JOINING].members == len(IN_THE_LOG) - n_reported
    assert now[CLIENTS].members <= len(others)


def test_who_joined_is_known_anew_when_a_season_went_on_meanwhile(begun, root):
    """Groups were chosen, then another week began: its people have paid for the tests already."""
    log = write_week(root / "week-3.tsv", usual())
    late = identify(week_request(log, 3), begun)
    ingest(late)
    choose_cohorts(late)
    with_newcomers = {f"inward{number}": ["maps"] for number in range(20)} | usual()
    run_week(begun, root, 2, with_newcomers)
    with pytest.raises(BudgetRefused, match="has gone on meanwhile"):
        charge(late)
    again = charge(identify(week_request(log, 3), begun))
    assert again.reservation.groups[JOINING].members == 0
    assert again.reservation.groups[HEADLIST].members == len(MANY) + 20, "seen or not"


@pytest.mark.parametrize(("epoch_days", "kept", "gone"), [(7, 28, 42), (1, 28, 30)])
def test_an_abandoned_season_is_forgotten(begun, monkeypatch, epoch_days, kept, gone):
    """Days after its last epoch, whichever series runs next; devices may still report for 28."""
    monkeypatch.setitem(_DAYS, "week", epoch_days)
    entries = Ledger(begun.ledger).entries()
    [reserved] = [entry for entry in entries if entry.kind is Kind.RESERVED]
    last_due = moment_of(reserved.at) + timedelta(days=epoch_days * (N_WEEKS - 1))
    forget_ended(entries, begun, last_due + timedelta(days=kept))
    assert len(list(begun.series.iterdir())) == 1
    forget_ended(entries, begun, last_due + timedelta(days=gone))
    assert list(begun.series.iterdir()) == []
