"""The command line: what it prints, and how it fails."""

import json

import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from flows.cli.synthetic import Kind
from hybriddp.planning.profiles import POPULATIONS


@pytest.fixture
def run():
    def invoke(*arguments: object):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return invoke


def test_kinds_are_the_populations():
    assert {kind.value for kind in Kind} == set(POPULATIONS)


def test_generate_writes_the_log_and_says_what_it_wrote(run, tmp_path):
    out = tmp_path / "log.tsv.gz"
    result = run("generate", "--users", 200, "--out", out, "--json")
    summary = json.loads(result.stdout)
    assert (result.exit_code, summary["users"]) == (0, 200)
    assert summary["bytes"] == out.stat().st_size
    plain = run("generate", "--users", 200, "--out", tmp_path / "log.parquet")
    assert f"{summary['rows']:,} rows of 200 synthetic users" in plain.stdout


def test_simulate_shows_the_head_and_the_promise(run):
    result = run("simulate", "--users", 250000, "--rows", 3, "--epsilon", "0.5")
    assert result.exit_code == 0
    assert "google" in result.stdout
    assert "epsilon 0.5, delta 1e-05" in result.stdout
    assert "ln 2" in result.stdout, "the note about small epsilons"
    assert "no budget spent" in " ".join(result.stdout.split())


def test_simulate_says_why_a_list_is_empty(run):
    result = run("simulate", "--users", 1000, "--epsilon", "0.1")
    assert result.exit_code == 0
    assert "No record was popular enough" in result.stdout


def test_simulate_speaks_json(run):
    result = run("simulate", "--users", 60000, "--json", "--max-head-size", 5)
    release = json.loads(result.stdout)
    assert release["n_queries"] == 5
    probabilities = [row["probability"] for row in release["rows"]]
    assert probabilities == sorted(probabilities, reverse=True)
    assert sum(probabilities) + release["other_mass"] == pytest.approx(1)
    assert all(row["ci_low"] <= row["probability"] <= row["ci_high"] for row in release["rows"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("simulate", "--epsilon", "0"), "epsilon must be above 0"),
        (("simulate", "--delta", "1"), "delta must be at least 0 and below 1"),
        (("simulate", "--optin-fraction", "0"), "optin_fraction must be strictly between"),
        (("simulate", "--users", "1"), "at least 1"),
        (("generate", "--users", "0", "--out", "log.tsv"), "n_users must be >= 1"),
        (("generate", "--users", "5", "--out", "log.xls"), "known suffix"),
        (("generate", "--kind", "bing-like", "--out", "log.tsv"), "aol-like"),
        (("generate",), "--out"),
    ],
)
def test_bad_input_exits_2_with_a_reason_and_no_traceback(
    run, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    result = run(*arguments)
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert list(tmp_path.iterdir()) == []
