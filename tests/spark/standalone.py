"""A real cluster on loopback: a master, two workers, and a Spark Connect server."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.patience import PATIENCE

N_WORKERS = 2


def free_port() -> int:
    """Return a port that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait until something is there, and return it."""
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, what
        time.sleep(0.1)
    return found


class Cluster:
    """A standalone cluster; whatever it starts ends with it."""

    def __init__(self, folder: Path, stack: ExitStack, **settings: str) -> None:
        import pyspark

        self._home, self._stack, self._folder = Path(pyspark.__path__[0]), stack, folder
        conf = folder / "conf"
        conf.mkdir(parents=True)
        usual = {"spark.sql.shuffle.partitions": "2", "spark.sql.adaptive.enabled": "false"}
        lines = [f"{name} {value}\n" for name, value in (usual | settings).items()]
        (conf / "spark-defaults.conf").write_text("".join(lines))
        # Workers have no path to our code: it is sent to them.
        self._env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
            "SPARK_HOME": str(self._home), "SPARK_CONF_DIR": str(conf),
            "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable,
            "PYTHONWARNINGS": "ignore::FutureWarning",
        }  # fmt: skip
        port, page = free_port(), free_port()
        self.address = f"spark://127.0.0.1:{port}"
        names = ("SPARK_HOME", "SPARK_CONF_DIR", "SPARK_LOCAL_IP", "PYSPARK_PYTHON")
        self.driver = {name: self._env[name] for name in names} | {"HYBRIDDP_SPARK": self.address}
        self.master = self._start(
            "master.Master", "--host", "127.0.0.1", "--port", str(port), "--webui-port", str(page)
        )
        until(lambda: listens(port), "the master starts")
        self.workers = [self._worker(number) for number in range(N_WORKERS)]

    def replace_dead_workers(self) -> int:
        """Start a worker for each that died; return how many."""
        dead = [n for n, worker in enumerate(self.workers) if worker.poll() is not None]
        for number in dead:
            self.workers[number] = self._worker(number)
        return len(dead)

    def kill(self) -> None:
        """Kill the master, and the workers with their executors."""
        for child in (self.master, *self.workers):
            end(child)

    def connect_server(self, *settings: str) -> str:
        """Start a Spark Connect server on this cluster; return its address."""
        port = free_port()
        own = [
            "spark.ui.enabled=false", "spark.connect.grpc.binding.address=127.0.0.1",
            f"spark.connect.grpc.binding.port={port}", *settings,
        ]  # fmt: skip
        self.server = self._run(
            [
                "bin/spark-submit", "--master", self.address,
                "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
                *(word for setting in own for word in ("--conf", setting)), "spark-internal",
            ]
        )  # fmt: skip
        until(lambda: listens(port), "the Connect server starts")
        return f"sc://127.0.0.1:{port}"

    def _worker(self, number: int) -> subprocess.Popen[bytes]:
        return self._start(
            "worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory", "1g",
            "--webui-port", str(free_port()), "--work-dir", str(self._folder / f"worker-{number}"),
            self.address,
        )  # fmt: skip

    def _start(self, name: str, *arguments: str) -> subprocess.Popen[bytes]:
        return self._run(["bin/spark-class", f"org.apache.spark.deploy.{name}", *arguments])

    def _run(self, command: list[str]) -> subprocess.Popen[bytes]:
        child = subprocess.Popen(
            [str(self._home / command[0]), *command[1:]], env=self._env, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=(self._folder / "said").open("ab"),
        )  # fmt: skip
        self._stack.callback(end, child)
        return child


def listens(port: int) -> bool:
    """Whether somebody listens at a port of this machine."""
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def end(child: subprocess.Popen[bytes]) -> None:
    """End a process that we started, and those that it started: they are one session."""
    if child.poll() is None:
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
