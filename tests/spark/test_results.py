"""Where results lie: whole or not there, and nobody else's."""

import json
import shutil
import stat
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


def whole(tmp_path):
    results = Results(tmp_path)
    place = results.begin("records")
    place.mkdir()
    for name in ("part-0.parquet", "part-1.parquet", "_SUCCESS"):
        (place / name).write_bytes(b"some rows")
    results.finish("records", place)
    return results, place


DAMAGES = {
    "a file is missing": lambda place: (place / "part-1.parquet").unlink(),
    "a file is there twice": lambda place: shutil.copy(place / "part-1.parquet", place / "copied"),
    "a file is cut": lambda place: (place / "part-0.parquet").write_bytes(b"some"),
    "the folder is gone": shutil.rmtree,
    "a link is in its place": lambda place: place.symlink_to(place.rename(place.parent / "moved")),
    "the note leads elsewhere": lambda place: (place.parent / "records.whole").write_text(
        json.dumps({"folder": "../records-0123456789abcdef", "files": {}})
    ),
    "the note is cut": lambda place: (place.parent / "records.whole").write_text('{"folder": "re'),
    "the note is an older version's": lambda place: (place.parent / "records.whole").write_text(
        place.name
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_result_that_is_not_what_it_was_is_none(damage, tmp_path):
    results, place = whole(tmp_path)
    assert results.has("records")
    assert results.place("records") == str(place)
    DAMAGES[damage](place)
    assert not results.has("records")
    with pytest.raises(EngineFailed, match="missing or damaged; remove the folder"):
        results.place("records")
    again = results.begin("records")
    again.mkdir()
    results.finish("records", again)
    assert results.place("records") == str(again)


def test_nobody_else_may_read_a_result(tmp_path):
    _, place = whole(tmp_path)
    assert stat.S_IMODE(place.stat().st_mode) == 0o700
    assert {stat.S_IMODE(file.stat().st_mode) for file in place.iterdir()} == {0o600}


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
