"""Do the runs that a study still lacks, in this process or in several."""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from hybriddp.errors import require_count
from hybriddp.studies.blender.runs import Row
from hybriddp.studies.zealous.parameters import CLOSED_FORM
from hybriddp.studies.zealous.settings import FIFTH, TOWN, ZEAL_SIZE
from tasks.studies.model import YANDEX, Study
from tasks.studies.runners import Runner, runner_of
from tasks.studies.store import Job, Result, Store

# A Yandex-like run takes ten times longer than an AOL-like one, and varies less between seeds.
YANDEX_SEED_SHARE = 5
# A search log takes a minute to draw, and its histograms hardly vary between seeds; of the attacks
# nothing varies at all.
LOG_SEED_SHARE = 10
_SEED_SHARES = {
    YANDEX: YANDEX_SEED_SHARE,
    **dict.fromkeys((ZEAL_SIZE, FIFTH, TOWN), LOG_SEED_SHARE),
}
QUICK_SEEDS = 2

Progress = Callable[[int, int], None]  # runs done, runs in all


def seeds_for(population: str, seeds: int) -> int:
    """Return how many seeds a population gets; where nothing is drawn one is enough."""
    if population == CLOSED_FORM:
        return 1
    share = _SEED_SHARES.get(population)
    return max(2, seeds // share) if share is not None and seeds > 2 else seeds


def jobs_of(study: Study, seeds: int, *, is_quick: bool) -> list[Job]:
    """Return every run of a study: users that are drawn once are used before others are drawn."""
    require_count(seeds, "seeds")
    jobs = [
        Job(study.name, setting, seed)
        for setting in study.settings(is_quick=is_quick)
        for seed in range(seeds_for(setting.population, seeds))
    ]
    return sorted(jobs, key=lambda job: (job.setting.population, job.seed))


def execute(
    study: Study,
    folder: Path,
    *,
    seeds: int,
    is_quick: bool,
    workers: int = 1,
    progress: Progress = lambda done, total: None,
) -> list[tuple[Job, list[Row]]]:
    """Do what is missing, storing each run as it finishes; return all runs in a fixed order."""
    require_count(workers, "workers")
    jobs, store = jobs_of(study, seeds, is_quick=is_quick), Store(folder)
    known = store.load(jobs)
    missing = [job for job in jobs if job not in known]
    progress(len(known), len(jobs))
    for result in _in_one(missing) if workers == 1 else _in_many(missing, workers):
        store.append(result)
        known[result.job] = result.rows
        progress(len(known), len(jobs))
    return [(job, known[job]) for job in jobs]


def do(job: Job) -> Result:
    """Do one run."""
    start = time.monotonic()
    runner, setting = runner_of(job.setting), job.setting
    people = _people(runner, setting.population, job.seed, setting.is_quick)
    rows = runner.run(job.study, setting, job.seed, people)
    return Result(job, rows, time.monotonic() - start)


# The people of one seed; those of the seed before are let go first, for a log takes a gigabyte.
_drawn: dict[tuple[object, ...], Any] = {}


def _people(runner: Runner, population: str, seed: int, is_quick: bool) -> Any:
    key = (runner, population, seed, is_quick)
    if key not in _drawn:
        _drawn.clear()
        _drawn[key] = runner.draw(population, seed, is_quick=is_quick)
    return _drawn[key]


def _in_one(jobs: Sequence[Job]) -> Iterator[Result]:
    try:
        for job in jobs:
            yield do(job)
    finally:
        _drawn.clear()


def _in_many(jobs: Sequence[Job], workers: int) -> Iterator[Result]:
    # Fresh interpreters: a fork would copy the threads' locks of whoever calls this.
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_prepare_worker)
    try:
        for future in as_completed([pool.submit(do, job) for job in jobs]):
            yield future.result()
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


def _prepare_worker() -> None:
    """Let the parent decide on Ctrl-C, and do not outlive it if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
