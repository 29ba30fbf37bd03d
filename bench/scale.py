"""What a release costs for logs of 1, 10 and 60 million rows, without Prefect, on DuckDB.

`python -m bench scale`, or with `HYBRIDDP_BENCH_ROWS=1000000` for some sizes only. CPU seconds are
compared, of processes of their own; DuckDB's own scan-and-group of the file stands beside each.
"""

import json
import os
import sys
import tempfile
from pathlib import Path

import duckdb

from bench.release import run_process
from bench.steps import Cost

ROWS = (1_000_000, 10_000_000, 60_000_000)
ROWS_PER_PERSON = 12
RATIO_LIMIT, MEMORY_LIMIT_GB = 2.0, 8.0
_FIXED_ROWS = 12_000
_SHOWN = 0.005  # steps that took less of the CPU are not shown

# Everybody has a row, and some have thousands; queries are Zipf's, three of them share a site, and
# two rows in five have no click. Rows are in the order of no person.
_LOG = """
copy (
    with drawn as (
        select
            i,
            hash(4 * i) / 18446744073709551616.0 as u,
            cast(floor(exp(hash(4 * i + 1) / 18446744073709551616.0 * ln({n_ranks}))) as bigint)
                as rank,
            hash(4 * i + 2) % 10 < 6 as is_click,
            hash(4 * i + 3) as x
        from range({n_rows}) rows(i)
    )
    select
        if(i < {n_people}, i, cast(floor({n_people} * u * u) as bigint)) as AnonID,
        'how to find number ' || rank as Query,
        timestamp '2026-11-09' + to_seconds(cast(x % 604800 as bigint)) as QueryTime,
        if(is_click, 1 + cast(x % 10 as bigint), null) as ItemRank,
        if(is_click, 'http://www.site' || (rank // 3) || '.com', null) as ClickURL
    from drawn
) to '{path}' (format parquet, compression zstd)
"""
# The least that finds out who searched for what, and when first.
_GROUPING = """
import resource, sys, duckdb
from tasks.store.memory import for_duckdb
path, folder = sys.argv[1:]
settings = {"memory_limit": f"{for_duckdb()}B", "temp_directory": f"{folder}/spill"}
connection = duckdb.connect(f"{folder}/alone.duckdb", config=settings)
connection.execute(
    "create table grouped as select AnonID, Query, ClickURL, count(*) as n, "
    f"min(QueryTime) as first_time from '{path}' group by all"
)
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
"""


def write_log(
    n_rows: int, path: Path, *, rows_per_person: int = ROWS_PER_PERSON, rows_per_rank: int = 3
) -> None:
    """Write a log of so many rows; the same one every time."""
    sizes = {
        "n_rows": n_rows,
        "n_people": n_rows // rows_per_person,
        "n_ranks": n_rows / rows_per_rank,
    }
    with duckdb.connect(config={"memory_limit": "4GB"}) as connection:
        connection.execute(_LOG.format(**sizes, path=path))


def _release(log: Path, home: Path) -> dict[str, Cost]:
    ended = run_process([sys.executable, "-m", "bench.steps", str(log)], home)
    return {title: Cost(*cost) for title, cost in json.loads(ended.output).items()}


def _show(n_rows: int, log: Path, steps: dict[str, Cost], alone: tuple[float, float]) -> None:
    cpu, seconds = (sum(cost[place] for cost in steps.values()) for place in (1, 0))
    peak, disk = (max(cost[place] for cost in steps.values()) for place in (2, 3))
    print(
        f"  {n_rows:>11,} rows, {log.stat().st_size / 1e6:,.0f} MB of Parquet: {cpu:.1f} s of CPU, "
        f"{seconds:.1f} s, {peak:.2f} GB of memory, {disk:.2f} GB of tables; DuckDB groups it in "
        f"{alone[0]:.1f} s of CPU with {alone[1]:.2f} GB",
        flush=True,
    )
    large = {title: cost for title, cost in steps.items() if cost.cpu > _SHOWN * cpu}
    print(
        "    " + ", ".join(f"{title} {cost.cpu:.1f}" for title, cost in large.items()), flush=True
    )


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) of what is promised for the largest log."""
    asked = os.environ.get("HYBRIDDP_BENCH_ROWS")
    sizes = tuple(map(int, asked.split(","))) if asked else ROWS
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log.parquet"
        write_log(_FIXED_ROWS, log)
        fixed = sum(cost.cpu for cost in _release(log, folder / "home").values())
        print(f"  {_FIXED_ROWS:>11,} rows: {fixed:.1f} s of CPU", flush=True)
        for n_rows in sizes:
            write_log(n_rows, log)
            steps = _release(log, folder / f"home{n_rows}")
            beside = folder / f"alone{n_rows}"
            grouped = run_process([sys.executable, "-c", _GROUPING, str(log), str(beside)], beside)
            alone = float(grouped.output.splitlines()[-1]), grouped.peak_gb
            (beside / "alone.duckdb").unlink()
            _show(n_rows, log, steps, alone)
    ratio = (sum(cost.cpu for cost in steps.values()) - fixed) / alone[0]
    peak = max(cost.peak_gb for cost in steps.values())
    return [
        (f"CPU of {n_rows:,} rows, less the fixed part / DuckDB's grouping", ratio, RATIO_LIMIT),
        (f"peak memory of {n_rows:,} rows in GB", peak, MEMORY_LIMIT_GB),
    ]
