"""A real cluster on this machine: a master, two workers, and one of them killed in mid-release."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from tasks.ledger.payloads import Reserved
from tasks.ledger.rules import Kind
from tests.homes import new_home, steps_of
from tests.patience import PATIENCE
from tests.repository import ROOT
from tests.spark import test_release
from tests.spark.test_release import homes

log = test_release.log  # a fixture

RELEASE = """
import sys
from pathlib import Path
from tasks.products.head_list.request import ReleaseRequest
from tasks.products.head_list.run import identify
from tasks.release.walk import run_release
from tasks.store.home import Home
from tests.release.support import waive_gates
waive_gates(setattr)
request = ReleaseRequest(log=Path(sys.argv[2]), epoch="2026-W46", optin_fraction=0.4,
                         ignore_plan=True, engine=sys.argv[3])
run_release(identify(request, Home.open(Path(sys.argv[1]))))
"""


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def until(condition, what):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.2)
    return found


class Cluster:
    """A standalone cluster on loopback; whatever it starts ends with it."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        import pyspark

        self._home, self._stack, self._folder = Path(pyspark.__path__[0]), stack, folder
        self._env = os.environ | {
            "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT),
            "SPARK_NO_DAEMONIZE": "1",
        }  # fmt: skip
        port, page = free_port(), free_port()
        self.address = f"spark://127.0.0.1:{port}"
        self._start(
            "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)
        )
        until(lambda: _listens(port), "the master starts")
        self.workers = [self._worker(number) for number in range(2)]

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        return self._start(
            "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g",
            "--webui-port", str(free_port()), "--work-dir", str(self._folder / f"worker-{number}"),
            self.address,
        )  # fmt: skip

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        command = [str(self._home / "bin/spark-class"), f"org.apache.spark.deploy.{name}"]
        child = subprocess.Popen(
            [*command, *arguments], env=self._env, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._stack.callback(_end, child)
        return child

    def release(self, home: Path, log: Path) -> subprocess.Popen[bytes]:
        """Begin a release."""
        child = subprocess.Popen(
            [sys.executable, "-c", RELEASE, str(home), str(log), "spark"], cwd=ROOT,
            env=self._env | {"HYBRIDDP_SPARK": self.address}, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=(self._folder / "errors").open("wb"),
        )  # fmt: skip
        self._stack.callback(_end, child)
        return child

    def errors(self) -> str:
        """What the release said."""
        return (self._folder / "errors").read_text()[-2_000:]


def _listens(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a process that we started, and those that it started: they are one session."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


@pytest.mark.kills
@pytest.mark.slow
def test_a_worker_and_its_executor_die_in_the_middle(log, tmp_path):
    """The release ends as if nothing had happened: one charge, and the people of DuckDB's."""
    made = homes(tmp_path)
    usual = subprocess.run(
        [sys.executable, "-c", RELEASE, str(made["duckdb"].root), str(log), "duckdb"],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, check=False, capture_output=True,
    )  # fmt: skip
    assert usual.returncode == 0, usual.stderr.decode()[-2_000:]
    with ExitStack() as stack:
        cluster = Cluster(tmp_path, stack)
        release = cluster.release(made["spark"].root, log)
        notes = made["spark"].root / "private"
        until(lambda: release.poll() is not None or any(notes.rglob("stg_log.json")), "a result")
        assert release.poll() is None, cluster.errors()
        _end(cluster.workers[0])
        assert release.wait(PATIENCE) == 0, cluster.errors()
    said = {}
    for engine, home in made.items():
        rows = steps_of(new_home(home.root))
        [row] = [row for row in rows if row.kind is Kind.RESERVED]
        said[engine] = row.said(Reserved).participation
        assert [row.kind for row in rows].count(Kind.DRAWN) == 3
    assert said["duckdb"] == said["spark"], json.dumps(said)
