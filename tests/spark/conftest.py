"""One Spark for all tests, with few parts: tiny tables need no more."""

import os

import pytest

from tasks.log.spark.session import missing
from tests.spark.stores import KEYS

_PARTS = """
spark.sql.shuffle.partitions 2
spark.default.parallelism 2
spark.sql.adaptive.enabled false
spark.eventLog.enabled true
spark.eventLog.compress false
spark.eventLog.dir {events}
"""


def pytest_collection_modifyitems(items):
    problem = missing()
    for item in items:
        if item.path.parent.name != "spark":
            continue
        for warning in IGNORED:
            item.add_marker(pytest.mark.filterwarnings(f"ignore{warning}"))
        if problem is not None:
            item.add_marker(pytest.mark.skip(reason=f"no Spark: {problem}"))


# The way to the JVM is let go when Python finds the time; pyspark warns of a pandas that we do not
# use with it.
IGNORED = (
    "::ResourceWarning",
    "::pytest.PytestUnraisableExceptionWarning",
    ":PySpark does not yet fully support pandas:FutureWarning",
)


@pytest.fixture(scope="session")
def events(tmp_path_factory):
    """Where Spark writes what it did."""
    return tmp_path_factory.mktemp("events")


@pytest.fixture(scope="session")
def spark(tmp_path_factory, events):
    from tasks.log.spark.session import session

    folder = tmp_path_factory.mktemp("conf")
    (folder / "spark-defaults.conf").write_text(_PARTS.format(events=events.as_uri()))
    os.environ["SPARK_CONF_DIR"] = str(folder)
    os.environ.setdefault("HYBRIDDP_SPARK", "local[2]")
    os.environ.update(KEYS)  # which Spark would take into its settings
    return session()


@pytest.fixture
def engine(spark, tmp_path):
    from tasks.log.spark.engine import SparkEngine
    from tasks.log.spark.session import new_session

    folder = tmp_path / "results"
    folder.mkdir()
    return SparkEngine(folder, new_session())
