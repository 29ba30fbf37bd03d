"""What one check of all caps costs after years of weekly releases, with sealed sums and without.

`make bench` compares 520 releases with 10, of few people. `python -m bench.ledger 500000 5000000`
prints the table of docs/speed.md: for so many people, at 10, 100 and 520 releases, or at those that
are named behind a colon (`5000000:10,100`). Everybody takes part in every release. Files
are written as releases seal them; nothing is drawn. *Before* reads every participation file, as
each check did until 0.3.0; `5000000:520:now` spares that, which takes hours.
"""

import math
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from hybriddp.planning.populations import study_rng
from tasks.budget import spending
from tasks.budget.policy import Policy, current_policy, set_policy
from tasks.budget.spending import counted_in, put_spending
from tasks.budget.sums.covers import Reading, reading_of
from tasks.budget.sums.files import file_digest, has_sums, sums_file
from tasks.budget.sums.sealing import LEAST_FILES, seal_sums
from tasks.budget.window import may_start
from tasks.ledger.charges import Charge
from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import DrawStarted, Reserved
from tasks.ledger.rules import Kind
from tasks.log.engine import open_memory
from tasks.release.run import Release
from tasks.store.home import Home
from tasks.store.keys import make_home

GROWTH_LIMIT = 1.5
N_RELEASES = (10, 100, 520)
_FEW_PEOPLE = 50_000
_GROUPS = ("S", "T", "C")
_PRICE = Charge(10**6, 10**9)
_HEAD = (
    " releases  files   ..        MB      ..        s     ..  ratio    start     ..  ratio  sealing"
)
# How a check chooses what it reads.
_CHOOSE: list[Callable[..., Reading]] = [reading_of]
_STARTED = DrawStarted(event={}, token="")


@dataclass(frozen=True, slots=True)
class Check:
    """One check of all caps: what it took and what it read."""

    seconds: float
    n_files: int
    n_bytes: int


_UNKNOWN = Check(math.nan, 0, 0)


class _Years:
    """A home whose releases everybody took part in, and which was never drawn from."""

    def __init__(self, home: Home, n_people: int) -> None:
        self.home, self._n_people, self._rng = home, n_people, study_rng(1)
        words = np.frombuffer(self._rng.bytes(16 * n_people), dtype=">u8").reshape(-1, 2)
        words = words[np.argsort(words[:, 0])]
        offsets = np.arange(0, 16 * n_people + 1, 16, dtype=np.int32)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(words.tobytes())]
        self._accounts = pa.BinaryArray.from_buffers(pa.binary(), n_people, buffers)
        self.n_releases = 0

    def people(self) -> pa.Table:
        """Everybody, in groups of another release."""
        numbers = self._rng.integers(0, len(_GROUPS), self._n_people, dtype=np.int8)
        groups = pa.DictionaryArray.from_arrays(numbers, list(_GROUPS))
        return pa.table({"account": self._accounts, "cohort": groups.cast(pa.string())})

    def reserve(self, *, draws: bool = True) -> Release:
        """Write a participation file and the rows of a release."""
        people, name = self.people(), f"r{self.n_releases}"
        path = self.home.participation / ".new.partial"
        pq.write_table(people, path, compression="zstd")
        digest = file_digest(path)
        path.rename(self.home.participation / f"{digest}.parquet")
        counts = {r["values"]: r["counts"] for r in people["cohort"].value_counts().to_pylist()}
        said = Reserved(
            product="search", epoch=name, locale="all", parameters={}, participation=digest,
            policy=Policy().statement,
            groups={group: _PRICE.terms(counts.get(group, 0)) for group in _GROUPS},
        )  # fmt: skip
        ledger = Ledger(self.home.ledger)
        ledger.append(Kind.RESERVED, name, 1, said)
        for group in _GROUPS if draws else ():
            ledger.append(Kind.DRAW_STARTED, name, 1, _STARTED, draw=group)
        self.n_releases += 1
        return Release(self.home, name, 1)

    def grow(self, n_releases: int) -> float:
        """Go on to so many releases, the last few of them not sealed; return a sealing's time."""
        while self.n_releases < n_releases - LEAST_FILES + 1:
            self.reserve()
        start = time.perf_counter()
        seal_sums(self.home)
        seconds = time.perf_counter() - start
        while self.n_releases < n_releases:
            self.reserve()
        return seconds

    def reservation(self) -> Check:
        """Who can afford another release: what `reserve` asks."""
        entries = Ledger(self.home.ledger).entries()
        policy, now = current_policy(entries), Ledger(self.home.ledger).moment()
        people = self.people()

        def work() -> None:
            with open_memory(self.home.spill) as engine:
                put_spending(engine, self.home, entries, policy, now)
                engine.put("candidates", people)
                engine.put("stopped_accounts", pa.table({"account": pa.array([], pa.binary())}))
                prices = {name: [getattr(_PRICE, name)] * 3 for name in ("epsilon", "delta", "rho")}
                engine.put("prices", pa.table({"cohort": list(_GROUPS), **prices}))
                engine.step("ledger/affordable", **policy.limits)
                engine.step("ledger/candidate_groups")

        return self._measured(work)

    def start(self, run: Release) -> Check:
        """Whether a draw may start after the policy has changed: its people's sums anew."""
        return self._measured(lambda: may_start(run, "S"))

    def _measured(self, work: Callable[[], object]) -> Check:
        start = time.perf_counter()
        work()
        seconds = time.perf_counter() - start
        entries = Ledger(self.home.ledger).entries()
        policy, now = current_policy(entries), Ledger(self.home.ledger).moment()
        counted = counted_in(entries, policy, now)
        reading = _CHOOSE[-1](entries, counted, lambda row: has_sums(self.home, row))
        files = [sums_file(self.home, row) for row in reading.sums]
        named = {entry.said(Reserved).participation for entry, _ in reading.charges}
        files += [self.home.participation / f"{digest}.parquet" for digest in named]
        return Check(seconds, len(files), sum(file.stat().st_size for file in files))


@contextmanager
def _before() -> Iterator[None]:
    """Read every participation file."""
    _CHOOSE.append(lambda _, counted, *__: Reading((), counted))
    with patch.object(spending, "reading_of", _CHOOSE[-1]):
        yield
    _CHOOSE.pop()


def measure() -> Iterator[tuple[str, float, float]]:
    """Return (label, ratio, limit): years later a check takes as long as in the beginning."""
    with tempfile.TemporaryDirectory() as folder:
        years = _Years(make_home(Path(folder) / "home"), _FEW_PEOPLE)
        checks = []
        for n_releases in (N_RELEASES[0], N_RELEASES[-1]):
            years.grow(n_releases)
            checks.append(min(years.reservation().seconds for _ in range(3)))
        with _before():
            full = years.reservation().seconds
        first, last = N_RELEASES[0], N_RELEASES[-1]
        people = f"{_FEW_PEOPLE:,} people"
        label = f"check of all caps, {people}: {last} releases / {first}"
        yield label, checks[1] / checks[0], GROWTH_LIMIT
        yield f"the same at {last} releases / all participation files", checks[1] / full, 0.2


def _twice(check: Callable[[], Check], is_compared: bool) -> tuple[Check, Check]:
    """Return a check as it is, and as it was before, or neither."""
    now = check()
    if not is_compared:
        return now, _UNKNOWN
    with _before():
        return now, check()


def _row(years: _Years, n_releases: int, is_compared: bool) -> str:
    sealing = years.grow(n_releases)
    after, before = _twice(years.reservation, is_compared)
    run = years.reserve(draws=False)
    cap = current_policy(Ledger(years.home.ledger).entries())
    set_policy(Ledger(years.home.ledger), Policy(Charge(cap.cap.epsilon + 1, cap.cap.delta)))
    start, start_before = _twice(lambda: years.start(run), is_compared)
    return (
        f"{n_releases:9} {before.n_files:6} {after.n_files:4} {before.n_bytes / 1e6:9.0f} "
        f"{after.n_bytes / 1e6:7.0f} {before.seconds:8.1f} {after.seconds:6.1f} "
        f"{before.seconds / after.seconds:6.1f} {start_before.seconds:8.1f} {start.seconds:6.1f} "
        f"{start_before.seconds / start.seconds:6.1f} {sealing:8.1f}"
    )


def _table(arguments: list[str]) -> None:
    """Print what a reservation and a start cost before and after, at these numbers of people."""
    for argument in arguments:
        people, at, only = (*argument.split(":"), "", "")[:3]
        print(f"{int(people):,} people: files, MB and seconds, before and after", flush=True)
        print(_HEAD, flush=True)
        with tempfile.TemporaryDirectory() as folder:
            years = _Years(make_home(Path(folder) / "home"), int(people))
            for n_releases in map(int, at.split(",")) if at else N_RELEASES:
                print(_row(years, n_releases, only != "now"), flush=True)


if __name__ == "__main__":
    _table(sys.argv[1:] or ["50000", "500000"])
