"""A ledger knows its keys, and a home is made on purpose."""

import shutil

import pytest
from typer.testing import CliRunner

import tasks.ledger.founding
import tasks.ledger.witnesses
import tasks.store.keys
from flows.cli.main import app
from hybriddp.errors import HybridDPError, InvalidParameter
from tasks.budget.showing.overview import balance, set_membership
from tasks.ledger.check import check_ledger
from tasks.ledger.founding import founding, id_form_of
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.ids import FIRST_FORM, NEWEST_FORM
from tasks.store.doctor import examine
from tasks.store.home import Home
from tasks.store.keys import PURPOSES, Keyring, make_home, make_keys, open_for_writing
from tasks.verify.signatures import KeyProblem
from tests.homes import new_home
from tests.release.support import reserve_groups

NAMES = [*PURPOSES, "signing"]
PAIRS = {bytes([number]) * 16: group for number, group in enumerate("SSTTCC")}


def hybriddp(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def flip(path):
    data = bytearray(path.read_bytes())
    data[11] ^= 4
    path.write_bytes(data)


@pytest.mark.parametrize("name", NAMES)
def test_a_key_with_one_bit_flipped_is_refused_by_everything_that_uses_it(tmp_path, name):
    home = new_home(tmp_path)
    flip(home.keys / f"{name}.key")
    public = (home.public / "signing.pub").read_bytes()
    for use in (
        Keyring.open,
        make_keys,
        open_for_writing,
        check_ledger,
        lambda home: balance(home, "7"),
        lambda home: set_membership(home, "7", Kind.OPTED_OUT),
    ):
        with pytest.raises(KeyProblem, match=f"{name}.key .* is not what this home's ledger"):
            use(home)
    for command in (["keys", "show"], ["ledger", "verify"], ["ledger", "balance", "7"]):
        done = hybriddp(*command, "--home", home.root)
        assert done.exit_code == 2
        assert f"{name}.key" in done.stderr
    assert {f.name for f in examine(home) if not f.is_well} >= {"keys", "ledger"}
    assert (home.public / "signing.pub").read_bytes() == public
    assert [entry.kind for entry in Ledger(home.ledger).entries()] == [Kind.FOUNDED]
    flip(home.keys / f"{name}.key")
    check_ledger(home)


@pytest.mark.parametrize("name", NAMES)
def test_another_homes_key_is_refused(tmp_path, name):
    home, other = new_home(tmp_path / "own"), new_home(tmp_path / "other")
    shutil.copy(other.keys / f"{name}.key", home.keys / f"{name}.key")
    with pytest.raises(KeyProblem, match=name):
        Keyring.open(home)


def test_a_fingerprint_is_keyed_and_says_nothing_of_its_key(tmp_path):
    home, other = new_home(tmp_path / "own"), new_home(tmp_path / "other")
    known, others = founding(home).keys, founding(other).keys
    assert len({*known.values(), *others.values()}) == 2 * len(NAMES)
    stored = home.ledger.read_bytes() + (home.private / "founded.json").read_bytes()
    for name in NAMES:
        key = (home.keys / f"{name}.key").read_bytes()
        assert key not in stored
        assert key.hex().encode() not in stored


def test_a_public_key_that_consumers_trust_is_never_replaced(tmp_path):
    home = new_home(tmp_path)
    path = home.public / "signing.pub"
    path.write_text("0" * 64 + "\n")
    for use in (make_keys, open_for_writing):
        with pytest.raises(KeyProblem, match=r"signing\.pub is not the public half"):
            use(home)
    assert path.read_text() == "0" * 64 + "\n"
    path.unlink()
    make_keys(home)
    assert path.read_text().strip() == Keyring.open(home).public_key.hex()


def test_a_home_that_nobody_made_is_refused_and_stays_unmade(tmp_path):
    for command in (
        ["ledger", "show"],
        ["ledger", "policy"],
        ["keys", "show"],
        ["release", "--log", "log.tsv", "--epoch", "2026-W40"],
        ["withdraw", "0" * 32, "--reason", "x"],
    ):
        done = hybriddp(*command, "--home", tmp_path / "mistyped")
        assert done.exit_code == 2, command
        words = " ".join(done.stderr.split())
        assert "nobody has made a home in" in words
        assert "keys init --home" in words
        assert not (tmp_path / "mistyped").exists()
    done = hybriddp("doctor", "--home", tmp_path / "mistyped")
    assert done.exit_code == 1
    assert "keys init" in done.stdout
    assert not (tmp_path / "mistyped").exists()


def test_reading_commands_need_no_home_and_make_none(tmp_path):
    absent = tmp_path / "absent"
    done = hybriddp("verify", tmp_path, "--key", tmp_path / "no.pub", "--home", absent)
    assert "nobody has made a home" not in done.stderr
    assert Home.at(absent).root == absent
    assert not absent.exists()


def test_zones_without_keys_or_ledger_are_no_home(tmp_path):
    """As 0.1.0 made them for any mistyped path."""
    Home.create(tmp_path)
    with pytest.raises(InvalidParameter, match="nobody has made a home"):
        Home.open(tmp_path)
    make_home(tmp_path)
    Home.open(tmp_path)


class Died(BaseException):
    """The process is gone."""


def test_a_crash_anywhere_in_making_a_home_is_mended_by_making_it_again(tmp_path, monkeypatch):
    """Every durable step of it is a write of a file, or the founding row."""
    places = [
        (tasks.store.keys, "write_whole"),
        (tasks.ledger.witnesses, "write_whole"),
        (tasks.ledger.founding, "verified_head"),
        (Ledger, "append"),
    ]

    def make(root, dies_at):
        calls = []
        with monkeypatch.context() as patch:
            for owner, name in places:
                original = getattr(owner, name)

                def dying(*args, original=original, **kwargs):
                    calls.append(None)
                    if len(calls) == dies_at:
                        raise Died
                    return original(*args, **kwargs)

                patch.setattr(owner, name, dying)
            make_home(root)
        return len(calls)

    n_calls = make(tmp_path / "whole", None)
    assert n_calls == 4 + 1 + 1 + 1 + 1, "keys, check, row, its witness, public key"
    for place in range(1, n_calls + 1):
        root = tmp_path / str(place)
        with pytest.raises(Died):
            make(root, place)
        kept = {path.name: path.read_bytes() for path in Home.at(root).keys.glob("*.key")}
        home = make_home(root)
        assert check_ledger(home).head.seq == 1
        assert all((home.keys / name).read_bytes() == data for name, data in kept.items())


@pytest.mark.parametrize("lost", [NAMES, ["account"], ["signing"], ["cohort", "release"]])
def test_lost_keys_beside_a_ledger_are_never_made_anew(tmp_path, lost):
    home = new_home(tmp_path)
    for name in lost:
        (home.keys / f"{name}.key").unlink()
    for use in (make_keys, Keyring.open):
        with pytest.raises(KeyProblem, match="restore"):
            use(home)
    assert not [name for name in lost if (home.keys / f"{name}.key").exists()]


@pytest.mark.parametrize("is_emptied", [True, False])
@pytest.mark.parametrize("has_keys", [True, False])
def test_a_lost_or_emptied_ledger_does_not_begin_anew(tmp_path, is_emptied, has_keys):
    home = new_home(tmp_path)
    Ledger(home.ledger).note(Kind.OPTED_OUT, subject="aa")
    for file in home.private.glob("ledger.sqlite*"):
        file.unlink()
    if is_emptied:
        Ledger(home.ledger)
    if not has_keys:
        shutil.rmtree(home.keys)
        home.keys.mkdir()
    for use in (make_keys, check_ledger, lambda home: set_membership(home, "7", Kind.OPTED_IN)):
        with pytest.raises(HybridDPError, match=r"forgotten spending|must be a key"):
            use(home)
    assert list(home.keys.iterdir()) == [] or has_keys
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        check_ledger(home)


def home_of_the_first_version(root, monkeypatch, groups=()):
    """Make a home as 0.1.0 did: keys, and a ledger without a founding."""
    with monkeypatch.context() as patch:
        patch.setattr(tasks.store.keys, "found", lambda *_: None)
        home = new_home(root)
        if groups:
            reserve_groups(home, "r1", groups)
    assert founding(home) is None
    return home


def test_a_ledger_of_the_first_version_is_adopted_before_anything_else_is_written(
    tmp_path, monkeypatch
):
    home = home_of_the_first_version(tmp_path / "used", monkeypatch, PAIRS)
    before = Ledger(home.ledger).entries()
    Keyring.open(home), check_ledger(home), balance(home, "7")
    assert Ledger(home.ledger).entries() == before, "reading writes nothing"
    set_membership(home, "7", Kind.OPTED_OUT)
    kinds = [entry.kind for entry in Ledger(home.ledger).entries()]
    assert kinds == [Kind.RESERVED, Kind.FOUNDED, Kind.OPTED_OUT]
    assert (founding(home).adopted, founding(home).id_form) == (True, FIRST_FORM)
    flip(home.keys / "account.key")
    with pytest.raises(KeyProblem):
        Keyring.open(home)


def test_a_ledger_is_not_bound_to_a_signing_key_that_consumers_do_not_know(tmp_path, monkeypatch):
    """Else neither the wrong key nor the right one would fit any more."""
    home = home_of_the_first_version(tmp_path / "used", monkeypatch, PAIRS)
    right = (home.keys / "signing.key").read_bytes()
    flip(home.keys / "signing.key")
    with pytest.raises(KeyProblem, match="is not the public half"):
        open_for_writing(home)
    assert founding(home) is None
    (home.keys / "signing.key").write_bytes(right)
    open_for_writing(home)
    assert founding(home).adopted


def test_accounts_keep_the_form_of_ids_that_they_were_made_with(tmp_path, monkeypatch):
    unused = home_of_the_first_version(tmp_path / "unused", monkeypatch)
    used = home_of_the_first_version(tmp_path / "used", monkeypatch, PAIRS)
    left = home_of_the_first_version(tmp_path / "left", monkeypatch)
    Ledger(left.ledger).note(Kind.OPTED_OUT, subject="aa")
    forms = {"unused": NEWEST_FORM, "used": FIRST_FORM, "left": FIRST_FORM}
    for home in (unused, used, left):
        assert id_form_of(home) == forms[home.root.name]
        open_for_writing(home)
        assert id_form_of(home) == founding(home).id_form == forms[home.root.name]


def test_a_ledger_is_founded_once(tmp_path):
    home = new_home(tmp_path)
    for _ in range(2):
        make_keys(home)
    assert [entry.kind for entry in Ledger(home.ledger).entries()] == [Kind.FOUNDED]
    assert founding(home).adopted is False
