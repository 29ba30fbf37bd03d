"""A connection to the Spark cluster that the machine is told of, one for a process.

`HYBRIDDP_SPARK` names it: a master (`spark://host:7077`, `local[4]`; the default is `local[*]`, for
trying things out) or the address of a Spark Connect server (`sc://host:15002`).
"""

import atexit
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.log.failures import EngineFailed
from tasks.release.refusals import BadInput

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ADDRESS, DEFAULT_ADDRESS = "HYBRIDDP_SPARK", "local[*]"
LEAST_JAVA = 17
# Rows that a kernel is given at once: starting DuckDB's statement takes as long as some thousand.
_ROWS_PER_BATCH = 1 << 17

_ROOT = Path(__file__).parents[3]

_SETTINGS = {
    # A time without a time zone is UTC, wherever a machine stands, and a number that does not fit
    # is an error, as in DuckDB.
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.maxRecordsPerBatch": str(_ROWS_PER_BATCH),
    "spark.sql.execution.arrow.useLargeVarTypes": "false",
    # Plans that fail are logged with the data that they failed on.
    "spark.sql.debug.maxToStringFields": "25",
}
_STATIC_SETTINGS = {
    "spark.app.name": "hybriddp",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "FATAL",  # its messages may quote rows
    # What is written between steps and sent between machines is people's searches.
    "spark.io.encryption.enabled": "true",
    # From our environment Spark takes credentials into settings that it sends to all workers.
    **{f"spark.hadoop.fs.s3a.{name}": "" for name in ("access.key", "secret.key", "session.token")},
    **{
        f"spark.hadoop.fs.{scheme}.{name}": ""
        for scheme in ("s3", "s3n")
        for name in ("awsAccessKeyId", "awsSecretAccessKey")
    },
}


# They write whole messages of Spark's, which may quote rows, to where everybody reads.
_TALKATIVE = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class NoSpark(BadInput):
    """Spark cannot be used here; the message says what is missing."""


def address() -> str:
    """Return the address of the cluster."""
    return os.environ.get(ADDRESS) or DEFAULT_ADDRESS


def missing() -> str | None:
    """Say what is missing for this machine to talk to its cluster; None if nothing is."""
    try:
        import pyspark  # noqa: F401
        import sqlglot  # noqa: F401
    except ImportError:
        return "pyspark and sqlglot are not installed; `pip install hybriddp[spark]` brings both"
    if address().startswith("sc://"):
        return None
    version = _java_version()
    if version is None:
        return f"there is no Java; install Java {LEAST_JAVA}, or set JAVA_HOME"
    if version < LEAST_JAVA:
        return f"Java {version} is too old; Spark needs {LEAST_JAVA}, or set JAVA_HOME to one"
    return None


def _java_version() -> int | None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin") if home else None)
    if java is None:
        return None
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr
    _, _, rest = said.partition('version "')
    digits = rest.partition(".")[0].partition('"')[0]
    return int(digits) if digits.isdigit() else None


@cache
def session() -> "SparkSession":
    """Return this process's session; it is stopped when the process ends."""
    problem = missing()
    if problem is not None:
        raise NoSpark(f"engine spark: {problem}. Or use --engine duckdb. Nobody was charged.")
    # It warns of a pandas that we do not use with it, in its workers, too.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")
    from pyspark.sql import SparkSession

    for name in _TALKATIVE:
        logging.getLogger(name).disabled = True
    # Workers are the interpreter that we are, unless somebody says otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder: Any = SparkSession.builder
    where = address()
    is_remote = where.startswith("sc://")
    settings = _SETTINGS if is_remote else _SETTINGS | _STATIC_SETTINGS
    if where.startswith("local"):  # nobody else is to reach it
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in settings.items():
        builder = builder.config(name, value)
    try:
        made: SparkSession = (
            builder.remote(where) if is_remote else builder.master(where)
        ).getOrCreate()
    except Exception as error:
        raise EngineFailed(
            f"Spark at {where} cannot be reached ({type(error).__name__}); check {ADDRESS}, and "
            "that the cluster runs. Nobody was charged."
        ) from None
    atexit.register(made.stop)
    if not where.startswith("local"):
        _ship(made)
    return made


def _ship(made: "SparkSession") -> None:
    """Bring our own code to workers on other machines; what it imports is installed there."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # workers fetch it when they begin
    path = Path(folder.name) / "hybriddp.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for package in ("hybriddp", "tasks"):
            for file in sorted((_ROOT / package).rglob("*.py")):
                packed.write(file, file.relative_to(_ROOT))
    if address().startswith("sc://"):
        made.addArtifact(str(path), pyfile=True)
    else:
        made.sparkContext.addPyFile(str(path))
