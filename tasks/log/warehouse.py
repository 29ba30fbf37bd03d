"""Where a log's tables are while a release is at work: in the engine that its operator chose."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from tasks.log.engine import DuckDBEngine, Engine, open_duckdb, open_memory

if TYPE_CHECKING:
    from tasks.release.run import LogRun

DUCKDB, SPARK = "duckdb", "spark"


@contextmanager
def open_warehouse(run: "LogRun") -> Iterator[Engine]:
    """Open what a release's log became."""
    folder = run.home.warehouse(run.release_id)
    if run.request.engine == SPARK:
        from tasks.log.spark.session import require_spark

        require_spark()  # pyspark is an extra, which the next line needs
        from tasks.log.spark.engine import open_spark

        with open_spark(folder) as spark:
            yield spark
    else:
        with open_duckdb(folder) as engine:
            yield engine


@contextmanager
def open_candidates(run: "LogRun") -> Iterator[DuckDBEngine]:
    """Open DuckDB with `candidates`: who pays is decided where the ledger is, by one engine's sums.

    Nothing but accounts and groups leaves the cluster for it.
    """
    with open_warehouse(run) as engine:
        if isinstance(engine, DuckDBEngine):
            yield engine
            return
        engine.step("ledger/candidate_accounts")
        with open_memory(run.home.spill) as ledger:
            path = _exported(engine, run.home.spill)
            try:
                ledger.read_sealed("candidates", [path])
                yield ledger
            finally:
                path.unlink(missing_ok=True)


def _exported(engine: Engine, spill: Path) -> Path:
    path = spill / f"{secrets.token_hex(8)}.parquet"
    engine.seal("candidate_accounts", path)
    return path
