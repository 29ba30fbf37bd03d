"""The file in which a device keeps its person's account, durable and in one piece.

Standard library only.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from hybriddp.device.account import (
    Account,
    AccountCorrupt,
    Charge,
    OptIn,
    ReportRefused,
    SeenSeason,
)
from hybriddp.device.curator import Loss
from hybriddp.device.package import canonical_json
from hybriddp.device.season import SECRET_BYTES, WeekOfSeason
from hybriddp.params import Budget

if sys.platform != "win32":
    import fcntl

# A report has a few bytes, or some hundred thousand if its list is long and its epsilon small.
# What is known of curators has a few kilobytes for each key that the device was given.
MAX_BYTES = 64 * 2**20

_STATE_VERSION = 4
# What each version's file has. The first, of 0.1.0, knew no times of opt-in; in the second a cap
# stood beside each of them, so one that was named before the person joined was forgotten. The
# third, of 0.2.0, knew no seasons: neither their charges, nor the secret of the device's weeks.
_FIELDS = {
    1: {"schema_version", "charges"},
    2: {"schema_version", "charges", "opt_ins"},
    3: {"schema_version", "charges", "opt_ins", "named_caps"},
    _STATE_VERSION: {"schema_version", "charges", "opt_ins", "named_caps", "secret", "seasons"},
}
_CAPS_BY_CURATOR, _SEASONS = 3, 4  # the versions since which there are such


class AccountFile:
    """The account's file: a line with the SHA-256 of the rest, then everything as JSON.

    The hash is against accidents, not against the device's owner: whoever can write the file
    can read the records as well.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other processes and threads of this device out."""
        # A file of its own, because the account's is replaced at every write.
        descriptor = os.open(self._beside(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if sys.platform != "win32":
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def read(self) -> Account:
        """Return the account; only a file that never was is an empty one."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return Account()
        digest, _, body = data.partition(b"\n")
        try:
            if digest.decode("ascii") != hashlib.sha256(body).hexdigest():
                raise ValueError
            return _read_state(json.loads(body))
        except (ValueError, TypeError, KeyError, AttributeError):
            raise AccountCorrupt(
                f"{self._path.name} must be an account as this device wrote it, got something "
                "else; restore its newest copy. Without it nobody knows what was spent."
            ) from None

    def require_room(self) -> None:
        """Refuse to grow without end: tiny budgets would let a curator ask for ever."""
        if self._path.exists() and self._path.stat().st_size > MAX_BYTES:
            raise ReportRefused(
                f"the account holds more than {MAX_BYTES} bytes of reports; it takes no more."
            )

    def write(self, account: Account) -> None:
        """Replace the account, and return once it would survive a power cut."""
        body = canonical_json(_state_of(account))
        temporary = self._beside(".new")
        temporary.unlink(missing_ok=True)  # left over from a crash
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            file.write(hashlib.sha256(body).hexdigest().encode("ascii") + b"\n" + body)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, self._path)
        if sys.platform != "win32":  # where a directory cannot be opened
            directory = os.open(self._path.parent, os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    def _beside(self, suffix: str) -> Path:
        return self._path.with_name(self._path.name + suffix)


def _state_of(account: Account) -> dict[str, Any]:
    return {
        "schema_version": _STATE_VERSION,
        "charges": [
            {name: getattr(charge, name) for name in Charge.__slots__}
            | {"budget": Loss.of(charge.budget).texts()}
            | {"season": None if charge.season is None else asdict(charge.season)}
            for charge in account.charges
        ],
        "opt_ins": [
            {
                "curator": opt_in.curator,
                "since": opt_in.since.isoformat(),
                "until": None if opt_in.until is None else opt_in.until.isoformat(),
            }
            for opt_in in account.opt_ins
        ],
        "named_caps": {key: cap and cap.texts() for key, cap in account.named_caps.items()},
        "secret": None if account.secret is None else account.secret.hex(),
        "seasons": [asdict(seen) for seen in account.seasons],
    }


def _read_state(state: Any) -> Account:
    version = state["schema_version"]
    if set(state) != _FIELDS[version]:
        raise ValueError
    opt_ins = state.get("opt_ins", [])
    account = Account(
        tuple(_read_charge(row, version) for row in state["charges"]),
        tuple(map(_read_opt_in, opt_ins)),
        {key: _read_cap(cap) for key, cap in state.get("named_caps", {}).items()},
        _read_secret(state.get("secret")),
        tuple(map(_read_season, state.get("seasons", []))),
    )
    if version < _CAPS_BY_CURATOR:
        for row in opt_ins:
            account = account.knowing(row["curator"], _read_cap(row["lifetime_cap"]))
    if not {opt_in.curator for opt_in in account.opt_ins} <= account.named_caps.keys():
        raise ValueError
    return account


def _read_charge(row: dict[str, Any], version: int) -> Charge:
    if ("season" in row) != (version >= _SEASONS):
        raise ValueError
    season = row.get("season")
    read = {"season": None if season is None else WeekOfSeason.read(season)}
    return Charge(**{**row, "budget": Budget(**row["budget"]), **read})


def _read_season(row: dict[str, Any]) -> SeenSeason:
    return SeenSeason(**{**row, "season": WeekOfSeason.read(row["season"])})


def _read_secret(text: str | None) -> bytes | None:
    secret = None if text is None else bytes.fromhex(text)
    if secret is not None and len(secret) != SECRET_BYTES:
        raise ValueError
    return secret


def _read_opt_in(row: dict[str, Any]) -> OptIn:
    until = row["until"]
    return OptIn(
        curator=row["curator"],
        since=date.fromisoformat(row["since"]),
        until=None if until is None else date.fromisoformat(until),
    )


def _read_cap(cap: dict[str, str] | None) -> Loss | None:
    return None if cap is None else Loss(cap["epsilon"], cap["delta"])
