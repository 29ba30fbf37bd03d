"""A release that is killed anywhere goes on where it can, and is never drawn or paid for twice.

One run is recorded, point by point; then a release is killed at the points that decide something,
in `make campaign` at every one, and run again to its end. Nothing is stubbed but the quality gates.
The noise is the operating system's: the releases hold the three popular queries but with
probability below 1e-15.
"""

import json
import shutil
import signal
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind
from tasks.publish.shelf import published_heads
from tasks.store.home import Home
from tasks.verify.signatures import read_public_key
from tasks.verify.verify import verify_release
from tests.examples import IS_CAMPAIGN
from tests.groups import FILES, GROUPS
from tests.homes import new_home
from tests.release.faults import read_lines, run_child, run_to_the_end, run_until
from tests.release.support import QUERIES, files_below, request_for

pytestmark = [pytest.mark.slow, pytest.mark.kills]

SHELF = "search/all"
# `make campaign` kills at every point; else where a charge or a draw begins, is written and ends,
# where readers would see a change, and at every so many of the others.
N_POINTS_PER_KILL = 1 if IS_CAMPAIGN else 29
DECISIVE = (
    "after the insert of RESERVED",
    "after RESERVED",
    *(f"after DRAW_STARTED {group}" for group in GROUPS),
    f"before replace {FILES[GROUPS[0]]}",
    f"after the insert of DRAWN {GROUPS[1]}",
    *(f"after DRAWN {group}" for group in GROUPS),
    "before rename <digest>",
    "after the insert of PUBLISHED",
    "after PUBLISHED",
    "before replace latest.json",
)
# Every so many points the second run is killed as well: a sample of all pairs.
N_POINTS_PER_SECOND_KILL = 11 if IS_CAMPAIGN else 40


@dataclass(frozen=True)
class Scene:
    """What a home holds."""

    entries: list[Entry]
    public: dict[str, bytes]

    @classmethod
    def of(cls, home: Home) -> "Scene":
        public = files_below(home.public)
        if not home.ledger.exists():
            return cls([], public)
        ledger = Ledger(home.ledger)
        ledger.verify(published_heads(home))
        return cls(ledger.entries(), public)

    @property
    def n_charges(self) -> int:
        return len([entry for entry in self.entries if entry.kind is Kind.RESERVED])

    @property
    def release_files(self) -> dict[str, bytes]:
        """The release's own folder, without latest.json."""
        return {p: d for p, d in self.public.items() if p.startswith(SHELF) and p.count("/") == 3}


@dataclass(frozen=True)
class Crash:
    """A release that was killed at a point, and then run to its end."""

    point: str
    exit_code: int
    after_kill: Scene
    after_end: Scene
    outcome: dict
    draws: list[dict]
    root: Path

    @property
    def is_burnt(self) -> bool:
        started = {e.draw for e in self.after_kill.entries if e.kind is Kind.DRAW_STARTED}
        drawn = {e.draw for e in self.after_kill.entries if e.kind is Kind.DRAWN}
        return started != drawn


@dataclass(frozen=True)
class Stage:
    """A part of a release: where it begins, and its points in order."""

    begin: Path | None
    points: list[str]

    def copy_to(self, root: Path) -> Path:
        """Make what the stage begins with, to be spoilt."""
        if self.begin is None:
            root.mkdir(parents=True)
        else:
            shutil.copytree(self.begin, root)
        return root


def crash(stage: Stage, root: Path, log: Path, number: int, then: int | None = None) -> Crash:
    """Kill a release at a point (and its second run at another), then let it finish."""
    stage.copy_to(root)
    request = request_for(log)
    exit_code = run_child(run_until, root, request, number)
    after_kill = Scene.of(new_home(root / "home"))
    if then is not None:
        request = request.model_copy(update={"new_attempt": True})
        run_child(run_until, root, request, then)
    run_child(run_to_the_end, root, request)
    [outcome] = read_lines(root / "outcome")
    after_end = Scene.of(new_home(root / "home"))
    draws = read_lines(root / "draws")
    return Crash(stage.points[number], exit_code, after_kill, after_end, outcome, draws, root)


@pytest.fixture(scope="module")
def stages(log, fast_folder) -> list[Stage]:
    """All points of a release, in three stages.

    Each stage goes on where a run was killed at the end of the stage before: running everything
    from the beginning for every point would take twice as long.
    """
    stages, begin = [], None
    for number, end in enumerate(["after RESERVED", f"after DRAWN {GROUPS[-1]}", None]):
        recorded = Stage(begin, []).copy_to(fast_folder / f"recorded-{number}")
        exit_code = run_child(run_until, recorded, request_for(log), None, recorded / "points")
        assert exit_code == 0, f"stage {number} does not go on where the one before was killed"
        points = read_lines(recorded / "points")
        stage = Stage(begin, points if end is None else points[: points.index(end) + 1])
        stages.append(stage)
        begin = stage.copy_to(fast_folder / f"stage-{number}")
        run_child(run_until, begin, request_for(log), len(stage.points) - 1)
    return stages


@pytest.fixture(scope="module")
def points(stages) -> list[str]:
    """The points of all stages."""
    return [point for stage in stages for point in stage.points]


def in_parallel(work: Callable[..., Crash], cases: list[tuple]) -> list[Crash]:
    with ThreadPoolExecutor(max_workers=2) as pool:
        return list(pool.map(lambda case: work(*case), cases))


@pytest.fixture(scope="module")
def crashes(stages, log, fast_folder) -> list[Crash]:
    """One crash at every point that is tried."""
    cases = [
        (stage, fast_folder / "crashes" / f"{number}-{point}", log, point)
        for number, stage in enumerate(stages)
        for point, name in enumerate(stage.points)
        if point % N_POINTS_PER_KILL == 0 or name in DECISIVE
    ]
    return in_parallel(crash, cases)


@pytest.fixture(scope="module")
def twice_killed(stages, log, fast_folder) -> list[Crash]:
    """Crashes at points spread over the release, whose second runs were killed as well."""
    # Multiplying spreads the second kills over the second run, early and late ones mixed.
    cases = [
        (stage, fast_folder / "twice" / f"{number}-{point}", log, point, 7 * point % 30)
        for number, stage in enumerate(stages)
        for point in range(4, len(stage.points), N_POINTS_PER_SECOND_KILL)
    ]
    return in_parallel(crash, cases)


def test_the_points_cover_every_state_and_every_file_that_lasts(points):
    draws = [f"{kind} {group}" for group in GROUPS for kind in ("DRAW_STARTED", "DRAWN")]
    for step in ["RESERVED", *draws, "PUBLISHED"]:
        for place in ("before", "after the insert of", "after"):
            assert points.count(f"{place} {step}") == 1
    for name in (
        "table log_metrics", "replace <digest>.parquet", "replace head_list_draw.parquet",
        "replace optin_histogram.parquet", "replace client_reports.parquet",
        "replace projected_records.parquet", "writing manifest.json", "replace latest.json",
    ):  # fmt: skip
        assert f"before {name}" in points
    assert points.count("before rename <digest>") == 1, "the release; no device needs a package"


def test_the_ledger_speaks_before_the_noise_and_after_the_file(points):
    files = ("head_list_draw.parquet", "optin_histogram.parquet", "client_reports.parquet")
    for group, file in zip(GROUPS, files, strict=True):
        order = [f"after DRAW_STARTED {group}", f"before replace {file}", f"before DRAWN {group}"]
        assert sorted(order, key=points.index) == order


def test_every_child_was_killed_and_every_second_run_ended_well(crashes):
    assert set(DECISIVE) <= {crash.point for crash in crashes}
    for crash in crashes:
        assert crash.exit_code == -signal.SIGKILL, crash.point
        assert "failed" not in crash.outcome, f"{crash.point}: {crash.outcome.get('failed')}"


def test_nothing_is_drawn_twice_for_one_charge(crashes, twice_killed):
    for crash in [*crashes, *twice_killed]:
        drawn = Counter((draw["attempt"], draw["group"]) for draw in crash.draws)
        assert max(drawn.values()) == 1, f"{crash.point}: {drawn}"
        for draw in crash.draws:
            assert draw["reserved"], crash.point
            assert draw["started"], crash.point
            assert not draw["drawn"], crash.point


def test_a_charge_is_never_lost_and_no_row_ever_changes(crashes, twice_killed):
    for crash in [*crashes, *twice_killed]:
        before, after = crash.after_kill.entries, crash.after_end.entries
        assert after[: len(before)] == before, crash.point


def test_only_a_draw_that_had_begun_is_burnt_and_costs_another_attempt(crashes):
    for crash in crashes:
        refused = crash.outcome["refused"]
        assert (refused is not None) == crash.is_burnt, f"{crash.point}: {refused}"
        assert crash.after_end.n_charges == 1 + crash.is_burnt, crash.point
        if crash.is_burnt:
            assert "--new-attempt" in refused


def test_a_draw_is_burnt_from_its_start_until_it_is_recorded(crashes, stages, points):
    expected = set()
    for group in GROUPS:
        start = points.index(f"after DRAW_STARTED {group}")
        expected |= set(range(start, points.index(f"after DRAWN {group}")))
    for crash in crashes:
        stage, point = map(int, crash.root.name.split("-"))
        place = sum(len(before.points) for before in stages[:stage]) + point
        assert crash.is_burnt == (place in expected), crash.point


def test_the_public_zone_holds_a_whole_release_or_none(crashes):
    for crash in crashes:
        kept, final = crash.after_kill.release_files, crash.after_end.release_files
        assert kept in ({}, final), crash.point
        for path, data in crash.after_kill.public.items():
            is_of_an_attempt_that_burnt = crash.is_burnt and path.startswith("collections/")
            assert is_of_an_attempt_that_burnt or crash.after_end.public[path] == data, (
                f"{crash.point}: {path} was published with other bytes before"
            )


def test_latest_never_points_to_what_is_not_there(crashes):
    for crash in crashes:
        for scene in (crash.after_kill, crash.after_end):
            data = scene.public.get(f"{SHELF}/latest.json")
            if data is not None:
                folder = f"{SHELF}/{json.loads(data)['release']}"
                assert f"{folder}/manifest.json" in scene.public, crash.point
        assert f"{SHELF}/latest.json" in crash.after_end.public


def test_what_was_published_in_the_end_is_what_everybody_said(crashes, twice_killed):
    """A table that was half-written at the kill must not be taken for a whole one."""
    for crash in [*crashes, *twice_killed]:
        assert "failed" not in crash.outcome, f"{crash.point}: {crash.outcome.get('failed')}"
        folder = Path(crash.outcome["folder"])
        public_key = read_public_key(crash.root / "home/public/signing.pub")
        [last] = [e for e in crash.after_end.entries if e.kind is Kind.PUBLISHED]
        measurements = folder.parents[3] / "measurements" / last.release_id / str(last.attempt)
        verify_release(folder, public_key, measurements=measurements)
        rows = [json.loads(line) for line in (folder / "trends.jsonl").read_text().splitlines()]
        assert sorted(row["query"] for row in rows) == sorted(QUERIES), crash.point
