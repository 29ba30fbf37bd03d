"""`--json`: every command has it, and prints one object, whether it does what it is asked or not.

Every command of the program must have a row here; a new one without fails the first test.
"""

import json
from collections.abc import Iterator

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from flows.cli.main import app
from tasks.products.registry import product_named
from tasks.release.walk import run_release
from tests.clusters import support as clusters
from tests.homes import new_home
from tests.mean import support as means
from tests.publish.shelves import EARLIER, run_of
from tests.publish.test_commands import own_environment  # noqa: F401 - a fixture
from tests.release.support import waive_gates
from tests.steps import TO_THE_CHARGE, do
from tests.zealous import support as histograms

NOBODY = "0" * 32
PRODUCTS = ("release", "zealous", "mean", "kmeans")
# What each command prints when it does what it is asked, and what it is refused for.
DONE = {
    "search {folder} goo": {"folder", "prefix", "queries"},
    "search {folder} zzz": {"folder", "prefix", "queries"},
    "verify {folder}": {"release_id", "checks"},
    "doctor": {"is_well", "findings"},
    "ledger show": {"runway", "ledger"},
    "ledger verify": {"seq", "hash", "witnesses", "participation_files"},
    "ledger export": {"schema_version", "head", "entries"},
    "ledger export --out {tmp}/export.json": {"file", "head"},
    "ledger balance 17": {"spent", "remaining", "charges", "policy", "is_stopped", "pld_epsilon"},
    "ledger opt-out 17": {"status", "was_known"},
    "ledger opt-in mistyped": {"status", "was_known"},
    "ledger erase 17 --yes": {"status", "was_known", "copies_removed", "copies_at_work"},
    "ledger policy --cap-epsilon 20 --yes": {"cap", "window_days", "max_refusals"},
    "ledger void {reserved}": {"status", "release_id", "attempt"},
    "keys init": {"keys_were_made", "keys_folder", "public_key_file"},
    "keys show": {"public_key", "file"},
    "release {release}": {"folder", "status", "is_replay", "checks", "seconds"},
    "zealous {zealous}": {"folder", "status", "is_replay", "checks", "seconds"},
    "mean {mean}": {"folder", "status", "is_replay", "checks", "seconds"},
    "kmeans {kmeans}": {"folder", "status", "is_replay", "checks", "seconds"},
    "generate --users 50 --out {tmp}/log.tsv": {"path", "rows", "users", "bytes"},
    "simulate --users 3000": {"rows", "n_queries", "other_mass", "notes"},
    "plan --users 3000 --no-suggest --replicates 2": {"assumptions"},
    "study --list": {"studies"},
    "withdraw {published} --reason test --yes": {"withdrawn"},
}
REFUSED = {
    "search {tmp} goo": 2,
    "verify {tmp}": 1,
    "doctor --home {tmp}/absent": 1,
    "ledger show --home {tmp}/absent": 2,
    "ledger verify --home {tmp}/absent": 2,
    "ledger export --home {tmp}/absent": 2,
    "ledger export --out {tmp}": 2,
    "ledger balance 17 --home {tmp}/absent": 2,
    "ledger opt-out 17 --home {tmp}/absent": 2,
    "ledger opt-in 17 --home {tmp}/absent": 2,
    "ledger erase 17": 2,
    "ledger policy --cap-epsilon 0": 2,
    "ledger void {published}": 1,
    "ledger end-season nothing --yes": 2,
    f"ledger void {NOBODY}": 3,
    "keys init --home {tmp}/log.tsv": 2,
    "keys show --home {tmp}/absent": 2,
    "withdraw {published} --reason test": 2,
    f"withdraw {NOBODY} --reason test --yes": 2,
    f"reprocess {NOBODY}": 2,
    "reprocess {published} --decimals 99": 2,
    "reprocess {published} --blocklist {tmp}": 2,
    "release --log {tmp}/absent.tsv --epoch 2026-W46": 2,
    "release {release} --epsilon 2": 3,
    "zealous --log {tmp}/absent.tsv --epoch 2026-W46": 2,
    "mean --log {tmp}/absent.tsv --epoch 2026-W46 --column dwell --upper 3": 2,
    "kmeans --log {tmp}/absent.tsv --epoch 2026-W46 --column dwell --upper 3": 2,
    "generate --users 0 --out {tmp}/other.tsv": 2,
    "simulate --epsilon 0": 2,
    "plan --users 0": 2,
    "study nonsense": 2,
    "ledger": 2,
    "nonsense": 2,
}


def every_command() -> Iterator[tuple[str, object]]:
    for name, entry in get_command(app).table.items():
        found = entry.load()
        inner = getattr(found, "commands", None)
        if inner is None:
            yield name, found
        else:
            yield from ((f"{name} {inside}", command) for inside, command in inner.items())


def is_about(line: str, command: str) -> bool:
    return f"{line} ".startswith(f"{command} ")


def test_every_command_has_the_option_and_is_tried_here():
    for name, command in every_command():
        assert "--json" in [option for one in command.params for option in one.opts], name
        assert any(is_about(line, name) for line in REFUSED), name
        # Reprocessing needs Prefect, and a season weeks: tests/flow/test_deployments.py and
        # tests/release/series/test_ending.py read their objects.
        is_read_elsewhere = name in ("reprocess", "ledger end-season")
        assert any(is_about(line, name) for line in DONE) or is_read_elsewhere, name


def options_of(request, **others: object) -> str:
    given = {"log": request.log, "epoch": request.epoch, "epsilon": request.epsilon, **others}
    return " ".join(f"--{name.replace('_', '-')} {value}" for name, value in given.items())


@pytest.fixture(scope="module")
def products(fast_folder) -> dict[str, str]:
    """The options with which each other product finds its release again, its home among them."""
    folder = fast_folder / "json"
    folder.mkdir()
    points = [("visits", "sum", clusters.UPPERS[0]), ("seconds", "mean", clusters.UPPERS[1])]
    asked = {
        "zealous": histograms.request_for(histograms.popular_log(folder / "z.tsv")),
        "mean": means.request_for(
            means.write_numbers(folder / "mean.csv", means.usual_rows())
        ),
        "kmeans": clusters.request_for(clusters.write_points(folder / "points.csv")),
    }  # fmt: skip
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        for name, request in asked.items():
            home = new_home(folder / name)
            run_release(product_named(name).working.identify(request, home))
    columns = "--columns person=user --columns time="
    more = {
        "zealous": "",
        "mean": f"--column dwell --upper {means.UPPER} --optin-fraction 0.3 {columns}",
        "kmeans": "--n-clusters 3 --n-iterations 4 --optin-fraction 0.5 "
        + " ".join(f"--column {c} --per-person {p} --upper {u}" for c, p, u in points)
        + f" {columns}",
    }
    return {
        name: f"{options_of(request)} {more[name]} --home {folder / name}"
        for name, request in asked.items()
    }


@pytest.fixture
def places(run, products, small_log, gates_waived, tmp_path) -> dict[str, object]:
    reserved = run_of(run.home, small_log, EARLIER)
    do(reserved, *TO_THE_CHARGE)
    return products | {
        "tmp": tmp_path,
        "folder": run.home.shelf("search", "all"),
        "published": run.release_id,
        "reserved": reserved.release_id,
        "release": options_of(run.request, optin_fraction=run.request.optin_fraction),
        "home": run.home.root,
    }


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def one_object(line: str, places: dict[str, object]) -> tuple[int, dict[str, object]]:
    """Run a command; return its exit code and the one object that it printed."""
    environment = {"HYBRIDDP_HOME": str(places["home"])}
    done = CliRunner().invoke(app, [*line.format_map(places).split(), "--json"], env=environment)
    assert "Traceback" not in done.output
    said = json.loads(done.stdout, parse_constant=refuse)
    assert isinstance(said, dict), line
    return done.exit_code, said


@pytest.mark.usefixtures("own_environment")
def test_every_command_prints_one_object_when_it_is_done(places):
    for line, names in DONE.items():
        code, said = one_object(line, places)
        assert (code, "error" in said) == (0, False), (line, said)
        assert names <= set(said), (line, sorted(said))


@pytest.mark.usefixtures("own_environment")
def test_every_command_prints_one_object_when_it_is_refused(places, tmp_path):
    (tmp_path / "log.tsv").write_text("a file\n")
    for line, wanted in REFUSED.items():
        code, said = one_object(line, places)
        assert code == wanted, (line, said)
        if line.startswith("doctor"):  # what it found is what it was asked for
            assert said["is_well"] is False
        else:
            assert said["error"]["exit_code"] == code, line
            assert said["error"]["message"], line
