"""A whole release through a real Spark Connect server, from where there is no Java."""

import shutil
from contextlib import ExitStack

import pytest

from tasks.ledger.rules import Kind
from tests.homes import new_home, steps_of
from tests.release.faults import (
    join,
    read_lines,
    run_child,
    run_to_the_end,
    run_until,
    start_child,
)
from tests.release.support import request_for
from tests.spark.faults import Plan, Whom, on_cluster, reached_in
from tests.spark.standalone import Cluster, end, until
from tests.spark.test_release import SECRET, require_nothing_private, secret_log
from tests.spark.watched import charged


@pytest.mark.slow
def test_it_is_what_duckdb_decides_and_tells_nothing(tmp_path):
    new_home(tmp_path / "duckdb/home", known_keys=True)
    shutil.copytree(tmp_path / "duckdb", tmp_path / "spark")
    log, events, nothing = secret_log(tmp_path), tmp_path / "events", tmp_path / "nothing"
    events.mkdir()
    nothing.mkdir()
    found = {}
    with ExitStack() as stack:
        cluster = Cluster(tmp_path / "cluster", stack)
        server = cluster.connect_server(
            "spark.eventLog.enabled=true", f"spark.eventLog.dir={events.as_uri()}",
            "spark.eventLog.compress=false",
        )  # fmt: skip
        without_java = {"HYBRIDDP_SPARK": server, "PATH": str(nothing), "JAVA_HOME": str(nothing)}
        for engine, env in (("duckdb", {}), ("spark", without_java)):
            root = tmp_path / engine
            request = request_for(log, columns={}, optin_fraction=0.4, engine=engine)
            assert run_child(on_cluster, env, None, run_until, root, request, None) == 0
            home = new_home(root / "home")
            found[engine] = charged(home), read_lines(root / "counted")
    assert found["duckdb"] == found["spark"]
    said = "".join(path.read_text() for path in events.rglob("*") if path.is_file())
    assert "MapInArrow" in said
    assert SECRET in log.read_text()
    require_nothing_private(said, home)


def impatiently(*args):
    """Run a release that asks a server which does not answer for a second, not for two minutes."""
    from tasks.log.spark import session

    session._MOST_RETRIES = 3
    on_cluster(*args)


@pytest.mark.slow
@pytest.mark.kills
def test_a_server_that_dies_is_refused_and_the_release_goes_on_behind_another(tmp_path):
    log = secret_log(tmp_path)
    new_home(tmp_path / "duckdb/home", known_keys=True)
    root = shutil.copytree(tmp_path / "duckdb", tmp_path / "spark")
    asked = {"columns": {}, "optin_fraction": 0.4}
    in_peace = request_for(log, engine="duckdb", **asked)
    assert run_child(on_cluster, {}, None, run_until, tmp_path / "duckdb", in_peace, None) == 0
    request = request_for(log, engine="spark", **asked)
    waits = Plan(Whom.WAIT, only="step-headlist_counts")  # between the charge and the first draw
    with ExitStack() as stack:
        cluster = Cluster(tmp_path / "cluster", stack)
        env = {"HYBRIDDP_SPARK": cluster.connect_server()}
        release = start_child(impatiently, env, waits, run_to_the_end, root, request)
        until(lambda: reached_in(root) or not release.is_alive(), "the step runs")
        end(cluster.server)
        assert join(release) == 1
        [outcome] = read_lines(root / "outcome")
        assert "EngineLost: step head_list/headlist_counts was not finished" in outcome["failed"]
        assert [row.kind for row in steps_of(new_home(root / "home"))] == [Kind.RESERVED]
        env = {"HYBRIDDP_SPARK": cluster.connect_server()}
        assert run_child(on_cluster, env, None, run_to_the_end, root, request) == 0
    assert charged(new_home(root / "home")) == charged(new_home(tmp_path / "duckdb/home"))
    assert read_lines(root / "counted") == read_lines(tmp_path / "duckdb/counted")
