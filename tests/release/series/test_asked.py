"""A season with real devices: packages, accounts, reports; each of them answers once."""

import json
import os
import shutil
from contextlib import suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path

import pytest

from flows.walking import list_sign_off, sign_off
from hybriddp.client import Client
from hybriddp.device import Device, NotItsWeek, ReportRefused, SeasonNotOver, ed25519
from hybriddp.device.curator import Loss
from hybriddp.device.package import canonical_json, read_package
from hybriddp.device.season import WeekOfSeason
from hybriddp.params import Budget
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING, artifacts
from tasks.products.head_list.measuring import collection
from tasks.products.head_list.measuring.collection import write_package
from tasks.products.head_list.measuring.left_out import seal_list, settle_list
from tasks.products.head_list.run import HeadListRun, identify
from tasks.products.head_list.series.manifest import NEIGHBOURS
from tasks.products.request import LogColumns
from tasks.publish.notices import why
from tasks.publish.publish import published_folder, withdraw
from tasks.publish.shelf import list_rows, read_rows
from tasks.publish.withdraw import withdraw as take_back
from tasks.release.refusals import BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.run import collection_id
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.verify import verify_publication
from tests.docs.plainly import run_command
from tests.homes import new_home
from tests.ledger.clocks import Clock
from tests.release.series.support import (
    MANY,
    N_WEEKS,
    series_home,
    usual,
    week_request,
    write_week,
)
from tests.release.support import charge, files_below, waive_gates

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("gates_waived")]
N_DEVICES = 24
VERIFY = cache(ed25519.verify)
OVER = date(2026, 11, 16)  # 28 days after the season of 2026-W40 to W42, which ends on 18 October
OPTED_IN = {person: searches for person, searches in usual().items() if person in MANY}


@pytest.fixture(autouse=True)
def clock(monkeypatch) -> Clock:
    """The 10th of November; and nobody waits for the disk, which has tests of its own."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return Clock(monkeypatch)


@pytest.fixture(scope="module")
def _asked_once(fast_folder) -> Path:
    """A folder with a home whose first week waits for reports, and its log."""
    folder = fast_folder / "asked"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as monkeypatch:
        Clock(monkeypatch)
        waive_gates(monkeypatch.setattr)
        assert ask(series_home(folder / "home"), folder, 1).is_collecting
    return folder


@pytest.fixture
def home(_asked_once, root) -> Home:
    """A copy of that home; the log lies beside it."""
    shutil.copytree(_asked_once, root, dirs_exist_ok=True)
    return new_home(root / "home")


@pytest.fixture
def first(home, root) -> HeadListRun:
    """The week that waits."""
    return identify(week_request(root / "week-1.tsv", 1, clients="reports"), home)


def ask(home: Home, root: Path, week: int, searches=OPTED_IN, **settings) -> HeadListRun:
    """Run a week as far as it goes without reports, or with them."""
    log = root / f"week-{week}.tsv"
    if not log.exists():
        write_week(log, searches)
    run = identify(week_request(log, week, clients="reports", **settings), home)
    run_release(run)
    return run


def package_of(run: HeadListRun):
    return read_package(run.home.collection(run.release_id), key_of(run.home), verify=VERIFY)


def key_of(home: Home) -> bytes:
    return bytes.fromhex((home.public / "signing.pub").read_text())


def device(home: Home, root: Path, number: int) -> Device:
    (root / "accounts").mkdir(exist_ok=True)
    account = root / "accounts" / str(number)
    return Device(account, key_of(home), cap=Budget(24, "1e-3"), verify=VERIFY)


def answers(run: HeadListRun, root: Path, n_devices: int = N_DEVICES) -> dict[int, bytes]:
    """Ask all devices on the package of a week; return the lines of those who answer."""
    found = {}
    for number in range(n_devices):
        try:
            found[number] = device(run.home, root, number).report(
                run.home.collection(run.release_id), [("maps", "http://maps.com")]
            )
        except ReportRefused:
            continue
    return found


def sent(root: Path, week: int, lines) -> Path:
    path = root / f"reports-{week}"
    path.write_bytes(b"".join(lines))
    return path


def made_up(run: HeadListRun, root: Path, n_reports: int = 20) -> Path:
    """Reports of devices whose accounts nobody looks at."""
    package = package_of(run)
    client = Client(package.head_list_mapping(), package.params)
    lines = (
        {"release_id": package.release_id, "nonce": f"{n:032x}", "cells": client.report([])}
        for n in range(n_reports)
    )
    return sent(root, run.place.week, map(canonical_json, lines))


def listed(run: HeadListRun) -> set[str]:
    return {row["query"] for row in list_rows(published_folder(run), "trends")}


def test_a_season_of_devices_is_published_and_each_of_them_has_answered_once(home, root):
    answered: dict[int, int] = {}
    for week in range(1, N_WEEKS + 1):
        run = ask(home, root, week)
        assert run.is_collecting
        assert not any(home.public.glob(f"search/*/*-{run.release_id}*"))
        season = package_of(run).season
        assert (season.series, season.season, season.week) == ("weekly", 1, week)
        assert (season.season_weeks, season.first_epoch, season.clients_rotation) == (
            N_WEEKS, "2026-W40", N_WEEKS,
        )  # fmt: skip
        assert season.is_over_on == OVER
        lines = answers(run, root)
        assert answers(run, root) == lines, "asked again, the same"
        assert not answered.keys() & lines.keys(), "nobody answers in two weeks"
        answered |= dict.fromkeys(lines, week)
        # Nobody knows how many answer in a week; these have no account and answer in all.
        reports = made_up(run, root)
        reports.write_bytes(reports.read_bytes() + b"".join(lines.values()))
        published = ask(home, root, week, reports=reports)
        assert not published.is_collecting
        folder = published_folder(published)
        verify_publication(home, folder, key_of(home))
        manifest = json.loads((folder / "manifest.json").read_bytes())
        clients = manifest["guarantees"][CLIENTS]
        assert clients["people"] == 20 + len(lines)
        assert (clients["trusts"], clients["neighbours"]) == ("their own device", NEIGHBOURS)
        assert (clients["epsilon_nano"], clients["delta_atto"]) == (4 * 10**9, 0)
        label = " ".join((folder / "label.md").read_text().split())
        assert "simulated" not in label
        assert "device reports in one week of a season at most" in label
        assert published.reservation.groups[JOINING].n_people == (len(MANY) if week == 1 else 0)
        assert published.reservation.groups[HEADLIST].n_people == len(MANY)
    assert sorted(answered) == list(range(N_DEVICES)), "three weeks are all weeks there are"
    assert [week.week for week in published.reservation.place.earlier] == [1, 2]
    assert listed(published) == {"maps", "news"}
    assert list(home.series.iterdir()) == []
    before = files_below(home.public)
    ask(home, root, 2)
    assert files_below(home.public) == before, "a rerun replays"


def test_sides_are_kept_for_a_season_by_devices_of_its_packages(home, root, first):
    """Also in the week after the person opted out: its package is of the same season."""
    lines, folder = answers(first, root), home.collection(first.release_id)
    opted_out = device(home, root, N_DEVICES)
    opted_out.opt_in(date(2026, 9, 20), Loss(12, "1e-4"))
    opted_out.opt_out(date(2026, 9, 27))
    with suppress(NotItsWeek):  # the season began on the day after
        opted_out.report(folder, [])
    opted_out = device(home, root, N_DEVICES + 1)
    opted_out.opt_in(date(2026, 9, 20), Loss(12, "1e-4"))
    opted_out.opt_out(date(2026, 9, 28))
    with pytest.raises(ReportRefused, match="the season that began in 2026-W40"):
        opted_out.report(folder, [])
    for number in range(N_DEVICES):
        who = device(home, root, number)
        if number in lines:
            with pytest.raises(SeasonNotOver, match=f"Opt in on {OVER} or later"):
                who.opt_in(OVER - timedelta(days=1), Loss(12, "1e-4"))
            who.opt_in(OVER, Loss(12, "1e-4"))
        else:
            who.opt_in(OVER - timedelta(days=1), Loss(12, "1e-4"))


def test_a_season_takes_no_week_from_the_day_on_that_devices_take_it_for_over(home, root, clock):
    """Else who reported and opted in on that day would pay for the season on both sides."""
    clock.moment = datetime.combine(OVER, datetime.min.time(), clock.moment.tzinfo)
    with pytest.raises(BudgetRefused, match=r"from 2026-11-16 on .* Nobody was charged"):
        ask(home, root, 2)
    clock.advance(seconds=-1)
    charge(identify(week_request(root / "week-2.tsv", 2, clients="reports"), home))
    log, other = write_week(root / "other.tsv", OPTED_IN), {"series": "other", "product": "other"}
    in_time = identify(week_request(log, 1, clients="reports", **other), home)
    clock.advance(seconds=1)  # while it reads its log
    with pytest.raises(BudgetRefused, match="ended on 2026-10-18"):
        charge(in_time)
    clock.advance(days=30)
    assert ask(home, root, 2).is_collecting, "what was reserved in time goes on"
    with pytest.raises(BudgetRefused, match="missing from the series for good"):
        ask(home, root, 3)
    identify(week_request(log, 1, **other), home)  # without devices nobody waits for it


def test_a_week_is_looked_at_by_the_next_if_it_was_published_before(home, root, first):
    """And by later ones, as soon as it is; what was reserved before says what it said."""
    second = ask(home, root, 2)
    assert (second.place.earlier, second.place.unseen) == ([], [1])
    [words] = artifacts.cohorts(second, None)
    assert "publish a week before you reserve the next" in words.text
    ask(home, root, 1, reports=made_up(first, root))
    assert identify(second.request, home).place == second.place, "for good"
    log = write_week(root / "week-3.tsv", OPTED_IN)
    third = charge(identify(week_request(log, 3, clients="reports"), home)).reservation.place
    assert ([week.week for week in third.earlier], third.unseen) == ([1], [2])


def test_what_is_blocked_before_the_package_is_nowhere_and_weeks_are_withdrawn(home, root, first):
    ask(home, root, 1, reports=made_up(first, root))
    assert listed(first) == {"maps", "news"}
    blocklist = root / "blocklist"
    blocklist.write_text("News\n")
    second = ask(home, root, 2, blocklist=blocklist)
    assert dict(package_of(second).head_list) == {"maps": ("http://maps.com",)}
    # The blocklist is not given again, and what devices were not asked about stays out.
    published = ask(home, root, 2, reports=made_up(second, root))
    assert listed(published) == {"maps"}
    folder = published_folder(published)
    assert all(row["query"] != "news" for row in read_rows(folder, "changes"))
    assert all(b"news" not in data for data in files_below(folder).values())
    verify_publication(home, folder, key_of(home))
    before = files_below(folder)
    again = run_reprocess(ReprocessRequest(release_id=second.release_id), home)
    assert (again, files_below(folder)) == (folder, before)
    withdraw(published, "a mistake")
    with pytest.raises(ValueError, match="taken down"):
        package_of(second)
    log = write_week(root / "week-3.tsv", OPTED_IN)
    with pytest.raises(BadInput, match="give --blocklist in every epoch"):
        identify(week_request(log, 3, clients="reports"), home)
    nothing = root / "nothing"
    nothing.write_text("")
    asked = week_request(log, 3, clients="reports", blocklist=nothing)
    third = charge(identify(asked, home)).reservation.place
    assert ([week.week for week in third.earlier], third.unseen) == ([1], [2])
    # A revision blocks what devices were asked about: their package goes, too.
    revised = run_reprocess(
        ReprocessRequest(release_id=first.release_id, blocklist=blocklist), home
    )
    assert all(b"news" not in data for data in files_below(home.public).values())
    verify_publication(home, revised, key_of(home))


def test_what_is_blocked_while_devices_are_asked_is_asked_about_again(home, root, first):
    """With the reports; and before devices are asked at all."""
    blocklist = root / "blocklist"
    blocklist.write_text("News\n")
    ask(home, root, 1, reports=made_up(first, root))
    second = ask(home, root, 2)
    run_reprocess(ReprocessRequest(release_id=first.release_id, blocklist=blocklist), home)
    reports = made_up(second, root)
    with pytest.raises(BadInput, match="goes on with one for free"):
        ask(home, root, 2, reports=reports)
    assert not second.state.has(Kind.DRAW_STARTED, CLIENTS)
    assert listed(ask(home, root, 2, reports=reports, blocklist=blocklist)) == {"maps"}
    third = ask(home, root, 3, blocklist=blocklist)
    assert set(dict(package_of(third).head_list)) == {"maps"}
    # It is not asked about what was kept back before its list was settled, or left out of that.
    run_reprocess(ReprocessRequest(release_id=first.release_id, decimals=3), home)
    assert listed(ask(home, root, 3, reports=made_up(third, root))) == {"maps"}


def test_a_list_is_not_settled_without_what_was_blocked_since_it_was_drawn(home, root, first):
    ask(home, root, 1, reports=made_up(first, root))
    log = write_week(root / "week-2.tsv", OPTED_IN)
    second = identify(week_request(log, 2, clients="reports"), home)
    run_release(second, before="settle the list")
    blocklist = root / "blocklist"
    blocklist.write_text("News\n")
    run_reprocess(ReprocessRequest(release_id=first.release_id, blocklist=blocklist), home)
    for settle in (settle_list, lambda run: seal_list(run, [], is_signed_off=True)):
        with pytest.raises(BadInput, match="goes on with one for free"):
            settle(second)
    assert not second.state.has(Kind.LISTED)
    ask(home, root, 2, blocklist=blocklist)
    assert set(dict(package_of(second).head_list)) == {"maps"}


def test_a_package_is_taken_down_while_devices_are_asked(home, root, first):
    """A blocklist alone comes too late, and says so; `withdraw` does it."""
    blocklist = root / "blocklist"
    blocklist.write_text("News\n")
    with pytest.raises(BadInput, match="devices are asked about 1 of the blocklist's queries"):
        ask(home, root, 1, blocklist=blocklist)
    assert "news" in dict(package_of(first).head_list)
    done = run_command(
        f"hybriddp withdraw {first.release_id} --reason wrong --yes --home {home.root}"
    )
    assert done.exit_code == 0, done.output
    assert all(b"news" not in data for data in files_below(home.public).values())
    assert first.state.has(Kind.WITHHELD)
    assert "taken back while devices were asked" in why(home.collection(collection_id(first)))
    with pytest.raises(BudgetRefused, match="was withheld"):
        ask(home, root, 1, reports=made_up_for(first, root))
    assert ask(home, root, 2).place.unseen == [1]


def made_up_for(run: HeadListRun, root: Path) -> Path:
    return sent(root, run.place.week, [b"{}\n"])


def die_while_sealing(run: HeadListRun, root: Path, monkeypatch) -> Path:
    """Seal reports in a run that ends before their file is there; return the reports."""
    reports = made_up(run, root)
    with monkeypatch.context() as patch:
        patch.setattr("tasks.measured.drawing.write_whole", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ask(run.home, root, run.place.week, reports=reports)
    assert (run.state.burnt_draws, run.state.unfinished_sealings) == ([], [CLIENTS])
    return reports


def test_a_week_whose_sealing_died_is_sealed_and_later_weeks_look_at_it(
    home, root, first, monkeypatch
):
    """Also when the next week was reserved meanwhile, as with any week that still collects."""
    reports = die_while_sealing(first, root, monkeypatch)
    assert ask(home, root, 1).is_collecting
    package_of(first)
    asked_meanwhile = ask(home, root, 2)
    assert asked_meanwhile.place.unseen == [1]
    lines = answers(first, root)
    reports.write_bytes(reports.read_bytes() + b"".join(lines.values()))
    charged = [row for row in Ledger(home.ledger).entries() if row.kind is Kind.RESERVED]
    published = ask(home, root, 1, reports=reports)
    assert [row for row in Ledger(home.ledger).entries() if row.kind is Kind.RESERVED] == charged
    assert published.attempt == 1
    manifest = json.loads((published_folder(published) / "manifest.json").read_bytes())
    assert manifest["guarantees"][CLIENTS]["people"] == 20 + len(lines) > 20
    verify_publication(home, published_folder(published), key_of(home))
    ask(home, root, 2, reports=made_up(asked_meanwhile, root))
    third = ask(home, root, 3).place
    assert ([week.week for week in third.earlier], third.unseen) == ([1, 2], [])


def test_a_package_goes_after_its_reports_were_lost(home, root, first, monkeypatch):
    """If they cannot be sealed any more, nobody is to spend more on the week."""
    reports = die_while_sealing(first, root, monkeypatch)
    package_of(first)
    take_back(home, first.release_id, "its reports were lost")
    with pytest.raises(ValueError, match="taken down"):
        package_of(first)
    with pytest.raises(BudgetRefused, match="was withheld"):
        ask(home, root, 1, reports=reports)
    assert ask(home, root, 2).place.unseen == [1]


def test_how_clients_report_is_fixed_for_a_season(home, root, first):
    with pytest.raises(BadInput, match="with client_report one-stage, got two-stage"):
        ask(home, root, 2, client_report="two-stage")


def test_devices_are_asked_about_a_week_when_its_list_was_signed_off(home, root, monkeypatch):
    with pytest.raises(BadInput, match="must be signed off before devices are asked"):
        ask(home, root, 2, sign_off=True)
    run = identify(week_request(root / "week-2.tsv", 2, clients="reports", sign_off=True), home)
    assert not home.collection(run.release_id).exists()
    monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sign_off.typer, "prompt", lambda *_, **__: "publish")
    list_sign_off.wait_for_list_sign_off(run)
    run = ask(home, root, 2, sign_off=True)
    assert run.is_collecting
    assert run.state.find(Kind.LISTED).payload.signed_off
    assert dict(package_of(run).head_list).keys() == {"maps", "news"}


def test_a_package_of_another_season_in_its_place_is_seen(home, root, first):
    folder, package = home.collection(first.release_id), package_of(first)
    shutil.rmtree(folder)
    write_package(first, replace(package, season=replace(package.season, season=2)))
    with pytest.raises(LedgerCorrupt, match="holds another package"):
        ask(home, root, 1)


@pytest.mark.parametrize("named", ["roster", "everybody"])
def test_opt_in_people_of_a_series_are_named_as_in_a_single_release(clock, root, named):
    home, log = series_home(root / "other"), write_week(root / "log.tsv", OPTED_IN)
    unnamed = week_request(log, 1, clients="reports", rotation=5).model_copy(
        update={"columns": LogColumns(time=None)}
    )
    with pytest.raises(BadInput, match="name opt-in people by a roster"):
        identify(unnamed, home)
    roster = root / "roster.csv"
    roster.write_text("\n".join(["person,optin", *(f"{person},1" for person in MANY), ""]))
    said = {"everybody_opted_in": True} if named == "everybody" else {"roster": roster}
    run = charge(identify(unnamed.model_copy(update=said), home))
    assert run.reservation.groups[HEADLIST].n_people == len(MANY)
    stated = collection.season_stated(run)
    assert stated == WeekOfSeason("weekly", 1, 1, N_WEEKS, "2026-W40", clients_rotation=5)


def test_a_series_of_devices_does_not_go_on_with_simulated_clients(home, root):
    log = write_week(root / "all.tsv", usual())
    with pytest.raises(BudgetRefused, match="takes reports of devices, and this one would charge"):
        run_release(identify(week_request(log, 2), home))


def test_the_command_says_to_publish_a_week_before_the_next(home, root):
    log = root / "week-1.tsv"
    done = run_command(
        f"hybriddp release --log {log} --epoch 2026-W40 --series weekly --season-weeks 3 --clients "
        f"reports --columns optin=optin --columns time= --ignore-plan --home {home.root}"
    )
    assert done.exit_code == 0, done.output
    assert "COLLECTING" in done.stdout
    assert "Publish this week of series weekly before you reserve the next" in done.stdout
