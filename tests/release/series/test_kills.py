"""A season whose weeks are killed goes on: no week is drawn twice, none that can be had is lost.

The operator runs a killed week again until it is published, or refused because its draw was begun
and never ended: then it is missing, and the next week goes on. After every kill the books are
audited (`books.py`). `make test` kills where something is decided; `make campaign` at every point
of every week, and at moments that nobody chose.
"""

import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import tasks.budget.showing.worst_account
from tasks.budget.reserve import void_reservation
from tasks.budget.showing.overview import set_membership
from tasks.ledger.rules import Kind
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.request import ReleaseRequest
from tests.release.faults import (
    Point,
    join,
    read_lines,
    run_child,
    run_to_the_end,
    run_until,
    start_child,
)
from tests.release.series.books import LEAVER, Books, searches_of
from tests.release.series.support import N_WEEKS, series_home, week_request, write_week

pytestmark = [pytest.mark.slow, pytest.mark.kills]

SEED = int(os.environ.get("HYBRIDDP_TEST_SEED", "20261118"))
# A run that was killed before its draw is voided by the operator, and begins anew.
VOID = "void"
# Where to kill a run: at a point, after a part of the time that a run takes; or what else to do.
Act = Point | float | str
WEEKS = range(1, N_WEEKS + 1)
N_CAMPAIGN, N_RANDOM_SEASONS, N_RANDOM_PER_WEEK = 200, 8, 3


def first(name: str) -> Point:
    """The first point of a name."""
    return name, 0


# Every week is killed and is there in the end, but for the second, which somebody gives back; the
# key of the season is being forgotten.
KILLED_AND_THERE: dict[int, list[Act]] = {
    1: [first(f"after DRAWN {HEADLIST}"), first("after PUBLISHED")],
    2: [first("after RESERVED"), VOID],
    3: [first("after overwriting the key")],
}
# Every week is burnt: before a state has its name, when clients are asked about a list that nobody
# sees, and when everything is there but the row that says so.
ALL_BURNT: dict[int, list[Act]] = {
    1: [first("before replace week-001.state")],
    2: [first(f"after DRAW_STARTED {CLIENTS}")],
    3: [first(f"after the insert of DRAWN {HEADLIST}")],
}
# More of the same: killed when it is charged, at any moment, and when the list is being replaced;
# burnt at the start, before the season's key has a name, and between two rows.
KILLED_ELSEWHERE: dict[int, list[Act]] = {
    1: [first("after the insert of RESERVED")],
    2: [0.4],
    3: [first("before replace latest.json")],
}
BURNT_ELSEWHERE: dict[int, list[Act]] = {
    1: [first(f"after DRAW_STARTED {JOINING}")],
    2: [first("before link season.key")],
    3: [first(f"after DRAWN {JOINING}")],
}


@dataclass
class Season:
    """A season that is killed, and what became of it."""

    root: Path
    plan: Mapping[int, Sequence[Act]]
    record: bool = False
    kills: list[tuple[int, Act, str]] = field(default_factory=list)
    refused: dict[int, str] = field(default_factory=dict)
    seconds: float = 3.0  # that a run takes, as far as is known

    def __post_init__(self) -> None:
        self.root.mkdir(parents=True)
        self.home = series_home(self.root / "home")
        self.books = Books(self.root, self.home)

    def run(self) -> "Season":
        """Run week after week, as an operator does who is unlucky."""
        for week in WEEKS:
            if week == N_WEEKS:
                set_membership(self.home, LEAVER, Kind.OPTED_OUT)
            log = write_week(self.root / f"week-{week}.tsv", searches_of(week))
            request = week_request(log, week)
            for act in self.plan.get(week, ()):
                if not self._suffer(week, request, act):
                    break
            self._end(week, request)
        self.books.close()
        return self

    def points(self, week: int) -> Path:
        """Where the points of a week's newest run are written down."""
        return self.root / f"points-{week}"

    def _suffer(self, week: int, request: ReleaseRequest, act: Act) -> bool:
        """Kill a run, or do something else; whether it makes sense to go on."""
        if act == VOID:
            [reserved] = [w for w in self.books.weeks if w.place.week == week]
            void_reservation(self.home, reserved.release_id)
            self.books.audit()
            return True
        self.points(week).unlink(missing_ok=True)
        point = None if isinstance(act, float) else act
        child = start_child(run_until, self.root, request, point, self.points(week))
        if isinstance(act, float):
            child.join(act * self.seconds)
            child.kill()
        exit_code = join(child)
        assert exit_code in (0, -signal.SIGKILL), f"week {week}, {act}: a run failed"
        if exit_code:
            passed = read_lines(self.points(week)) or ["before the first point"]
            self.kills.append((week, act, passed[-1]))
        self.books.audit()
        return bool(exit_code) and not self.books.is_burnt(week)

    def _end(self, week: int, request: ReleaseRequest) -> None:
        is_burnt, began = self.books.is_burnt(week), time.monotonic()
        (self.root / "outcome").unlink(missing_ok=True)
        if self.record:
            assert run_child(run_until, self.root, request, None, self.points(week)) == 0
        run_child(run_to_the_end, self.root, request)
        self.seconds = self.seconds if is_burnt else time.monotonic() - began
        [outcome] = read_lines(self.root / "outcome")
        assert "failed" not in outcome, f"week {week}: {outcome['failed']}"
        assert (outcome["refused"] is not None) == is_burnt, outcome["refused"]
        if is_burnt:
            assert "this one is missing from its series" in outcome["refused"]
            assert "--new-attempt" not in outcome["refused"]
            self.refused[week] = outcome["refused"]
        self.books.audit()


@pytest.fixture(scope="module", autouse=True)
def _no_composition() -> Iterator[None]:
    """A balance says beside its sums what an accountant makes of them, which takes seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks.budget.showing.worst_account, "composed", lambda *_: 0.0)
        yield


def left_of(season: Season) -> list[str]:
    """Return what a season has left of its states and keys."""
    folder = season.home.series
    return sorted(path.name for path in folder.rglob("*")) if folder.exists() else []


def require_killed(season: Season) -> None:
    """See that every kill that was planned has happened."""
    planned = [(week, act) for week in WEEKS for act in season.plan[week] if act != VOID]
    missing = set(planned) - {(week, act) for week, act, _ in season.kills}
    assert all(isinstance(act, float) for _, act in missing), missing


MORE = pytest.mark.long


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(KILLED_AND_THERE, id="decided"),
        pytest.param(KILLED_ELSEWHERE, id="elsewhere", marks=MORE),
    ],
)
def test_a_killed_week_is_run_again_and_a_burnt_one_is_missing(fast_folder, plan, request):
    season = Season(fast_folder / "kills" / request.node.callspec.id, plan).run()
    require_killed(season)
    assert set(season.refused) <= {2}
    assert left_of(season) == []


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(ALL_BURNT, id="unseen"),
        pytest.param(BURNT_ELSEWHERE, id="undrawn", marks=MORE),
    ],
)
def test_a_season_goes_on_after_burnt_weeks(fast_folder, plan, request):
    season = Season(fast_folder / "kills" / request.node.callspec.id, plan).run()
    require_killed(season)
    assert len(season.kills) == N_WEEKS
    assert left_of(season) == [], "a burnt last week ends its season, too"


class Campaign:
    """Seasons that are killed until every point of every week was."""

    def __init__(self, root: Path, points: Mapping[int, Sequence[str]]) -> None:
        self._root, self._lock, self._n_seasons = root, threading.Lock(), 0
        self.left: dict[int, list[tuple[str, int]]] = {w: _numbered(points[w]) for w in points}
        self.seasons: list[Season] = []
        self.unreached: list[tuple[int, Act]] = []

    def work(self) -> None:
        """Run seasons until nothing is left to kill."""
        while (plan := self._next()) is not None:
            self.try_out(plan)

    def try_out(self, plan: Mapping[int, Sequence[Act]]) -> None:
        """Run one season; what it did not come to is for another one."""
        with self._lock:
            self._n_seasons += 1
            root = self._root / f"{self._n_seasons:03d}"
        season = Season(root, plan)
        try:
            season.run()
        except BaseException as error:
            error.add_note(f"season {root.name}: {plan}, killed at {season.kills}")
            raise
        killed = {(week, act) for week, act, _ in season.kills}
        with self._lock:
            self.seasons.append(season)
            for week, acts in plan.items():
                for number, act in enumerate(acts):
                    if isinstance(act, tuple) and (week, act) not in killed:
                        if number == 0:
                            self.unreached.append((week, act))
                        else:
                            self.left[week].append(act)

    def _next(self) -> dict[int, list[Act]] | None:
        """Take three points of every week, spread over it."""
        with self._lock:
            if not any(self.left.values()):
                return None
            plan: dict[int, list[Act]] = {}
            for week, left in self.left.items():
                stride = max(-(-len(left) // N_RANDOM_PER_WEEK), 1)
                plan[week] = list(left[::stride])
                self.left[week] = [point for point in left if point not in plan[week]]
            return plan


def _numbered(names: Sequence[str]) -> list[tuple[str, int]]:
    seen: Counter[str] = Counter()
    numbered = []
    for name in names:
        numbered.append((name, seen[name]))
        seen[name] += 1
    return numbered


@pytest.mark.long
def test_two_hundred_kills_over_whole_seasons(fast_folder):
    recorded = Season(fast_folder / "kills" / "recorded", {}, record=True).run()
    assert left_of(recorded) == []
    points = {week: read_lines(recorded.points(week)) for week in WEEKS}
    campaign, rng = Campaign(fast_folder / "kills" / "campaign", points), random.Random(SEED)
    chosen = [
        {week: [rng.random() for _ in range(N_RANDOM_PER_WEEK)] for week in WEEKS}
        for _ in range(N_RANDOM_SEASONS)
    ]
    with ThreadPoolExecutor(max_workers=2) as pool:
        for done in [pool.submit(campaign.work) for _ in range(2)]:
            done.result()
        list(pool.map(campaign.try_out, chosen))
    kills = [kill for season in campaign.seasons for kill in season.kills]
    by_chance = [kill for kill in kills if isinstance(kill[1], float)]
    burnt = sum(len(season.refused) for season in campaign.seasons)
    print(
        f"{len(kills)} kills, {len(by_chance)} of them at any moment, in {len(campaign.seasons)} "
        f"seasons of {N_WEEKS} weeks; {burnt} weeks burnt; seed {SEED}; points of weeks: "
        f"{ {week: len(names) for week, names in points.items()} }; unreached: {campaign.unreached}"
    )
    assert len(kills) >= N_CAMPAIGN
    for season in campaign.seasons:
        assert left_of(season) == [], season.plan
