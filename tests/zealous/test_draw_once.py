"""A release is drawn once: run again it is the same, killed it goes on, and what began is spent."""

import shutil
from pathlib import Path

import pytest

import tasks.measured.drawing
import tasks.products.histograms.draws
import tasks.publish.publish
from hybriddp.zealous.item_kinds import ITEM_KINDS
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger, LedgerCorrupt
from tasks.ledger.rules import Kind
from tasks.log.engine import DuckDBEngine
from tasks.products.histograms.draws import identify
from tasks.release.refusals import BudgetRefused
from tasks.release.run import release_id_of
from tasks.release.walk import run_release
from tasks.store.keys import make_keys
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.groups import FILES
from tests.homes import new_home, steps_of
from tests.release.support import files_below, spent_by_account
from tests.zealous.support import PUBLISHED, ledger_rows, published_items, request_for, reserve_log

pytestmark = pytest.mark.usefixtures("gates_waived")

# Two histograms, the second of which looks at the first: what four would show takes twice as long.
KINDS = ("queries", "clicks")
PRICE = Charge(2 * 10**9, 10**13)


class Killed(BaseException):
    """Nothing in the tasks may catch it: the process is gone."""


class Kill:
    """Dies when a function is called for the n-th time; counts the draws of noise."""

    def __init__(self, monkeypatch):
        self._monkeypatch, self.n_draws = monkeypatch, 0
        original = ZealousMechanism.draw

        def draw(mechanism, counts):
            self.n_draws += 1
            return original(mechanism, counts)

        monkeypatch.setattr(ZealousMechanism, "draw", draw)

    def run(self, request, home, owner, name, nth):
        """Run a release that dies before the n-th call of a function."""
        calls, original = [], getattr(owner, name)

        def dying(*args, **kwargs):
            calls.append(None)
            if len(calls) == nth:
                raise Killed
            return original(*args, **kwargs)

        run = identify(request, home)
        with self._monkeypatch.context() as patch:
            patch.setattr(owner, name, dying)
            with pytest.raises(Killed):
                run_release(run)


@pytest.fixture
def kill(monkeypatch) -> Kill:
    return Kill(monkeypatch)


def rows(home):
    return [f"{e.kind} {e.draw}".strip() for e in steps_of(home)]


def drawn(kinds):
    return [f"{step} {kind}" for kind in kinds for step in ("DRAW_STARTED", "DRAWN")]


def test_the_same_release_again_draws_nothing_and_is_the_same_bytes(run, folder, monkeypatch):
    before = Ledger(run.home.ledger).entries()
    public, measured = files_below(run.home.public), files_below(run.home.measurements)
    monkeypatch.setattr(ZealousMechanism, "draw", None)  # calling it would fail
    monkeypatch.setattr(DuckDBEngine, "step", None)  # and so would reading the log
    assert run_release(identify(run.request, run.home)) == folder
    assert Ledger(run.home.ledger).entries() == before
    assert files_below(run.home.public) == public
    assert files_below(run.home.measurements) == measured
    assert not run.home.warehouse(run.release_id).exists(), "the log's tables are gone"


def test_a_folder_that_was_lost_is_made_again_with_the_same_bytes(run, folder):
    public = files_below(run.home.public)
    shutil.rmtree(folder)
    assert run_release(identify(run.request, run.home)) == folder
    assert files_below(run.home.public) == public


@pytest.mark.parametrize("kind", ["keywords", "clicks"])
def test_a_changed_or_lost_measurement_is_refused_and_never_drawn_again(run, kind):
    path, before = run.folder / FILES[kind], Ledger(run.home.ledger).entries()
    data = path.read_bytes()
    for change in (lambda: path.write_bytes(data[:-1] + b"?"), path.unlink):
        change()
        with pytest.raises(LedgerCorrupt, match="cannot be drawn again"):
            run_release(identify(run.request, run.home))
    assert Ledger(run.home.ledger).entries() == before


def test_every_draw_follows_its_own_start_in_the_order_of_the_kinds(run):
    assert rows(run.home) == ["RESERVED", *drawn(ITEM_KINDS), "PUBLISHED"]


# The n-th call of a function before which the process dies, and what the ledger then says. The
# tables of the log may go with it: they are made again, and nobody's choice is another.
GOES_ON = [
    (DuckDBEngine, "map", 2, [], False),
    (tasks.products.histograms.draws, "_count_items", 1, ["RESERVED"], True),
    (tasks.products.histograms.draws, "_count_items", 2, ["RESERVED", *drawn(["queries"])], False),
    (tasks.publish.publish, "put_on_shelf", 1, ["RESERVED", *drawn(KINDS), "PUBLISHED"], False),
]
BURNS = [
    (ZealousMechanism, "draw", 1, ["RESERVED", "DRAW_STARTED queries"]),
    (tasks.measured.drawing, "write_whole", 2, ["RESERVED", *drawn(KINDS)[:3]]),
]


def at(case):
    return f"{case[1]}-{case[2]}{'-tables-lost' * case[-1] if isinstance(case[-1], bool) else ''}"


@pytest.mark.parametrize("case", GOES_ON, ids=at)
def test_a_release_that_dies_between_draws_draws_only_what_is_missing(log, home, kill, case):
    request = request_for(log, histograms=KINDS, epsilon=2)
    *where, before, loses_its_tables = case
    kill.run(request, home, *where)
    assert rows(home) == before
    kept = files_below(home.measurements)
    if loses_its_tables:
        home.drop_warehouses()
    folder = run_release(identify(request, home))
    assert kill.n_draws == len(KINDS)
    after = files_below(home.measurements)
    assert {path: after[path] for path in kept} == kept
    assert rows(home) == ["RESERVED", *drawn(KINDS), "PUBLISHED"]
    assert set(spent_by_account(home).values()) == {(PRICE.epsilon, PRICE.delta)}
    for kind in KINDS:
        assert {item[:-1] for item in published_items(folder, kind)} == PUBLISHED[kind]


@pytest.mark.parametrize("case", BURNS, ids=at)
def test_a_draw_that_began_is_spent_and_a_new_attempt_pays_again(log, home, kill, case):
    request = request_for(log, histograms=KINDS, epsilon=2)
    *where, before = case
    kill.run(request, home, *where)
    assert rows(home) == before
    burnt = before[-1].split()[1]
    for _ in range(2):
        with pytest.raises(BudgetRefused, match=f"draw from {burnt} was started .*--new-attempt"):
            identify(request, home)
    n_draws = kill.n_draws
    run = identify(request.model_copy(update={"new_attempt": True}), home)
    assert run.attempt == 2
    folder = run_release(run)
    assert kill.n_draws == n_draws + len(KINDS), "nothing of the first attempt is used"
    assert rows(home) == [*before, "RESERVED", *drawn(KINDS), "PUBLISHED"]
    assert set(spent_by_account(home).values()) == {(2 * PRICE.epsilon, 2 * PRICE.delta)}
    assert folder.name == f"{run.release_id}.a2"
    public_key = read_public_key(home.public / "signing.pub")
    verify_release(folder, public_key, measurements=run.folder)


def test_a_measurement_whose_row_was_not_written_is_spent_too(log, home, kill, monkeypatch):
    """The file is there, complete; but nobody knows whether the ledger's row was ever seen."""
    request = request_for(log, histograms=("queries",))
    original = Ledger.append

    def append(self, kind, *args, **kwargs):
        if kind is Kind.DRAWN:
            raise Killed
        return original(self, kind, *args, **kwargs)

    run = identify(request, home)
    with monkeypatch.context() as patch:
        patch.setattr(Ledger, "append", append)
        with pytest.raises(Killed):
            run_release(run)
    assert {Path(path).name for path in files_below(home.measurements)} == {
        FILES["queries"],
        "queries.started.json",
    }
    with pytest.raises(BudgetRefused, match="--new-attempt"):
        identify(request, home)
    assert kill.n_draws == 1


def test_a_restored_ledger_that_forgot_a_draw_does_not_draw_again(log, home, kill):
    run = reserve_log(request_for(log, histograms=("queries",)), home)
    backup = home.ledger.read_bytes()
    run_release(run)
    shutil.rmtree(home.public / "histograms")  # nothing public is left to tell
    for leftover in home.private.glob("ledger.sqlite-*"):
        leftover.unlink()
    home.ledger.write_bytes(backup)
    with pytest.raises(LedgerCorrupt, match="forgotten spending"):
        run_release(identify(run.request, home))
    assert kill.n_draws == 1


def test_another_log_is_another_release_and_is_paid_for_only_if_asked(run, root):
    other = root / "other.tsv"
    other.write_text(run.request.log.read_text() + "0\tone more\t2026-11-10 13:00:00\t1\t\n")
    with pytest.raises(BudgetRefused, match=f"release {run.release_id} already.*--pay-again"):
        identify(request_for(other), run.home)
    again = identify(request_for(other, pay_again=True), run.home)
    assert again.release_id != run.release_id
    assert len(ledger_rows(run.home, Kind.RESERVED)) == 1


@pytest.fixture(scope="module")
def id_of(log, fast_folder):
    """Return the id of the release that these settings make."""
    home = new_home(fast_folder / "ids")
    make_keys(home)
    return lambda **asked: release_id_of(request_for(log, **asked), home)


@pytest.mark.parametrize(
    "free",
    [
        {"valid_days": 30},
        {"max_bytes": 1_000},
        {"blocklist": "blocked.txt"},
        {"min_group_size": 5},
        {"max_bad_row_share": 0.5},
        {"max_outside_epoch_share": 0.5},
        {"exact_ids": True},
        {"sign_off": True},
        {"histograms": ("clicks", "pairs", "queries", "keywords")},  # the order of draws is ours
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_settings_of_post_processing_are_the_same_release(id_of, free):
    assert id_of(**free) == id_of()


def test_whatever_decides_what_is_measured_is_another_release(id_of):
    measured = [
        {"histograms": ("queries",)},
        {"histograms": ("queries", "clicks")},
        {"relaxation": "indistinguishable"},
        {"items_per_user": 2},
        {"session_gap_minutes": 31},
        {"epsilon": 3.999},
        {"delta": 1.1e-5},
        {"rotation": 2},
        {"epoch": "2026-W45"},
        {"product": "other"},
        {"locale": "en-US"},
    ]
    assert len({id_of(), *(id_of(**asked) for asked in measured)}) == 1 + len(measured)
