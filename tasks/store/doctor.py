"""Find what is missing or misconfigured, and say how to mend it."""

import os
import shutil
import sqlite3
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from hybriddp.errors import HybridDPError
from tasks.ledger.check import check_ledger
from tasks.publish import shelf
from tasks.store import memory, modes
from tasks.store.home import Home
from tasks.store.keys import Keyring

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
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    is_well: bool
    detail: str
    remedy: str = ""


def examine(home: Home) -> list[Finding]:
    """Look at everything and change nothing; a check that fails is a finding, not an exception."""
    checks: list[tuple[str, Callable[[Home], Finding]]] = [
        ("python", _python),
        ("packages", _packages),
        ("home", _home),
        ("private zone", _zones),
        ("disk", _disk),
        ("memory", _memory),
        ("sqlite", _sqlite),
        ("keys", _keys),
        ("ledger", _ledger),
        ("public zone", _public),
        ("telemetry", _telemetry),
        ("spark", _spark),
    ]
    return [_finding(name, check, home) for name, check in checks]


def _finding(name: str, check: Callable[[Home], Finding], home: Home) -> Finding:
    try:
        return check(home)
    except HybridDPError as error:
        return Finding(name, False, str(error), "do what it says, then look again")
    except OSError as error:
        what = f"{error.strerror or type(error).__name__}: {error.filename or home.root}"
        return Finding(name, False, what, "check that it is there, and who may read it")
    except Exception as error:
        # Nobody foresaw it, and its text may quote private data.
        what = f"cannot be read ({type(error).__name__})"
        return Finding(name, False, what, "restore it from its newest backup")


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


def _home(home: Home) -> Finding:
    zones = (home.private, home.measurements, home.public)
    missing = [zone.name for zone in zones if not zone.is_dir()]
    if missing:
        return Finding(
            "home", False, f"{home.root} lacks {', '.join(missing)}",
            "name the right one with --home, or make one with `hybriddp keys init`",
        )  # fmt: skip
    is_writable = all(os.access(zone, os.W_OK) for zone in zones)
    return Finding(
        "home", is_writable, str(home.root) + ("" if is_writable else " is read-only"),
        "reading commands work; to make releases, mount it writable or become its owner",
    )  # fmt: skip


def _zones(home: Home) -> Finding:
    loose = [path for zone in (home.private, home.measurements) for path in modes.loose(zone)]
    return Finding(
        "private zone",
        not loose,
        f"others may read {_some(loose)}" if loose else f"{home.private} is closed to others",
        f"chmod -R go= {home.private} {home.measurements}",
    )


def _disk(home: Home) -> Finding:
    free = shutil.disk_usage(home.root).free
    return Finding(
        "disk",
        free > _ENOUGH_BYTES,
        f"{free / 1e9:.0f} GB free",
        "a log of 10 million rows needs about 2 GB while it is at work; free some",
    )


def _memory(_home: Home) -> Finding:
    limit, usable = memory.for_duckdb(), memory.usable()
    return Finding(
        "memory",
        limit + memory.BESIDE <= usable or memory.VARIABLE not in os.environ,
        f"DuckDB may use {limit / 1e9:.1f} GB of {usable / 1e9:.1f} GB ({memory.VARIABLE})",
        f"a release takes up to {memory.BESIDE / 1e9:.1f} GB beside DuckDB; "
        f"lower {memory.VARIABLE}, or unset it for a quarter",
    )


def _sqlite(_home: Home) -> Finding:
    is_new = sqlite3.sqlite_version_info >= (3, 35)
    return Finding("sqlite", is_new, sqlite3.sqlite_version, "install a newer Python")


def _keys(home: Home) -> Finding:
    Keyring.open(home)
    is_closed = not modes.loose(home.keys)
    return Finding("keys", is_closed, f"in {home.keys}", f"chmod 600 {home.keys}/*.key")


def _ledger(home: Home) -> Finding:
    checked = check_ledger(home)
    return Finding(
        "ledger",
        True,
        f"{checked.head.seq} rows in one chain, {checked.n_witnesses} witnesses and "
        f"{checked.n_participation_files} participation files agree",
    )


def _public(home: Home) -> Finding:
    n_releases, junk = len(shelf.published_manifests(home)), shelf.junk(home)
    if junk:
        return Finding(
            "public zone", False, f"{_some(junk)} belong to no release",
            "nothing reads them; move them away",
        )  # fmt: skip
    return Finding("public zone", True, f"{n_releases} releases")


def _spark(_home: Home) -> Finding:
    from tasks.log.spark.address import ADDRESS, NoSpark, shown_address  # few need it
    from tasks.log.spark.session import missing

    try:
        where, problem, is_asked = shown_address(), missing(), ADDRESS in os.environ
    except NoSpark as error:
        return Finding("spark", False, str(error), f"correct or unset {ADDRESS}")
    if problem is None:
        return Finding("spark", True, f"at {where}, not asked whether it answers")
    if is_asked:
        return Finding("spark", False, f"{ADDRESS} is set, but {problem}", f"or unset {ADDRESS}")
    return Finding("spark", True, f"not set up, which only --engine spark needs: {problem}")


def _some(paths: list[Path]) -> str:
    shown = ", ".join(str(path) for path in paths[:_SHOWN])
    return shown + (f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else "")


def _telemetry(_home: Home) -> Finding:
    wanted = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}
    against = [name for name, value in wanted.items() if os.environ.get(name, value) != value]
    return Finding(
        "telemetry", not against, "off" if not against else f"{', '.join(against)} set otherwise",
        "unset them; every command turns telemetry off by itself",
    )  # fmt: skip
