"""What it costs to make a log, as multiples of what pyarrow needs to write the finished one.

Ratios of neighbouring measurements, because this must hold on slow and noisy machines too.
"""

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

import pyarrow.csv
import pyarrow.parquet as pq

from hybriddp.planning.populations import Population, study_rng
from hybriddp.planning.profiles import aol_like
from hybriddp.studies.synthetic.log import RecordsPerUser
from tasks.log.epochs import Epoch
from tasks.synthetic.generate import write_log

REPETITIONS = 5
_EPOCH = Epoch.parse("2026-W46")
# More than two million rows each.
N_USERS: dict[RecordsPerUser, int] = {"one": 2_100_000, "many": 110_000}
PARQUET_LIMIT = 3.0
TSV_LIMIT = 6.0


def _seconds(action: Callable[[], object]) -> float:
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def _measure_law(
    population: Population, records_per_user: RecordsPerUser, directory: Path
) -> list[tuple[str, float, float]]:
    def write(suffix: str) -> None:
        write_log(
            population,
            N_USERS[records_per_user],
            directory / f"log{suffix}",
            seed=1,
            epoch=_EPOCH,
            records_per_user=records_per_user,
            no_click_share=0.0,
        )

    write(".parquet")
    finished = pq.read_table(directory / "log.parquet")
    parquet_ratios, tsv_csv_ratios, tsv_parquet_ratios = [], [], []
    for _ in range(REPETITIONS):
        making_parquet = _seconds(lambda: write(".parquet"))
        parquet = _seconds(lambda: pq.write_table(finished, directory / "finished.parquet"))
        making_tsv = _seconds(lambda: write(".tsv"))
        csv = _seconds(lambda: pyarrow.csv.write_csv(finished, directory / "finished.csv"))
        parquet_ratios.append(making_parquet / parquet)
        tsv_csv_ratios.append(making_tsv / csv)
        tsv_parquet_ratios.append(making_tsv / parquet)
    label = f"generate, {records_per_user} per user, {len(finished):,} rows"
    return [
        (f"{label}: Parquet / write_table", median(parquet_ratios), PARQUET_LIMIT),
        (f"{label}: TSV / write_csv", median(tsv_csv_ratios), TSV_LIMIT),
        (f"{label}: TSV / write_table", median(tsv_parquet_ratios), TSV_LIMIT),
    ]


def measure() -> list[tuple[str, float, float]]:
    """Return (label, ratio, limit) for both laws of records per user and both formats."""
    population = aol_like(rng=study_rng(1))
    with tempfile.TemporaryDirectory() as directory:
        return [
            row
            for records_per_user in N_USERS
            for row in _measure_law(population, records_per_user, Path(directory))
        ]
