"""A ledger that knows less than measurements, packages or publications charges nobody."""

import ast
import json
import shutil

import pyarrow as pa
import pytest

import tasks.budget.reserve
import tasks.ledger.witnesses
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.params import Budget
from tasks.budget.policy import Policy
from tasks.budget.reserve import void_reservation
from tasks.ledger.chain import Chain
from tasks.ledger.check import check_ledger
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.payloads import PolicySet
from tasks.ledger.rules import Kind
from tasks.measured.drawing import draw_once
from tasks.products.head_list.measuring.draws import draw_head_list
from tasks.products.head_list.measuring.left_out import settle_list
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.registry import PRODUCTS
from tasks.publish.publish import withhold
from tasks.publish.withdraw import withdraw
from tasks.release.run import Release
from tasks.release.walk import run_release
from tests.groups import FILES
from tests.homes import new_home, steps_of
from tests.release.support import (
    request_for,
    reserve_groups,
    reserve_release,
    sealed_groups,
    waive_gates,
    write_log,
)
from tests.repository import ROOT
from tests.rows import DRAWN, STARTED, reserved

EVENT = HeadListMechanism.for_budget(Budget(4, 1e-5)).event
TABLE = pa.table({"query": ["a"], "url": ["b"]})
PAIRS = {bytes([number]) * 16: group for number, group in enumerate("SSTTCC")}


@pytest.fixture
def home(tmp_path):
    return new_home(tmp_path / "home")


def backup(home):
    """Copy the ledger as a careful operator does; return what puts the copy back."""
    copied = {file: file.read_bytes() for file in home.private.glob("ledger.sqlite*")}

    def restore():
        for file in home.private.glob("ledger.sqlite*"):
            file.unlink()
        for file, data in copied.items():
            file.write_bytes(data)

    return restore


def reserved_for(home, group):
    """Reserve one group of any product, as a release does."""
    (product,) = (product for product in PRODUCTS if group in product.groups)
    payload = reserved([group], parameters={"strategy": product.strategies[0]})
    Ledger(home.ledger).append(Kind.RESERVED, "a" * 32, 1, payload)
    return Release(home, "a" * 32, 1)


def refuses_everything(home, *release_ids):
    """Neither a charge nor a draw nor a sum, in a process that has or has not looked before."""
    for _ in range(2):
        for use in (
            check_ledger,
            lambda home: reserve_groups(home, "other", PAIRS),
            lambda home: tasks.ledger.witnesses.verified_head(home),
            *(lambda home, known=known: void_reservation(home, known) for known in release_ids),
        ):
            with pytest.raises(LedgerCorrupt, match="forgotten spending"):
                use(home)
        tasks.ledger.witnesses._CHECKED.clear()


@pytest.mark.parametrize("group", FILES)
def test_every_draw_of_every_product_leaves_a_witness_before_its_noise(home, group):
    run = reserved_for(home, group)
    restore, witness = backup(home), run.folder / f"{group}.started.json"

    def die(_):
        told = json.loads(witness.read_bytes())["ledger"]
        row = run.state.find(Kind.DRAW_STARTED, group)
        assert told == {"seq": row.seq, "hash": row.hash}
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        draw_once(run, group, EVENT, lambda: None, die)
    check_ledger_without_files(home)
    restore()
    refuses_everything(home)


def check_ledger_without_files(home):
    tasks.ledger.witnesses.verified_head(home, anew=True)


def test_all_products_draw_through_this_one_door():
    """Nothing else writes that a draw starts."""
    writers = [
        path.name
        for path in (ROOT / "tasks").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and any(ast.unparse(argument) == "Kind.DRAW_STARTED" for argument in node.args[:1])
        and ast.unparse(node.func).endswith(".append")
    ]
    assert writers == ["drawing.py"]


@pytest.mark.parametrize("group", FILES)
def test_a_measurement_of_the_first_version_is_a_witness_without_another_file(home, group):
    run = reserved_for(home, group)
    restore = backup(home)
    draw_once(run, group, EVENT, lambda: None, lambda _: TABLE)
    (run.folder / f"{group}.started.json").unlink()
    check_ledger_without_files(home)
    restore()
    refuses_everything(home)
    (run.folder / FILES[group]).rename(run.folder / "projected_records.parquet")
    refuses_everything(home)  # what was computed from a draw speaks of one too


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return write_log(tmp_path_factory.mktemp("log") / "log.tsv", map(str, range(600)))


def to_collecting(run):
    assert run_release(run) is None


def to_drawn(run):
    run_release(run, before="publish")


def to_withheld(run):
    to_drawn(run)
    withhold(run, "tested")


def to_refused_list(run):
    """Devices were asked already: of their package a notice is left."""
    to_collecting(run)
    withhold(run, "tested")


def to_published(run):
    run_release(run)


def to_withdrawn(run):
    run_release(run)
    withdraw(run.home, run.release_id, "tested")


# How a release comes to its state, the last row of it, and whether the public zone tells too.
STATES = {
    "collecting": (to_collecting, Kind.DRAWN, True),
    "withheld": (to_withheld, Kind.WITHHELD, False),
    "refused list": (to_refused_list, Kind.WITHHELD, True),
    "published": (to_published, Kind.PUBLISHED, True),
    "withdrawn": (to_withdrawn, Kind.WITHDRAWN, True),
}


def requested(state, log, folder):
    """Ask for a release; to collect from devices, a roster says who opted in."""
    if state in ("published", "withheld", "withdrawn"):
        return request_for(log, epoch="2026-W40")
    roster = folder / "roster.tsv"
    people = "".join(f"{number}\t{int(number % 3 == 0)}\n" for number in range(600))
    roster.write_text("person\toptin\n" + people)
    return ReleaseRequest(
        log=log, epoch="2026-W40", headlist_user_fraction=0.75, roster=roster, clients="reports"
    )


@pytest.mark.parametrize("state", STATES)
def test_a_ledger_from_before_a_release_is_refused_whatever_became_of_it(
    home, log, state, monkeypatch, tmp_path
):
    waive_gates(monkeypatch.setattr)
    finish, last, is_public = STATES[state]
    before = backup(home)
    run = reserve_release(requested(state, log, tmp_path), home)
    reserved = backup(home)
    finish(run)
    assert steps_of(home)[-1].kind is last
    check_ledger(home)
    for restore in (before, reserved):
        restore()
        refuses_everything(home, run.release_id)
    if is_public:  # each zone speaks for itself
        home.measurements.rename(tmp_path / "measured")
        home.measurements.mkdir()
        refuses_everything(home)
        home.measurements.rmdir()
        (tmp_path / "measured").rename(home.measurements)
    for folder in home.public.iterdir():
        if folder.is_dir():
            shutil.rmtree(folder)
    refuses_everything(home)


@pytest.mark.parametrize("state", ["withheld", "refused list", "settled list"])
def test_a_ledger_from_before_a_decision_is_refused_although_it_knows_every_draw(
    home, log, state, monkeypatch, tmp_path
):
    """It would publish what a person refused, or name to devices what was blocked."""
    waive_gates(monkeypatch.setattr)
    run = reserve_release(requested(state, log, tmp_path), home)
    if state == "settled list":
        draw_head_list(run)
        restore = backup(home)
        settle_list(run)
    else:
        finish = to_drawn if state == "withheld" else to_collecting
        finish(run)
        restore = backup(home)
        withhold(run, "tested")
    last = {"settled list": Kind.LISTED}.get(state, Kind.WITHHELD)
    assert steps_of(home)[-1].kind is last
    check_ledger(home)
    restore()
    shutil.rmtree(home.public / "collections", ignore_errors=True)
    refuses_everything(home)


@pytest.mark.parametrize(
    ("name", "attempt", "is_known"),
    [("a" * 32, 1, True), ("a" * 32 + "0002", 2, True), ("a" * 32 + "0003", 3, False)],
)
def test_a_package_of_the_first_version_needs_its_draw(home, name, attempt, is_known):
    folder = home.public / "collections" / name
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"schema_version": 2}')
    for number in (1, 2):
        Ledger(home.ledger).append(Kind.RESERVED, "a" * 32, number, reserved("S"))
        Ledger(home.ledger).append(Kind.DRAW_STARTED, "a" * 32, number, STARTED, draw="S")
        Ledger(home.ledger).append(Kind.DRAWN, "a" * 32, number, DRAWN, draw="S")
    if is_known:
        check_ledger_without_files(home)
    else:
        with pytest.raises(LedgerCorrupt, match=r"package\.json speaks of something"):
            check_ledger_without_files(home)


@pytest.mark.parametrize("seq", [1, 9])
def test_a_package_with_a_head_needs_that_head(home, seq):
    folder = home.public / "collections" / "anything"
    folder.mkdir(parents=True)
    head = {"seq": seq, "hash": Ledger(home.ledger).head().hash}
    (folder / "package.json").write_text(json.dumps({"schema_version": 3, "ledger": head}))
    if seq == 1:
        check_ledger(home)
    else:
        refuses_everything(home)


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"ledger": 7}', b'{"ledger": {"seq": "1"}}']
)
def test_a_damaged_witness_is_named(home, content):
    folder = home.public / "search" / "all" / "r"
    folder.mkdir(parents=True)
    (folder / "manifest.json").write_bytes(content)
    with pytest.raises(LedgerCorrupt, match=r"manifest\.json is damaged"):
        check_ledger(home)


def test_years_of_rows_and_files_are_read_once_in_a_process(home, monkeypatch):
    read = []
    original = Chain.extend

    def extend(chain, rows):
        rows = list(rows)
        read.extend(row[0] for row in rows)
        return original(chain, rows)

    monkeypatch.setattr(Chain, "extend", extend)
    tasks.ledger.witnesses._CHECKED.clear()
    run = reserve_groups(home, "r1", PAIRS)
    for group in "SC":
        draw_once(run, group, EVENT, lambda: None, lambda _: TABLE)
    assert read == sorted(set(read)), "no row twice"
    assert read[0] == 1


def test_damage_to_a_participation_file_is_found_at_once(home):
    run = reserve_groups(home, "r1", PAIRS)
    file = home.participation / f"{run.reservation.participation}.parquet"
    whole = file.read_bytes()
    for damage in (lambda: file.write_bytes(whole[:-1] + b"?"), file.unlink):
        damage()
        with pytest.raises(LedgerCorrupt, match="nobody knows who has paid"):
            check_ledger(home)
    file.write_bytes(whole)
    assert check_ledger(home).n_participation_files == 1


def test_a_file_that_is_no_database_is_damage_and_not_unforeseen(home):
    for file in home.private.glob("ledger.sqlite*"):
        file.unlink()
    home.ledger.write_bytes(b"not a database" * 1000)
    with pytest.raises(LedgerCorrupt, match="is damaged"):
        check_ledger(home)


class Crowd:
    """Strangers who leave all the time: one before every row, and many while people decide."""

    def __init__(self, patch, leaving):
        self.n_decisions, self._decide = 0, tasks.budget.reserve._decide
        self._leaving = iter(leaving)
        patch.setattr(tasks.budget.reserve, "_decide", self.decide)

    def decide(self, engine, run, head, now):
        self.n_decisions += 1
        payload = self._decide(engine, run, head, now)
        for kind, subject, *said in next(self._leaving, []):
            run.ledger.note(kind, *said, subject=subject)
        return payload


def test_strangers_who_leave_meanwhile_do_not_hold_a_reservation_up(home, monkeypatch):
    strangers = [(Kind.OPTED_OUT, bytes([number]).hex() * 16) for number in range(100, 140)]
    others = [(Kind.OPTED_IN, "00" * 16), (Kind.ERASED, "ff" * 16)]
    crowd = Crowd(monkeypatch, [[*strangers, *others]] * 9)
    reserve_groups(home, "r1", PAIRS)
    assert crowd.n_decisions == 1


@pytest.mark.parametrize("kind", [Kind.OPTED_OUT, Kind.ERASED])
def test_somebody_who_was_to_take_part_and_leaves_meanwhile_is_left_out(home, monkeypatch, kind):
    crowd = Crowd(monkeypatch, [[(kind, "00" * 16)]])
    run = reserve_groups(home, "r1", PAIRS, min_group_size=1)
    assert crowd.n_decisions == 2
    assert bytes(16) not in sealed_groups(home, run)


def test_another_policy_or_charge_meanwhile_is_decided_again(home, monkeypatch):
    crowd = Crowd(monkeypatch, [[(Kind.POLICY, "", PolicySet(**Policy().statement.as_json()))]])
    reserve_groups(home, "r1", PAIRS)
    assert crowd.n_decisions == 2
