"""A child process of Prefect's that never outlives the process that started it.

Its standard input is a pipe that only the parent holds open and never writes to. However the
parent ends (an exit, an interrupt, a SIGKILL), the system closes the pipe, and the child ends with
all processes that it started.
"""

import os
import runpy
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

# A folder that lives as long as the child does.
SCRATCH = "HYBRIDDP_SCRATCH"
_GRACE_SECONDS = 0.8
_CHECKOUT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Child:
    """A process that ends when this one does."""

    process: subprocess.Popen[bytes]

    @classmethod
    def start(
        cls,
        *arguments: str,
        environment: Mapping[str, str],
        folder: Path = _CHECKOUT,
        listener: socket.socket | None = None,
        is_quiet: bool = False,
    ) -> "Child":
        """Start this module in a folder; it takes over the listening socket."""
        descriptors = () if listener is None else (listener.fileno(),)
        command = [sys.executable, "-m", "flows.server.tied", *arguments, *map(str, descriptors)]
        paths = [str(_CHECKOUT), environment.get("PYTHONPATH", "")]
        process = subprocess.Popen(
            command,
            env={**environment, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL if is_quiet else None,
            pass_fds=descriptors,
            start_new_session=True,  # a Ctrl-C is for the parent, which then stops its children
        )
        if listener is not None:
            listener.close()  # from now on the port is open only as long as the child lives
        return cls(process)

    def stop(self) -> None:
        """Ask the child to finish; end it, and all that it started, if it takes a moment longer."""
        started = descendants(self.process.pid)
        if self.process.poll() is None:
            self.process.terminate()
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(_GRACE_SECONDS)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for process in started:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        self.process.wait()
        if self.process.stdin is not None:
            self.process.stdin.close()


def listen(port: int) -> socket.socket:
    """Open a port of this machine for this machine only; 0 takes any that is free."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen(128)
    except OSError:
        listener.close()
        raise
    return listener


def _end_with_the_parent() -> None:
    """Wait in the background for the pipe's end, then end this process and all it started."""
    pipe = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)  # what this process starts has another input

    def wait() -> None:
        while os.read(pipe, 1):
            pass
        _remove_scratch()
        # A worker's runs have sessions of their own.
        for process in descendants(os.getpid()):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, signal.SIGKILL)
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def descendants(ancestor: int) -> list[int]:
    """Return all processes that a process started, and those that they started."""
    table = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False
    ).stdout
    children: dict[int, list[int]] = {}
    for line in table.splitlines():
        child, parent = map(int, line.split())
        children.setdefault(parent, []).append(child)
    found = list(children.get(ancestor, []))
    for process in found:  # which grows meanwhile
        found += children.get(process, [])
    return found


def _remove_scratch() -> None:
    if scratch := os.environ.get(SCRATCH):
        shutil.rmtree(scratch, ignore_errors=True)


def _serve(descriptor: int, *, has_pages: bool) -> None:
    """Run Prefect's server on a socket that listens already."""
    os.umask(0o077)  # its database is for the curator only
    import uvicorn
    from prefect.server.api.server import create_app

    config = uvicorn.Config(
        create_app(final=True, ephemeral=not has_pages),
        lifespan="on",
        log_level="warning" if has_pages else "error",
        timeout_graceful_shutdown=1,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=descriptor)])


def main() -> None:
    """Be a server with pages, a temporary server, or any command of Prefect's."""
    _end_with_the_parent()
    what, *rest = sys.argv[1:]
    try:
        if what == "prefect":
            sys.argv = ["prefect", *rest]
            runpy.run_module("prefect", run_name="__main__")
        else:
            # uvicorn raises the signal again that ended it; it must not end the cleaning up.
            signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
            _serve(int(rest[0]), has_pages=what == "pages")
    finally:
        _remove_scratch()


if __name__ == "__main__":
    main()
