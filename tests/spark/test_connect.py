"""A whole release through a real Spark Connect server, from where there is no Java."""

import shutil
from contextlib import ExitStack

import pytest

from tests.homes import new_home
from tests.release.faults import read_lines, run_child, run_until
from tests.release.support import request_for
from tests.spark.faults import on_cluster
from tests.spark.standalone import Cluster
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
