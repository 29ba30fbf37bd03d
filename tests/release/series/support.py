"""Small seasons: people who search for the same every week, and a cap that has room for them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tasks.budget.policy import Policy, set_policy
from tasks.ledger.ledger import Ledger
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import HeadListRun, identify
from tasks.products.head_list.series.season.place import season_of
from tasks.release.walk import run_release
from tasks.store.home import Home
from tests.homes import new_home
from tests.release.support import COLUMNS, request_by_column

N_WEEKS = 3
# The tests of a season of three weeks need 14 people at most, and noise has a scale below 4: what
# 60 people search for is named in the first week, but with probability below 1e-20.
MANY = [f"in{number}" for number in range(120)]
CLIENTS = [f"client{number}" for number in range(120)]
Searches = Mapping[str, Sequence[str]]


def usual(n_optin: int = len(MANY)) -> dict[str, list[str]]:
    """Half of everybody searches for maps, half for news."""
    people = [*MANY[:n_optin], *CLIENTS]
    return {person: [("maps", "news")[number % 2]] for number, person in enumerate(people)}


def write_week(path: Path, searches: Searches) -> Path:
    """Write a log: one click for each search of a person."""
    rows = [
        f"{person}\t{query}\t2026-11-10 00:00:00\t1\thttp://{query}.com\t{int(person[0] == 'i')}"
        for person, queries in searches.items()
        for query in queries
    ]
    path.write_text("\n".join([COLUMNS, *rows]) + "\n")
    return path


def series_home(root: Path) -> Home:
    """A home whose cap has room for whoever has a Gaussian loss."""
    home = new_home(root)
    set_policy(Ledger(home.ledger), Policy.of(12, "1e-4", None, pure_epsilon=4))
    return home


def week_request(log: Path, week: int, **settings: Any) -> ReleaseRequest:
    """Ask for a week of the series; the first one is 2026-W40."""
    defaults: dict[str, Any] = {
        "epoch": f"2026-W{39 + week}",
        "series": "weekly",
        "season_weeks": N_WEEKS,
        "optin_fraction": None,
        "headlist_user_fraction": None,
        "min_agreement": 0,
    }
    return request_by_column(log, **(defaults | settings))


def run_week(home: Home, root: Path, week: int, searches: Searches, **settings: Any) -> HeadListRun:
    """Release a week of the series from its own log; return the run."""
    log = write_week(root / f"week-{week}.tsv", searches)
    run = identify(week_request(log, week, **settings), home)
    run_release(run)
    return run


def charged_for(run: HeadListRun) -> dict[str, Any]:
    """What the season of a run charges: once for its tests, and for each week."""
    season = season_of(run.place)
    return {"leak": season.leak, "rho": [season.rho(week) for week in range(1, N_WEEKS + 1)]}
