"""What a release of histograms costs, against DuckDB grouping the same file by query.

`python -m bench zealous`. Every measurement is a process of its own; DuckDB's run stands before and
after ours, because the machine is shared.
"""

import sys
import tempfile
from pathlib import Path
from statistics import mean

from bench.release import run_process
from tasks.log.epochs import Epoch
from tasks.synthetic.generate import write_session_log

GROUPING_LIMIT = 10.0
GROWTH_LIMIT = 1.3
MEMORY_LIMIT_GB = 4.0
# About 26 rows a user: 3 and 13 million rows.
USERS = (125_000, 500_000)

_GROUPING = r"""
import sys, duckdb
reader = (
    f"read_csv('{sys.argv[1]}', delim='\t', header=true, quote='', escape='', all_varchar=true)"
)
duckdb.sql(f"create table grouped as select Query, count(*) as n from {reader} group by Query")
"""

# A whole release of all four histograms, without Prefect.
_STEPS = """
import sys
from pathlib import Path
from tasks.store.home import Home
from tasks.products.histograms.draws import identify
from tasks.products.histograms.request import ZealousRequest
from tasks.release.walk import run_release
request = ZealousRequest(log=Path(sys.argv[1]), epoch="2026-W46")
run_release(identify(request, Home.open()))
"""


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) of every promise about a release of histograms."""
    results, per_row = [], []
    with tempfile.TemporaryDirectory() as folder:
        for n_users in USERS:
            log = Path(folder) / f"log{n_users}.tsv.gz"
            n_rows = write_session_log(n_users, log, seed=1, epoch=Epoch.parse("2026-W46")).rows
            commands = [[sys.executable, "-c", code, str(log)] for code in (_GROUPING, _STEPS)]
            before, ours, after = (
                run_process(commands[which], Path(folder) / f"home{n_users}-{position}")
                for position, which in enumerate((0, 1, 0))
            )
            grouping = mean((before.seconds, after.seconds))
            per_row.append(ours.seconds / n_rows)
            print(
                f"  {n_rows:,} rows: {ours.seconds:.1f} s, {ours.peak_gb:.2f} GB; DuckDB groups "
                f"them in {before.seconds:.1f} and {after.seconds:.1f} s",
                flush=True,
            )
    # The promise is about the larger log; at the smaller one Great Expectations' import counts.
    label = f"all four histograms of {n_rows:,} rows / DuckDB grouping them by query"
    results.append((label, ours.seconds / grouping, GROUPING_LIMIT))
    results.append(("peak memory of that release in GB", ours.peak_gb, MEMORY_LIMIT_GB))
    growth = "seconds a row at 500,000 users / at 125,000 users (linear is 1)"
    return [*results, (growth, per_row[1] / per_row[0], GROWTH_LIMIT)]
