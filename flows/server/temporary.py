"""The Prefect server of one command: behind its own key, and gone when the command is.

Its database is thrown away with it: run records are for the pages of `make serve`, and what was
paid and drawn is in the ledger.
"""

import atexit
import fcntl
import os
import shutil
import time
import urllib.error
import urllib.request
import uuid
from dataclasses import dataclass
from pathlib import Path

from flows.server.door import guarded_settings, key_for, new_key, require_entry
from flows.server.empty_database import DATABASE, DATABASE_URL, URL_SETTING, keep, lend
from flows.server.tied import SCRATCH, Child, listen
from hybriddp.errors import HybridDPError
from tasks.store.home import Home

STARTUP_SECONDS = 150
DATABASE_SETTINGS = (URL_SETTING, "PREFECT_API_DATABASE_CONNECTION_URL")


class ServerFailed(HybridDPError):
    """Prefect's server does not start."""


@dataclass(frozen=True)
class Server:
    """A server on this machine that a command can use."""

    url: str
    child: Child | None = None
    to_keep: tuple[Home, Path] | None = None  # a database that was made for it

    def wait(self) -> None:
        """Return when the server answers."""
        if self.child is None:
            return
        wait_until_healthy(self.url, self.child)
        if self.to_keep is not None:
            keep(*self.to_keep)


def begin(home: Home) -> Server:
    """Use the server that PREFECT_API_URL names, else start one; call it before importing prefect.

    The caller may do other things until it needs the server.
    """
    url = os.environ.get("PREFECT_API_URL")
    if not url:
        return _start(home)
    key = key_for(url, home)
    require_entry(url, key)
    if key is not None:
        os.environ["PREFECT_API_AUTH_STRING"] = key
    return Server(url)


def _start(home: Home) -> Server:
    """Start a server that only this process has the key to."""
    scratch = _new_scratch(home)
    has_copy = lend(home, scratch)
    listener = listen(0)
    settings = guarded_settings(listener.getsockname()[1], new_key())
    os.environ.update(settings)
    environment = {n: v for n, v in os.environ.items() if n not in DATABASE_SETTINGS} | {
        URL_SETTING: DATABASE_URL,
        SCRATCH: str(scratch),
        "PREFECT_HOME": str(scratch),
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_API_BLOCKS_REGISTER_ON_START": "false",  # nothing here stores a block
    }
    child = Child.start("server", environment=environment, folder=scratch, listener=listener)
    atexit.register(_end, child, scratch)
    to_keep = None if has_copy else (home, scratch / DATABASE)
    return Server(settings["PREFECT_API_URL"], child, to_keep)


def _end(child: Child, scratch: Path) -> None:
    child.stop()
    shutil.rmtree(scratch, ignore_errors=True)


def _new_scratch(home: Home) -> Path:
    """Make a folder that is this process's while it lives, and remove those of dead ones."""
    runs = home.prefect / "runs"
    with home.locked("prefect-runs"):
        for folder in (home.prefect, runs):
            folder.mkdir(mode=0o700, exist_ok=True)
        for old in runs.iterdir():
            if _is_abandoned(old):
                shutil.rmtree(old, ignore_errors=True)
        scratch = runs / uuid.uuid4().hex
        scratch.mkdir(mode=0o700)
        held = os.open(scratch / "in-use.lock", os.O_CREAT | os.O_RDWR, 0o600)
        fcntl.flock(held, fcntl.LOCK_EX)  # until this process ends; no child inherits it
    return scratch


def _is_abandoned(folder: Path) -> bool:
    try:
        with (folder / "in-use.lock").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except BlockingIOError:
        return False
    except OSError:
        return True


def wait_until_healthy(url: str, child: Child) -> None:
    """Wait until a server that was started answers."""
    deadline = time.monotonic() + STARTUP_SECONDS
    while time.monotonic() < deadline:
        if child.process.poll() is not None:
            raise ServerFailed("Prefect's server stopped at once. `hybriddp doctor` may help.")
        try:
            with urllib.request.urlopen(f"{url}/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    raise ServerFailed(f"Prefect's server did not answer within {STARTUP_SECONDS} s; try again.")
