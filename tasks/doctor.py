"""Find what is missing or misconfigured, and say how to mend it."""

import os
import shutil
import sqlite3
import stat
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from hybriddp.errors import HybridDPError
from tasks.home import Home
from tasks.keys import Keyring
from tasks.ledger_check import check_ledger

# Versions that were tried together; outside of these ranges things fail silently.
_TESTED = {
    "prefect": ("3.8.", "newer ones cannot be installed together with the rest"),
    "fastapi": ("0.1", "from 0.151 on deploying fails"),
    "sqlalchemy": ("2.0.", "from 2.1 on scheduled runs never start"),
    "duckdb": ("2.0.", "other versions cannot read each other's files"),
    "great_expectations": ("1.", "suites are written for version 1"),
    "opendp": ("0.16.", "noise was audited with this version"),
}
_ENOUGH_BYTES = 5_000_000_000


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    is_well: bool
    detail: str
    remedy: str = ""


def examine(home: Home) -> list[Finding]:
    """Look at everything; a check that fails is a finding, never an exception."""
    checks: list[tuple[str, Callable[[Home], Finding]]] = [
        ("python", _python),
        ("packages", _packages),
        ("private zone", _zones),
        ("disk", _disk),
        ("sqlite", _sqlite),
        ("keys", _keys),
        ("ledger", _ledger),
        ("telemetry", _telemetry),
    ]
    findings = []
    for name, check in checks:
        try:
            findings.append(check(home))
        except HybridDPError as error:
            findings.append(Finding(name, False, str(error)))
        except OSError as error:
            findings.append(Finding(name, False, type(error).__name__, "check the file system"))
    return findings


def _python(_home: Home) -> Finding:
    found = ".".join(map(str, sys.version_info[:3]))
    return Finding("python", sys.version_info >= (3, 11), found, "install Python 3.11 or newer")


def _packages(_home: Home) -> Finding:
    wrong = []
    for name, (prefix, why) in _TESTED.items():
        try:
            if not version(name).startswith(prefix):
                wrong.append(f"{name} {version(name)} ({why})")
        except PackageNotFoundError:
            wrong.append(f"{name} is not installed")
    return Finding("packages", not wrong, "; ".join(wrong) or "as tested", "run `make clean setup`")


def _zones(home: Home) -> Finding:
    is_closed = all(
        stat.S_IMODE(zone.stat().st_mode) & 0o077 == 0 for zone in (home.private, home.measurements)
    )
    return Finding("private zone", is_closed, str(home.private), f"chmod -R go= {home.private}")


def _disk(home: Home) -> Finding:
    free = shutil.disk_usage(home.root).free
    return Finding(
        "disk",
        free > _ENOUGH_BYTES,
        f"{free / 1e9:.0f} GB free",
        "a log of 10 million rows needs about 2 GB while it is at work; free some",
    )


def _sqlite(_home: Home) -> Finding:
    is_new = sqlite3.sqlite_version_info >= (3, 35)
    return Finding("sqlite", is_new, sqlite3.sqlite_version, "install a newer Python")


def _keys(home: Home) -> Finding:
    Keyring.open(home)
    is_closed = all(path.stat().st_mode & 0o077 == 0 for path in home.keys.glob("*.key"))
    return Finding("keys", is_closed, f"in {home.keys}", f"chmod 600 {home.keys}/*.key")


def _ledger(home: Home) -> Finding:
    checked = check_ledger(home)
    return Finding(
        "ledger",
        True,
        f"{checked.head.seq} rows in one chain, {checked.n_witnesses} witnesses and "
        f"{checked.n_participation_files} participation files agree",
    )


def _telemetry(_home: Home) -> Finding:
    wanted = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    against = [name for name, value in wanted.items() if os.environ.get(name, value) != value]
    return Finding(
        "telemetry", not against, "off" if not against else f"{', '.join(against)} set otherwise",
        "unset them; every command turns telemetry off by itself",
    )  # fmt: skip
