"""A log several times larger than the memory that DuckDB may use gives the same release."""

import duckdb
import pytest

from tasks.log.engine import open_duckdb
from tasks.products.head_list.measuring.draws import draw_head_list
from tasks.products.head_list.run import identify
from tasks.store import memory
from tests.homes import new_home
from tests.release.support import charge, request_for, sealed_groups

# Ten rows a person in no order, and half of the texts are different ones.
_LOG = """
copy (
    select
        cast(hash(i) % {n_people} as bigint) as AnonID,
        'some words and the number ' || (hash(i + 1) % {n_rows}) as Query,
        '2026-11-10 00:00:00' as QueryTime,
        if(i % 10 < 7, 'http://www.' || (hash(i + 1) % {n_rows}) || '.com/a/path', null) as ClickURL
    from range({n_rows}) rows(i)
) to '{path}' (format parquet)
"""
_SIZE = "select sum(strlen(AnonID::text || Query || QueryTime || coalesce(ClickURL, ''))) from '{}'"


@pytest.fixture
def log(tmp_path, request):
    path = tmp_path / "log.parquet"
    with duckdb.connect() as connection:
        connection.execute(
            _LOG.format(n_rows=request.param, n_people=request.param // 10, path=path)
        )
        [(n_bytes,)] = connection.execute(_SIZE.format(path)).fetchall()
    return path, n_bytes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("log", "limit", "times"),
    [
        # Below what anybody may set: small logs keep the test short.
        pytest.param(1_500_000, "64MB", 1.5),
        pytest.param(16_000_000, "200MB", 5, marks=pytest.mark.long),
    ],
    indirect=["log"],
)
def test_log_larger_than_memory_gives_the_same_release(log, limit, times, tmp_path, monkeypatch):
    path, n_bytes = log
    found = []
    for said in (None, limit):
        if said is not None:
            monkeypatch.setattr(memory, "LEAST", 0)
            monkeypatch.setenv(memory.VARIABLE, said)
            assert n_bytes > times * memory.for_duckdb()
        home = new_home(tmp_path / str(said), known_keys=True)
        run = charge(identify(request_for(path), home))
        draw_head_list(run)
        with open_duckdb(home.warehouse(run.release_id)) as engine:
            records = engine.fetch("records").sort_by([("account", "ascending")])
        found.append((run.release_id, records, sealed_groups(home, run)))
    assert found[0] == found[1]
