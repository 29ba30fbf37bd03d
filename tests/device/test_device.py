"""A device draws once for a charge that is on disk, whatever breaks, and keeps to its cap."""

import hashlib
import json
import os
import stat
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.client import Client
from hybriddp.device.package import CollectionPackage
from hybriddp.device.reporting import AccountCorrupt, BudgetExceeded, Device, ReportRefused
from hybriddp.errors import InvalidParameter
from hybriddp.params import BlenderParams, Budget
from tests.device.test_package import PUBLIC_KEY, make_package, publish
from tests.house.test_layers import BLOCKED
from tests.patience import PATIENCE
from tests.repository import run_python

RECORDS = [("Caf\u00e9", "http://a/X"), ("a rare disease", "http://clinic")]


def package_of_week(week: int, epsilon="4", delta="1e-5", **changes) -> CollectionPackage:
    params = BlenderParams(epsilon, delta)
    fields = {"release_id": f"{week:016x}", "epoch": f"2026-W{week}", "params": params}
    return make_package(**{**fields, **changes})


def charges(state: Path) -> list[dict]:
    """Read the account behind the device's back."""
    return json.loads(state.read_bytes().partition(b"\n")[2])["charges"]


def spent(state: Path) -> Fraction:
    if not state.exists():
        return Fraction(0)
    return sum((Fraction(charge["budget"]["epsilon"]) for charge in charges(state)), Fraction(0))


@pytest.fixture
def state(tmp_path) -> Path:
    return tmp_path / "account"


@pytest.fixture
def week(tmp_path):
    """Publish the package of a week and return its directory."""

    def publish_week(number: int, epsilon="4", delta="1e-5", **changes) -> Path:
        directory = Path(tempfile.mkdtemp(dir=tmp_path))
        return publish(directory, package_of_week(number, epsilon, delta, **changes))

    return publish_week


class Crash(BaseException):
    """The process dies here; nothing may catch it."""


def crash(*_args, **_kwargs):
    raise Crash


def test_report_is_a_cell_a_nonce_and_the_release(state, week):
    """With nearly no noise (one report in e^24 differs)."""
    params = BlenderParams(48, "1e-5", query_budget_fraction=0.5)
    lines = [
        Device(state.with_name(name), PUBLIC_KEY, cap=Budget(48, "1e-5")).report(
            week(1, params=params), RECORDS[:1]
        )
        for name in ("mine", "yours")
    ]
    mine, yours = (json.loads(line) for line in lines)
    assert mine.keys() == {"release_id", "nonce", "cells"}
    assert mine["release_id"] == yours["release_id"] == f"{1:016x}"
    assert mine["cells"] == yours["cells"] == [0]
    assert mine["nonce"] != yours["nonce"]
    assert len(bytes.fromhex(mine["nonce"])) == len(mine["nonce"]) / 2 == 16
    assert all(line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)


def test_resent_report_is_the_same_bytes_without_charge(state, week):
    """From a fresh process, with other records, and with the cap used up."""
    first = Device(state, PUBLIC_KEY, cap=Budget(4, "1e-5")).report(week(1), RECORDS)
    before = state.read_bytes()
    for records in (RECORDS, [], [("news", "")]):
        assert Device(state, PUBLIC_KEY, cap=Budget(4, "1e-5")).report(week(1), records) == first
    assert state.read_bytes() == before


def test_charge_and_report_are_durable_in_order(state, week, monkeypatch):
    steps = []
    real_fsync, real_replace, real_report = os.fsync, os.replace, Client.report

    def fsync(descriptor):
        is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        steps.append("sync directory" if is_directory else "sync file")
        real_fsync(descriptor)

    def replace(source, target):
        assert Path(source).parent == Path(target).parent
        steps.append("replace")
        real_replace(source, target)

    def report(client, records):
        steps.append("draw")
        return real_report(client, records)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    monkeypatch.setattr(Client, "report", report)
    Device(state, PUBLIC_KEY).report(week(1), RECORDS)
    store = ["sync file", "replace", "sync directory"]
    assert steps == [*store, *store, "draw", *store], "the curator's cap, the charge, the report"


DYING = """
import os, sys
from hybriddp.client import Client
from hybriddp.device import Device
where, state, directory, key = sys.argv[1:]
replace, stores = os.replace, []
def die_at_the_third(*paths):
    stores.append(paths)
    if len(stores) == 3:
        os._exit(9)
    replace(*paths)
if where == "in the draw":
    Client.report = lambda *_: os._exit(9)
else:
    os.replace = die_at_the_third
Device(state, bytes.fromhex(key)).report(directory, [])
"""


@pytest.mark.parametrize("where", ["in the draw", "storing the report"])
def test_killed_process_leaves_the_release_burnt(state, week, where):
    directory = week(1)
    arguments = [sys.executable, "-c", DYING, where, state, directory, PUBLIC_KEY.hex()]
    assert subprocess.run(arguments, timeout=PATIENCE, check=False).returncode == 9
    assert [charge["report"] for charge in charges(state)] == [None]
    for _ in range(2):
        with pytest.raises(ReportRefused, match="charged and then lost"):
            Device(state, PUBLIC_KEY).report(directory, RECORDS)
    with pytest.raises(ReportRefused, match="one package"):
        Device(state, PUBLIC_KEY).report(week(1, release_id="f" * 16), RECORDS)
    assert spent(state) == 4
    Device(state, PUBLIC_KEY).report(week(2), RECORDS)  # the next week is not concerned
    assert spent(state) == 8


def test_crash_before_the_charge_costs_nothing(state, week, monkeypatch):
    directory = week(1)
    with monkeypatch.context() as broken:
        broken.setattr(os, "replace", crash)
        with pytest.raises(Crash):
            Device(state, PUBLIC_KEY).report(directory, RECORDS)
    assert not state.exists()
    Device(state, PUBLIC_KEY).report(directory, RECORDS)
    assert spent(state) == 4


# Week 1 has two packages; weeks 1 to 3 fill the cap of 12 if none of them is burnt.
PACKAGES = [
    package_of_week(1),
    package_of_week(1, "2", release_id="e" * 16),
    package_of_week(2, "5"),
    package_of_week(3, "3"),
    package_of_week(4, "1"),
]
CRASHES = [None, "draw", *((n, when) for n in (1, 2, 3) for when in ("before", "after"))]


class MortalDevice:
    """A device whose process can die around any store or in the draw, and starts again."""

    def __init__(self, state: Path, patch: pytest.MonkeyPatch) -> None:
        self.state = state
        self.draws = Counter()
        self.replace, self.draw = os.replace, Client.report
        patch.setattr(os, "fsync", lambda _: None)  # the order of the syncs has its own test
        patch.setattr(os, "replace", self.mortal_replace)
        patch.setattr(Client, "report", lambda client, records: self.mortal_draw(client, records))

    def report(self, directory: Path, package: CollectionPackage, dies_at) -> bytes:
        self.package, self.dies_at, self.n_stores = package, dies_at, 0
        device = Device(self.state, PUBLIC_KEY, verify=lambda *_: True)
        return device.report(directory, RECORDS)

    def mortal_replace(self, source, target) -> None:
        self.n_stores += 1
        self.die_if((self.n_stores, "before"))
        self.replace(source, target)
        self.die_if((self.n_stores, "after"))

    def mortal_draw(self, client, records) -> list[int]:
        charge = charges(self.state)[-1]
        assert charge["release_id"] == self.package.release_id, "drawn before the charge is stored"
        assert charge["budget"]["epsilon"] == str(self.package.params.budget.epsilon)
        self.draws[self.package.epoch] += 1
        self.die_if("draw")
        return self.draw(client, records)

    def die_if(self, here) -> None:
        if self.dies_at == here:
            raise Crash


@given(st.lists(st.tuples(st.sampled_from(range(5)), st.sampled_from(CRASHES)), max_size=12))
def test_no_history_draws_twice_or_beyond_the_cap(history):
    """Any packages in any order, each call dying anywhere or nowhere."""
    sent = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        directories = [publish(Path(folder) / str(n), p) for n, p in enumerate(PACKAGES)]
        device = MortalDevice(Path(folder) / "account", patch)
        for choice, dies_at in history:
            package, before = PACKAGES[choice], spent(device.state)
            try:
                line = device.report(directories[choice], package, dies_at)
            except (Crash, ReportRefused):
                pass
            else:
                assert sent.setdefault(package.epoch, line) == line
            assert before <= spent(device.state) <= 12
    assert set(device.draws.values()) <= {1}
    assert sent.keys() <= device.draws.keys()


def test_cap_is_reached_exactly_and_not_passed(state, week):
    device = Device(state, PUBLIC_KEY)  # the default cap
    for number in (1, 2):
        device.report(week(number), RECORDS)
    before = state.read_bytes()
    for budget in (("4000000001/1000000000", "1e-5"), ("4", "8001/100000000")):
        with pytest.raises(BudgetExceeded):
            device.report(week(3, *budget), RECORDS)
    assert state.read_bytes() == before
    device.report(week(3, "4", "8000/100000000"), RECORDS)
    assert spent(state) == 12
    with pytest.raises(BudgetExceeded) as caught:
        device.report(week(4, "1/10"), RECORDS)
    assert (
        "cap (12, 1/10000), spent (12, 1/10000), asked (1/10, 1/100000), remaining (0, 0)"
        in str(caught.value)
    )


@pytest.mark.parametrize(
    "change",
    [
        {"release_id": "f" * 16},
        {"head_list": (("news", ()),)},  # the same release id for another list
        {"epsilon": "1"},
        {"epoch": "2026-W2"},  # the same release id for another epoch
    ],
)
def test_second_package_for_an_epoch_is_refused(state, week, change):
    line = Device(state, PUBLIC_KEY).report(week(1), RECORDS)
    before = state.read_bytes()
    with pytest.raises(ReportRefused, match="one package for product blender, epoch 2026-W1"):
        Device(state, PUBLIC_KEY).report(week(1, **change), RECORDS)
    assert state.read_bytes() == before
    assert Device(state, PUBLIC_KEY).report(week(1), RECORDS) == line


def test_other_products_and_locales_have_their_own_report(state, week):
    device = Device(state, PUBLIC_KEY)
    for number, change in enumerate(({}, {"product": "trends"}, {"locale": "de-DE"})):
        device.report(week(1, release_id=f"{number:016x}", **change), RECORDS)
    assert spent(state) == 12


def test_what_cannot_be_drawn_is_not_charged(state, week):
    device = Device(state, PUBLIC_KEY)
    unsigned = week(1)
    (unsigned / "package.sig").write_bytes(bytes(64))
    with pytest.raises(InvalidParameter, match="must be the signature"):
        device.report(unsigned, RECORDS)
    assert not state.exists(), "no stranger's words are kept"
    with pytest.raises(InvalidParameter, match="large enough to tell 3 values apart"):
        device.report(week(1, "1e-25", "1e-30"), RECORDS)
    for records in (["ab"], [("a rare disease",)], [("a rare disease", None)], [["a", "b"]]):
        with pytest.raises(InvalidParameter, match="records must be pairs") as caught:
            device.report(week(1), records)
        assert "disease" not in str(caught.value)
    assert charges(state) == []


def test_account_holds_nothing_of_the_records_and_is_the_owners_alone(state, week):
    umask = os.umask(0)
    try:
        Device(state, PUBLIC_KEY).report(week(1), RECORDS)
    finally:
        os.umask(umask)
    for path in state.parent.glob("account*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path.name
        # Not "caf" alone: a hash may hold it.
        for text in ("café", "caf\\u", "disease", "http", "clinic"):
            assert text not in path.read_text().lower()
    assert charges(state)[0].keys() == {
        "release_id", "product", "epoch", "locale", "package_sha256", "budget", "report",
        "season",
    }  # fmt: skip


def with_hash(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode() + b"\n" + body


@pytest.mark.parametrize(
    "spoil",
    [
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: data.replace(b'"epsilon":"4"', b'"epsilon":"3"'),
        lambda data: b"\xff" + data[1:],
        lambda data: b"{}",
        lambda data: with_hash(b""),
        lambda data: with_hash(b"[]"),
        lambda data: with_hash(b'{"schema_version":2,"charges":[]}'),
        lambda data: with_hash(b'{"schema_version":1,"charges":[{}]}'),
        lambda data: with_hash(data.partition(b"\n")[2].replace(b'"4"', b'"-4"')),
    ],
)
def test_corrupt_account_refuses_and_is_left_alone(state, week, spoil):
    Device(state, PUBLIC_KEY).report(week(1), RECORDS)
    state.write_bytes(spoil(state.read_bytes()))
    before = state.read_bytes()
    for number in (1, 2):
        with pytest.raises(AccountCorrupt, match="account must be") as caught:
            Device(state, PUBLIC_KEY).report(week(number), RECORDS)
        assert caught.value.__suppress_context__
    assert state.read_bytes() == before


def test_leftovers_of_a_crash_are_no_obstacle(state, week):
    state.with_name("account.new").write_bytes(b"half a fi")
    Device(state, PUBLIC_KEY).report(week(1), RECORDS)
    assert spent(state) == 4


def test_calls_at_the_same_time_wait_for_each_other(state, week, monkeypatch):
    """Each call opens the lock anew, so threads stand for processes here."""
    draw, draws = Client.report, []

    def slow_draw(client, records):
        draws.append(records)
        time.sleep(0.02)
        return draw(client, records)

    monkeypatch.setattr(Client, "report", slow_draw)
    directories = [week(number) for number in (1, 2, 3, 4)] * 2

    def report(directory: Path) -> bytes | None:
        try:
            return Device(state, PUBLIC_KEY).report(directory, RECORDS)
        except BudgetExceeded:
            return None

    with ThreadPoolExecutor(len(directories)) as pool:
        lines = list(pool.map(report, directories))
    assert lines[:4] == lines[4:]
    assert lines[:4].count(None) == 1  # three of the four fit into the cap
    assert len(draws) == 3
    assert spent(state) == 12


def test_device_needs_the_standard_library_only(state, week):
    blocked = {"numpy", "scipy", "opendp", "dp_accounting", "cryptography", "pydantic"}
    output = run_python(
        BLOCKED.format(names=blocked)
        + f"""
import hybriddp.client, hybriddp.device.package
from hybriddp.device import Device
line = Device({str(state)!r}, {PUBLIC_KEY!r}).report({str(week(1))!r}, [("news", "")])
print(line.decode(), end="")
"""
    )
    assert Device(state, PUBLIC_KEY).report(week(1), []) == output.encode()
