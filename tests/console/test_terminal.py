"""One place prints: whatever a text holds, and whatever the terminal can show."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli.main import app
from flows.console.terminal import Console, Table, confirm, harmless
from tasks.release.refusals import BadInput
from tests.imports import LIGHT, imported_by
from tests.patience import PATIENCE
from tests.repository import ROOT

HOSTILE = "[/b] \x1b[31mred\x1b]0;title\x07 \x9b2J \u202eevil\u2066 \u2028next \ud800 [link=x]y[/]"


def shelf(folder: Path, query: str) -> Path:
    """A list as a stranger may publish one."""
    folder.mkdir()
    row = {"query": query, "url": f"http://{query}", "probability": 0.5, "rank": 1}
    row |= {"ci_low": 0.4, "ci_high": 0.6}
    for name in ("head_list", "trends"):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def run(*arguments: object, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "flows", *map(str, arguments)],
        cwd=ROOT, env=os.environ | environment, capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_nothing_steers_the_terminal(capsys):
    console = Console()
    table = Table("query", HOSTILE)
    table.add_row(HOSTILE, "x")
    console.print(HOSTILE)
    console.print(table)
    shown = capsys.readouterr().out
    assert "[/b]" in shown
    assert "[link=x]y[/]" in shown
    assert not [c for c in "\x1b\x07\x9b\u202e\u2066\u2028\ud800" if c in shown]
    assert r"\x1b[31mred" in shown


def test_ordinary_texts_of_any_script_stay_as_they_are():
    for text in ("weather", "josé", "天気 予報", "क्‍ष", "a\nb", "100 % ± 3", "🙂"):
        assert harmless(text) == text


@pytest.mark.parametrize("query", ["[/b]", "[bold]x", "\x1b[2Jgone", "a\\", "[", ":smile:"])
def test_search_shows_any_published_query(tmp_path, query):
    done = run("search", shelf(tmp_path / "list", query), query[:1])
    assert done.returncode == 0, done.stderr
    assert harmless(query) in done.stdout.decode()
    assert b"\x1b" not in done.stdout


def test_ascii_terminal_shows_everything(tmp_path):
    ascii_only = {"PYTHONIOENCODING": "ascii", "LANG": "C", "PYTHONUTF8": "0"}
    done = run("search", shelf(tmp_path / "list", "café ✓"), "café", **ascii_only)
    assert done.returncode == 0, done.stderr
    assert rb"caf\xe9 ok" in done.stdout
    assert run("--help", **ascii_only).returncode == 0


@pytest.mark.parametrize("name", ["[/b]", "\x1b[2J", "é"])
def test_error_shows_any_path(tmp_path, name):
    done = run("search", tmp_path / name, "x", "--json", PYTHONIOENCODING="ascii")
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr
    assert b"\x1b" not in done.stderr + done.stdout
    failure = json.loads(done.stdout)["error"]
    assert (failure["kind"], failure["exit_code"]) == ("bad_input", 2)
    assert name in failure["message"]


def test_confirmation_needs_a_terminal_or_a_yes(monkeypatch):
    confirm("Costs nothing.", yes=True)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(BadInput, match="--yes"):
        confirm("Everybody stays charged.", yes=False)


def test_every_command_is_listed_with_its_own_help():
    from typer.main import get_command
    from typer.testing import CliRunner

    table = get_command(app).table
    for name, entry in table.items():
        said = entry.load().help
        assert entry.help == " ".join(said.split()), name
        for option in ("-h", "--help"):
            assert CliRunner().invoke(app, [name, option]).exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["generate", "--users", "x", "--out", "a.tsv"], "'--users': must be a whole number"),
        (["generate", "--kind", "bing", "--out", "a.tsv"], "aol-like"),
        (["generate"], "missing option '--out'"),
        (["releas"], "Did you mean 'release'?"),
        (["ledger", "balance"], "missing argument"),
        (["study"], "name a study"),
    ],
)
def test_wrong_command_lines_are_explained_in_our_words(arguments, words):
    from typer.testing import CliRunner

    done = CliRunner().invoke(app, [*arguments, "--json"])
    assert done.exit_code == 2
    failure = json.loads(done.stdout)["error"]
    assert words in failure["message"]
    assert "Input should" not in done.output
    assert "Error:" in done.stderr


def test_help_and_search_import_nothing_that_takes_long(tmp_path):
    assert imported_by("--help", heavy=LIGHT) == "[]"
    assert imported_by("--version", heavy=LIGHT) == "[]"
    assert imported_by("search", shelf(tmp_path / "list", "google"), "goo", heavy=LIGHT) == "[]"
