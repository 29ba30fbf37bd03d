"""Do the runs that a study still lacks, in this process or in several."""

import functools
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from hybriddp.errors import require_count
from hybriddp.study_runs import Row, run_setting
from hybriddp.study_users import Users, draw_users
from tasks.studies.model import YANDEX, Study
from tasks.studies.store import Job, Result, Store

# A Yandex-like run takes ten times longer than an AOL-like one, and varies less between seeds.
YANDEX_SEED_SHARE = 5
QUICK_SEEDS = 2

Progress = Callable[[int, int], None]  # runs done, runs in all


def seeds_for(population: str, seeds: int) -> int:
    """Return how many seeds a population gets."""
    return max(2, seeds // YANDEX_SEED_SHARE) if population == YANDEX and seeds > 2 else seeds


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
    users = _users(job.setting.population, job.seed, job.setting.is_quick)
    rows = run_setting(job.study, job.setting, job.seed, users)
    return Result(job, rows, time.monotonic() - start)


@functools.lru_cache(maxsize=1)
def _users(population: str, seed: int, is_quick: bool) -> Users:
    return draw_users(population, seed, is_quick=is_quick)


def _in_one(jobs: Sequence[Job]) -> Iterator[Result]:
    try:
        for job in jobs:
            yield do(job)
    finally:
        _users.cache_clear()


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
