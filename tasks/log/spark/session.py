"""Sessions on the Spark cluster that the machine is told of: of a master, or of Spark Connect."""

import atexit
import importlib
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tasks.log.failures import EngineLost
from tasks.log.spark.address import ADDRESS, NoSpark, address, is_remote, shown_address
from tasks.log.spark.cluster import watch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LEAST_JAVA = 17
# Rows that a kernel is given at once: starting DuckDB's statement takes as long as some thousand.
_ROWS_PER_BATCH = 1 << 17

# Each waits four times as long as the one before, a minute at most.
_MOST_RETRIES = 7
_idle: list["SparkSession"] = []

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
    "spark.hadoop.fs.permissions.umask-mode": "077",
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


def missing() -> str | None:
    """Say what is missing for this machine to talk to its cluster; None if nothing is."""
    try:
        import pyspark  # noqa: F401
        import sqlglot  # noqa: F401
    except ImportError:
        return "pyspark and sqlglot are not installed; `pip install hybriddp[spark]` brings both"
    if is_remote():
        return _missing_of_connect()
    version = _java_version()
    if version is None:
        return f"there is no Java; install Java {LEAST_JAVA}, or set JAVA_HOME"
    if version < LEAST_JAVA:
        return f"Java {version} is too old; Spark needs {LEAST_JAVA}, or set JAVA_HOME to one"
    return None


def _missing_of_connect() -> str | None:
    names = ("grpc", "grpc_status", "google.rpc", "zstandard")
    with suppress(ImportError):
        for name in names:
            importlib.import_module(name)
        return None
    return (
        f"what Spark Connect speaks with is not installed ({', '.join(names)}); `pip install "
        "hybriddp[spark]` brings it"
    )


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
    """Return this process's way to a master; it is stopped when the process ends."""
    builder, where = _builder(), address()
    if where.startswith("local"):  # nobody else is to reach it
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for name, value in (_SETTINGS | _STATIC_SETTINGS).items():
        builder = builder.config(name, value)
    with _reaching():
        made: SparkSession = builder.master(where).getOrCreate()
        if not where.startswith("local"):
            _ship(made.sparkContext.addPyFile)
            watch(made)
    atexit.register(made.stop)
    return made


def new_session() -> "SparkSession":
    """Return a session whose views and settings nobody else has."""
    if not is_remote():
        return session().newSession()
    # A new session of Connect has none of another's settings, and none of our code.
    builder, where = _builder(), address()
    with _reaching():
        made: SparkSession = builder.remote(where).create()
        _be_less_patient(made)
        for name, value in _SETTINGS.items():
            made.conf.set(name, value)
        _ship(lambda path: made.addArtifact(path, pyfile=True))
    atexit.register(made.stop)
    return made


@contextmanager
def lent_session() -> Iterator["SparkSession"]:
    """Lend a session, which whoever has it leaves as it was; none that something failed in."""
    spark = _idle.pop() if _idle else new_session()
    try:
        yield spark
    except EngineLost:  # who tries again finds another way to the cluster
        _idle.clear()
        session.cache_clear()
        with suppress(Exception):
            spark.stop()
        raise
    _idle.append(spark)


def require_spark() -> None:
    """Refuse to begin what needs a cluster, if this machine cannot talk to one."""
    problem = missing()
    if problem is not None:
        raise NoSpark(f"engine spark: {problem}. Or use --engine duckdb. Nobody was charged.")


def _builder() -> Any:
    require_spark()
    # It warns of a pandas that we do not use with it, in its workers, too.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    os.environ.setdefault("PYTHONWARNINGS", "ignore::FutureWarning")
    from pyspark.sql import SparkSession

    for name in _TALKATIVE:
        logging.getLogger(name).disabled = True
    # Workers are the interpreter that we are, unless somebody says otherwise.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    return SparkSession.builder


@contextmanager
def _reaching() -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise EngineLost(
            f"Spark at {shown_address()} cannot be reached ({type(error).__name__}); check "
            f"{ADDRESS}, and that the cluster runs. Nobody was charged."
        ) from None


def _be_less_patient(made: Any) -> None:
    """Wait for a server that does not answer for two minutes, not for ten."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    made.client.set_retry_policies([DefaultPolicy(max_retries=_MOST_RETRIES)])


def _ship(add: Callable[[str], None]) -> None:
    """Bring our own code to workers on other machines; what it imports is installed there."""
    folder = tempfile.TemporaryDirectory()
    atexit.register(folder.cleanup)  # workers fetch it when they begin
    path = Path(folder.name) / "hybriddp.zip"
    with zipfile.ZipFile(path, "w") as packed:
        for package in ("hybriddp", "tasks"):
            for file in sorted((_ROOT / package).rglob("*.py")):
                packed.write(file, file.relative_to(_ROOT))
    add(str(path))
