"""Runs that ended with an earlier `make serve`: Prefect would show them as running for ever.

A run's process never outlives the `make serve` that started it (flows/server/tied.py), so whoever
starts alone in a home knows that no run of its worker goes on. Runs that wait for a sign-off have
no process either way, and keep waiting.
"""

import base64
import fcntl
import json
import os
import urllib.request
from collections.abc import Mapping
from typing import Any

from flows.server.door import SERVER_KEY
from tasks.store.home import Home

MESSAGE = (
    "`make serve` ended while this ran. Run it again: what was drawn is stored, and nothing is "
    "paid twice unless you ask for it."
)
_WITH_A_PROCESS = {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}
_CRASHED = {"state": {"type": "CRASHED", "name": "Crashed", "message": MESSAGE}, "force": True}
_CLIENT = "make-serve"
_ANSWER_SECONDS = 60


def is_alone(home: Home) -> bool:
    """Whether no other `make serve` serves this home; from now on this process does."""
    held = os.open(home.prefect / "serving.lock", os.O_CREAT | os.O_RDWR, 0o600)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    except BlockingIOError:
        return False
    finally:
        fcntl.flock(held, fcntl.LOCK_SH)  # until this process ends; no child inherits it


def end_cut_off_runs(settings: Mapping[str, str], pool: str) -> int:
    """Mark every run of this pool that had a process as crashed; return how many there were."""
    api = _Api(settings["PREFECT_API_URL"], settings[SERVER_KEY])
    of_the_pool = {"work_pools": {"name": {"any_": [pool]}}}
    runs = api.find("flow_runs", of_the_pool)
    for run in runs:
        # Its steps first: if this is interrupted, the next start finds the run again.
        for step in api.find("task_runs", {"flow_runs": {"id": {"any_": [run]}}}):
            api.post(f"/task_runs/{step}/set_state", _CRASHED)
        api.post(f"/flow_runs/{run}/set_state", _CRASHED)
    return len(runs)


class _Api:
    """Prefect's API, without importing Prefect: that takes seconds."""

    def __init__(self, url: str, key: str) -> None:
        self._url = url
        self._headers = {
            "content-type": "application/json",
            "authorization": f"Basic {base64.b64encode(key.encode()).decode()}",
        }
        token = self._ask("GET", f"/csrf-token?client={_CLIENT}", None)["token"]
        self._headers |= {"prefect-csrf-token": token, "prefect-csrf-client": _CLIENT}

    def find(self, kind: str, wanted: dict[str, Any]) -> list[str]:
        """Return the ids of runs that are shown as if they had a process."""
        found: list[str] = []
        while True:
            page = {**wanted, kind: _WITH_A_PROCESS, "offset": len(found)}
            some = self.post(f"/{kind}/filter", page)
            if not some:
                return found
            found += [run["id"] for run in some]

    def post(self, path: str, body: dict[str, Any]) -> Any:
        return self._ask("POST", path, json.dumps(body).encode())

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        request = urllib.request.Request(self._url + path, body, self._headers, method=method)
        with urllib.request.urlopen(request, timeout=_ANSWER_SECONDS) as answer:
            return json.load(answer)
