"""A device reports once in a season, in a week that nobody else chooses, whatever happens."""

import hashlib
import json
import os
import tempfile
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from hybriddp.client import Client
from hybriddp.device import NotItsWeek, SeasonNotOver, reporting
from hybriddp.device.account import Account, require_own_side
from hybriddp.device.curator import Loss
from hybriddp.device.file import AccountFile
from hybriddp.device.package import CollectionPackage, canonical_json
from hybriddp.device.periods import days_of, periods_between
from hybriddp.device.reporting import AccountCorrupt, BudgetExceeded, Device, ReportRefused
from hybriddp.device.season import DAYS_TO_RESERVE, WeekOfSeason
from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from tasks.log.epochs import Epoch
from tests.device.test_device import Crash, MortalDevice, charges, spent, with_hash
from tests.device.test_package import PUBLIC_KEY, assert_refused, make_package, publish
from tests.stats import ALPHA

ROOMY = Budget(50, "1e-2")
CAP = Loss(12, "1e-4")
FIRST = 40  # the first season is 2026-W40 to W42, the second W43 to W45


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """What is durable when is tested elsewhere."""
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def state(tmp_path) -> Path:
    return tmp_path / "account"


def week_of(week: int, season: int = 1, **changes) -> WeekOfSeason:
    first = f"2026-W{FIRST + 3 * (season - 1)}"
    return WeekOfSeason(**{"series": "weekly", "season": season, "week": week, "season_weeks": 3,
                           "first_epoch": first, "clients_rotation": 3} | changes)  # fmt: skip


def asked_in(place: WeekOfSeason, **changes) -> CollectionPackage:
    """Return the package of a week of a season, in the epoch that it is."""
    day = days_of(place.first_epoch, later=place.week - 1)[0]
    kind = Epoch.parse(place.first_epoch).kind
    own = f"{place.series}/{place.season}/{place.week}/{place.first_epoch}"
    fields = {
        "release_id": hashlib.sha256(own.encode()).hexdigest()[:32],
        "epoch": str(Epoch(kind, day)),
        "season": place,
    }
    return make_package(**fields | changes)


def put(state: Path, package: CollectionPackage) -> Path:
    return publish(Path(tempfile.mkdtemp(dir=state.parent)), package)


def device_of(state: Path, **settings) -> Device:
    settings = {"cap": ROOMY, "verify": lambda *_: True} | settings
    return Device(state, PUBLIC_KEY, **settings)


def give_secret(state: Path, own: int, place: WeekOfSeason | None = None) -> None:
    """Give a device a secret by which it reports in a week of the season."""
    place = place or week_of(1)
    secrets = (hashlib.sha256(bytes([n])).digest() for n in range(256))
    secret = next(s for s in secrets if place.own_week(s, "blender", "en-US") == own)
    account = AccountFile(state).read()
    AccountFile(state).write(replace(account, secret=secret))


# --- the package --------------------------------------------------------------------------------


def test_a_package_of_a_week_has_one_form():
    data = asked_in(week_of(2), release_id="0123456789abcdef").to_bytes()
    single = make_package(epoch="2026-W41").to_bytes()
    season = (
        b'"schema_version":4,"season":{"clients_rotation":3,"first_epoch":"2026-W40","season":1,'
        b'"season_weeks":3,"series":"weekly","week":2},'
    )
    assert data == single.replace(b'"schema_version":3,', season)
    assert CollectionPackage.from_bytes(data).to_bytes() == data
    assert CollectionPackage.from_bytes(single).season is None


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"series": "../weekly"}, "series must be a text"),
        ({"series": 7}, "series must be a text"),
        ({"season": 0}, "season must be a whole number from 1"),
        ({"season": True}, "season must be a whole number from 1"),
        ({"season": 10_001}, "season must be a whole number from 1"),
        ({"week": 0}, "week must be a whole number from 1"),
        ({"week": 1.0}, "week must be a whole number from 1"),
        ({"week": 4}, "a season must have its week"),
        ({"week": 1}, "epoch must be week 1 of the season that began in 2026-W40, got 2026-W41"),
        ({"season_weeks": 1}, "a season must have its week"),
        ({"season_weeks": 105}, "season_weeks must be a whole number from 1 to 104"),
        ({"season_weeks": "3"}, "season_weeks must be a whole number"),
        ({"clients_rotation": 2}, "clients must serve at most once"),
        ({"clients_rotation": 10_001}, "clients_rotation must be a whole number"),
        ({"clients_rotation": None}, "clients_rotation must be a whole number"),
        ({"first_epoch": "2026-W39"}, "epoch must be week 2"),
        ({"first_epoch": "2026-W54"}, "first_epoch must be a week, month or day"),
        ({"first_epoch": "2026-10"}, "epoch must be week 2"),
        ({"first_epoch": "9999-W50"}, "first_epoch must be a week, month or day"),
        ({"first_epoch": "9999-11"}, "first_epoch must be a week, month or day"),
        ({"first_epoch": ["2026-W40"]}, "first_epoch must be a text"),
        ({"extra": 1}, "season must be an object with the keys .* 0 missing and 1 unknown"),
    ],
)  # fmt: skip
def test_a_season_that_is_none_is_refused(changes, rule):
    contents = json.loads(asked_in(week_of(2)).to_bytes())
    contents["season"] |= changes
    assert_refused(canonical_json(contents), rule)


@pytest.mark.parametrize("key", ["series", "season", "week", "season_weeks", "first_epoch",
                                 "clients_rotation"])  # fmt: skip
def test_a_season_without_all_of_its_facts_is_refused(key):
    contents = json.loads(asked_in(week_of(2)).to_bytes())
    del contents["season"][key]
    assert_refused(canonical_json(contents), "season must be an object .* 1 missing")


def test_versions_and_seasons_belong_together():
    contents = json.loads(asked_in(week_of(2)).to_bytes())
    assert_refused(canonical_json(contents | {"schema_version": 3}), "0 missing and 1 unknown")
    assert_refused(canonical_json(contents | {"season": None}), "season must be an object")
    assert_refused(canonical_json(contents | {"schema_version": 5}), "must be one of 2, 3, 4")
    single = json.loads(make_package().to_bytes())
    assert_refused(canonical_json(single | {"schema_version": 4}), "1 missing and 0 unknown")
    with pytest.raises(InvalidParameter, match="a season needs a curator's cap"):
        asked_in(week_of(2), curator=None)


def test_periods_are_counted_as_the_curator_counts_them():
    for first, n_periods in (("2026-W40", 104), ("2026-11", 60), ("2028-02-27", 400)):
        start = Epoch.parse(first)
        epoch = start
        for later in range(n_periods):
            assert periods_between(first, str(epoch)) == epoch.index - start.index == later
            assert days_of(first, later) == (epoch.start, epoch.end - timedelta(days=1))
            epoch = Epoch(epoch.kind, epoch.end)
    assert periods_between("2026-W40", "2026-10") is periods_between("2026", "2026") is None


# --- the device's own week ----------------------------------------------------------------------

N_SECRETS, ROTATION = 20_000, 100
SECRETS = [hashlib.sha256(number.to_bytes(4, "big")).digest() for number in range(N_SECRETS)]


def uniform_p_value(weeks: list[int], n_weeks: int) -> float:
    counts = np.bincount(weeks, minlength=n_weeks + 1)[1:]
    assert len(counts) == n_weeks, "a week that is none"
    return float(stats.chisquare(counts).pvalue)


@pytest.mark.statistical
def test_weeks_of_devices_are_uniform_over_the_rotation():
    """False alarm: ALPHA = 1e-9 over the choice of secrets, which are fixed: it is always the same.

    Power: 20,000 secrets see a byte modulo the rotation, and a week that is never drawn.
    """
    place = week_of(1, season_weeks=52, clients_rotation=ROTATION)
    weeks = [place.own_week(secret, "blender", "en-US") for secret in SECRETS]
    assert uniform_p_value(weeks, ROTATION) > ALPHA
    of_a_byte = [1 + secret[0] % ROTATION for secret in SECRETS]
    assert uniform_p_value(of_a_byte, ROTATION) < ALPHA
    never_the_last = [1 + int.from_bytes(s[:8], "big") % (ROTATION - 1) for s in SECRETS]
    assert uniform_p_value(never_the_last, ROTATION) < ALPHA


@pytest.mark.statistical
def test_weeks_of_other_seasons_series_products_and_locales_are_drawn_anew():
    """False alarm: ALPHA each, over secrets that are fixed. Power: the same week is seen."""
    place, n_weeks = week_of(1), 3
    others = [
        lambda s: week_of(1, season=2).own_week(s, "blender", "en-US"),
        lambda s: week_of(1, series="other").own_week(s, "blender", "en-US"),
        lambda s: place.own_week(s, "trends", "en-US"),
        lambda s: place.own_week(s, "blender", "de-DE"),
    ]
    some = SECRETS[:2_000]
    first = [place.own_week(secret, "blender", "en-US") for secret in some]
    for other in others:
        pairs = [a + n_weeks * (other(s) - 1) for a, s in zip(first, some, strict=True)]
        assert uniform_p_value(pairs, n_weeks**2) > ALPHA
    same = [a + n_weeks * (a - 1) for a in first]
    assert uniform_p_value(same, n_weeks**2) < ALPHA


def test_the_ends_of_the_hash_are_the_first_and_the_last_week(monkeypatch):
    for digest, week in ((bytes(32), 1), (b"\xff" * 32, ROTATION)):
        monkeypatch.setattr("hybriddp.device.season.hmac.digest", lambda *_, d=digest: d)
        place = week_of(1, season_weeks=1, clients_rotation=ROTATION)
        assert place.own_week(b"", "blender", "en-US") == week


def test_a_device_that_is_asked_in_all_weeks_answers_once(state):
    for own in (1, 2, 3):
        account = state.with_name(f"account-{own}")
        give_secret(account, own)
        lines = {}
        for _ in range(2):
            for week in (1, 2, 3):
                refusal = NotItsWeek if spent(account) == 0 else ReportRefused
                directory = put(state, asked_in(week_of(week)))
                if week == own:
                    lines[week] = device_of(account).report(directory, [])
                    assert device_of(account).report(directory, [("news", "")]) == lines[week]
                else:
                    with pytest.raises(refusal):
                        device_of(account).report(directory, [])
        assert lines.keys() == {own}
        assert spent(account) == 4


def test_a_device_whose_turn_is_not_in_the_season_does_not_answer(state):
    places = [week_of(week, clients_rotation=8) for week in (1, 2, 3)]
    give_secret(state, 5, places[0])
    for place in places:
        with pytest.raises(NotItsWeek, match="nothing was charged"):
            device_of(state).report(put(state, asked_in(place)), [])
    assert charges(state) == []


def test_the_secret_is_made_once_and_kept_and_nobody_is_told(state, monkeypatch):
    """In a device that is never asked in its week, which writes nothing but its secret."""
    used = []
    monkeypatch.setattr(WeekOfSeason, "own_week", lambda _, secret, *__: used.append(secret))
    device_of(state).report(put(state, make_package()), [])
    assert AccountFile(state).read().secret is None, "no season, no secret"
    for account in (state, state, state.with_name("other")):
        for season in (1, 2):
            with pytest.raises(NotItsWeek) as caught:
                device_of(account).report(put(state, asked_in(week_of(1, season))), [])
            assert used[-1].hex() not in str(caught.value)
    assert len(used) == 6
    mine, others = set(used[:4]), set(used[4:])
    assert mine == {AccountFile(state).read().secret}
    assert len(others) == 1
    assert others != mine
    assert {len(secret) for secret in mine | others} == {32}
    assert "secret" not in repr(AccountFile(state).read())


def test_records_do_not_move_a_devices_week(state):
    give_secret(state, 2)
    directory = put(state, asked_in(week_of(1)))
    for records in ([], [("news", "")], [("news", "http://a")] * 100):
        with pytest.raises(NotItsWeek):
            device_of(state).report(directory, records)


# --- one report a season ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other",
    [
        week_of(2, clients_rotation=9),
        week_of(3, season_weeks=4, clients_rotation=4),
        # Another number for days that it has reported on already.
        week_of(1, season=2, first_epoch="2026-W42"),
        week_of(1, season=7, first_epoch="2026-W41", season_weeks=1, clients_rotation=1),
        week_of(1, season=2, first_epoch="2026-10", season_weeks=1, clients_rotation=1),
    ],
    ids=str,
)
def test_a_season_by_another_name_is_the_same_season(state, other):
    give_secret(state, 1)
    directory = put(state, asked_in(week_of(1)))
    line, before = device_of(state).report(directory, []), state.read_bytes()
    with pytest.raises(ReportRefused, match="all of season 1 of series weekly"):
        device_of(state).report(put(state, asked_in(other)), [])
    assert state.read_bytes() == before
    assert device_of(state).report(directory, []) == line


@pytest.mark.parametrize(
    "other",
    [
        # What a curator could try until the device's week is the one that it wants.
        week_of(2, season=9, first_epoch="2026-W40"),
        week_of(2, clients_rotation=9),
        week_of(1, season=1, first_epoch="2026-W41", season_weeks=1, clients_rotation=1),
        week_of(1, season=5, first_epoch="2026-W41", season_weeks=1, clients_rotation=1),
    ],
    ids=str,
)
def test_what_a_season_is_never_changes_also_for_who_has_not_reported(state, other):
    """Seen, not reported: the device waits for its own week of that very season."""
    give_secret(state, 3)
    with pytest.raises(NotItsWeek):
        device_of(state).report(put(state, asked_in(week_of(1))), [])
    before = state.read_bytes()
    with pytest.raises(ReportRefused, match="was another one when this device first heard of it"):
        device_of(state).report(put(state, asked_in(other)), [])
    assert state.read_bytes() == before
    with pytest.raises(NotItsWeek):
        device_of(state).report(put(state, asked_in(week_of(2))), [])
    assert device_of(state).report(put(state, asked_in(week_of(3))), [])
    assert [seen.season for seen in AccountFile(state).read().seasons] == [week_of(1)]


def test_another_season_series_product_or_locale_has_its_own_report(state):
    places = [week_of(1, season_weeks=1, clients_rotation=1, **changes) for changes in (
        {}, {"season": 2, "first_epoch": "2026-W41"}, {"series": "other"}, {}, {})]  # fmt: skip
    more = [{}, {}, {"epoch": "2026-W40", "product": "third"}, {"product": "trends"},
            {"locale": "de-DE"}]  # fmt: skip
    for number, (place, changes) in enumerate(zip(places, more, strict=True)):
        package = asked_in(place, **changes | {"release_id": f"{number:032x}"})
        device_of(state).report(put(state, package), [])
    assert spent(state) == 4 * len(places)
    # The same epoch of a product and a locale has one report, in whichever series, or in none.
    for package in (
        asked_in(week_of(1, series="new", season_weeks=1), release_id="f" * 32),
        make_package(epoch="2026-W40", release_id="f" * 32),
    ):
        with pytest.raises(ReportRefused, match=r"one package for product blender, epoch 2026-W40"):
            device_of(state).report(put(state, package), [])


SEASONS = [
    *[asked_in(week_of(week, season)) for season in (1, 2) for week in (1, 2, 3)],
    asked_in(week_of(2), head_list=(("news", ()),), release_id="e" * 32),
    asked_in(week_of(1, season=9, first_epoch="2026-W42", season_weeks=1, clients_rotation=1)),
]
DEATHS = [None, None, "draw", *((n, when) for n in (1, 2, 3, 4) for when in ("before", "after"))]


@pytest.mark.property
@given(
    st.lists(st.tuples(st.sampled_from(range(len(SEASONS))), st.sampled_from(DEATHS)), max_size=24)
)
def test_no_history_reports_twice_in_a_season(history):
    """Any weeks in any order, hostile ones among them, each call dying anywhere or nowhere."""
    sent: dict[str, set[bytes]] = {}
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        directories = [publish(Path(folder) / str(n), p) for n, p in enumerate(SEASONS)]
        device = MortalDevice(Path(folder) / "account", patch)
        for choice, dies_at in history:
            before = spent(device.state)
            with suppress(Crash, ReportRefused):
                line = device.report(directories[choice], SEASONS[choice], dies_at)
                sent.setdefault(SEASONS[choice].epoch, set()).add(line)
            assert before <= spent(device.state)
        n_drawn = Counter()
        for package in {p.epoch: p for p in SEASONS}.values():
            n_drawn[package.season.first_epoch < "2026-W43"] += device.draws[package.epoch]
    assert max(n_drawn.values()) <= 1, "W42 is of season 1, whatever number it is given"
    assert all(len(lines) == 1 for lines in sent.values())
    assert sum(map(len, sent.values())) <= sum(device.draws.values())


def test_a_charge_without_a_report_has_spent_the_season(state, monkeypatch):
    give_secret(state, 2)
    directories = [put(state, asked_in(week_of(week))) for week in (1, 2, 3)]

    def crash(*_):
        raise Crash

    with monkeypatch.context() as broken:
        broken.setattr(Client, "report", crash)
        with pytest.raises(Crash):
            device_of(state).report(directories[1], [])
    for directory, words in zip(
        directories, ("all of season 1", "charged and then lost", "all of season 1"), strict=True
    ):
        with pytest.raises(ReportRefused, match=words):
            device_of(state).report(directory, [])
    assert spent(state) == 4
    with pytest.raises(SeasonNotOver):
        device_of(state).opt_in(days_of("2026-W42")[1], CAP)


# --- accounts of other versions -----------------------------------------------------------------

# As 0.2.0 wrote it.
THIRD_VERSION = (
    b'{"charges":[{"budget":{"delta":"1/100000","epsilon":"4"},"epoch":"2026-W46","locale":"en-US",'
    b'"package_sha256":"ac8b4fafa1b8d89111b5e674a7cd69cdd7b80ef56cb6ae60c7acfe2f566ad982",'
    b'"product":"blender","release_id":"0123456789abcdef","report":"{\\"cells\\":[3],\\"nonce\\":'
    b'\\"5409dfe1a06493165d15ed22cafb4b8a\\",\\"release_id\\":\\"0123456789abcdef\\"}\\n"}],'
    b'"named_caps":{"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8":{"delta":'
    b'"1/10000","epsilon":"12"}},"opt_ins":[{"curator":'
    b'"03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8","since":"2026-11-17",'
    b'"until":"2026-11-18"}],"schema_version":3}\n'
)


def test_accounts_of_version_0_2_0_lose_nothing(state):
    state.write_bytes(with_hash(THIRD_VERSION))
    old = AccountFile(state).read()
    single = put(state, make_package())
    for _ in range(2):  # as it was, and as it is written now
        line = device_of(state).report(single, [("news", "")])
        assert json.loads(line)["nonce"] == "5409dfe1a06493165d15ed22cafb4b8a"
        assert spent(state) == 4
        assert AccountFile(state).read() == old
        AccountFile(state).write(old)
    assert b'"schema_version":4' in state.read_bytes()
    place = week_of(1, first_epoch="2026-W46", season_weeks=1, clients_rotation=1)
    with pytest.raises(ReportRefused, match="one package for product blender, epoch 2026-W46"):
        device_of(state).report(put(state, asked_in(place)), [])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"series":"weekly",', b""),
        (b'"week":1', b'"week":4'),
        (b'"first_epoch":"2026-W40"', b'"first_epoch":"some day"'),
        (b'"schema_version":4', b'"schema_version":3'),
        (b'"secret":"', b'"secret":"00'),
        (b'"secret":"', b'"secret":"x'),
        (b',"season":{', b',"seasons":{'),
    ],
)
def test_an_account_with_a_damaged_season_refuses(state, old, new):
    give_secret(state, 1)
    directory = put(state, asked_in(week_of(1)))
    device_of(state).report(directory, [])
    body = state.read_bytes().partition(b"\n")[2]
    assert old in body
    state.write_bytes(with_hash(body.replace(old, new)))
    with pytest.raises(AccountCorrupt):
        device_of(state).report(directory, [])


# --- one human, one side ------------------------------------------------------------------------

LAST_DAY = date(2026, 10, 18)  # of the first season, which began on 28 September
OVER = LAST_DAY + timedelta(days=29)


def test_who_has_reported_in_a_season_opts_in_when_no_more_of_it_is_reserved(state):
    """A week is released after its last day, with the opt-in people of then: 28 days are left."""
    assert week_of(1).last_day == LAST_DAY
    assert DAYS_TO_RESERVE == 28
    give_secret(state, 1)
    directory = put(state, asked_in(week_of(1)))
    line = device_of(state).report(directory, [])
    for today in (date(2026, 10, 1), LAST_DAY, LAST_DAY + timedelta(days=1), date(2026, 11, 15)):
        with pytest.raises(SeasonNotOver, match=r"Opt in on 2026-11-16 or later, got 2026-1"):
            device_of(state).opt_in(today, Loss(13, "1e-4"))
    account = AccountFile(state).read()
    assert account.opt_ins == ()
    assert account.named_caps[PUBLIC_KEY.hex()] == Loss(13, "1e-4"), "refused, and remembered"
    assert str(OVER) == "2026-11-16"
    device_of(state).opt_in(OVER, CAP)
    assert device_of(state).report(directory, []) == line
    with pytest.raises(ReportRefused, match="stays silent"):
        device_of(state).report(put(state, asked_in(week_of(1, season=2))), [])


def test_the_last_of_several_seasons_decides_and_whoever_is_in_the_log_can_be_silent(state):
    whole = {"season_weeks": 1, "clients_rotation": 1}
    for place in (
        week_of(1, season=2, **whole),
        week_of(1, series="monthly", first_epoch="2026-10", season_weeks=2, clients_rotation=2),
        week_of(1, season=1, **whole),
    ):
        give_secret(state, 1, place)
        device_of(state).report(put(state, asked_in(place)), [])
    with pytest.raises(SeasonNotOver, match="Opt in on 2026-12-29 or later"):
        device_of(state).opt_in(date(2026, 12, 28), CAP)
    with pytest.raises(BudgetExceeded):  # of two refusals the one that no day mends
        device_of(state, cap=Budget(12, "1e-4")).opt_in(date(2026, 12, 28), CAP)
    device_of(state).opt_in(date(2026, 12, 28), CAP, even_beyond_cap=True)
    device_of(state).opt_in(date(2026, 12, 28), CAP)  # nothing changes, so nothing is refused
    with pytest.raises(ReportRefused, match="stays silent"):
        device_of(state).report(put(state, asked_in(week_of(1, season=3))), [])


def test_after_opting_out_the_device_reports_in_seasons_that_begin_later(state):
    """Weeks of a season that began before may have charged the person, and it is one promise."""
    device = device_of(state)
    device.opt_in(date(2026, 9, 1), CAP)
    device.opt_out(date(2026, 10, 19))  # the first day of the second season
    for season in (1, 2):
        for week in (1, 2, 3):
            with pytest.raises(ReportRefused, match="seasons that begin later") as caught:
                device.report(put(state, asked_in(week_of(week, season))), [])
            assert not isinstance(caught.value, NotItsWeek)
    assert AccountFile(state).read().secret is None, "who is on the other side draws no week"
    third = week_of(1, season=3, season_weeks=1, clients_rotation=1)
    device.report(put(state, asked_in(third)), [])
    # A single release of an epoch that begins later is none of the season.
    device.report(put(state, make_package(epoch="2026-W44")), [])
    for day, silent in ((date(2026, 10, 18), False), (date(2026, 10, 19), True)):
        account = state.with_name(f"{day}")
        device_of(account).opt_in(day, CAP)
        device_of(account).opt_out(day)
        place = week_of(1, season=2, season_weeks=1, clients_rotation=1)
        try:
            device_of(account).report(put(state, asked_in(place)), [])
        except ReportRefused:
            assert silent
        else:
            assert not silent


class Life:
    """A human, their device, and a curator of a daily series who releases late, and in time."""

    START, N_DAYS = date(2026, 11, 2), 4

    def __init__(self, folder: Path) -> None:
        self.folder, self.today = folder, self.START
        self.is_enrolled = False
        self.charged: set[int] = set()  # seasons in which a ledger has charged the human
        self.reported: set[int] = set()
        self.packages: list[tuple[Path, WeekOfSeason]] = []

    @property
    def device(self) -> Device:
        return device_of(self.folder / "account")

    def wait(self, days: int) -> None:
        self.today += timedelta(days=days)

    def release(self, season: int, week: int) -> None:
        """Reserve a day of a season, if it is over and the season is not."""
        first = self.START + timedelta(days=self.N_DAYS * (season - 1))
        place = WeekOfSeason("daily", season, week, self.N_DAYS, f"{first}", self.N_DAYS)
        epoch = first + timedelta(days=week - 1)
        if epoch < self.today <= place.last_day + timedelta(days=DAYS_TO_RESERVE):
            if self.is_enrolled:
                self.charged.add(season)
            directory = publish(self.folder / str(len(self.packages)), asked_in(place))
            self.packages.append((directory, place))

    def ask(self) -> None:
        for directory, place in self.packages:
            with suppress(ReportRefused):
                self.device.report(directory, [])
                self.reported.add(place.season)

    def opt_in(self) -> None:
        with suppress(ReportRefused):
            self.device.opt_in(self.today, Loss(1, "1e-6"))
            self.is_enrolled = True

    def opt_out(self) -> None:
        self.is_enrolled = False
        self.device.opt_out(self.today)

    def breaks_the_promise(self, history: list) -> bool:
        AccountFile(self.folder / "account").write(Account(secret=SECRETS[0]))
        for act, *arguments in history:
            getattr(self, act)(*arguments)
        return bool(self.charged & self.reported)


ACTS = st.one_of(
    st.tuples(st.just("wait"), st.sampled_from([1, 2, 4, 29])),
    st.tuples(st.just("release"), st.integers(1, 4), st.integers(1, 4)),
    st.tuples(st.just("ask")),
    st.tuples(st.just("opt_in")),
    st.tuples(st.just("opt_out")),
)


@pytest.mark.property
@given(st.lists(ACTS, max_size=30))
def test_no_history_puts_one_human_on_both_sides_of_a_season(history):
    with tempfile.TemporaryDirectory() as folder:
        assert not Life(Path(folder)).breaks_the_promise(history)


def all_weeks(season: int) -> list:
    return [("release", season, week) for week in (1, 2, 3, 4)]


BEGINNING = [("wait", 3), *all_weeks(1)[:3], ("ask",)]  # in the last of four days
CHANGES_OF_SIDES = {
    "who reported opts in": [*BEGINNING, ("opt_in",), ("wait", 1), *all_weeks(1)],
    "who reported opts in when all days are over": [
        *BEGINNING, ("wait", 1), ("opt_in",), *all_weeks(1)],
    "who opted out reports on a later day": [
        ("opt_in",), ("wait", 1), ("release", 1, 1), ("opt_out",), ("wait", 4), *all_weeks(1),
        ("ask",)],
}  # fmt: skip


def by_epochs(package, account) -> None:
    """As for single releases."""
    require_own_side(replace(package, season=None), account)


PLANTED = {
    "who reported opts in": (Account, "require_seasons_over", lambda *_: None),
    "who reported opts in when all days are over": (
        WeekOfSeason, "is_over_on", property(lambda s: s.last_day + timedelta(days=1))),
    "who opted out reports on a later day": (reporting, "require_own_side", by_epochs),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES_OF_SIDES)
def test_the_check_of_sides_sees_planted_defects(tmp_path, monkeypatch, change):
    monkeypatch.setattr(WeekOfSeason, "own_week", lambda *_: 3)
    for name in ("sound", "planted"):
        (tmp_path / name).mkdir()
    assert not Life(tmp_path / "sound").breaks_the_promise(CHANGES_OF_SIDES[change])
    monkeypatch.setattr(*PLANTED[change])
    assert Life(tmp_path / "planted").breaks_the_promise(CHANGES_OF_SIDES[change])
