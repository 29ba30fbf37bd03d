"""What a whole release costs: its fixed part, its marginal part, and how it grows with the log.

Every measurement is a process of its own, so that imports and peak memory are those of a user.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

from hybriddp.planning.populations import study_rng
from hybriddp.planning.profiles import aol_like
from tasks.log.epochs import Epoch
from tasks.store.keys import make_home
from tasks.synthetic.generate import write_log

REPETITIONS = 3
_EPOCH = Epoch.parse("2026-W46")
FIXED_LIMIT = 1.5
MARGINAL_LIMIT = 2.0
MEMORY_LIMIT_GB = 4.0
GROWTH_LIMIT = 1.3
SMALL_USERS = 1_000
AOL_USERS = 520_000
# About 28 rows a user: 1, 10 and 50 million rows.
GROWTH_USERS = (35_300, 353_000, 1_765_000)

# The least that a Prefect user pays: one task in one flow, on a new home.
_BARE_FLOW = """
from prefect import flow, task
@task
def one(): return 1
@flow
def bare(): return one()
bare()
"""

# What DuckDB alone needs to load the file, normalise it and choose one record a user.
_DUCKDB_ALONE = r"""
import sys, duckdb
path, folder = sys.argv[1:]
columns = ["AnonID", "Query", "QueryTime", "ItemRank", "ClickURL"]
types = ", ".join(f"'{name}': 'VARCHAR'" for name in columns)
reader = (
    f"read_parquet('{path}')" if path.endswith(".parquet") else
    f"read_csv('{path}', delim='\t', header=true, quote='', escape='', auto_detect=false, "
    f"columns={{{types}}}, store_rejects=true, rejects_limit=0)"
)
connection = duckdb.connect(f"{folder}/alone.duckdb", config={"memory_limit": "2GB"})
connection.execute(
    "create table log as select cast(AnonID as varchar) as person, "
    r"trim(regexp_replace(lower(nfc_normalize(Query)), '\s+', ' ', 'g')) as query, "
    f"try_cast(QueryTime as timestamp) as searched_at, ClickURL as url from {reader}"
)
connection.execute(
    "create table chosen as select person, min_by({q: query, u: url}, "
    "sha256('key' || person || query || url || cast(searched_at as varchar))) as record "
    "from log where url is not null group by person"
)
"""

# A whole release, without Prefect.
_STEPS_ALONE = """
import sys
from pathlib import Path
from tasks.store.home import Home
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
request = ReleaseRequest(log=Path(sys.argv[1]), epoch="2026-W46", optin_fraction=0.2)
run_release(identify(request, Home.open()))
"""


class Cost(NamedTuple):
    """What one process took."""

    seconds: float
    peak_gb: float
    output: str


def run_process(arguments: list[str], home: Path) -> Cost:
    """Run a command in a new home; say what it took."""
    environment = os.environ | {
        "HYBRIDDP_HOME": str(home),
        "PREFECT_HOME": str(home / "private" / "prefect"),
        "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "150",
        "PREFECT_SERVER_ALLOW_EPHEMERAL_MODE": "true",
        "PREFECT_LOGGING_LEVEL": "CRITICAL",
    }
    make_home(home)
    (home / "private" / "prefect").mkdir()
    start = time.perf_counter()
    child = subprocess.Popen(
        arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )
    assert child.stdout is not None
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{arguments[1:4]} ended with {child.returncode}")
    return Cost(time.perf_counter() - start, usage.ru_maxrss / 1e6, output)


class _Bench:
    """Runs things in new homes under one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._n_homes = folder, 0
        self._population = aol_like(rng=study_rng(1))

    def _home(self) -> Path:
        self._n_homes += 1
        return self._folder / f"home{self._n_homes}"

    def python(self, code: str, *arguments: str) -> Cost:
        return run_process([sys.executable, "-c", code, *arguments], self._home())

    def release(self, log: Path) -> Cost:
        command = [sys.executable, "-m", "flows", "release", "--json", "--epoch", "2026-W46"]
        return run_process([*command, "--optin-fraction", "0.2", "--log", str(log)], self._home())

    def duckdb_alone(self, log: Path) -> Cost:
        home = self._home()
        return run_process([sys.executable, "-c", _DUCKDB_ALONE, str(log), str(home)], home)

    def log(self, n_users: int, suffix: str) -> tuple[Path, int]:
        path = self._folder / f"log{n_users}{suffix}"
        summary = write_log(
            self._population,
            n_users,
            path,
            seed=1,
            epoch=_EPOCH,
            records_per_user="many",
            no_click_share=0.3,
        )
        return path, summary.rows


def _fixed(bench: _Bench) -> tuple[list[tuple[str, float, float]], float]:
    log, _ = bench.log(SMALL_USERS, ".tsv.gz")
    releases, flows, imports = [], [], []
    for _ in range(REPETITIONS):
        flows.append(bench.python(_BARE_FLOW).seconds)
        imports.append(bench.python("import great_expectations").seconds)
        releases.append(bench.release(log))
    fixed = median(cost.seconds for cost in releases)
    steps = json.loads(releases[-1].output)["seconds"]
    print(
        f"  a release of {SMALL_USERS:,} users: {fixed:.1f} s; a bare flow {median(flows):.1f} s, "
        f"importing Great Expectations {median(imports):.1f} s",
        flush=True,
    )
    print(
        "  by part: " + ", ".join(f"{title} {spent:.1f} s" for title, spent in steps.items()),
        flush=True,
    )
    ratio = median(
        cost.seconds / (bare + gx) for cost, bare, gx in zip(releases, flows, imports, strict=True)
    )
    label = "release of 1,000 users / (bare Prefect flow + import of Great Expectations)"
    return [(label, ratio, FIXED_LIMIT)], fixed


def _marginal(bench: _Bench, fixed: float, suffix: str) -> list[tuple[str, float, float]]:
    log, n_rows = bench.log(AOL_USERS, suffix)
    ratios, peaks = [], []
    for _ in range(REPETITIONS):
        alone, whole = bench.duckdb_alone(log), bench.release(log)
        ratios.append((whole.seconds - fixed) / alone.seconds)
        peaks.append(whole.peak_gb)
        print(
            f"  {suffix}: release {whole.seconds:.1f} s, {whole.peak_gb:.2f} GB; "
            f"DuckDB alone {alone.seconds:.1f} s, {alone.peak_gb:.2f} GB",
            flush=True,
        )
    log.unlink()
    label = f"release of {n_rows:,} rows from {suffix}, less the fixed cost / DuckDB alone"
    return [
        (label, median(ratios), MARGINAL_LIMIT),
        (f"peak memory of that release in GB, from {suffix}", max(peaks), MEMORY_LIMIT_GB),
    ]


def _growth(bench: _Bench) -> list[tuple[str, float, float]]:
    """Without Prefect, whose fixed cost varies by more than a million rows take."""
    logs = [bench.log(n_users, ".parquet") for n_users in GROWTH_USERS]
    costs: list[list[Cost]] = [[] for _ in logs]
    for _ in range(2):
        for (log, _), found in zip(logs, costs, strict=True):
            found.append(bench.python(_STEPS_ALONE, str(log)))
    per_row = []
    for (_, n_rows), found in zip(logs, costs, strict=True):
        seconds, peak = median(c.seconds for c in found), max(c.peak_gb for c in found)
        per_row.append(seconds / n_rows)
        print(f"  {n_rows:>11,} rows: {seconds:6.1f} s, {peak:.2f} GB", flush=True)
    label = f"seconds a row at {logs[-1][1]:,} rows / at {logs[1][1]:,} rows (linear is 1)"
    return [(label, per_row[-1] / per_row[1], GROWTH_LIMIT)]


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) of every promise about a whole release."""
    with tempfile.TemporaryDirectory() as folder:
        bench = _Bench(Path(folder))
        results, fixed = _fixed(bench)
        for suffix in (".tsv.gz", ".parquet"):
            results += _marginal(bench, fixed, suffix)
        return results + _growth(bench)
