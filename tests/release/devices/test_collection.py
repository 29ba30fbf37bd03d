"""What devices are shown: only what was settled, by people who were named, under a known ledger."""

import hashlib
import json
import logging
import shutil
import sqlite3
from dataclasses import replace
from types import SimpleNamespace

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner

from flows.cli.main import app
from flows.walking import list_sign_off, sign_off
from hybriddp.client import Client
from hybriddp.device.curator import Loss
from hybriddp.device.package import canonical_json, read_package
from hybriddp.device.reporting import BudgetExceeded, Device, ReportRefused
from hybriddp.errors import InvalidParameter
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.policy_change import price_of_change
from tasks.gates.quality import GateRefused
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.raw.files import BadInput
from tasks.products.head_list import CLIENTS, HEAD_LIST, HISTOGRAM
from tasks.products.head_list.estimation.processing import published_listing
from tasks.products.head_list.measuring import collection, draws
from tasks.products.head_list.measuring.left_out import seal_list, settle_list
from tasks.products.head_list.measuring.left_out_file import LEFT_OUT_FILE
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.publish.publication import Facts, next_payload
from tasks.publish.publish import publish
from tasks.release.refusals import BudgetRefused
from tasks.release.run import release_id_of
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication
from tests.homes import new_home
from tests.release.support import (
    QUERIES,
    files_below,
    request_by_column,
    request_for,
    reserve_release,
    sealed_groups,
    write_log,
)
from tests.steps import do, leave_out

pytestmark = pytest.mark.usefixtures("gates_waived")
PEOPLE = [str(number) for number in range(240)]
OPTED_IN = PEOPLE[:200]
BLOCKED = QUERIES[0]
STRATEGIES = [
    {}, {"strategy": "paper"}, {"headlist_user_fraction": 1.0},
    {"finding": "gaussian", "headlist_user_fraction": None},
]  # fmt: skip


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A log that says who opted in."""
    return write_log(tmp_path_factory.mktemp("log") / "log.tsv", PEOPLE, OPTED_IN)


def device_request(log, **settings) -> ReleaseRequest:
    usual = {"clients": "reports", "optin_fraction": None, "min_agreement": 0}
    return request_by_column(log, **usual | settings)


def blocklist(root, *queries: str):
    path = root / "blocklist"
    path.write_text("\n".join(queries) + "\n")
    return path


def package_of(home: Home):
    [folder] = (home.public / "collections").iterdir()
    return read_package(folder, read_public_key(home.public / "signing.pub"))


def send(run, n_devices: int = 20):
    """Write reports as devices would send them."""
    package = package_of(run.home)
    client = Client(package.head_list_mapping(), package.params)
    lines = [
        canonical_json(
            {
                "release_id": package.release_id,
                "nonce": f"{number:032x}",
                "cells": client.report([("news", "http://news.com")]),
            }
        )
        for number in range(n_devices)
    ]
    path = run.home.root / "reports"
    path.write_bytes(b"".join(lines))
    return path


# --- who opted in -------------------------------------------------------------------------------


def test_a_log_in_which_nobody_is_named_is_refused_before_anything_is_paid(log, home):
    request = request_for(log, clients="reports", optin_fraction=None)
    with pytest.raises(BadInput, match=r"--everybody-opted-in.* Nobody was charged"):
        identify(request, home)
    assert not home.ledger.exists() or not Ledger(home.ledger).attempts(
        release_id_of(request, home)
    )
    for named in (
        device_request(log),
        request.model_copy(update={"everybody_opted_in": True}),
    ):
        identify(named, home)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"clients": "reports", "optin_fraction": 0.05}, "leave it out, and name them by a roster"),
        ({"everybody_opted_in": True}, "everybody_opted_in is for clients 'reports'"),
        ({"clients": "reports", "everybody_opted_in": True, "roster": "r.csv"}, "leave it out"),
    ],
)
def test_settings_that_would_be_ignored_are_refused(log, settings, words):
    with pytest.raises(ValidationError, match=words):
        ReleaseRequest(log=log, epoch="2026-W46", **settings)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "name opt-in people by a roster"),
        (("--optin-fraction", "0.1"), "optin_fraction picks opt-in people by a hash"),
        (("--everybody-opted-in", "--columns", "optin=optin"), "everybody_opted_in is for"),
    ],
)
def test_the_command_line_refuses_with_exit_2_and_words(log, home, options, words):
    arguments = ["release", "--log", str(log), "--epoch", "2026-W46", "--clients", "reports"]
    done = CliRunner().invoke(app, [*arguments, "--home", str(home.root), *options])
    assert done.exit_code == 2, done.output
    assert words in done.stderr
    assert list(home.participation.iterdir()) == []


def test_releases_keep_the_ids_that_version_0_1_0_gave_them(log):
    """Who opted in stands in the id, in the same words as before."""
    for settings, words in (
        ({}, "hash 1/20"),
        ({"optin_fraction": 0.05}, "hash 1/20"),
        ({"clients": "reports"}, "everybody in the log"),
        ({"clients": "reports", "everybody_opted_in": True}, "everybody in the log"),
    ):
        request = ReleaseRequest(log=log, epoch="2026-W46", **settings)
        assert request.measurement_parameters()["optin"] == words


def test_one_human_is_in_the_log_or_behind_a_device_never_in_both(log, home, root):
    """Every person has a device; those who opted in told it so before they were in the log."""
    run = identify(device_request(log), home)
    assert run_release(run) is None
    [folder] = (home.public / "collections").iterdir()
    key, cap = read_public_key(home.public / "signing.pub"), Loss(12, "1e-4")
    sample = [*OPTED_IN[:10], *PEOPLE[-10:]]
    silent, reported = set(), set()
    for person in sample:
        device = Device(root / f"account-{person}", key)
        if person in OPTED_IN:
            device.opt_in(run.epoch.start, cap)
        try:
            device.report(folder, [])
            reported.add(person)
        except ReportRefused:
            silent.add(person)
    assert silent == set(OPTED_IN[:10])
    assert reported == set(PEOPLE[-10:])
    assert len(sealed_groups(home, run)) == len(OPTED_IN), "the others are charged by their device"
    assert package_of(home).curator.lifetime_cap == cap


# --- what devices see ---------------------------------------------------------------------------


@pytest.mark.parametrize("strategy", STRATEGIES, ids=str)
def test_a_package_names_no_blocked_query_and_the_release_verifies(log, home, root, strategy):
    settings = {"blocklist": blocklist(root, BLOCKED.upper(), "never searched"), **strategy}
    run = identify(device_request(log, **settings), home)
    assert run_release(run) is None
    assert sorted(dict(package_of(home).head_list)) == sorted(set(QUERIES) - {BLOCKED})
    for path, data in files_below(home.public).items():
        assert BLOCKED.encode() not in data, path
    # Sealed once: no blocklist changes nothing of the list, and another one says so.
    shown = files_below(home.public)
    again = device_request(log, **settings | {"blocklist": None})
    assert run_release(identify(again, home)) is None
    again = device_request(log, **settings | {"blocklist": blocklist(root, *QUERIES)})
    with pytest.raises(BadInput, match="devices are asked about 2 of the blocklist's queries"):
        run_release(identify(again, home))
    assert files_below(home.public) == shown
    blocklist(root, BLOCKED)
    folder = run_release(identify(device_request(log, **settings, reports=send(run)), home))
    rows = (folder / "trends.jsonl").read_text().splitlines()
    assert sorted(json.loads(row)["query"] for row in rows) == sorted(set(QUERIES) - {BLOCKED})
    for path, data in files_below(home.public).items():
        assert BLOCKED.encode() not in data, path
    verify_publication(home, folder, read_public_key(home.public / "signing.pub"))


def test_the_decision_is_salted_and_verify_compares_it(log, home, root, monkeypatch):
    run = identify(device_request(log, blocklist=blocklist(root, BLOCKED)), home)
    run_release(run)
    folder = run_release(identify(device_request(log, reports=send(run)), home))
    named = json.loads((folder / "manifest.json").read_bytes())["measurements"]["listed"]
    file = run.folder / LEFT_OUT_FILE
    decision = json.loads(file.read_bytes())
    assert hashlib.sha256(file.read_bytes()).hexdigest() == named
    assert decision["left_out"] == [BLOCKED]
    assert len(bytes.fromhex(decision["salt"])) == 32
    for guess in ({"left_out": [BLOCKED]}, {"left_out": [BLOCKED], "salt": ""}):
        assert hashlib.sha256(canonical_json(guess)).hexdigest() != named
    with monkeypatch.context() as patch:  # another version finds it as it was signed
        patch.setattr("tasks.publish.publication.code_version", lambda: "9.9")
        assert publish(run, run.request.settings) == folder
    file.write_bytes(canonical_json(decision | {"left_out": []}))
    with pytest.raises(VerificationFailed, match="not the decision"):
        verify_publication(home, folder, read_public_key(home.public / "signing.pub"))


def test_nothing_is_measured_on_a_list_that_nobody_settled(log, home, monkeypatch):
    leave_out(HEAD_LIST, "settle the list", monkeypatch)
    run = identify(device_request(log), home)
    with pytest.raises(BadInput, match="was not settled"):
        run_release(run)
    assert not run.state.has(Kind.DRAW_STARTED, HISTOGRAM)
    without_t = identify(device_request(log, headlist_user_fraction=1.0, pay_again=True), home)
    with pytest.raises(BadInput, match="was not settled"):
        run_release(without_t)
    assert not (home.public / "collections").exists()


def test_who_settles_second_finds_what_was_settled(log, home, root):
    run = identify(device_request(log, blocklist=blocklist(root, BLOCKED)), home)
    do(run, "ingest", "choose cohorts", "reserve budget", "draw head list")
    settle_list(run)
    sealed = run.state.find(Kind.LISTED)
    seal_list(run, QUERIES, is_signed_off=False)  # a run that decided at the same time
    assert run.state.find(Kind.LISTED) == sealed
    assert BLOCKED not in published_listing(run).listed_queries
    (run.folder / LEFT_OUT_FILE).unlink()  # as if killed before it was written
    settle_list(run)
    assert json.loads((run.folder / LEFT_OUT_FILE).read_bytes())["left_out"] == [BLOCKED]


# --- sign-off -----------------------------------------------------------------------------------


@pytest.fixture
def found(log, home, root):
    """A release that waits for the sign-off of its list."""
    request = device_request(log, sign_off=True, blocklist=blocklist(root, BLOCKED))
    run = identify(request, home)
    do(run, "ingest", "choose cohorts", "reserve budget", "draw head list")
    return run


def go_on(run) -> None:
    do(run, "settle the list", "draw opt-in histogram", "publish collection package")


def test_devices_see_nothing_before_somebody_approved(found):
    with pytest.raises(BadInput, match="must be signed off before devices are asked"):
        go_on(found)
    with pytest.raises(BadInput, match="needs a terminal"):
        list_sign_off.wait_for_list_sign_off(found)
    assert not (found.home.public / "collections").exists()
    assert not found.state.has(Kind.DRAW_STARTED, HISTOGRAM)


def test_whoever_approves_sees_the_list_without_what_is_blocked(found, root, monkeypatch, capsys):
    def answer(*_, **__):
        blocklist(root, "nothing")  # changed after it was shown
        return "publish"

    monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sign_off.typer, "prompt", answer)
    list_sign_off.wait_for_list_sign_off(found)
    shown = capsys.readouterr().err
    assert all((query in shown) == (query != BLOCKED) for query in QUERIES)
    assert "everybody stays charged" in shown
    row = found.state.find(Kind.LISTED)
    assert (row.payload.left_out, row.payload.signed_off) == ([BLOCKED], True)
    go_on(found)
    assert BLOCKED not in dict(package_of(found.home).head_list)
    monkeypatch.setattr(sign_off.typer, "prompt", None)  # nobody is asked again
    list_sign_off.wait_for_list_sign_off(found)


def test_on_a_page_an_answer_about_another_list_is_no_answer(found, monkeypatch):
    shown, keys, decisions = [], [], iter(["later", "publish"] * 2)

    def suspend(wait_for_input, timeout, key):
        keys.append(key)
        return sign_off.SignOff(decision=next(decisions))

    monkeypatch.setattr(sign_off, "deployment", SimpleNamespace(id="a deployment"))
    monkeypatch.setattr(sign_off, "get_run_logger", lambda: logging.getLogger("page"))
    monkeypatch.setattr(sign_off, "suspend_flow_run", suspend)
    monkeypatch.setattr(list_sign_off, "show", lambda _, rows: shown.extend(rows))
    list_sign_off.wait_for_list_sign_off(found)
    assert {row["query"] for row in shown[0].rows} == set(QUERIES) - {BLOCKED}
    assert found.state.find(Kind.LISTED).payload.signed_off
    # As if the blocklist had changed before somebody answered.
    monkeypatch.setattr(list_sign_off, "is_settled", lambda _: False)
    monkeypatch.setattr(list_sign_off, "blocked_now", lambda _: [])
    list_sign_off.wait_for_list_sign_off(found)
    assert len(set(keys)) == 4


def test_later_leaves_everything_as_it_is(found, monkeypatch):
    monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sign_off.typer, "prompt", lambda *_, **__: "later")
    rows = found.ledger.entries()
    with pytest.raises(GateRefused, match="not published; run it again to decide"):
        list_sign_off.wait_for_list_sign_off(found)
    assert found.ledger.entries() == rows
    assert not (found.home.public / "collections").exists()


def test_a_refused_list_is_withheld_with_nothing_public_and_nothing_more_drawn(found, monkeypatch):
    answers = iter(["maybe", "never", "never", "because"])
    confirmed = iter([False, True])
    monkeypatch.setattr(sign_off.sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr(sign_off.typer, "prompt", lambda *_, **__: next(answers))
    monkeypatch.setattr(sign_off.typer, "confirm", lambda *_, **__: next(confirmed))
    with pytest.raises(GateRefused, match="withheld at sign-off, for good"):
        list_sign_off.wait_for_list_sign_off(found)
    assert found.state.has(Kind.WITHHELD)
    assert found.state.find(Kind.WITHHELD).payload.reason == "because"
    assert not found.state.has(Kind.DRAW_STARTED, HISTOGRAM)
    assert not found.home.warehouse(found.release_id).exists(), "the log's tables are gone"
    assert not (found.home.public / "collections").exists()
    with pytest.raises(BudgetRefused, match="was withheld"):
        identify(found.request, found.home)
    found.ledger.verify()


# --- the ledger's head --------------------------------------------------------------------------


def test_a_package_carries_the_ledgers_head_and_is_the_same_whenever_it_is_made(log, home):
    run = identify(device_request(log), home)
    run_release(run)
    folder = home.collection(run.release_id)
    made, stated = files_below(folder), package_of(home).curator
    drawn = run.state.find(Kind.DRAWN, HISTOGRAM)
    assert (stated.ledger_seq, stated.ledger_hash) == (drawn.seq, drawn.hash)
    assert stated.lifetime_cap == Loss(12, "1e-4")
    set_policy(run.ledger, Policy.of(11, "1e-4", None))
    reserve_release(device_request(log, epoch="2026-W45"), home)
    shutil.rmtree(folder)
    assert run_release(run) is None
    assert files_below(folder) == made
    # What is out stays as it was signed, whatever became of the cap.
    set_policy(run.ledger, Policy.of(20, "1e-3", 7))
    assert run_release(run) is None
    assert files_below(folder) == made


def test_a_ledger_from_before_a_package_draws_nothing_more(log, home):
    """Cap 4, a package that is out, a ledger that has forgotten it: 8 would be spent."""
    request = device_request(log)
    set_policy(identify(request, home).ledger, Policy.of(4, "1e-5", None))
    backup = sqlite_bytes(home)
    run_release(identify(request, home))
    restore(home, backup)
    shutil.rmtree(home.measurements)  # the package alone must tell
    home.measurements.mkdir()
    with pytest.raises(LedgerCorrupt, match=r"package\.json speaks of something"):
        run_release(identify(device_request(log, epoch="2026-W45"), home))
    assert not any(e.kind is Kind.RESERVED for e in Ledger(home.ledger).entries())


def sqlite_bytes(home: Home) -> bytes:
    """Return the ledger as one file."""
    with sqlite3.connect(home.ledger) as connection:
        return connection.serialize()


def restore(home: Home, backup: bytes) -> None:
    """Put an older ledger back, without what SQLite keeps beside it."""
    for path in home.private.glob(f"{home.ledger.name}*"):
        path.unlink()
    home.ledger.write_bytes(backup)


def test_the_stated_cap_is_the_largest_that_anybody_was_charged_under(log, home):
    set_policy(identify(device_request(log), home).ledger, Policy.of(6, "1e-3", None))
    first = identify(device_request(log), home)
    run_release(first)
    assert package_of(home).curator.lifetime_cap == Loss(6, "1e-3")
    shutil.rmtree(home.public / "collections")
    set_policy(first.ledger, Policy.of(5, "1e-5", None))
    second = identify(device_request(log, epoch="2026-W45", epsilon=1.0, delta=1e-6), home)
    entries = first.ledger.entries()
    assert collection.lifetime_cap(entries) == Loss(6, "1e-3")
    set_policy(first.ledger, Policy.of(9, "1e-2", 30))
    run_release(second)
    assert package_of(home).curator.lifetime_cap is None


@pytest.mark.parametrize("raised", ["before the draws", "before the package"])
@pytest.mark.parametrize("window_days", [None, 30])
def test_a_package_states_the_cap_that_holds_when_it_is_signed(
    log, home, root, raised, window_days
):
    """As a label of that moment does: the ledger may charge it from the next release on."""
    ledger, raised_cap = Ledger(home.ledger), Policy.of(12, "1e-4", window_days)
    set_policy(ledger, Policy.of(4, "1e-4", None))
    run = reserve_release(device_request(log), home)
    if raised == "before the package":
        do(run, "draw head list", "settle the list", "draw opt-in histogram")
    row = set_policy(ledger, raised_cap)
    assert run_release(identify(run.request, home)) is None
    stated = package_of(home).curator
    assert stated.lifetime_cap == (Loss(12, "1e-4") if window_days is None else None)
    assert next_payload(run, Facts({}, []), 1).cap == raised_cap.statement, "as a label says"
    assert (stated.ledger_seq == row.seq) == (raised == "before the package")
    [folder] = (home.public / "collections").iterdir()
    device = Device(root / "account", read_public_key(home.public / "signing.pub"))
    device.report(folder, [])  # 4 of 12
    with pytest.raises(BudgetExceeded, match="opting in must fit"):
        device.opt_in(run.epoch.end, stated.lifetime_cap)


def test_a_raised_cap_says_first_whose_package_promised_less(log, home):
    set_policy(Ledger(home.ledger), Policy.of(6, "1e-4", None))
    run_release(identify(device_request(log), home))
    broken = "1 collection packages promise devices another cap, and this one is looser than 1"

    def price(*asked) -> str:
        old = current_policy(Ledger(home.ledger).entries())
        return price_of_change(home, old, Policy.of(*asked))

    for asked in ((6.5, "1e-4", None), (1, "2e-4", None), (1, 0, 365)):
        assert f"{broken} of them: their promise would be broken" in price(*asked)
    assert "devices another cap; this one keeps what they promise" in price(5, "1e-4", None)
    assert "packages" not in price(6, "1e-4", None, 11)
    command = ["ledger", "policy", "--cap-epsilon", "20", "--home", str(home.root)]
    refused = CliRunner().invoke(app, command)
    assert refused.exit_code == 2
    assert broken in " ".join(refused.stderr.split())
    # One that says it has no bound, says nothing, or was taken down promises nothing.
    [folder] = (home.public / "collections").iterdir()
    package = package_of(home)
    for curator in (replace(package.curator, lifetime_cap=None), None):
        (folder / "package.json").write_bytes(replace(package, curator=curator).to_bytes())
        assert "packages" not in price(20, "1e-4", None)
    (folder / "package.json").write_bytes(b"{}")
    with pytest.raises(LedgerCorrupt, match="nobody knows which cap it promises"):
        price(20, "1e-4", None)
    (folder / "package.json").unlink()
    assert "packages" not in price(20, "1e-4", None)


def test_a_package_that_was_taken_down_or_is_not_needed_is_not_made_again(log, home):
    run = identify(device_request(log), home)
    run_release(run)
    folder = home.collection(run.release_id)
    reports = send(run)
    kept = files_below(folder)
    for name in kept:
        (folder / name).unlink()
    (folder / "withdrawn.json").write_text("{}")
    assert run_release(run) is None
    assert list(files_below(folder)) == ["withdrawn.json"]
    shutil.rmtree(folder)
    assert run_release(identify(device_request(log, reports=reports), home)) is not None
    assert run.state.has(Kind.DRAWN, CLIENTS)
    shutil.rmtree(folder)
    assert run_release(run) is not None
    assert not folder.exists()


def test_what_is_blocked_after_devices_were_asked_takes_their_package_down(log, home, root):
    run = identify(device_request(log), home)
    run_release(run)
    settings = {"reports": send(run), "blocklist": blocklist(root, BLOCKED)}
    folder = run_release(identify(device_request(log, **settings), home))
    package = home.collection(run.release_id)
    assert sorted(files_below(package)) == ["withdrawn.json", "withdrawn.sig"]
    for path, data in files_below(home.public).items():
        assert BLOCKED.encode() not in data, path
    with pytest.raises(InvalidParameter, match="do not report"):
        package_of(home)
    shown = files_below(home.public)
    assert run_release(identify(device_request(log), home)) == folder
    assert files_below(home.public) == shown
    run.ledger.verify()


def test_another_package_in_its_place_is_refused(log, home):
    run = identify(device_request(log), home)
    run_release(run)
    path = home.collection(run.release_id) / "package.json"
    path.write_bytes(path.read_bytes().replace(b'"maps"', b'"mops"'))
    with pytest.raises(LedgerCorrupt, match="holds another package"):
        run_release(run)


# --- homes of version 0.1.0 ---------------------------------------------------------------------


@pytest.fixture
def old_home(log, root, monkeypatch) -> Home:
    """A home that version 0.1.0 left at COLLECTING: no LISTED row, a package of schema 2."""
    home = new_home(root / "old")
    with monkeypatch.context() as patch:
        leave_out(HEAD_LIST, "settle the list", patch)
        for module in (draws, collection):
            patch.setattr(module, "require_settled", lambda _: None)
        patch.setattr(collection, "_statement", lambda _: None)
        run_release(identify(everybody(log, everybody_opted_in=True), home))
    assert package_of(home).curator is None
    return home


def everybody(log, **settings) -> ReleaseRequest:
    return request_for(log, **{"clients": "reports", "optin_fraction": None, "min_agreement": 0}
                       | settings)  # fmt: skip


def test_what_version_0_1_0_left_collecting_goes_on_with_the_same_command(log, old_home):
    run = identify(everybody(log), old_home)
    before = files_below(old_home.public)
    assert run_release(run) is None
    assert files_below(old_home.public) == before
    assert not run.state.has(Kind.LISTED)
    folder = run_release(identify(everybody(log, reports=send(run)), old_home))
    manifest = json.loads((folder / "manifest.json").read_bytes())
    assert set(manifest["measurements"]) == {"S", "T", "C"}
    verify_publication(old_home, folder, read_public_key(old_home.public / "signing.pub"))


def test_what_version_0_1_0_drew_is_not_named_to_devices_against_somebodys_will(
    log, old_home, root
):
    shutil.rmtree(old_home.public / "collections")  # as if it had died before the package
    for settings in ({"sign_off": True}, {"blocklist": blocklist(root, BLOCKED)}):
        with pytest.raises(BadInput, match="could not leave queries out"):
            run_release(identify(everybody(log, **settings), old_home))
        assert not (old_home.public / "collections").exists()
    assert run_release(identify(everybody(log), old_home)) is None
    assert package_of(old_home).curator is not None
