"""Commands around a release of histograms, without Prefect: what they print, and exit codes."""

import json

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from flows.cli.products import show
from tests.homes import new_home
from tests.publish.test_commands import own_environment  # noqa: F401 - a fixture
from tests.zealous.support import N_PEOPLE

ASKED = ["--log", "a.tsv", "--epoch", "2026-W46"]


def hybriddp(*arguments, home):
    return CliRunner().invoke(app, [str(a) for a in arguments], env={"HYBRIDDP_HOME": str(home)})


def words(text):
    return " ".join(text.split())


def test_ledger_shows_what_everybody_paid_in_all(run):
    home = run.home.root
    shown = json.loads(hybriddp("ledger", "show", "--json", home=home).stdout)
    price = {"epsilon": 4, "delta": 1e-5, "epsilon_nano": 4 * 10**9, "delta_atto": 10**13}
    assert shown["runway"]["asked"] == price
    assert shown["runway"]["fits_largest"] == 2
    text = words(hybriddp("ledger", "show", home=home).stdout)
    assert f"2026-W46 histograms PUBLISHED {N_PEOPLE + 1} 4 1e-05" in text
    assert "2 more for the most charged, 3 for a newcomer" in text
    held = json.loads(hybriddp("ledger", "balance", "17", "--json", home=home).stdout)
    assert held["spent"] == price


def test_verify_withdraw_and_verify_again(run, folder):
    home = run.home.root
    checked = json.loads(hybriddp("verify", folder.parent, "--json", home=home).stdout)
    assert "recomputed" in checked["checks"]
    assert (
        hybriddp("withdraw", run.release_id, "--reason", "test", "--yes", home=home).exit_code == 0
    )
    refused = hybriddp("verify", folder, home=home)
    assert refused.exit_code == 1
    assert "withdrawn" in refused.stderr


def test_the_head_of_every_histogram_is_shown_with_what_was_paid(folder, capsys):
    show(folder, 7)
    text = words(capsys.readouterr().out)
    for said in (
        "4 keywords of more than 38 contributors (noise within 6 in 95 % of cases)",
        "rank query next_query contributors",
        "rank query url contributors",
        f"(epsilon 4, delta 1e-05) in all, probabilistic, for each of {N_PEOPLE + 1} people.",
        "Each person contributes at most 1 of their items to a histogram, so more people have an",
        "7 checks passed",
    ):
        assert said in text


@pytest.mark.usefixtures("own_environment")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--epoch", "2026-W46"], "log: is needed"),
        (["--log", "absent.tsv", "--epoch", "2026-W46"], "absent.tsv is not there"),
        ([*ASKED, "--columns", "time="], "pairs need times"),
        ([*ASKED, "--histogram", "words"], "'keywords', 'queries', 'pairs' or 'clicks'"),
        ([*ASKED, "--relaxation", "none"], "'probabilistic' or 'indistinguishable'"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path, arguments, said):
    done = hybriddp("zealous", *arguments, home=new_home(tmp_path / "home").root)
    assert done.exit_code == 2
    assert said in words(done.stderr)
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("own_environment")
def test_a_second_release_of_an_epoch_is_refused_with_exit_code_3(run):
    asked = ["--log", run.request.log, "--epoch", run.request.epoch, "--histogram", "queries"]
    done = hybriddp("zealous", *asked, "--home", run.home.root, home=run.home.root)
    assert done.exit_code == 3
    assert "--pay-again" in done.stderr
