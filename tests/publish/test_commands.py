"""The commands around a release: what they print, and their exit codes."""

import json
import os
import shutil
import sqlite3

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from flows.console.settings import read_settings
from tasks.ledger.ledger import Ledger
from tasks.products.head_list.request import ReleaseRequest
from tasks.release.refusals import BadInput
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication
from tests.homes import new_home
from tests.imports import HEAVY, imported_by


def hybriddp(*arguments, home=None):
    environment = {"HYBRIDDP_HOME": str(home)} if home else {}
    return CliRunner().invoke(app, [str(a) for a in arguments], env=environment)


def told(*arguments, home=None) -> dict:
    done = hybriddp(*arguments, "--json", home=home)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


@pytest.fixture
def home(run):
    return run.home.root


def test_ledger_show_lists_releases_and_the_runway(home, run):
    assert told("ledger", "show", home=home)["runway"]["pld_epsilon"] is None
    shown = told("ledger", "show", "--pld", home=home)
    assert shown["runway"]["fits_largest"] == 2
    assert shown["runway"]["pld_epsilon"] <= 4
    text = hybriddp("ledger", "show", home=home).stdout
    assert "2 more for the most charged, 3 for a newcomer" in " ".join(text.split())
    assert "PUBLISHED" in text


def test_ledger_verify_and_its_refusal(home, run):
    assert told("ledger", "verify", home=home)["participation_files"] == 1
    run.home.ledger.unlink()
    for leftover in run.home.private.glob("ledger.sqlite-*"):
        leftover.unlink()
    refused = hybriddp("ledger", "verify", home=home)
    assert refused.exit_code == 1
    assert "forgotten spending" in refused.stderr


def test_public_export_holds_no_account(home, run, tmp_path):
    assert hybriddp("ledger", "opt-out", "17", home=home).exit_code == 0
    assert hybriddp("ledger", "export", "--out", tmp_path / "e.json", home=home).exit_code == 0
    exported = (tmp_path / "e.json").read_text()
    accounts = [e.draw for e in Ledger(run.home.ledger).entries() if e.kind == "OPTED_OUT"]
    assert accounts
    assert accounts[0] not in exported
    assert run.reservation.participation not in exported
    assert {row.get("kind") for row in json.loads(exported)["entries"]} >= {"RESERVED", "DRAWN"}
    # Whoever compares exports by their hash sees no other order than version 0.2.0 had.
    reserved = next(r for r in json.loads(exported)["entries"] if r.get("kind") == "RESERVED")
    assert list(reserved)[-5:] == ["product", "epoch", "locale", "groups", "policy"]
    for stored in (reserved["groups"], *reserved["groups"].values(), reserved["policy"]):
        assert list(stored) == sorted(stored)


def test_balance_opting_out_and_erasure(home, run):
    before = told("ledger", "balance", "17", home=home)
    assert (before["spent"]["epsilon"], before["spent"]["epsilon_nano"]) == (4, 4 * 10**9)
    (run.home.warehouses / "leftover").mkdir()
    assert "1 working copies" in hybriddp("ledger", "erase", "17", "--yes", home=home).stdout
    assert not (run.home.warehouses / "leftover").exists()
    after = told("ledger", "balance", "17", home=home)
    assert after["is_stopped"]
    assert after["spent"] == before["spent"]
    hybriddp("ledger", "opt-in", "17", home=home)
    assert not told("ledger", "balance", "17", home=home)["is_stopped"]
    assert "Spent (epsilon 0, delta 0)" in hybriddp("ledger", "balance", "nobody", home=home).stdout


def test_policy_is_shown_and_changed_on_record(home, run):
    assert "epsilon 12" in hybriddp("ledger", "policy", home=home).stdout
    asked = ["--cap-epsilon", "20", "--window-days", "365"]
    done = hybriddp("ledger", "policy", *asked, "--yes", home=home)
    assert "any 365 days: (epsilon 20, delta 0.0001)" in done.stdout
    assert hybriddp("ledger", "policy", "--cap-epsilon", "0", home=home).exit_code == 2
    assert [e.kind for e in Ledger(run.home.ledger).entries()].count("POLICY") == 1


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["policy", "--cap-epsilon", "20"], "looser than 1 of them: their promise would be broken"),
        (
            ["policy", "--cap-epsilon", "5"],
            "1 published labels promise another cap; this one keeps",
        ),
        (["policy", "--max-refusals", "11"], "More verdicts on raw logs"),
        (["erase", "17"], "cannot be removed"),
    ],
)
def test_what_cannot_be_undone_asks_first_and_says_what_it_costs(
    home, run, monkeypatch, command, said
):
    before = Ledger(run.home.ledger).entries()
    refused = hybriddp("ledger", *command, home=home)
    assert refused.exit_code == 2
    words = " ".join(refused.stderr.split())
    assert said in words
    assert "--yes" in words
    monkeypatch.setattr("flows.console.terminal._somebody_is_there", lambda: True)
    declined = CliRunner().invoke(
        app, ["ledger", *command, "--home", str(home)], input="n\n", env={"COLUMNS": "200"}
    )
    assert declined.exit_code == 2
    assert said in " ".join(declined.stderr.split())
    assert "nothing was changed" in declined.stderr
    assert Ledger(run.home.ledger).entries() == before
    agreed = CliRunner().invoke(app, ["ledger", *command, "--home", str(home)], input="y\n")
    assert agreed.exit_code == 0
    assert len(Ledger(run.home.ledger).entries()) == len(before) + 1


def test_a_policy_that_changes_nothing_asks_nothing_and_is_no_row(home, run):
    before = Ledger(run.home.ledger).entries()
    assert hybriddp("ledger", "policy", "--cap-epsilon", "12", home=home).exit_code == 0
    shown = told("ledger", "policy", home=home)
    assert shown["cap"]["epsilon"] == 12
    assert Ledger(run.home.ledger).entries() == before


@pytest.mark.parametrize("command", ["opt-out", "opt-in", "erase"])
def test_an_id_that_nobody_has_is_recorded_and_said_to_be_unknown(home, command):
    yes = ["--yes"] if command == "erase" else []
    for person, is_unknown in (("17", False), ("mistyped", True)):
        done = hybriddp("ledger", command, person, *yes, home=home)
        assert done.exit_code == 0
        assert ("Nobody with this id has ever taken part" in done.stdout) is is_unknown


@pytest.mark.parametrize(
    "command", [["show"], ["balance", "17"], ["export"], ["policy"], ["verify"]]
)
def test_every_sum_is_made_on_a_ledger_that_is_whole(home, run, command):
    connection = sqlite3.connect(run.home.ledger)
    connection.execute("drop trigger entries_are_never_changed")
    connection.execute("update entries set payload = '{}' where kind = 'RESERVED'")
    connection.commit()
    connection.close()
    refused = hybriddp("ledger", *command, home=home)
    assert refused.exit_code == 1
    assert "does not continue the chain" in refused.stderr
    for file in run.home.private.glob("ledger.sqlite*"):
        file.unlink()
    Ledger(run.home.ledger)
    refused = hybriddp("ledger", *command, home=home)
    assert refused.exit_code == 1
    assert "forgotten spending" in " ".join(refused.stderr.split())


def test_reservation_with_draws_cannot_be_voided(home, run):
    refused = hybriddp("ledger", "void", run.release_id, home=home)
    assert refused.exit_code == 1
    assert "no draw has started" in " ".join(refused.stderr.split())


def test_keys_are_made_once_and_never_shown(tmp_path):
    assert "Made new keys" in hybriddp("keys", "init", home=tmp_path).stdout
    assert "there already" in hybriddp("keys", "init", home=tmp_path).stdout
    shown = hybriddp("keys", "show", home=tmp_path).stdout
    for path in (tmp_path / "private" / "keys").glob("*.key"):
        assert path.stat().st_mode & 0o077 == 0
        assert path.read_bytes().hex() not in shown
    assert hybriddp("keys", "show", home=tmp_path / "new").exit_code == 2


def test_new_keys_beside_an_old_ledger_are_refused(home, run):
    (run.home.keys / "account.key").unlink()
    refused = hybriddp("keys", "init", home=home)
    assert refused.exit_code == 2
    assert "forget what people have spent" in " ".join(refused.stderr.split())


def test_verify_and_search_as_a_consumer(home, folder):
    key = home / "public" / "signing.pub"
    checks = told("verify", folder, "--key", key)["checks"]
    assert "recomputed" not in checks
    assert "recomputed" in told("verify", folder.parent, home=home)["checks"]
    assert hybriddp("verify", folder, "--key", key, "--min-sequence", 9).exit_code == 1
    found = told("search", folder.parent, " GOO")["queries"]
    assert [entry["query"] for entry in found] == ["google"]
    assert found[0]["urls"][0]["url"] == "http://google.com"
    assert "No listed query" in hybriddp("search", folder, "zzz").stdout
    assert hybriddp("search", home, "goo").exit_code == 2


@pytest.mark.parametrize(
    ("name", "value"),
    [("sequence", 99), ("epoch", "2026-W47"), ("expires", "2099-01-01T00:00:00+00:00")],
)
def test_a_shelf_that_says_something_else_than_its_release_is_refused(home, folder, name, value):
    key, pointer = home / "public" / "signing.pub", folder.parent / "latest.json"
    said = told("verify", folder.parent, "--key", key)
    assert (said["product"], said["locale"], said["epoch"], said["sequence"]) == (
        "search", "all", "2026-W46", 1,
    )  # fmt: skip
    assert "shelf" in said["checks"]
    shown = hybriddp("verify", folder, "--key", key).stdout
    assert "of search/all, epoch 2026-W46, sequence 1, is what" in shown
    pointer.write_text(json.dumps(json.loads(pointer.read_bytes()) | {name: value}))
    for options in (["--key", key], ["--home", home]):
        refused = hybriddp("verify", folder.parent, *options)
        assert refused.exit_code == 1
        assert f"signed manifest that it leads to ({name})" in " ".join(refused.stderr.split())
    with pytest.raises(VerificationFailed, match="leads to"):  # as the scheduled check does
        verify_publication(new_home(home), folder, read_public_key(key))


def test_a_release_on_the_shelf_of_another_locale_or_under_another_name_is_refused(home, folder):
    other = folder.parent.with_name("de")
    shutil.copytree(folder.parent, other)
    refused = hybriddp("verify", other, "--home", home)
    assert refused.exit_code == 1
    assert f"holds release {folder.name} of search/all" in " ".join(refused.stderr.split())
    (folder.parent / "x").mkdir()
    folder.rename(folder.parent / "x")
    pointer = folder.parent / "latest.json"
    pointer.write_text(json.dumps(json.loads(pointer.read_bytes()) | {"release": "x"}))
    refused = hybriddp("verify", folder.parent, "--key", home / "public" / "signing.pub")
    assert "leads to (release)" in " ".join(refused.stderr.split())


def test_withdraw(home, run, folder):
    shown = run.release_id[:8]  # as `ledger show` prints it
    assert hybriddp("withdraw", shown[:7], "--reason", "test", home=home).exit_code == 2
    refused = hybriddp("withdraw", shown, "--reason", "test", home=home)
    assert refused.exit_code == 2
    assert "removes every file of" in " ".join(refused.stderr.split())
    assert hybriddp("verify", folder, home=home).exit_code == 0, "nobody agreed, nothing changed"
    assert told("withdraw", shown, "--reason", "test", "--yes", home=home)["withdrawn"]
    assert hybriddp("verify", folder, home=home).exit_code == 1
    assert "taken down" in " ".join(hybriddp("search", folder, "goo").stderr.split())
    assert hybriddp("withdraw", "0" * 32, "--reason", "x", home=home).exit_code == 2


def test_doctor_says_what_is_wrong_and_the_remedy(home, run):
    assert hybriddp("doctor", home=home).exit_code == 0
    (run.home.keys / "signing.key").chmod(0o644)
    sick = hybriddp("doctor", home=home)
    assert sick.exit_code == 1
    assert "chmod 600" in sick.stdout


@pytest.fixture
def own_environment(monkeypatch):
    """`hybriddp release` sets Prefect's environment; keep that from the other tests."""
    monkeypatch.setattr(os, "environ", os.environ.copy())
    monkeypatch.setattr("flows.server.environment.atexit.register", lambda _: None)


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--epoch", "2026-W46"], "log: is needed"),
        (["--log", "absent.tsv", "--epoch", "2026-W46"], "absent.tsv is not there"),
        (["--log", "README.md", "--epoch", "2026-W46"], "no suffix of a log"),
        (["--log", "absent.tsv", "--epoch", "2026-W60"], "epoch must be a week"),
        (
            ["--log", "a.tsv", "--epoch", "2026-11", "--epsilon", "99"],
            "epsilon: must be at most 50, got 99",
        ),
        (["--config", "absent.toml"], "absent.toml is missing"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, arguments, words):
    done = hybriddp("release", *arguments, "--home", new_home(tmp_path / "home").root)
    assert done.exit_code == 2
    assert words in " ".join(done.stderr.split())
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("own_environment")
def test_settings_that_name_another_release_reprocess_none(home, run, tmp_path):
    (tmp_path / "settings.toml").write_text('release_id = "another"\ndecimals = 3\n')
    done = hybriddp(
        "reprocess", run.release_id, "--config", tmp_path / "settings.toml", "--home", home
    )
    assert done.exit_code == 2
    assert "names another release_id" in done.stderr


@pytest.mark.usefixtures("own_environment")
def test_second_release_of_an_epoch_is_refused_with_exit_code_3(home, run):
    request = run.request
    done = hybriddp(
        "release", "--log", request.log, "--epoch", request.epoch, "--epsilon", 2, "--home", home
    )
    assert done.exit_code == 3
    assert "--pay-again" in done.stderr


def test_settings_come_from_a_file_and_the_command_line_wins(tmp_path):
    config = tmp_path / "release.toml"
    config.write_text('epoch = "2026-11"\nepsilon = 2\n[columns]\nquery = "q"\n')
    settings = read_settings(config, {"log": "l.tsv", "epsilon": 3.0}, ["person=uid", "time="])
    request = ReleaseRequest.model_validate(settings)
    assert (request.epoch, request.epsilon) == ("2026-11", 3.0)
    columns = request.columns
    assert (columns.query, columns.person, columns.time) == ("q", "uid", None)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'epoch = "2026-W46"\nepsilon 4\n', "line 2, column 9: this is no TOML"),
        (b"epsilon = 1\nepsilon = [1, 2", "its end: this is no TOML"),
        (b'epoch = "\xff"', "byte 10 is not UTF-8"),
        (b"columns = 3\n", "columns must be a table"),
    ],
)
def test_settings_file_says_where_it_is_wrong(tmp_path, content, words):
    config = tmp_path / "release.toml"
    config.write_bytes(content)
    with pytest.raises(BadInput, match=words) as raised:
        read_settings(config, {}, [])
    assert str(config) in str(raised.value)


@pytest.mark.usefixtures("own_environment")
def test_replay_needs_no_prefect_unless_something_is_lost(home, run, folder, monkeypatch):
    class Started(Exception):
        pass

    def start(*_, **__):
        raise Started

    monkeypatch.setattr("flows.console.running.run_flow", start)
    request = run.request
    arguments = ["release", "--log", request.log, "--epoch", request.epoch,
                 "--optin-fraction", request.optin_fraction]  # fmt: skip
    said = told(*arguments, home=home)
    assert (said["folder"], said["is_replay"]) == (str(folder), True)
    assert "recomputed" in said["checks"]
    shown = hybriddp(*arguments, home=home).stdout
    assert "Replay: nothing was paid, nothing was drawn." in shown
    (folder.parent / "latest.json").unlink()  # the flow puts back what is lost
    assert "unforeseen Started" in hybriddp(*arguments, home=home).stderr


@pytest.mark.usefixtures("own_environment")
def test_a_replay_says_what_it_does_not_apply_and_refuses_a_blocklist_in_vain(home, run, tmp_path):
    request = run.request
    arguments = ["release", "--log", request.log, "--epoch", request.epoch,
                 "--optin-fraction", request.optin_fraction]  # fmt: skip
    assert told(*arguments, "--decimals", 6, home=home)["not_applied"] == {}
    other = ["--decimals", 3, "--valid-days", 14]
    assert told(*arguments, *other, home=home)["not_applied"] == {"decimals": 3}
    shown = hybriddp(*arguments, *other, home=home).stdout
    assert f"hybriddp reprocess {run.release_id} --decimals 3" in shown
    (tmp_path / "blocked.txt").write_text("google\n")
    refused = hybriddp(*arguments, "--blocklist", tmp_path / "blocked.txt", home=home)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert f"hybriddp reprocess {run.release_id} --blocklist" in " ".join(refused.stderr.split())


def test_ledger_show_imports_nothing_that_takes_long(home, folder):
    heavy = HEAVY | {"opendp", "polars", "pyarrow.compute", "scipy", "tasks.products.request"}
    assert imported_by("ledger", "show", "--home", home, heavy=heavy) == "[]"
