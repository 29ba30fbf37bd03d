"""What a release costs by rows, people and different records: measured, fitted, extrapolated.

`python -m bench.model` measures DuckDB, and Spark where pyspark is, on this machine; results go to
standard output as a table, then the fit. `python -m bench.model FILE` fits what was printed before.

CPU and memory are those of all processes that a release starts (Spark's Java and its workers, too),
seen from outside a few times a second; so this bench needs Linux.
"""

import importlib.util
import json
import os
import sys
import tempfile
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

import duckdb
import numpy as np
from scipy.optimize import nnls

from bench.release import run_process
from bench.scale import write_log
from hybriddp.arrays import FloatArray

# Rows, rows a person, rows for each possible query: one of them changes at a time.
_DESIGN = {
    "duckdb": (
        (12_000, 12, 3), (1_000_000, 12, 3), (3_000_000, 12, 3), (10_000_000, 12, 3),
        (10_000_000, 2, 3), (10_000_000, 40, 3), (10_000_000, 12, 1_000), (20_000_000, 6, 30),
    ),
    "spark": (
        (12_000, 12, 3), (1_000_000, 12, 3), (3_000_000, 12, 3),
        (3_000_000, 2, 3), (3_000_000, 12, 1_000), (6_000_000, 6, 30),
    ),
}  # fmt: skip
# A billion people with twelve rows each, who search for a hundred million different things.
_LARGE = (12_000_000_000, 1_000_000_000, 100_000_000)
_PERIOD, _TICKS = 0.2, os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Point:
    """What one release took."""

    engine: str
    rows: int
    people: int
    records: int  # different (query, url)
    cpu: float
    seconds: float
    memory_gb: float
    disk_gb: float


class _Watch(threading.Thread):
    """Adds up what this process's descendants have used so far, and the most memory at once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._cpu: dict[int, float] = {}
        self.memory_gb = 0.0
        self._over = threading.Event()

    def run(self) -> None:
        while not self._over.wait(_PERIOD):
            pids = _descendants(os.getpid())
            self._cpu.update({pid: cpu for pid in pids if (cpu := _cpu_of(pid)) is not None})
            self.memory_gb = max(self.memory_gb, sum(map(_memory_of, pids)))

    def stop(self) -> float:
        """End; return the CPU seconds."""
        self._over.set()
        self.join()
        return sum(self._cpu.values())


def _descendants(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
        except (OSError, IndexError, ValueError):
            continue  # it has ended meanwhile
        parents.setdefault(parent, []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += parents.get(one, [])
    return found[1:]


def _cpu_of(pid: int) -> float | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / _TICKS


def _memory_of(pid: int) -> float:
    """Return gigabytes; what processes share counts once."""
    try:
        text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    except OSError:
        return 0.0
    (kilobytes,) = (line.split()[1] for line in text.splitlines() if line.startswith("Pss:"))
    return int(kilobytes) / 1e6


def _measured(engine: str, sizes: tuple[int, int, int], folder: Path) -> Point:
    n_rows, rows_per_person, rows_per_rank = sizes
    log = folder / "log.parquet"
    write_log(n_rows, log, rows_per_person=rows_per_person, rows_per_rank=rows_per_rank)
    ((n_records,),) = duckdb.execute(
        "select count(*) from (select distinct Query, ClickURL from read_parquet(?) "
        "where ClickURL is not null)",
        [str(log)],
    ).fetchall()
    watch = _Watch()
    watch.start()
    home = folder / f"{engine}-{'-'.join(map(str, sizes))}"
    ended = run_process([sys.executable, "-m", "bench.steps", str(log), engine], home)
    cpu = watch.stop()
    disk = max(cost[3] for cost in json.loads(ended.output).values())
    n_people = n_rows // rows_per_person
    return Point(
        engine, n_rows, n_people, n_records, cpu, ended.seconds, watch.memory_gb, disk
    )  # fmt: skip


def _sizes(point: Point) -> list[float]:
    return [1.0, point.rows / 1e6, point.people / 1e6, point.records / 1e6]


def fitted(points: list[Point], values: FloatArray) -> FloatArray:
    """Return what a release takes, and what a million rows, people and records take.

    Least squares of relative errors: else the largest log alone would decide.
    """
    sizes = np.array([_sizes(point) for point in points])
    found, _ = nnls(sizes / values[:, None], np.ones(len(values)))
    return np.asarray(found)


def errors_without(points: list[Point], values: FloatArray) -> FloatArray:
    """Return the relative error of every point, by a model that has not seen it."""
    found = []
    for left_out, point in enumerate(points):
        kept = [i for i in range(len(points)) if i != left_out]
        model = fitted([points[i] for i in kept], values[kept])
        found.append(float(_sizes(point) @ model) / values[left_out] - 1)
    return np.array(found)


def _say(points: list[Point]) -> None:
    for engine in dict.fromkeys(point.engine for point in points):
        ours = [point for point in points if point.engine == engine]
        rows, people, records = _LARGE
        large = Point(engine, rows, people, records, 0, 0, 0, 0)
        for name in ("cpu", "memory_gb", "disk_gb"):
            values = np.array([getattr(point, name) for point in ours])
            model = fitted(ours, values)
            errors = errors_without(ours, values)
            least, most = errors.min(), errors.max()
            print(
                f"{engine} {name}: {model[0]:.3g} + {model[1]:.3g}/M rows + {model[2]:.3g}/M people"
                f" + {model[3]:.3g}/M records; each without itself {least:+.0%} to {most:+.0%}; "
                f"{people:.0e} people: {float(_sizes(large) @ model):,.0f}"
            )


def main(arguments: list[str]) -> None:
    """Measure and fit, or fit what was measured before."""
    if arguments:
        lines = Path(arguments[0]).read_text().splitlines()
        _say([Point(**json.loads(line)) for line in lines if line.startswith("{")])
        return
    engines = ["duckdb"] + (["spark"] if importlib.util.find_spec("pyspark") else [])
    points = []
    with tempfile.TemporaryDirectory() as name:
        for engine in engines:
            for sizes in _DESIGN[engine]:
                points.append(_measured(engine, sizes, Path(name)))
                print(json.dumps(asdict(points[-1])), flush=True)
    _say(points)


if __name__ == "__main__":
    main(sys.argv[1:])
