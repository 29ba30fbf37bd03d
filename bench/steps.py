"""A whole release, step by step without Prefect: what each step costs, as one line of JSON.

`python -m bench.steps LOG [ENGINE]` runs it in the home that HYBRIDDP_HOME names. CPU seconds are
those of all threads of this process: neighbours on a shared machine hardly move them.
"""

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

EPOCH, OPTIN_FRACTION = "2026-W46", 0.2


class Cost(NamedTuple):
    """What one step took, the most memory that the process had until its end, and its tables."""

    seconds: float
    cpu: float
    peak_gb: float
    disk_gb: float = 0.0


def _now() -> Cost:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return Cost(time.perf_counter(), used.ru_utime + used.ru_stime, used.ru_maxrss / 1e6)


def _size_of_tables() -> float:
    tables = Path(os.environ["HYBRIDDP_HOME"], "private", "warehouse")
    return sum(file.stat().st_size for file in tables.rglob("*") if file.is_file()) / 1e9


def run(log: Path, engine: str = "duckdb") -> dict[str, Cost]:
    """Run a release; return what each step took."""
    costs: dict[str, Cost] = {"start python": Cost(0, _now().cpu, _now().peak_gb)}

    def timed(title: str, work: Callable[[], object]) -> None:
        before = _now()
        work()
        after = _now()
        took = after.seconds - before.seconds, after.cpu - before.cpu
        costs[title] = Cost(*took, after.peak_gb, _size_of_tables())

    def imports() -> None:
        from tasks.products.registry import product_with

        _ = product_with("high-utility").working.STEPS

    timed("import our code", imports)
    from tasks.products.head_list.request import ReleaseRequest
    from tasks.products.head_list.run import identify
    from tasks.release.walk import leave_working_copy
    from tasks.store.home import Home

    # A list of few people is expected to be empty, and costs as much.
    request = ReleaseRequest(
        log=log,
        epoch=EPOCH,
        optin_fraction=OPTIN_FRACTION,
        ignore_plan=True,
        accept_collapse=True,
        engine=engine,
    )
    timed("identify", lambda: identify(request, Home.open()))
    release = identify(request, Home.open())
    for step in release.product.working.STEPS:
        if step.applies(release):
            timed(step.title, lambda step=step: step.work(release))  # type: ignore[misc]
    leave_working_copy(release)
    return costs


if __name__ == "__main__":
    print(json.dumps(run(Path(sys.argv[1]), *sys.argv[2:])))
