"""Who may call a Prefect server of ours, what they may ask for, and how long it lives."""

import base64
import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from flows.server.cut_off import MESSAGE, is_alone
from flows.server.tied import descendants
from tests.flow.conftest import (
    free_port,
    is_open,
    is_running,
    run_command,
    states_of_tasks,
    wait_until,
)
from tests.flow.logs import write_searches
from tests.homes import new_home
from tests.patience import PATIENCE
from tests.repository import ROOT

pytestmark = [pytest.mark.flow, pytest.mark.slow]


def basic(key: str) -> dict[str, str]:
    return {"authorization": f"Basic {base64.b64encode(key.encode()).decode()}"}


@pytest.mark.parametrize("headers", [{}, basic("hybriddp:guess"), {"authorization": "Basic x"}])
@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/work_pools/hybriddp"),
        ("GET", "/csrf-token?client=x"),
        ("POST", "/deployments/filter"),
        ("PATCH", "/work_pools/hybriddp"),
        ("POST", "/flow_runs/"),
    ],
)
def test_nobody_without_the_key_is_let_in(served, headers, method, path):
    answer = served.call(method, path, {} if method != "GET" else None, headers=headers)
    assert answer["status"] in (401, 403), answer


def test_events_take_no_message_without_the_key(served):
    address = served.url.replace("http", "ws") + "/api/events/in"
    with connect(address, subprotocols=["prefect"]) as socket:
        socket.send(json.dumps({"type": "auth", "token": "guess"}))
        with pytest.raises(ConnectionClosed):
            next(iter(socket))


def test_another_websites_page_is_not_answered(served):
    """Not read (CORS), and not even with the key may it change something (CSRF)."""
    for origin, is_allowed in ((served.url, True), ("http://evil.example", False)):
        request = urllib.request.Request(
            f"{served.url}/api/health", headers={"origin": origin, **basic(served.key)}
        )
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            allowed = answer.headers.get("access-control-allow-origin")
        assert (allowed == origin) is is_allowed
        assert allowed != "*"
    forged = served.call("POST", "/deployments/filter", {}, headers=basic(served.key))
    assert forged["status"] == 403


@pytest.mark.parametrize("name", ["command", "env", "working_dir", "env.PYTHONPATH"])
def test_a_request_cannot_say_what_the_worker_runs(served, tmp_path, name):
    """Neither for one run nor for a deployment; tests/flow/test_orchestrated.py has the worker."""
    marker = tmp_path / "marker"
    value = {"env": {"PATH": str(tmp_path)}}.get(name, f"touch {marker}")
    path = f"/deployments/{served.deployment('verify/verify')}"
    hostile = {"job_variables": {name: value}}
    refused = [served.call("POST", f"{path}/create_flow_run", hostile)]
    served.call("PATCH", path, hostile)
    try:
        refused.append(served.call("POST", f"{path}/create_flow_run", {}))
    finally:
        served.call("PATCH", path, {"job_variables": {}})
    for answer in refused:
        assert answer["status"] == 422, answer
        assert name in answer["detail"]
    assert not marker.exists()


def test_key_is_in_a_file_of_the_curator_and_nowhere_else(served):
    assert (served.home / "private" / "prefect" / "api.auth").stat().st_mode & 0o077 == 0
    assert (served.home / "private" / "prefect" / "prefect.db").stat().st_mode & 0o077 == 0
    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    secret = served.key.partition(":")[2]
    assert "flows.server.tied" in listed.stdout
    assert len(secret) >= 32
    assert secret not in listed.stdout + served.output.read_text()


def test_command_without_the_servers_key_says_so_at_once(served, tmp_path):
    write_searches(tmp_path / "log.tsv", 50)
    new_home(tmp_path / "home")
    done = run_command(
        "release", "--log", str(tmp_path / "log.tsv"), "--epoch", "2026-W46",
        "--home", str(tmp_path / "home"), environment=served.environment,
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    assert "does not know this home's key" in done.stderr


# Whoever runs the tests in the background has SIGINT ignored, and every child with them.
BEGIN = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from pathlib import Path
from flows.server.temporary import begin
from tasks.store.home import Home
server = begin(Home(Path(sys.argv[1])))
print(server.url, server.child.process.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_server_of_a_command_ends_with_it(tmp_path, number):
    home = new_home(tmp_path / "home")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT_")}
    parent = subprocess.Popen(
        [sys.executable, "-c", BEGIN, str(home.root)],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    with parent:
        url, pid = parent.stdout.readline().split()
        port = int(url.split(":")[2].split("/")[0])
        assert is_open(port)
        parent.send_signal(number)
        parent.wait(timeout=PATIENCE)
        wait_until(lambda: not is_running(int(pid)), "the server outlives its command")
        wait_until(lambda: not is_open(port), "its port is still open")
    # What a server killed in its first moments left is removed by the next command.
    assert len(list((home.prefect / "runs").iterdir())) <= 1


def serve(home: Path, port: int) -> subprocess.Popen[str]:
    environment = os.environ | {"HYBRIDDP_HOME": str(home), "HYBRIDDP_PORT": str(port)}
    return subprocess.Popen(
        [sys.executable, "-m", "flows.server.serve"],
        cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_serve_leaves_nothing_behind_when_it_ends_early(tmp_path, number):
    port = free_port()
    with serve(new_home(tmp_path).root, port) as process:
        assert "Starting" in process.stdout.readline()
        wait_until(lambda: is_open(port), "nothing listens")
        process.send_signal(number)
        code = process.wait(timeout=PATIENCE)
        said = process.stdout.read()
    assert code == (0 if number == signal.SIGTERM else -number)
    assert "Traceback" not in said
    wait_until(lambda: not is_open(port), "the server outlives `make serve`")


def test_damaged_history_is_named_at_once(tmp_path):
    home = new_home(tmp_path)
    home.prefect.mkdir()
    (home.prefect / "prefect.db").write_bytes(b"no database at all" * 500)
    with serve(home.root, free_port()) as process:
        said = process.stdout.read()
        assert process.wait(timeout=PATIENCE) == 1
    assert "prefect.db is damaged" in said
    assert "history of runs only" in said
    assert "Starting" not in said, "refused before a server is started"


def test_port_that_is_taken_is_named(served, tmp_path):
    port = int(served.url.rpartition(":")[2])
    with serve(new_home(tmp_path).root, port) as process:
        assert f"port {port} is taken" in process.stdout.read()
        assert process.wait(timeout=PATIENCE) == 2


def test_whoever_starts_in_a_home_knows_whether_others_serve_it(tmp_path):
    home = new_home(tmp_path)
    home.prefect.mkdir()
    assert is_alone(home)
    assert not is_alone(home), "the first one still serves"


def test_killed_serve_ends_its_runs_and_the_next_one_says_so(served, tmp_path):
    """Runs that wait for a person go on waiting, and runs of others are left alone."""
    path = f"/deployments/{served.deployment('verify/verify')}"
    paused = {"state": {"type": "PAUSED", "name": "Suspended"}}
    waiting = served.call("POST", f"{path}/create_flow_run", paused)["id"]
    own = {"flow_id": served.call("GET", path)["flow_id"], "state": {"type": "RUNNING"}}
    of_a_command = served.call("POST", "/flow_runs/", own)["id"]
    study = {"name": "zealous-parameters", "out": str(tmp_path / "study")}  # it takes minutes
    run = served.start("study/study", study)
    wait_until(lambda: states_of_tasks(served, run), "the study does not begin")
    processes = descendants(served.process.pid)
    listed = subprocess.run(["ps", "-eo", "pid=,args="], capture_output=True, text=True, check=True)
    runs = [line for line in listed.stdout.splitlines() if "prefect.engine" in line]
    assert {int(line.split()[0]) for line in runs} & set(processes), "the run has a process"
    served.process.kill()
    served.process.wait(timeout=PATIENCE)
    wait_until(lambda: not any(map(is_running, processes)), "a process outlives `make serve`")
    served.serve_again()
    served.wait_for_words("marked as crashed: 1.")
    state = served.wait(run)
    assert (state["type"], state["message"]) == ("CRASHED", MESSAGE)
    # On a quick machine its first cells are done before the kill; none may seem to run on.
    assert {task["type"] for task in states_of_tasks(served, run)} <= {"CRASHED", "COMPLETED"}
    assert served.call("GET", f"/flow_runs/{waiting}")["state"]["type"] == "PAUSED"
    assert served.call("GET", f"/flow_runs/{of_a_command}")["state"]["type"] == "RUNNING"
