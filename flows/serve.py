"""`make serve`: Prefect's server, a worker and every deployment of prefect.yaml, on loopback."""

import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from flows.environment import configure
from tasks.keys import make_home

CHECKOUT = Path(__file__).parents[1]
POOL = "hybriddp"
_STARTUP_SECONDS = 150


def main() -> int:
    """Start everything, say where it is, and stop it all on Ctrl-C or SIGTERM."""
    make_home()  # a set-up command: who starts a server wants a home
    home = configure(None, quiet=False)
    port = os.environ.get("HYBRIDDP_PORT", "4200")
    url = f"http://127.0.0.1:{port}"
    environment = os.environ | {
        "PREFECT_API_URL": f"{url}/api",
        "PREFECT_UI_API_URL": f"{url}/api",
        "PREFECT_WORKER_QUERY_SECONDS": "3",
        "HYBRIDDP_CHECKOUT": str(CHECKOUT),
    }
    children: list[subprocess.Popen[bytes]] = []

    def start(*arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "prefect", *arguments]
        child = subprocess.Popen(command, env=environment, cwd=CHECKOUT)
        children.append(child)
        return child

    def stop(_signal: int, _frame: object) -> None:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, stop)
    try:
        print("Starting the Prefect server ...", flush=True)
        server = start("server", "start", "--host", "127.0.0.1", "--port", port)
        _wait_until_healthy(f"{url}/api/health", server)
        for arguments in (
            ("work-pool", "create", POOL, "--type", "process", "--overwrite"),
            ("--no-prompt", "deploy", "--all"),
        ):
            print(f"prefect {' '.join(arguments)} ...", flush=True)
            subprocess.run(
                [sys.executable, "-m", "prefect", *arguments],
                env=environment,
                cwd=CHECKOUT,
                check=True,
                stdout=subprocess.DEVNULL,
            )
        start("worker", "start", "--pool", POOL, "--type", "process")
        print(
            f"\nPrefect's pages: {url}\nDeployments: {url}/deployments\nHome: {home.root}\n"
            "Ctrl-C stops everything.",
            flush=True,
        )
        return _wait_for_any(children)
    except KeyboardInterrupt:
        return 0
    except (RuntimeError, subprocess.CalledProcessError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    finally:
        _stop(children)


def _wait_until_healthy(url: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _STARTUP_SECONDS
    while time.monotonic() < deadline:
        if server.poll() is not None:
            raise RuntimeError(
                "the Prefect server stopped at once; is the port taken? Set HYBRIDDP_PORT."
            )
        try:
            with urllib.request.urlopen(url, timeout=2):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    raise RuntimeError(f"the Prefect server did not answer within {_STARTUP_SECONDS} s.")


def _wait_for_any(children: list[subprocess.Popen[bytes]]) -> int:
    """Wait until a child ends, and return its exit code: without one of them nothing works."""
    while True:
        for child in children:
            code = child.poll()
            if code is not None:
                return code
        time.sleep(1)


def _stop(children: list[subprocess.Popen[bytes]]) -> None:
    for child in reversed(children):
        child.terminate()
    for child in children:
        try:
            child.wait(timeout=20)
        except subprocess.TimeoutExpired:
            child.kill()


if __name__ == "__main__":
    sys.exit(main())
