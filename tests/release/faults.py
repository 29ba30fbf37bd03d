"""Child processes that die on command, and what is left of a release afterwards.

Children are forked from a server that has imported everything and has run nothing, because a
process that has used Polars or DuckDB must not be forked.
"""

import json
import multiprocessing
import os
import shutil
import signal
import sys
import traceback
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas  # noqa: F401 - DuckDB and Arrow import it late, and every child would again
import pyarrow as pa

from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.optin import HistogramMechanism
from hybriddp.blender.weighted.mechanism import ShareMeasuring, WeightedFinding
from hybriddp.errors import HybridDPError
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.mean.clients import ClientMeanMechanism
from hybriddp.mean.trusted import BoundedSumMechanism
from hybriddp.randomizers.one_stage import SubsetMechanism
from hybriddp.randomizers.two_stage import ClientMechanism
from hybriddp.series.finding import KnownWeights, WeekFinding
from hybriddp.zealous.mechanism import ZealousMechanism
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import DuckDBEngine
from tasks.log.warehouse import DUCKDB
from tasks.measured.drawing import draw_once
from tasks.products.head_list import CLIENTS, HEADLIST, HISTOGRAM, JOINING
from tasks.products.head_list.measuring import cohorts
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, identify, params_of
from tasks.products.head_list.series.season.state import StateStore
from tasks.products.registry import PRODUCTS, product_of
from tasks.products.request import LogRequest
from tasks.release.run import LogRun
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.homes import new_home
from tests.patience import PATIENCE
from tests.release.support import reserve_release, waive_gates

# Every child would import them again.
for _product in PRODUCTS:
    _ = _product.working, _product.making, _product.checking
CHILDREN = multiprocessing.get_context("forkserver")
CHILDREN.set_forkserver_preload(["tests.release.faults"])
SECONDS_TO_LIVE = PATIENCE
Point = int | tuple[str, int]

_MECHANISMS = (
    (HEADLIST, HeadListMechanism),
    (HEADLIST, WeightedFinding),
    (HEADLIST, ShareMeasuring),
    (JOINING, WeekFinding),
    (HEADLIST, KnownWeights),
    (HISTOGRAM, HistogramMechanism),
    (CLIENTS, ClientMechanism),
    (CLIENTS, SubsetMechanism),
    # Of the group whose draw was started last.
    (None, ZealousMechanism),
    (None, BoundedSumMechanism),
    (None, ClientMeanMechanism),
    (None, KMeansMechanism),
)


def run_child(target: Callable[..., None], *args: Any) -> int:
    """Run a function in a process of its own; return its exit code."""
    return join(start_child(target, *args))


def start_child(target: Callable[..., None], *args: Any) -> Any:
    """Start a function in a process of its own."""
    child = CHILDREN.Process(target=target, args=args)
    child.start()
    return child


def join(child: Any) -> int:
    """Wait for a child; return its exit code, -9 if it was killed."""
    child.join(SECONDS_TO_LIVE)
    if child.is_alive():
        child.kill()
        child.join()
        raise AssertionError(f"a child did not end within {SECONDS_TO_LIVE} s")
    return int(child.exitcode)


def append_line(path: Path, value: object) -> None:
    """Add a line to a file, durable before the caller goes on."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(descriptor, json.dumps(value).encode() + b"\n")
    os.fsync(descriptor)
    os.close(descriptor)


def read_lines(path: Path) -> list[Any]:
    """Read what `append_line` wrote."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


class Fuse:
    """Counts the points at which a release changes something durable; burns at one of them.

    Which one is said by its number, or by its name and how many of that name are passed before.
    """

    def __init__(self, burns_at: Point | None, record: Path | None = None) -> None:
        self._burns_at, self._record, self._n_points = burns_at, record, 0
        self._n_passed: Counter[str] = Counter()

    def point(self, name: str) -> None:
        """Pass a point, or die there as if the power had gone."""
        if self._record is not None:
            append_line(self._record, name)
        if self._burns_at in (self._n_points, (name, self._n_passed[name])):
            os.kill(os.getpid(), signal.SIGKILL)
        self._n_points += 1
        self._n_passed[name] += 1

    def before(self, owner: Any, name: str, label: Callable[..., str]) -> None:
        """Put a point before every call of a function; the next point is the one after it."""
        original = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self.point(f"before {label(*args, **kwargs)}")
            return original(*args, **kwargs)

        setattr(owner, name, wrapped)

    def after(self, owner: Any, name: str, label: Callable[..., str]) -> None:
        """Put a point after every call of a function."""
        original = getattr(owner, name)

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            self.point(f"after {label(*args, **kwargs)}")
            return result

        setattr(owner, name, wrapped)

    def lay(self, engine: str = DUCKDB) -> None:
        """Put points at every row of the ledger, name of a file, table and removal."""
        # A row: before its transaction, between its insert and its commit, and right after.
        self.before(Ledger, "append", lambda _, kind, *__, draw="", **___: _step(kind, draw))
        self.after(Ledger, "append", lambda _, kind, *__, draw="", **___: _step(kind, draw))
        self.after(Ledger, "_append", lambda *args: f"the insert of {_step(args[2], args[6])}")
        # Files get their names in one of these ways.
        for verb in ("replace", "rename", "link"):
            self.before(os, verb, lambda _, path, *__, verb=verb, **___: f"{verb} {_name(path)}")
        self.before(Path, "write_bytes", lambda path, *_: f"writing {path.name}")
        self.before(shutil, "rmtree", lambda path, **_: f"removing {_name(path)}")
        self.before(DuckDBEngine, "step", lambda _, f, into="", **__: f"table {into or _name(f)}")
        # What a season carries on is removed, and at its end the key is overwritten first.
        self.before(StateStore, "keep_only", lambda _, week: f"keeping only week {week}")
        self.after(StateStore, "_forget_key", lambda _: "overwriting the key")
        if engine == DUCKDB:  # Spark's workers are no process of ours
            # The first batch is empty: it only makes the table.
            self.after(cohorts, "normalise_records", lambda _: "a batch of table records")


def _step(kind: Kind, draw: str) -> str:
    return f"{kind} {draw if len(draw) < 32 else '<digest>'}".strip()


def _name(path: Any) -> str:
    return Path(path).name if len(Path(path).stem) < 32 else f"<digest>{Path(path).suffix}"


def watch_draws(run: LogRun, log: Path) -> None:
    """Write down every call of a mechanism, before it draws, and what the ledger says then."""
    for group, mechanism in _MECHANISMS:
        original = mechanism.draw

        def draw(self: Any, *args: Any, group: str | None = group, original: Any = original) -> Any:
            state = run.state
            if group is None:
                group = [e.draw for e in state.entries if e.kind is Kind.DRAW_STARTED][-1]
            append_line(
                log,
                {
                    "release": run.release_id,
                    "attempt": run.attempt,
                    "group": group,
                    "mechanism": type(self).__name__,
                    "week": getattr(self, "week", None),
                    "after_week": args[0].week if isinstance(self, WeekFinding) else None,
                    "reserved": state.has(Kind.RESERVED),
                    "started": state.has(Kind.DRAW_STARTED, group),
                    "drawn": state.has(Kind.DRAWN, group),
                },
            )
            return original(self, *args)

        mechanism.draw = draw


def _found(request: LogRequest, home: Home) -> LogRun:
    product = product_of(request.measurement_parameters())
    return product.working.identify(request, home)


def run_until(
    root: Path, request: LogRequest, burns_at: Point | None, record: Path | None = None
) -> None:
    """Run a release in this process, which dies at a point; the draws go into root/draws."""
    waive_gates()
    home = new_home(root / "home")
    Fuse(burns_at, record).lay(request.engine)
    run = _found(request, home)
    watch_draws(run, root / "draws")
    run_release(run)


def kill_inside(root: Path, request: LogRequest, group: str) -> None:
    """Run a release in this process, which dies when a group's noise is to be drawn."""
    waive_gates()
    run = _found(request, new_home(root / "home"))
    for _, mechanism in _MECHANISMS:
        original = mechanism.draw

        def draw(self: Any, *args: Any, original: Any = original) -> Any:
            if run.state.has(Kind.DRAW_STARTED, group):
                os.kill(os.getpid(), signal.SIGKILL)
            return original(self, *args)

        mechanism.draw = draw
    run_release(run)


def run_to_the_end(root: Path, request: LogRequest) -> None:
    """Run a release as an operator would after a crash; write what happened to root/outcome."""
    waive_gates()
    home = new_home(root / "home")
    outcome: dict[str, Any] = {"refused": None}
    try:
        try:
            run = _found(request, home)
        except HybridDPError as error:
            outcome["refused"] = f"{type(error).__name__}: {error}"
            if not request.may_be_tried_again:
                append_line(root / "outcome", outcome)
                return
            run = _found(request.model_copy(update={"new_attempt": True}), home)
        watch_draws(run, root / "draws")
        outcome["folder"] = str(run_release(run))
    except BaseException:
        outcome["failed"] = traceback.format_exc()
    append_line(root / "outcome", outcome)
    sys.exit(1 if "failed" in outcome else 0)


def points_of(root: Path, request: LogRequest) -> list[str]:
    """Run a release to its end; return everything durable that it does, in order."""
    root.mkdir()
    assert run_child(run_until, root, request, None, root / "points") == 0
    return read_lines(root / "points")


def kill_and_go_on(
    root: Path,
    request: LogRequest,
    point: Point,
    *,
    is_burnt: bool,
    run: Callable[..., int] = run_child,
) -> tuple[list[Entry], Path]:
    """Kill a release at a point and run it to its end; return the ledger's rows at its death.

    What was written stays, only burnt draws are paid for again, nothing is drawn twice, and what
    is published, the folder that is returned, too, is what its measurements give.
    """
    root.mkdir(exist_ok=True)
    assert run(run_until, root, request, point) == -signal.SIGKILL
    home = new_home(root / "home")
    before = Ledger(home.ledger).entries()
    run(run_to_the_end, root, request)
    [outcome] = read_lines(root / "outcome")
    assert "failed" not in outcome, outcome.get("failed")
    assert (outcome["refused"] is not None) == is_burnt
    after = Ledger(home.ledger).entries()
    assert after[: len(before)] == before
    assert sum(entry.kind is Kind.RESERVED for entry in after) == 1 + is_burnt
    draws = [(draw["attempt"], draw["group"]) for draw in read_lines(root / "draws")]
    assert len(set(draws)) == len(draws)
    [last] = [entry for entry in after if entry.kind is Kind.PUBLISHED]
    folder = Path(outcome["folder"])
    verify_release(
        folder,
        read_public_key(home.public / "signing.pub"),
        measurements=home.measurement(last.release_id, last.attempt),
    )
    return before, folder


def meet_before(kind: Kind, barrier: Any) -> None:
    """Let this process wait for the others before its first row of a kind, and never again."""
    original, has_met = Ledger.append, []

    def append(self: Ledger, written: Kind, *args: Any, **kwargs: Any) -> Any:
        if written is kind and not has_met:
            has_met.append(True)
            barrier.wait(SECONDS_TO_LIVE)
        return original(self, written, *args, **kwargs)

    Ledger.append = append


def reserve_together(root: Path, request: ReleaseRequest, barrier: Any) -> None:
    """Decide on a charge, wait until the others have decided too, and then write it."""
    meet_before(Kind.RESERVED, barrier)
    try:
        reserve_release(request, new_home(root / "home"))
    except HybridDPError as error:
        append_line(root / "refused", {"product": request.product, "message": str(error)})
    else:
        append_line(root / "passed", request.product)


def draw_together(root: Path, run: HeadListRun, barrier: Any) -> None:
    """Get ready to draw from S, wait until the others are ready too, and then draw."""
    event = HeadListMechanism.for_budget(params_of(run).budget).event

    def draw(_: int) -> pa.Table:
        append_line(root / "draws", os.getpid())
        return pa.table({"query": ["a"], "url": ["b"]})

    try:
        draw_once(run, HEADLIST, event, lambda: barrier.wait(SECONDS_TO_LIVE), draw)
    except HybridDPError as error:
        append_line(root / "refused", type(error).__name__)


def run_together(root: Path, request: ReleaseRequest, barrier: Any) -> None:
    """Run a whole release at the same time as others; whoever is in the way gives up."""
    waive_gates()
    home = new_home(root / "home")
    barrier.wait(SECONDS_TO_LIVE)
    try:
        run = identify(request, home)
        watch_draws(run, root / "draws")
        run_release(run)
    except (HybridDPError, OSError) as error:
        append_line(root / "gave up", type(error).__name__)


def start_together(n: int, target: Callable[..., None], *args: Any) -> list[int]:
    """Run a function in several processes that share a barrier; return their exit codes."""
    barrier = CHILDREN.Barrier(n)
    children = [start_child(target, *args, barrier) for _ in range(n)]
    return [join(child) for child in children]
