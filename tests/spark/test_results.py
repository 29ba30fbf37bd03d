"""Where results lie: whole or not there, and nobody else's."""

import sys

import pytest

from tasks.log.failures import EngineFailed
from tasks.log.spark.results import Results, alone_in
from tests.release.faults import run_child


def test_what_a_dead_drivers_workers_still_write_is_in_no_result(tmp_path):
    results = Results(tmp_path)
    first = results.begin("records")
    first.mkdir()
    assert not results.has("records")
    second = results.begin("records")
    second.mkdir()
    first.mkdir()  # by a worker that does not know yet
    results.finish("records", second)
    assert results.place("records") == str(second)
    assert results.begin("records") not in (first, second)
    assert not first.exists()
    assert not second.exists()
    assert not results.has("records")


def comes_second(folder):
    with pytest.raises(EngineFailed, match="in use"), alone_in(folder):
        pass
    sys.exit(3)


def test_one_process_at_a_time_has_a_releases_results(tmp_path):
    with alone_in(tmp_path / "spark"):
        with alone_in(tmp_path / "spark"):
            pass
        assert run_child(comes_second, tmp_path / "spark") == 3
    assert run_child(comes_second, tmp_path / "spark") == 1
