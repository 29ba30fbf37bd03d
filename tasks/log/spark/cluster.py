"""Whether a cluster is still there: a step that fails for want of machines says nothing of a log.

Spark replaces workers that die. If none comes, it waits for ever; we wait for a while.
"""

import re
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A property of Spark's, in seconds: a busy cluster may let a release wait for its first worker.
PATIENCE, USUAL_PATIENCE = "spark.hybriddp.patience", "600"
_MOST_SECONDS_BETWEEN_LOOKS = 5.0
# What Spark says of a part whose workers died each time; it stands before anything that it quotes.
_WORKERS_DIED = re.compile(r"most recent failure: Lost task \S+ in stage \S+ \(TID \d+\) "
                           r"\([^)]*\): ExecutorLostFailure")  # fmt: skip


class Watch:
    """Ends what waits for workers and does not get any."""

    def __init__(self, spark: "SparkSession") -> None:
        self._context: Any = spark.sparkContext
        self.patience = float(self._context.getConf().get(PATIENCE, USUAL_PATIENCE))
        self.is_over = False
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        began = time.monotonic()
        while not self.is_over:
            time.sleep(min(_MOST_SECONDS_BETWEEN_LOOKS, self.patience / 4))
            try:
                if not self._waits_in_vain():
                    began = time.monotonic()
                elif time.monotonic() - began > self.patience:
                    self.is_over = True
                    self._context.cancelAllJobs()
            except Exception:  # Spark has ended, and all that waited for it
                return

    def _waits_in_vain(self) -> bool:
        # The driver is one of those that have memory for rows.
        n_workers = self._context._jsc.sc().getExecutorMemoryStatus().size() - 1
        return n_workers == 0 and bool(self._context.statusTracker().getActiveJobsIds())


_watches: list[Watch] = []


def watch(spark: "SparkSession") -> None:
    """Do not wait for workers for ever from now on."""
    _watches[:] = [Watch(spark)]


# What workers need, and say that they do not have before anything of ours runs.
_NEEDED = (
    "cryptography", "duckdb", "fsspec", "hybriddp", "numpy", "pandas", "pyarrow", "pydantic",
    "tasks",
)  # fmt: skip
_LACKS = re.compile(rf"ModuleNotFoundError: No module named '({'|'.join(_NEEDED)})[.']")


def what_was_lost(spark: "SparkSession", error: Exception) -> str | None:
    """Say which machines are gone, if that is why something failed."""
    if any(watch.is_over for watch in _watches):
        return f"the cluster had no worker for {_watches[0].patience:g} s"
    if _WORKERS_DIED.search(str(error)):
        return "its workers died again and again, perhaps for want of memory"
    if found := _LACKS.search(str(error)):
        return f"the Python of its workers has no {found[1]} (docs/spark.md says what they need)"
    return None if _answers(spark) else "the cluster does not answer any more"


def _answers(spark: Any) -> bool:
    try:
        if hasattr(spark, "_jsparkSession"):
            return not spark.sparkContext._jsc.sc().isStopped()
        return bool(spark.version)  # which a Connect server is asked for
    except Exception:
        return False
