"""One contract for all products; whoever adds one adds how it is asked for, and nothing else."""

import json
import re
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import polars.selectors as cs
import pytest
from typer.testing import CliRunner

from flows.cli.main import app
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.measured.derived import write_derived
from tasks.measured.stored import measurement_path
from tasks.products.head_list import JOINING
from tasks.products.registry import PRODUCTS, product_of
from tasks.release.refusals import BudgetRefused
from tasks.release.reprocess import ReprocessRequest, run_reprocess
from tasks.release.run import LogRun
from tasks.release.step import Step
from tasks.release.walk import run_release
from tasks.verify.checks import VerificationFailed
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_publication, verify_release
from tests.clusters import support as clusters
from tests.homes import new_home
from tests.mean import support as mean
from tests.publish.checking.spoiling import Publisher
from tests.release import support as release
from tests.release.conftest import fast_folder, root  # noqa: F401 - fixtures
from tests.release.faults import kill_inside, run_child
from tests.release.support import files_below, spent_by_account, waive_gates
from tests.zealous import support as zealous


def _clusters(folder: Path) -> Any:
    return clusters.request_for(clusters.write_points(folder / "points.csv"))


def _mean(folder: Path) -> Any:
    return mean.request_for(mean.write_numbers(folder / "numbers.csv", mean.usual_rows()))


def _zealous(folder: Path) -> Any:
    return zealous.request_for(zealous.popular_log(folder / "sessions.tsv"))


def _release(folder: Path) -> Any:
    return release.request_for(release.write_log(folder / "log.tsv", map(str, range(600))))


def _weighted(folder: Path) -> Any:
    log = release.write_log(folder / "log.tsv", map(str, range(600)))
    return release.request_for(log, finding="gaussian", headlist_user_fraction=None)


def _series(folder: Path) -> Any:
    """The second week of a season whose first one is there, with a query that is new."""
    before = release.write_log(
        folder / "before.tsv", map(str, range(600)), queries=("news", "maps")
    )
    log = release.write_log(folder / "log.tsv", map(str, range(600)))
    weeks = {"series": "weekly", "season_weeks": 2, "headlist_user_fraction": None}
    first, second = (
        release.request_for(file, epoch=epoch, **weeks)
        for file, epoch in ((before, "2026-W40"), (log, "2026-W41"))
    )
    home = new_home(folder / "home")
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_release(product_of(first.measurement_parameters()).working.identify(first, home))
    return second


# How a release of each product is asked for, on a small log of its own.
ASKED: dict[str, Callable[[Path], Any]] = {
    "release": _release, "zealous": _zealous, "mean": _mean, "kmeans": _clusters,
    "release with weights": _weighted, "release of a series": _series,
}  # fmt: skip
DRAWS = [
    *((p.name, g.name) for p in PRODUCTS for g in p.groups.values() if not g.is_part),
    *(("release with weights", group) for group in ("S", "C")),
    *(("release of a series", group) for group in ("J", "S", "C")),
]


def test_no_product_is_missing():
    assert list(ASKED)[: len(PRODUCTS)] == [product.name for product in PRODUCTS]


@pytest.fixture(scope="module", params=list(ASKED))
def original(request, fast_folder) -> LogRun:  # noqa: F811
    """A published release."""
    folder = fast_folder / f"contract {request.param}"
    folder.mkdir()
    asked = ASKED[request.param](folder)
    run = product_of(asked.measurement_parameters()).working.identify(
        asked, new_home(folder / "home")
    )
    with pytest.MonkeyPatch.context() as monkeypatch:
        waive_gates(monkeypatch.setattr)
        run_release(run)
    return run


@pytest.fixture
def run(original, root) -> LogRun:  # noqa: F811
    """A copy of it, to spoil."""
    shutil.copytree(original.home.root, root / "copy")
    home = new_home(root / "copy")
    return type(original)(home, original.release_id, original.attempt, original.request)


@pytest.fixture
def folder(run) -> Path:
    return run.home.shelf(run.request.product, "all") / run.release_id


@pytest.fixture
def key(run) -> bytes:
    return read_public_key(run.home.public / "signing.pub")


def test_it_verifies_with_its_measurements_and_with_the_key_alone(run, folder, key):
    assert verify_publication(run.home, folder, key)[-1].name == "recomputed"
    _, checks = verify_release(folder, key)
    assert "promise" in {check.name for check in checks}


def test_a_replay_is_free_and_gives_the_same_bytes(run, folder, monkeypatch):
    waive_gates(monkeypatch.setattr)
    before, paid = files_below(run.home.public), spent_by_account(run.home)
    rows = len(Ledger(run.home.ledger).entries())
    again = run.product.working.identify(run.request, run.home)
    assert run_release(again) == folder
    assert files_below(run.home.public) == before
    assert (spent_by_account(run.home), len(Ledger(run.home.ledger).entries())) == (paid, rows)


def test_its_reprocessing_says_where_in_a_terminal(run, folder, monkeypatch):
    """Without --json the summary is read off the manifest, too."""
    waive_gates(monkeypatch.setattr)
    monkeypatch.setattr("flows.server.environment.atexit.register", lambda _: None)
    monkeypatch.setattr(
        "flows.console.running.run_flow",
        lambda _, request, home, is_quiet: (run_reprocess(request, home), {}),
    )
    home = str(run.home.root)
    options = ["reprocess", run.release_id, "--valid-days", "3", "--home", home]
    done = CliRunner().invoke(app, options)
    assert done.exit_code == 0, done.output
    assert "".join(f"Published in {folder}.r2".split()) in "".join(done.output.split())


def test_its_command_finds_it(run, folder):
    asked = {"log": run.request.log, "epoch": run.request.epoch}
    config = run.home.root / "settings.toml"
    # Where a week stands in its season no command says; the ledger does.
    unasked = {*asked, "place"}
    given = run.request.model_dump(mode="json", exclude_none=True, exclude=unasked)
    given["columns"] = {k: v for k, v in given["columns"].items() if v is not None}
    config.write_text("\n".join(f"{name} = {_toml(value)}" for name, value in given.items()))
    options = [word for name, value in asked.items() for word in (f"--{name}", str(value))]
    nothing = [f"--columns={name}=" for name, v in run.request.columns if v is None]
    done = CliRunner().invoke(
        app,
        [run.product.name, *options, "--config", str(config), *nothing,
         "--home", str(run.home.root), "--json"],
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    said = json.loads(done.stdout)
    assert (said["folder"], said["is_replay"]) == (str(folder), True)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k} = {_toml(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_toml, value)) + "]"
    return json.dumps(value)


def test_a_changed_byte_is_seen_in_every_file(folder, key):
    for path in sorted(folder.iterdir()):
        data = path.read_bytes()
        path.write_bytes(data[:-2] + bytes([data[-2] ^ 1]) + data[-1:])
        with pytest.raises(VerificationFailed):
            verify_release(folder, key)
        path.write_bytes(data)


@pytest.mark.parametrize("unit", ["epsilon_nano", "delta_atto"])
def test_a_cheaper_promise_is_seen(run, folder, key, unit):
    publisher = Publisher(run, folder)
    for terms in publisher.manifest["guarantees"].values():
        if terms[unit] == 0:
            terms[unit] += 2
        terms[unit] -= 1
    publisher.sign()
    with pytest.raises(VerificationFailed, match="not what the parameters cost"):
        verify_release(folder, key)


def test_other_measurements_are_refused(run, folder, key):
    for group in run.groups:
        path = run.folder / run.product.groups[group].file
        data = path.read_bytes()
        path.write_bytes(data + b" ")
        with pytest.raises(VerificationFailed, match="not the measurement"):
            verify_release(folder, key, measurements=run.folder)
        path.write_bytes(data)


def test_nobody_of_the_log_is_named_in_public(run):
    """Their accounts are not, either; a sealed file says who takes part, in the private zone."""
    accounts = {account.hex().encode() for account in spent_by_account(run.home)}
    assert len(accounts) > 100
    for name, data in files_below(run.home.public).items():
        assert not any(account in data for account in accounts), name
        assert not any(str(run.request.log) in part for part in (name, data.decode("latin-1")))


def test_every_estimating_step_writes_a_file_and_reprocessing_makes_it_again(
    run, folder, monkeypatch
):
    waive_gates(monkeypatch.setattr)
    derived = run.folder / "derived"
    before, published = files_below(derived), files_below(folder)
    written = _written_by_steps(run)
    assert written, "what is published must have been written by a step"
    assert all(names for names in written.values()), "each step has a file of its own"
    assert {f"{name}.parquet" for names in written.values() for name in names} <= set(before)
    shutil.rmtree(derived)
    assert run_reprocess(ReprocessRequest(release_id=run.release_id), run.home) == folder
    again = files_below(derived)
    assert again == {name: before[name] for name in again}
    assert set(again) >= {f"{name}.keyed" for names in written.values() for name in names}
    assert files_below(folder) == published


def test_what_the_estimating_steps_wrote_is_published(run):
    """Whatever one of them had written instead, those after it and the tables would follow."""
    usual, steps = _proposed(run), _estimating(run)
    for place, (title, names) in enumerate(_written_by_steps(run).items()):
        for name in names:
            write_derived(run, name, _changed(pl.read_parquet(_derived(run, name))))
        for step in steps[place + 1 :]:
            step.work(run)
        assert _proposed(run) != usual, title
        for step in steps:
            step.work(run)
        assert _proposed(run) == usual, title


def test_a_file_that_no_step_wrote_is_not_published(run):
    usual = _proposed(run)
    names = [name for names in _written_by_steps(run).values() for name in names]
    for name in names:
        path = _derived(run, name)
        data, forged = path.read_bytes(), _changed(pl.read_parquet(path))
        forged.write_parquet(path)
        assert _proposed(run) == usual, name
        path.write_bytes(b"junk")
        assert _proposed(run) == usual, name
        path.write_bytes(data)


def test_nothing_is_published_of_a_measurement_that_is_lost(run):
    """Although every step has written what it made of it."""
    for group in run.groups:
        path = measurement_path(run, group)
        data = path.read_bytes()
        path.write_bytes(b"lost")
        with pytest.raises(LedgerCorrupt, match="restore it"):
            _proposed(run)
        path.write_bytes(data)
    _proposed(run)


def test_what_the_estimating_steps_show_has_a_name_and_names_nobody(run):
    accounts = {account.hex() for account in spent_by_account(run.home)}
    for step in _estimating(run):
        for shown in step.show(run, step.work(run)):
            assert re.fullmatch("[a-z0-9-]+", shown.key), "as Prefect names artifacts"
            assert not any(account in repr(shown) for account in accounts), step.title
            assert str(run.home.root) not in repr(shown), step.title


def _estimating(run: LogRun) -> list[Step]:
    return [step for step in run.product.working.ESTIMATION if step.applies(run)]


def _derived(run: LogRun, name: str) -> Path:
    return run.folder / "derived" / f"{name}.parquet"


def _proposed(run: LogRun) -> tuple[dict[str, bytes], Any]:
    """Return what would be published now."""
    made = run.product.propose(run, run.request.settings)
    return made.files, made.facts


def _changed(frame: pl.DataFrame) -> pl.DataFrame:
    """Return the same rows with other numbers: measures if there are any, else counts."""
    is_measured = pl.Float64 in frame.dtypes
    return frame.with_columns(cs.float() * 1e-3 if is_measured else cs.integer() + 1)


def _written_by_steps(run: LogRun) -> dict[str, list[str]]:
    """Return the files of each estimating step, by its title; all of them are written again."""
    shutil.rmtree(run.folder / "derived")
    written, there = {}, set[str]()
    for step in _estimating(run):
        step.work(run)
        now = {path.stem for path in (run.folder / "derived").glob("*.parquet")}
        written[step.title], there = sorted(now - there), now
    return written


@pytest.mark.slow
@pytest.mark.parametrize(("name", "group"), DRAWS)
def test_a_kill_inside_a_draw_burns_it(name, group, fast_folder):  # noqa: F811
    root = fast_folder / f"killed {name} {group}"  # noqa: F811
    root.mkdir()
    request = ASKED[name](root)
    if group != JOINING:  # whose price only the ledger knows
        assert group in request.prices(), "the small log's request must ask for every group"
    assert run_child(kill_inside, root, request, group) == -signal.SIGKILL
    home = new_home(root / "home")
    rows = [entry for entry in Ledger(home.ledger).entries() if entry.release_id]
    assert rows[-1].kind is Kind.DRAW_STARTED
    assert group in Ledger(home.ledger).attempt(rows[-1].release_id, 1).burnt_draws
    product = product_of(request.measurement_parameters())
    with pytest.raises(BudgetRefused, match="started and never finished"):
        product.working.identify(request, home)
