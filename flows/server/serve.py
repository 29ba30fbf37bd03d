"""`make serve`: Prefect's server, a worker and every deployment of prefect.yaml, on loopback."""

import os
import signal
import socket
import sys
import time
from pathlib import Path

from flows.server.cut_off import end_cut_off_runs, is_alone
from flows.server.door import SERVER_KEY, guarded_settings, key_file, server_key
from flows.server.empty_database import DATABASE, DATABASE_URL, fault_of, lend
from flows.server.environment import configure
from flows.server.temporary import DATABASE_SETTINGS, wait_until_healthy
from flows.server.tied import Child, listen
from hybriddp.errors import HybridDPError, InvalidParameter, require
from tasks.release.refusals import BadInput
from tasks.store.home import Home
from tasks.store.keys import make_home

CHECKOUT = Path(__file__).parents[2]
POOL = "hybriddp"
_INCOMING = "incoming"  # the folder that prefect.yaml's deployments read
_STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Stopped(BaseException):
    """Somebody asked this process to end."""


def main() -> int:
    """Start everything, say where it is, and stop it all on Ctrl-C or SIGTERM."""
    for number in _STOPS:
        signal.signal(number, _stop_now)
    children: list[Child] = []
    try:
        _start_all(children)
        return _wait_for_any(children)
    except Stopped:
        return 0
    except HybridDPError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2 if isinstance(error, BadInput | InvalidParameter) else 1
    finally:
        for number in _STOPS:
            signal.signal(number, signal.SIG_IGN)
        for child in reversed(children):  # the worker first: it reports to the server
            child.stop()


def _stop_now(_signal: int, _frame: object) -> None:
    raise Stopped


def _start_all(children: list[Child]) -> None:
    make_home()  # a set-up command: who starts a server wants a home
    home = configure(None, quiet=False)
    port = os.environ.get("HYBRIDDP_PORT", "4200")
    require(port.isdecimal(), "HYBRIDDP_PORT must be a number", repr(port), "take 4200")
    _require_whole_database(home)
    try:
        listener = listen(int(port))
    except (OSError, OverflowError):
        raise BadInput(f"port {port} is taken; set HYBRIDDP_PORT to another one.") from None
    settings = guarded_settings(int(port), os.environ.get(SERVER_KEY) or server_key(home))
    environment = os.environ | settings | {"HYBRIDDP_CHECKOUT": str(CHECKOUT)}
    environment.setdefault("PREFECT_WORKER_QUERY_SECONDS", "3")
    (CHECKOUT / _INCOMING).mkdir(exist_ok=True)
    _say("Starting the Prefect server ...")
    _start_server(children, home, listener, environment)
    pool = ("work-pool", "create", POOL, "--type", "process", "--overwrite")
    for arguments in (
        (*pool, "--base-job-template", "work_pool.json"),
        ("--no-prompt", "deploy", "--all"),
    ):
        _say(f"prefect {' '.join(arguments)} ...")
        _run(children, arguments, environment)
    worker = ("prefect", "worker", "start", "--pool", POOL, "--type", "process")
    children.append(Child.start(*worker, environment=environment))
    url = settings["PREFECT_API_URL"].removesuffix("/api")
    _say(
        f"\nPrefect's pages: {url}\nDeployments: {url}/deployments\nHome: {home.root}\n"
        f"The pages ask for a key once: it is the line in {key_file(home)}, which only you can "
        f"read.\nLogs: {CHECKOUT / _INCOMING}\nCtrl-C stops everything."
    )


def _start_server(
    children: list[Child], home: Home, listener: socket.socket, environment: dict[str, str]
) -> None:
    # A database that somebody named may be other servers' too, and their runs may go on.
    is_own_database = not any(os.environ.get(name) for name in DATABASE_SETTINGS)
    has_no_runs = is_alone(home) and is_own_database
    if is_own_database:
        environment = environment | {DATABASE_SETTINGS[0]: DATABASE_URL}
    server = Child.start("pages", environment=environment, folder=home.prefect, listener=listener)
    children.append(server)
    wait_until_healthy(environment["PREFECT_API_URL"], server)
    try:
        if has_no_runs and (n_ended := end_cut_off_runs(environment, POOL)):
            _say(f"Runs that ended with an earlier `make serve`, marked as crashed: {n_ended}.")
    except OSError:
        _say("Runs that ended with an earlier `make serve` may still be shown as running.")


def _say(text: str) -> None:
    print(text, flush=True)


def _run(children: list[Child], arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Run one of Prefect's commands to its end."""
    child = Child.start("prefect", *arguments, environment=environment, is_quiet=True)
    children.append(child)
    if child.process.wait() != 0:
        raise HybridDPError(f"`prefect {' '.join(arguments)}` failed; its reason stands above.")
    children.remove(child)
    child.stop()


def _require_whole_database(home: Home) -> None:
    """Begin a history of runs; refuse a damaged one at once: Prefect would try for minutes."""
    home.prefect.mkdir(mode=0o700, exist_ok=True)
    database = home.prefect / DATABASE
    if not database.exists():
        lend(home, home.prefect)
    elif fault := fault_of(database):
        raise HybridDPError(
            f"{database} is damaged ({fault}). It holds the history of runs only; what was paid "
            "and drawn is in the ledger. Move it away, with the files whose names begin like its "
            "name, and start again."
        )


def _wait_for_any(children: list[Child]) -> int:
    """Wait until a child ends, and return its exit code: without one of them nothing works."""
    while True:
        for child in children:
            code = child.process.poll()
            if code is not None:
                return code
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main())
