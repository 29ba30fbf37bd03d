"""One human is on one side at a time: in a curator's log, or behind their device, never in both."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.client import Client
from hybriddp.device import reporting as module
from hybriddp.device.curator import CuratorStatement, Loss
from hybriddp.device.file import AccountFile
from hybriddp.device.package import signed_bytes
from hybriddp.device.periods import days_of
from hybriddp.device.reporting import AccountCorrupt, BudgetExceeded, Device, ReportRefused
from hybriddp.params import BlenderParams, Budget
from tasks.log.epochs import Epoch
from tests.device.test_device import Crash, package_of_week, spent, with_hash
from tests.device.test_package import PUBLIC_KEY, STATEMENT, make_package, publish
from tests.patience import PATIENCE

TODAY = date(2026, 11, 17)
CAP = Loss(12, "1e-4")
ROOMY = Budget(24, "1e-3")  # room for a curator's cap of 12 and for reports
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
OTHER = OTHER_KEY.public_key().public_bytes_raw()


@pytest.fixture
def state(tmp_path) -> Path:
    return tmp_path / "account"


@pytest.fixture
def week(tmp_path):
    """Publish the package of a week of 2026 and return its directory."""

    def publish_week(number: int, **changes) -> Path:
        fields = {"epoch": f"2026-W{number:02d}", "release_id": f"{number:016x}"} | changes
        return publish(Path(tempfile.mkdtemp(dir=tmp_path)), make_package(**fields))

    return publish_week


def by_other(directory: Path) -> Path:
    """Sign a package with another key."""
    data = (directory / "package.json").read_bytes()
    (directory / "package.sig").write_bytes(OTHER_KEY.sign(signed_bytes(data)))
    return directory


def opt_ins(state: Path) -> tuple:
    return AccountFile(state).read().opt_ins


def named(state: Path) -> dict[str, Loss | None]:
    """Return the largest cap that each curator named, as far as the device remembers."""
    return dict(AccountFile(state).read().named_caps)


def stating(cap: Loss | None) -> CuratorStatement:
    return replace(STATEMENT, lifetime_cap=cap)


def test_device_of_an_opted_in_person_stays_silent_whoever_asks(state, week):
    """Also on packages of version 0.1.0, on epochs long ago, and with another key of a curator."""
    device = Device(state, PUBLIC_KEY, cap=ROOMY)
    device.opt_in(TODAY, CAP)
    before = opt_ins(state), spent(state)
    foreign, rekeyed = by_other(week(3)), Device(state, OTHER, cap=ROOMY)
    for asked, directory in (
        (device, week(50)), (device, week(1)), (device, week(2, curator=None)), (rekeyed, foreign),
    ):  # fmt: skip
        with pytest.raises(ReportRefused, match=r"opted in.* stays silent"):
            asked.report(directory, [("a rare disease", "")])
    assert (opt_ins(state), spent(state)) == before


def test_what_was_reported_before_is_sent_again(state, week):
    """Whatever epochs a curator named: none of them keeps a person from silencing the device."""
    device = Device(state, PUBLIC_KEY, cap=ROOMY)
    first = device.report(week(46), [])
    last = device.report(week(50, epoch="9999-12-31"), [])
    for day in (TODAY, TODAY + timedelta(days=100)):
        device.opt_in(day, CAP)
        assert [o.since for o in opt_ins(state)] == [TODAY], "asked again, nothing changes"
    assert device.report(week(46), []) == first
    assert device.report(week(50, epoch="9999-12-31"), []) == last


def test_after_opting_out_the_device_reports_on_epochs_that_begin_later(state, week):
    device = Device(state, PUBLIC_KEY, cap=ROOMY)
    device.opt_in(TODAY, CAP)
    assert device.opt_out(date(2026, 11, 25)) == date(2026, 11, 25)  # in week 48
    assert device.opt_out(date(2026, 12, 25)) == date(2026, 11, 25), "nothing to leave"
    for directory in (week(46), week(47), week(48), week(51, epoch="2026-11"),
                      week(52, epoch="2026-11-25"), week(53, epoch="some-day")):  # fmt: skip
        with pytest.raises(ReportRefused, match="was opted in until 2026-11-25"):
            device.report(directory, [])
    device.report(week(49), [])
    device.report(week(54, epoch="2026-11-26"), [])
    device.report(week(55, epoch="2026-12"), [])
    assert spent(state) == 12
    with pytest.raises(BudgetExceeded, match=r"what curators may have charged \(12, 1/10000\)"):
        device.report(week(1, epoch="2027-W01"), [])


def test_a_time_of_day_is_refused_and_leaves_the_account_as_it_was(state):
    """A datetime is a date to Python; stored as one, it made an account that nobody could read."""
    device = Device(state, PUBLIC_KEY)
    for act in (lambda day: device.opt_in(day, CAP), device.opt_out):
        with pytest.raises(ValueError, match="today must be a date"):
            act(datetime(2026, 11, 17, 12, tzinfo=UTC))
    assert not state.exists()
    device.opt_in(TODAY, CAP)
    assert [o.since for o in opt_ins(state)] == [TODAY]


def test_a_clock_that_went_back_does_not_shorten_an_opt_in(state):
    device = Device(state, PUBLIC_KEY)
    device.opt_in(TODAY, CAP)
    assert device.opt_out(date(1970, 1, 1)) == TODAY


def test_both_sides_together_keep_one_cap_for_life(state, week):
    """With the default caps whoever reported cannot opt in, and whoever opted in never reports."""
    device = Device(state, PUBLIC_KEY)
    device.opt_in(TODAY, CAP)
    device.opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match=r"remaining \(0, 0\)"):
        device.report(week(50), [])
    for number, cap in enumerate((CAP, Loss("8.000000001"), Loss(8, "9.1e-5"), None)):
        other = Device(state.with_name(f"other-{number}"), PUBLIC_KEY)
        other.report(week(46, curator=stating(Loss(8, "9e-5"))), [])
        with pytest.raises(BudgetExceeded, match="opting in must fit"):
            other.opt_in(TODAY, cap)
        assert opt_ins(state.with_name(f"other-{number}")) == ()
    last = Device(state.with_name("last"), PUBLIC_KEY)
    last.report(week(46, curator=stating(Loss(8, "9e-5"))), [])
    last.opt_in(TODAY, Loss(8, "9e-5"))


def test_whoever_is_in_the_log_anyway_can_silence_the_device(state, week):
    device = Device(state, PUBLIC_KEY)
    device.report(week(46), [])
    device.opt_in(TODAY, None, even_beyond_cap=True)
    with pytest.raises(ReportRefused, match="stays silent"):
        device.report(week(47), [])
    device.opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match="has no bound for life"):
        Device(state, PUBLIC_KEY, cap=Budget(50)).report(week(50), [])


def test_the_largest_cap_that_a_curator_ever_named_counts(state, week):
    device = Device(state, PUBLIC_KEY, cap=Budget(17, "1e-2"))
    device.opt_in(TODAY, Loss(4, "1e-5"))
    device.opt_out(TODAY)
    device.report(week(50), [])  # it states 12
    assert spent(state) == 4
    raised = stating(Loss(13, "1e-5"))
    with pytest.raises(BudgetExceeded, match=r"charged \(13, 1/10000\)"):
        device.report(week(51, curator=raised), [])
    lowered = stating(Loss(1, "1e-3"))
    with pytest.raises(BudgetExceeded, match=r"charged \(13, 1/1000\)"):
        device.report(week(51, curator=lowered), [])
    # Another curator keeps another account of the person: both count.
    other = Device(state, OTHER, cap=Budget(17, "1e-2"))
    with pytest.raises(BudgetExceeded, match=r"charged \(25, "):
        other.opt_in(TODAY, CAP)
    # The same one keeps one account, however often the person comes and goes.
    device.opt_in(TODAY, CAP)


@pytest.mark.parametrize("cap", [CAP, None])
@pytest.mark.parametrize("said_by", ["a report", "a refused package", "a refused opt-in"])
def test_a_cap_that_was_named_before_the_person_joined_counts_when_they_do(
    state, week, cap, said_by
):
    """An older label that says less takes nothing back, in a process that starts afresh either."""

    def device() -> Device:
        return Device(state, PUBLIC_KEY, cap=Budget(12, "1e-4"))

    if said_by == "a report":
        device().report(week(40, curator=stating(cap)), [])
    elif said_by == "a refused package":
        device().report(week(40, curator=None), [])
        with pytest.raises(ReportRefused, match="one package"):
            device().report(week(40, curator=stating(cap)), [])
    else:
        device().report(week(40, curator=None), [])
        with pytest.raises(BudgetExceeded, match="opting in must fit"):
            device().opt_in(TODAY, cap)
    assert named(state) == {PUBLIC_KEY.hex(): cap}
    with pytest.raises(BudgetExceeded, match=r"charged (\(12, 1/10000\)|has no bound)"):
        device().opt_in(TODAY, Loss(4, "1e-5"))
    assert opt_ins(state) == ()
    # Whoever joins all the same: the device counts with what it was told.
    device().opt_in(TODAY, Loss(4, "1e-5"), even_beyond_cap=True)
    device().opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match=r"charged (\(12, 1/10000\)|has no bound)"):
        device().report(week(50, curator=None), [])
    assert spent(state) == 4


def test_only_the_keys_that_a_device_was_given_are_remembered_each_once(state, week):
    """Nobody fills the account with caps: strangers leave none, and a curator has one."""
    device = Device(state, PUBLIC_KEY, cap=Budget(4, "1e-5"))
    line = device.report(week(1), [])
    with pytest.raises(ValueError, match="must be the signature"):
        device.report(by_other(week(2, curator=stating(Loss(100)))), [])
    for number in range(3, 20):
        longest = Loss(Fraction(10**999 - 1 - number, 10**999 - 2), Fraction(1, 10**999 - number))
        with pytest.raises(BudgetExceeded):
            device.report(week(number, curator=stating(longest)), [])
    assert named(state).keys() == {PUBLIC_KEY.hex()}
    assert state.stat().st_size < len(line) + 5_000


@pytest.mark.parametrize("is_known_release", [False, True])
def test_a_curator_that_says_it_has_no_bound_gets_no_report_and_no_other_does(
    state, week, is_known_release
):
    """Its budget refills now; version 0.1.0 said nothing of a cap, which is another thing."""
    device = Device(state, PUBLIC_KEY, cap=Budget(50, "1e-2"))
    if is_known_release:  # what was drawn before is sent again, and its words were heard
        line = device.report(week(50, curator=stating(None)), [])
    device.opt_in(TODAY, CAP, even_beyond_cap=is_known_release)
    device.opt_out(TODAY)
    if is_known_release:
        assert device.report(week(50, curator=stating(None)), []) == line
    else:
        device.report(week(49, curator=None), [])
        with pytest.raises(BudgetExceeded, match="has no bound for life"):
            device.report(week(50, curator=stating(None)), [])
    assert named(state)[PUBLIC_KEY.hex()] is None
    for asked, directory in (
        (device, week(51)), (device, week(52, curator=None)),
        (Device(state, OTHER, cap=Budget(50, "1e-2")), by_other(week(53))),
    ):  # fmt: skip
        with pytest.raises(BudgetExceeded, match="has no bound for life"):
            asked.report(directory, [])


def test_a_curator_that_was_never_joined_has_charged_nothing(state, week):
    device = Device(state, PUBLIC_KEY)
    device.report(week(50, curator=stating(None)), [])
    Device(state, OTHER).opt_in(TODAY, Loss(4, "1e-5"))
    Device(state, OTHER).opt_out(TODAY)
    device.report(week(51, curator=stating(None)), [])
    assert named(state) == {PUBLIC_KEY.hex(): None, OTHER.hex(): Loss(4, "1e-5")}


@pytest.mark.parametrize("cap", [Loss(100), None])
@pytest.mark.parametrize("has_left", [False, True])
@pytest.mark.parametrize("even_beyond_cap", [False, True])
def test_opting_in_again_under_a_larger_cap_is_remembered(
    state, week, cap, has_left, even_beyond_cap
):
    """Also if it is refused: the person is, or was, in that curator's log anyway."""
    device = Device(state, PUBLIC_KEY, cap=ROOMY)
    device.opt_in(TODAY, Loss(4))
    if has_left:
        device.opt_out(TODAY)
    if even_beyond_cap:
        device.opt_in(TODAY, cap, even_beyond_cap=True)
    else:
        with pytest.raises(BudgetExceeded, match="opting in must fit"):
            device.opt_in(TODAY, cap)
    assert named(state) == {PUBLIC_KEY.hex(): cap}
    assert len(opt_ins(state)) == 1 + (has_left and even_beyond_cap)
    device.opt_in(TODAY, Loss(1), even_beyond_cap=True)  # a smaller one takes nothing back
    device.opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match=r"charged (\(100, 0\)|has no bound)"):
        device.report(week(50, curator=None), [])


@pytest.mark.parametrize("refusal", ["the cap", "opted in", "another package", "the records"])
def test_a_cap_that_a_refused_package_names_counts_for_the_packages_of_others(state, week, refusal):
    """However the package is refused, its curator has said what it may charge."""
    device, other = (Device(state, key, cap=ROOMY) for key in (PUBLIC_KEY, OTHER))
    records = [("news", "")]
    if refusal == "another package":
        device.report(week(50, curator=None), [])
    device.opt_in(TODAY, Loss(4))
    if refusal == "the records":
        records = ["news"]
    if refusal != "opted in":
        device.opt_out(TODAY)
    with pytest.raises((ReportRefused, ValueError)):
        device.report(week(50, curator=stating(Loss(100))), records)
    device.opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match=r"charged \(100, 0\)"):
        other.report(by_other(week(51)), [])


def test_accounts_of_version_0_1_0_are_read(state, week):
    line = Device(state, PUBLIC_KEY).report(week(46, curator=None), [])
    body = state.read_bytes().partition(b"\n")[2]
    rows = body.partition(b',"named_caps":')[0].replace(b',"season":null', b"")
    old = rows + b',"schema_version":1}\n'
    assert b"season" in body
    assert b"season" not in old
    state.write_bytes(with_hash(old))
    assert Device(state, PUBLIC_KEY).report(week(46, curator=None), []) == line
    assert spent(state) == 4
    with pytest.raises(BudgetExceeded, match=r"spent \(4, "):
        Device(state, PUBLIC_KEY).opt_in(TODAY, CAP)


# As the device wrote it when a cap stood beside each time of opt-in.
SECOND_VERSION = (
    b'{"charges":[],"opt_ins":['
    b'{"curator":"%(key)s","lifetime_cap":%(first)s,"since":"2026-11-02","until":"2026-11-08"},'
    b'{"curator":"%(other)s","lifetime_cap":{"delta":"0","epsilon":"1"},"since":"2026-11-03",'
    b'"until":"2026-11-03"},'
    b'{"curator":"%(key)s","lifetime_cap":{"delta":"1/1000","epsilon":"4"},"since":"2026-11-10",'
    b'"until":null}],"schema_version":2}\n'
)


@pytest.mark.parametrize(
    ("first", "known"),
    [(b'{"delta":"0","epsilon":"12"}', Loss(12, "1e-3")), (b"null", None)],
)
def test_accounts_of_the_second_version_lose_nothing_that_they_knew(state, week, first, known):
    keys = {b"key": PUBLIC_KEY.hex().encode(), b"other": OTHER.hex().encode(), b"first": first}
    state.write_bytes(with_hash(SECOND_VERSION % keys))
    device = Device(state, PUBLIC_KEY, cap=Budget(14, "1e-2"))
    for _ in range(2):  # as it was, and as it is written now
        assert named(state) == {PUBLIC_KEY.hex(): known, OTHER.hex(): Loss(1)}
        assert [(o.curator, o.since.day, o.lasts) for o in opt_ins(state)] == [
            (PUBLIC_KEY.hex(), 2, False), (OTHER.hex(), 3, False), (PUBLIC_KEY.hex(), 10, True),
        ]  # fmt: skip
        device.opt_in(TODAY, Loss(), even_beyond_cap=True)
        AccountFile(state).write(AccountFile(state).read())
    device.opt_out(TODAY)
    with pytest.raises(BudgetExceeded, match=r"charged (\(13, 1/1000\)|has no bound)"):
        device.report(week(50, curator=None), [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"until":null', b'"until":"yesterday"'),
        (b'"until":null', b'"until":7'),
        (b'"since":"2026-11-17"', b'"since":null'),
        (b'"epsilon":"12"', b'"epsilon":"-12"'),
        (b'{"delta":"1/10000","epsilon":"12"}', b"[]"),
        (b'{"delta":"1/10000","epsilon":"12"}', b"{}"),
        (b'"named_caps":{"', b'"named_caps":{"0'),  # whom the person joined has named no cap
        (b'"opt_ins":[{', b'"opt_ins":["silent",{'),
        (b'"schema_version":4', b'"schema_version":1'),
        (b'"schema_version":4', b'"schema_version":2'),
        (b'"schema_version":4', b'"schema_version":3'),
        (b'"schema_version":4', b'"schema_version":5'),
        (b'"secret":null', b'"secret":"00"'),
        (b'"secret":null', b'"secret":7'),
    ],
)
def test_account_with_a_damaged_opt_in_refuses(state, week, old, new):
    Device(state, PUBLIC_KEY).opt_in(TODAY, CAP)
    body = state.read_bytes().partition(b"\n")[2]
    assert old in body
    state.write_bytes(with_hash(body.replace(old, new)))
    for act in (lambda d: d.report(week(46), []), lambda d: d.opt_in(TODAY, CAP),
                lambda d: d.opt_out(TODAY)):  # fmt: skip
        with pytest.raises(AccountCorrupt):
            act(Device(state, PUBLIC_KEY))


def test_days_of_an_epoch_are_those_of_the_curator():
    for first in (date(2024, 1, 1), date(2026, 12, 31), date(2027, 1, 1)):
        for ahead in range(400):
            day = first + timedelta(days=ahead)
            year, number, _ = day.isocalendar()
            for text in (f"{year}-W{number:02d}", f"{day:%Y-%m}", f"{day}"):
                start, end = days_of(text)
                assert start == Epoch.parse(text).start
                assert start <= day <= end
                assert days_of(f"{end + timedelta(days=1)}")[0] > end
    for text in (
        "2026-W54",
        "2026-13",
        "2026-02-30",
        "2026-W1",
        "2026",
        "9999-W53",
        "",
        "\uff12026-11",
    ):
        assert days_of(text) is None


DYING = """
import os, sys
from datetime import date
from hybriddp.device.curator import Loss
from hybriddp.device import Device
nth, when, state, key = sys.argv[1:]
replace, stores = os.replace, []
def die(*paths):
    stores.append(paths)
    dies = len(stores) == int(nth)
    if not dies or when == "after":
        replace(*paths)
    if dies:
        os._exit(9)
os.replace = die
Device(state, bytes.fromhex(key)).opt_in(date(2026, 11, 17), Loss(12, "1e-4"))
"""


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("store", ["the cap", "the opt-in"])
def test_killed_opt_in_is_there_or_not_and_can_be_asked_again(state, store, when):
    nth = ("the cap", "the opt-in").index(store) + 1
    command = [sys.executable, "-c", DYING, str(nth), when, state, PUBLIC_KEY.hex()]
    assert subprocess.run(command, timeout=PATIENCE, check=False).returncode == 9
    assert len(opt_ins(state)) == ((store, when) == ("the opt-in", "after"))
    assert bool(named(state)) == ((store, when) != ("the cap", "before"))
    Device(state, PUBLIC_KEY).opt_in(TODAY, CAP)
    assert [o.lasts for o in opt_ins(state)] == [True]


def test_what_is_known_of_curators_is_durable_before_it_is_answered(state, week, monkeypatch):
    synced, fsync = [], os.fsync
    monkeypatch.setattr(os, "fsync", lambda descriptor: synced.append(fsync(descriptor)))
    device = Device(state, PUBLIC_KEY)
    for n_stores, act in (
        (2, lambda: device.opt_in(TODAY, CAP)),  # its cap, then the opt-in
        (1, lambda: device.opt_in(TODAY, Loss(100), even_beyond_cap=True)),
        (1, lambda: device.opt_out(TODAY)),
        (1, lambda: device.report(week(50, curator=stating(None)), [])),
    ):
        synced.clear()
        with suppress(ReportRefused):
            act()
        assert len(synced) == 2 * n_stores, "the file and its directory"


KINDS = {"week": lambda d: "{}-W{:02d}".format(*d.isocalendar()[:2]),
         "month": lambda d: f"{d:%Y-%m}", "day": str}  # fmt: skip


@dataclass
class World:
    """One human with a device, and a curator that keeps its own cap, as a ledger would."""

    folder: Path
    cap: Budget
    curator_cap: Loss
    today: date = TODAY
    is_enrolled: bool = False
    charged: Fraction = Fraction(0)
    releases: list[tuple[Path, Fraction]] = field(default_factory=list)
    in_log: set[int] = field(default_factory=set)
    reported: set[int] = field(default_factory=set)
    asked: int | None = None
    dies: str | None = None
    has_named: bool = False  # whether the device has answered to a package that names the cap

    @property
    def device(self) -> Device:
        return Device(self.folder / "account", PUBLIC_KEY, cap=self.cap, verify=lambda *_: True)

    def release(self, kind: str, epsilon: int) -> None:
        """Reserve the newest period that is over, with the human if enrolled; publish it."""
        day = self.today
        while days_of(KINDS[kind](day))[1] >= self.today:
            day -= timedelta(days=1)
        number = len(self.releases)
        if self.is_enrolled and self.charged + epsilon <= self.curator_cap.epsilon:
            self.in_log.add(number)
            self.charged += epsilon
        package = package_of_week(
            1, epsilon, release_id=f"{number:016x}", epoch=KINDS[kind](day), product=f"p{number}",
            curator=CuratorStatement(number + 1, "0" * 64, self.curator_cap),
        )  # fmt: skip
        self.releases.append((publish(self.folder / str(number), package), Fraction(epsilon)))

    def ask(self, number: int) -> None:
        if number < len(self.releases):
            self.asked = number
            with suppress(ReportRefused):
                self.device.report(self.releases[number][0], [("news", "")])
            self.has_named = True

    def opt_in(self, by: str = "a package") -> None:
        """Join, by what a package says or by an old label; that says less than holds now."""
        is_old = by == "an old label" and self.has_named
        self.device.opt_in(self.today, Loss(1) if is_old else self.curator_cap)
        self.is_enrolled = True  # the device first

    def opt_out(self) -> None:
        self.is_enrolled = False  # the curator first
        self.device.opt_out(self.today)

    def die_if(self, here: str) -> None:
        if self.dies == here:
            raise Crash


ACTIONS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 5, 30])),
    st.tuples(st.just("release"), st.sampled_from(sorted(KINDS)), st.sampled_from([1, 4])),
    st.tuples(st.just("ask"), st.integers(0, 7)),
    st.tuples(st.just("opt_in"), st.sampled_from(["a package", "an old label"])),
    st.tuples(st.just("opt_out")),
)
DEATHS = st.sampled_from([None, None, None, "before", "after", "draw"])


def live(world: World, history: list) -> None:
    """Let all of it happen, each act dying somewhere or nowhere."""
    stored, drawn = os.replace, Client.report

    def mortal_replace(source, target) -> None:
        world.die_if("before")
        stored(source, target)
        world.die_if("after")

    def mortal_draw(client, records) -> list[int]:
        world.reported.add(world.asked)
        world.die_if("draw")
        return drawn(client, records)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)  # durability has its own tests
        patch.setattr(os, "replace", mortal_replace)
        patch.setattr(Client, "report", mortal_draw)
        for (act, *arguments), world.dies in history:
            try:
                if act == "wait":
                    world.today += timedelta(days=arguments[0])
                else:
                    getattr(world, act)(*arguments)
            except (Crash, ReportRefused):
                pass


@given(
    st.lists(st.tuples(ACTIONS, DEATHS), max_size=25),
    st.sampled_from([(12, 12), (24, 12), (13, 12), (12, 4)]),
)
def test_no_history_puts_one_human_into_two_groups_or_beyond_one_cap(history, caps):
    """The promise of both sides together: per release one group, over a life one cap."""
    with tempfile.TemporaryDirectory() as folder:
        world = World(Path(folder), Budget(caps[0], "1e-2"), Loss(caps[1], "1e-3"))
        live(world, history)
        assert not world.in_log & world.reported, "one release counted a human twice"
        total = world.charged + spent(world.folder / "account")
        assert total <= caps[0]
        assert total >= sum(world.releases[n][1] for n in world.in_log | world.reported)


SWITCHES = [
    [("opt_in",), ("wait", 5), ("release", "week", 4), ("ask", 0)],
    [("opt_in",), ("wait", 30), ("release", "day", 4), ("opt_out",), ("ask", 0), ("wait", 30),
     ("release", "day", 4), ("ask", 1)],
    [("release", "week", 4), ("ask", 0), ("opt_in", "an old label"),
     *[("wait", 1), ("release", "day", 4)] * 3],
]  # fmt: skip


@pytest.mark.parametrize(
    ("defect", "cap", "history"),
    [
        ("not recorded", 16, SWITCHES[0]),
        ("from the next epoch on", 16, SWITCHES[0]),
        ("forgotten when left", 16, SWITCHES[1]),
        ("caps apart", 12, [*SWITCHES[0], *[("release", "day", 4), ("wait", 1)] * 3, ("opt_out",),
                        ("wait", 30), ("release", "day", 4), ("ask", 4)]),
        ("caps forgotten", 12, SWITCHES[2]),
    ],
)  # fmt: skip
def test_the_check_of_histories_sees_planted_defects(tmp_path, monkeypatch, defect, cap, history):
    assert not is_broken(tmp_path / "sound", cap, history)
    write, own_side = AccountFile.write, module.require_own_side

    def only_charges(file, account) -> None:
        write(file, replace(account, opt_ins=()))

    def later_epochs_only(package, account) -> None:
        days = days_of(package.epoch)
        if any(o.lasts and days[1] > o.since for o in account.opt_ins):
            own_side(package, account)

    def while_it_lasts(package, account) -> None:
        lasting = tuple(o for o in account.opt_ins if o.lasts)
        own_side(package, replace(account, opt_ins=lasting))

    def only_caps_of_the_joined(file, account) -> None:
        joined = {o.curator for o in account.opt_ins}
        caps = {key: cap for key, cap in account.named_caps.items() if key in joined}
        write(file, replace(account, named_caps=caps))

    if defect == "not recorded":
        monkeypatch.setattr(AccountFile, "write", only_charges)
    elif defect == "from the next epoch on":
        monkeypatch.setattr(module, "require_own_side", later_epochs_only)
    elif defect == "forgotten when left":
        monkeypatch.setattr(module, "require_own_side", while_it_lasts)
    elif defect == "caps forgotten":
        monkeypatch.setattr(AccountFile, "write", only_caps_of_the_joined)
    else:
        monkeypatch.setattr(module.Account, "charged_elsewhere", lambda *_: Loss())
    assert is_broken(tmp_path / "defect", cap, history)


def is_broken(folder: Path, cap: int, history: list) -> bool:
    """Whether a history breaks the promise."""
    folder.mkdir()
    world = World(folder, Budget(cap, "1e-2"), Loss(12, "1e-3"))
    live(world, [(act, None) for act in history])
    total = world.charged + spent(world.folder / "account")
    return bool(world.in_log & world.reported) or total > cap


def test_reports_ask_for_a_bounded_number_of_cells(state, week, monkeypatch):
    """A hostile list with a tiny epsilon would fill the device's disk, report by report."""
    monkeypatch.setattr(module, "MAX_REPORTED_CELLS", 100)
    params = BlenderParams("1/1000", strategy="high-utility", max_head_size=300)
    for n_queries, is_refused in ((300, True), (150, False)):
        listed = tuple((f"q{number}", ()) for number in range(n_queries))
        directory = week(n_queries, params=params, head_list=listed)
        if is_refused:
            with pytest.raises(ValueError, match="must name at most 100 cells"):
                Device(state, PUBLIC_KEY).report(directory, [])
            assert spent(state) == 0
        else:
            line = Device(state, PUBLIC_KEY).report(directory, [])
            assert 70 < len(json.loads(line)["cells"]) <= 100


def test_account_does_not_grow_without_end(state, week, monkeypatch):
    device = Device(state, PUBLIC_KEY)
    line = device.report(week(1), [])
    monkeypatch.setattr("hybriddp.device.file.MAX_BYTES", 10)
    with pytest.raises(ReportRefused, match="takes no more"):
        device.report(week(2), [])
    assert device.report(week(1), []) == line
    device.opt_in(TODAY, None, even_beyond_cap=True)  # silence has always room


def test_refusal_can_be_printed_whatever_numbers_a_package_holds(state, week):
    """Sums of fractions with long denominators have more digits than Python prints."""
    device = Device(state, PUBLIC_KEY, cap=Budget(1, "1e-4"))
    for number in range(1, 7):
        denominator = 10**900 + number
        params = BlenderParams(Fraction(10**899, denominator), "1e-5")
        device.report(week(number, params=params), [])
    with pytest.raises(BudgetExceeded, match=r"about 0\.6") as caught:
        device.report(week(8), [])
    assert len(str(caught.value)) < 500
