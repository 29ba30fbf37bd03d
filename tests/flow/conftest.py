"""A real Prefect server with its worker and deployments, as `make serve` starts them."""

import base64
import functools
import itertools
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.flow.logs import BLOCKED, write_searches
from tests.homes import new_home
from tests.patience import PATIENCE
from tests.repository import ROOT

FINAL = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}


@dataclass
class Served:
    """What `make serve` started, seen through HTTP."""

    url: str
    home: Path
    output: Path
    environment: dict[str, str]
    process: subprocess.Popen[bytes]

    @functools.cached_property
    def key(self) -> str:
        return (self.home / "private" / "prefect" / "api.auth").read_text().strip()

    @functools.cached_property
    def headers(self) -> dict[str, str]:
        """What every call needs: the key and, as a page sends it, a token against forgery."""
        token = base64.b64encode(self.key.encode()).decode()
        headers = {"content-type": "application/json", "authorization": f"Basic {token}"}
        answer = self.call("GET", "/csrf-token?client=tests", headers=headers)
        return headers | {
            "prefect-csrf-token": answer["token"],
            "prefect-csrf-client": "tests",
        }

    def call(self, method: str, path: str, body: object = None, headers=None):
        data = None if body is None else json.dumps(body).encode()
        headers = self.headers if headers is None else headers
        request = urllib.request.Request(f"{self.url}/api{path}", data, headers, method=method)
        for _ in range(5):
            try:
                # The server may wait for its database; a question that gets lost is asked again.
                patience = 30 if method == "GET" else 120
                with urllib.request.urlopen(request, timeout=patience) as answer:
                    return json.load(answer) if answer.status != 204 else None
            except TimeoutError:
                refusal = {"status": 0, "detail": f"no answer to {method} {path}"}
                if method != "GET":
                    break
            except urllib.error.HTTPError as error:
                with error:
                    refusal = {"status": error.code, "detail": error.read().decode()}
                if error.code < 500:
                    break
                time.sleep(0.5)  # a busy database; Prefect's own client tries again too
        return refusal

    def deployment(self, name: str) -> str:
        return self.call("GET", f"/deployments/name/{name}")["id"]

    def start(self, deployment: str, request: dict) -> str:
        body = {"parameters": {"request": request}}
        path = f"/deployments/{self.deployment(deployment)}/create_flow_run"
        answer = self.call("POST", path, body)
        assert "id" in answer, answer
        return answer["id"]

    def wait(self, run_id: str, *wanted: str) -> dict:
        """Wait until a run is in a wanted state or a final one, and return that state."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            answer = self.call("GET", f"/flow_runs/{run_id}")
            state = answer.get("state")  # none if the server was too busy to say
            if state and (state["name"] in wanted or state["type"] in FINAL):
                return state
            time.sleep(0.5)
        raise AssertionError(f"run {run_id} after {PATIENCE} s: {answer}")

    def resume(self, run_id: str, decision: str) -> None:
        """Answer a run that waits for a sign-off."""
        body = {"run_input": {"decision": decision}}
        answer = self.call("POST", f"/flow_runs/{run_id}/resume", body)
        assert answer["status"] == "ACCEPT", answer

    def wait_for_words(self, words: str) -> None:
        """Wait until `make serve` has said something."""
        deadline = time.monotonic() + PATIENCE
        while words not in (said := self.output.read_text()):
            assert self.process.poll() is None, said[-2000:]
            assert time.monotonic() < deadline, said[-2000:]
            time.sleep(0.1)

    def serve_again(self) -> None:
        """Start `make serve` in the same home, at the same port, after it has ended."""
        environment = {k: v for k, v in self.environment.items() if k != "PREFECT_API_URL"}
        self.process = serve(environment, self.output)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run the command line in some home against this server, with its key."""
        return run_command(*arguments, environment=self.with_key)

    @property
    def with_key(self) -> dict[str, str]:
        return self.environment | {"PREFECT_API_AUTH_STRING": self.key}


def run_command(*arguments: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "flows", *arguments],
        cwd=ROOT, env=environment, capture_output=True, text=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def serve(environment: dict[str, str], output: Path) -> subprocess.Popen[bytes]:
    with output.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "flows.server.serve"],
            cwd=ROOT, env=environment, stdout=log, stderr=subprocess.STDOUT,
        )  # fmt: skip


def states_of_tasks(served: Served, run: str) -> list[dict]:
    wanted = {"flow_runs": {"id": {"any_": [run]}}}
    return [task["state"] for task in served.call("POST", "/task_runs/filter", wanted)]


def wait_until(is_so, what: str) -> None:
    """Wait for an event; the bound is for what never happens."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{pid}/stat")  # a dead child of a dead parent may wait for its burial
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


# Below those that the system gives away by itself, and elsewhere than another process looks.
_PORTS = itertools.count(20_000 + os.getpid() * 7 % 10_000)


def free_port() -> int:
    """Return a port that nobody listens at, and that nobody else is likely to take meanwhile."""
    return next(port for port in _PORTS if not is_open(port))


@pytest.fixture(scope="package")
def served(tmp_path_factory):
    """Everything that `make serve` starts, for this room's tests only: it works while it waits."""
    folder = tmp_path_factory.mktemp("served")
    home, output, port = new_home(folder / "home").root, folder / "serve.log", free_port()
    environment = os.environ | {
        "HYBRIDDP_HOME": str(home),
        "HYBRIDDP_PORT": str(port),
        # The same scheduler and worker as ever, but they look more often.
        "PREFECT_SERVER_SERVICES_SCHEDULER_LOOP_SECONDS": "5",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
    }
    url = f"http://127.0.0.1:{port}"
    # Its address makes commands use the server.
    commands = environment | {"PREFECT_API_URL": f"{url}/api"}
    served = Served(url, home, output, commands, serve(environment, output))
    try:
        served.wait_for_words("Ctrl-C stops everything")
        yield served
    finally:
        said_before = len(output.read_text())
        served.process.send_signal(signal.SIGTERM)
        assert served.process.wait(timeout=PATIENCE) == 0
        assert "Traceback" not in output.read_text()[said_before:]


@pytest.fixture(scope="session")
def searches(tmp_path_factory) -> Path:
    """A log of 3,000 people with a popular head, planted secrets, and a query that is blocked."""
    path = tmp_path_factory.mktemp("logs") / "searches.tsv"
    write_searches(path, 3_000, BLOCKED)
    blocklist_of(path).write_text(f"{BLOCKED[0]}\n")
    return path


def blocklist_of(log: Path) -> Path:
    return log.with_name("blocklist.txt")
