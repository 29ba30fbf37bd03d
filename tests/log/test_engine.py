"""What the engine says when a disk is full, and that an interrupt stops it."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tasks.log.engine import DuckDBEngine
from tasks.log.failures import OutOfSpace
from tasks.log.ingest import _reading
from tasks.log.raw.files import Source
from tests.engines import empty_database
from tests.patience import PATIENCE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_named_and_the_log_is_not_blamed():
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        connection.execute("create table rows as select range from range(1_000_000)")
        source = Source((Path("log.tsv"),), "tsv", ("person",))
        with (
            pytest.raises(OutOfSpace, match="no space is left on the disk"),
            _reading(Path("log.tsv"), source),
        ):
            engine.seal("rows", Path("/dev/full"))


def test_a_query_that_is_interrupted_was_stopped():
    with empty_database() as connection:
        engine = DuckDBEngine(connection)
        connection.execute("create view endless as select a.range as n from range(10_000_000) a")
        connection.execute("create view rows as select a.n from endless a, endless b, endless c")
        threading.Timer(0.2, connection.interrupt).start()
        with pytest.raises(KeyboardInterrupt):
            engine.count("(select sum(hash(n)) from rows)")


_ENDLESS = """
import duckdb, sys
from tasks.log.engine import DuckDBEngine
engine = DuckDBEngine(duckdb.connect())
engine._connection.execute("create view rows as select a.range as n from range(10_000_000) a")
engine._connection.execute("create view cohort_records as select 'S' as cohort, '' as url, "
    "sum(hash(a.n + b.n))::varchar as query from rows a, rows b, rows c")
try:
    print("begins", flush=True)
    engine.step("head_list/headlist_counts")
except KeyboardInterrupt:
    print("stopped", flush=True)
"""


# A signal that comes while the statement's thread begins, which a busy machine makes likely.
_EARLY = """
import threading
start = threading.Thread.start
def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt
threading.Thread.start = interrupted
"""


@pytest.mark.parametrize("before", ["", _EARLY], ids=["later", "at once"])
def test_ctrl_c_stops_a_statement_that_would_take_for_ever(before):
    """DuckDB 2.0 looks at no signal while a statement runs: it would end after the statement."""
    child = subprocess.Popen(
        [sys.executable, "-c", before + _ENDLESS],
        stdout=subprocess.PIPE,
        text=True,
        restore_signals=True,
    )
    try:
        assert child.stdout.readline() == "begins\n"
        os.kill(child.pid, signal.SIGINT)
        assert child.communicate(timeout=PATIENCE)[0] == "stopped\n"
    finally:
        child.kill()
        child.wait()
