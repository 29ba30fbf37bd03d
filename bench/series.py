"""What a week of a series costs beside a release that forgets, and what its growing state costs.

`make bench` compares weeks 1 to 3 and the last one of a year, in one process and in CPU seconds.
The weeks between have everybody who opted in and few clients: they grow what is carried, which is
all that later weeks feel of them. `python -m bench.series` draws a last week on states of other
sizes, up to those of five million people.
"""

import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.params import Budget
from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import aol_like
from hybriddp.series.design import SeasonDesign
from hybriddp.series.finding import Carried
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.products.head_list.series.draws import Counted, draw_from
from tasks.products.head_list.series.season.state import State, StateStore
from tasks.products.request import LogColumns
from tasks.release.walk import run_release
from tasks.store.home import Home
from tasks.store.keys import make_home
from tasks.synthetic.generate import spell_queries, spell_urls

LIMIT = 1.3
N_USERS, OPTIN_SHARE, N_WEEKS = 520_000, 0.05, 52
_FULL_WEEKS = (1, 2, 3, N_WEEKS)
_FEW_CLIENTS = 1_000
_FIRST = date(2025, 11, 10)
# Records alive in a last week, and new ones in it, as the year above leaves them, by person.
_SIZES = (130_000, 520_000, 1_300_000, 2_600_000, 5_200_000)


class _Year:
    """Logs of a year: people have two records a week on average, and at least one."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._rng = folder, study_rng(1)
        self._population = aol_like(rng=self._rng)

    def write(self, week: int) -> ReleaseRequest:
        """Write the log of a week; return what asks for its release, without a series."""
        n_optin = int(OPTIN_SHARE * N_USERS)
        n_people = N_USERS if week in _FULL_WEEKS else n_optin + _FEW_CLIENTS
        people = np.repeat(np.arange(n_people), 1 + self._rng.poisson(1.0, n_people))
        queries, urls = self._population.sample_records(len(people), rng=self._rng)
        table = pa.table(
            {
                "AnonID": pa.array(people).cast(pa.string()),
                "Query": spell_queries(queries),
                "ClickURL": spell_urls(queries, urls, self._population.n_urls),
                "optin": pa.array((people < n_optin).astype(np.int8)).cast(pa.string()),
            }
        )
        path = self._folder / f"week-{week}.parquet"
        pq.write_table(table, path)
        return ReleaseRequest(
            log=path, epoch=_epoch(week), records_per_user=2,
            columns=LogColumns(optin="optin", time=None),
        )  # fmt: skip


def _epoch(week: int) -> str:
    year, number, _ = (_FIRST + timedelta(weeks=week - 1)).isocalendar()
    return f"{year}-W{number:02}"


def _cpu(request: ReleaseRequest, home: Home) -> float:
    start = time.process_time()
    run_release(identify(request, home))
    return time.process_time() - start


def _of_a_series(request: ReleaseRequest) -> ReleaseRequest:
    usual = {name: getattr(request, name) for name in request.model_fields_set}
    # Twenty clients a week are too few for a cross-check; this is not about it.
    waived = {"accept_collapse": True, "min_agreement": 0}
    return ReleaseRequest(**usual, **waived, series="weekly", season_weeks=N_WEEKS)


def measure(last: int = N_WEEKS) -> Iterator[tuple[str, float, float]]:
    """Return (label, ratio, limit) for each week that has everybody."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        year, home = _Year(folder), make_home(folder / "home")
        for week in range(1, last + 1):
            request = year.write(week)
            if week == 1:  # imports, caches
                _cpu(request, make_home(folder / "warm-up"))
            seconds = _cpu(_of_a_series(request), home)
            if week in _FULL_WEEKS:
                forgetful = _cpu(request, make_home(folder / f"forgetful-{week}"))
                label = f"week {week} of a series of {N_USERS:,} people / a release that forgets"
                print(f"  {seconds:.1f} s, {forgetful:.1f} s; {_carried_words(home)}", flush=True)
                yield label, seconds / forgetful, LIMIT
            Path(str(request.log)).unlink()


def _carried_words(home: Home) -> str:
    files = [path for path in home.series.rglob("week-*.state")]
    return f"state {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"


def _table() -> None:
    """Print what a last week's draw costs as records alive grow."""
    season = SeasonDesign().season(Budget(4, "1e-5"))
    print("     people     alive      new   draw   save   load  state MB  ns a record", flush=True)
    for n_people in _SIZES:
        alive, new = n_people * 9 // 4, n_people // 10
        numbers = np.arange(alive + new)
        queries, urls = spell_queries(numbers), spell_urls(numbers, numbers, 1 << 20)
        records = pl.DataFrame({"query": queries, "url": urls})
        carried = Carried(
            N_WEEKS - 1,
            study_rng(1).integers(-(10**6), 10**6, (alive, len(season.tracks))),
            np.ones((alive, len(season.tracks)), dtype=np.bool_),
        )
        state = State(records[:alive], carried)
        given = records[alive - new :].with_columns(
            weight=pl.lit(1000), share=pl.lit(1000), concentration=pl.lit(1)
        )
        with tempfile.TemporaryDirectory() as folder:
            store = StateStore(Path(folder) / "season", "0" * 32)
            start = time.process_time()
            _, after = draw_from(season, N_WEEKS, Counted(given.to_arrow(), [], {}, state))
            drawn = time.process_time()
            digest = store.save(after)
            saved = time.process_time()
            store.load(N_WEEKS, digest, season)
            loaded = time.process_time()
            (file,) = (Path(folder) / "season").glob("*.state")
            print(
                f"{n_people:11,} {alive:9,} {new:8,} {drawn - start:6.2f} {saved - drawn:6.2f} "
                f"{loaded - saved:6.2f} {file.stat().st_size / 1e6:9.1f} "
                f"{(loaded - start) / (alive + new) * 1e9:12.0f}",
                flush=True,
            )


if __name__ == "__main__":
    _table()
