"""A DuckDB of a test's own, without starting one: that takes longer than most of what is asked."""

import atexit
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import count
from tempfile import gettempdir

import duckdb

from tasks.log.duck.instances import start

_NUMBERS = count()


@cache
def _instance() -> duckdb.DuckDBPyConnection:
    atexit.register(_end)
    return start(gettempdir())


def _end() -> None:
    _instance().close()
    _instance.cache_clear()


@contextmanager
def empty_database() -> Iterator[duckdb.DuckDBPyConnection]:
    """Connect to a database in memory that nobody else sees, as releases' own are started."""
    name = f"database_{next(_NUMBERS)}"
    with _instance().cursor() as connection:
        connection.execute(f"attach ':memory:' as {name}; use {name}")
        yield connection
    _instance().execute(f"detach {name}")
