"""The file in which a device keeps its person's account: charges, reports, and times of opt-in.

Standard library only. It holds nothing of the records.
"""

import hashlib
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

from hybriddp.client_law import client_budget
from hybriddp.curator import Loss, larger_cap
from hybriddp.errors import HybridDPError
from hybriddp.package import CollectionPackage, canonical_json
from hybriddp.params import Budget

if sys.platform != "win32":
    import fcntl

# A report has a few bytes, or some hundred thousand if its list is long and its epsilon small.
MAX_BYTES = 64 * 2**20

_STATE_VERSION = 2
# Accounts of version 0.1.0 know no times of opt-in.
_OLD_STATE_VERSION = 1


class ReportRefused(HybridDPError):
    """The device does not report on this package."""


class BudgetExceeded(ReportRefused):
    """The report would cost more than what is left of the cap."""


class AccountCorrupt(HybridDPError):
    """The account's file is not what the device wrote; nothing is reported until it is."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release was charged, and the report that was drawn for it, once it was stored."""

    release_id: str
    product: str
    epoch: str
    locale: str
    package_sha256: str
    budget: Budget
    report: str | None = None

    @classmethod
    def of(cls, package: CollectionPackage) -> "Charge":
        """Return what a report on the package costs, before it is drawn."""
        digest = hashlib.sha256(package.to_bytes()).hexdigest()
        return cls(
            package.release_id, package.product, package.epoch, package.locale, digest,
            client_budget(package.params),
        )  # fmt: skip

    @property
    def sent(self) -> bytes:
        """The stored report; refuse if there is none."""
        if self.report is None:
            raise ReportRefused(
                f"the report on release {self.release_id} was charged and then lost in a crash; "
                "it is spent, and drawing another one would spend it again."
            )
        return self.report.encode("ascii")


@dataclass(frozen=True, slots=True)
class OptIn:
    """A time in which a curator has the person's searches and may charge them in its ledger."""

    curator: str  # its public key
    since: date
    until: date | None  # None while it lasts
    lifetime_cap: Loss | None  # None if the curator's budget has no bound for life

    @property
    def lasts(self) -> bool:
        """Whether the person is opted in now."""
        return self.until is None


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that the device remembers, oldest first."""

    charges: tuple[Charge, ...] = ()
    opt_ins: tuple[OptIn, ...] = ()

    @property
    def spent(self) -> Loss:
        """What the device's own reports cost."""
        return Loss.total(Loss.of(charge.budget) for charge in self.charges)

    def charge_of(self, package: CollectionPackage) -> Charge | None:
        """Return the package's own charge; refuse one whose release or epoch has another."""
        new = Charge.of(package)
        for old in self.charges:
            is_same_epoch = (old.product, old.epoch, old.locale) == (
                new.product, new.epoch, new.locale,
            )  # fmt: skip
            if not is_same_epoch and old.release_id != new.release_id:
                continue
            if old.package_sha256 != new.package_sha256:
                raise ReportRefused(
                    f"a device reports on one package for product {old.product}, epoch "
                    f"{old.epoch}, locale {old.locale}: that of release {old.release_id}; "
                    f"got another one, of release {new.release_id}."
                )
            return old
        return None

    def is_opted_in(self, curator: str) -> bool:
        """Whether this curator has the person's searches now."""
        return any(opt_in.lasts and opt_in.curator == curator for opt_in in self.opt_ins)

    def knowing(self, curator: str, stated: Loss | None) -> "Account":
        """Return the account that remembers a cap which a curator named, if it was ever joined.

        It only grows: what was charged under a larger cap stays charged. None has no bound.
        """
        known = [
            replace(o, lifetime_cap=larger_cap(o.lifetime_cap, stated))
            if o.curator == curator
            else o
            for o in self.opt_ins
        ]
        return replace(self, opt_ins=tuple(known))

    def charged_elsewhere(self) -> Loss | None:
        """Return the most that curators may have charged; None if nobody knows a bound.

        A curator keeps one account of a person however often they come and go, so it counts once,
        with the largest cap that it named.
        """
        caps: dict[str, Loss] = {}
        for opt_in in self.opt_ins:
            if opt_in.lifetime_cap is None:
                return None
            known = caps.get(opt_in.curator, Loss())
            caps[opt_in.curator] = known.or_more(opt_in.lifetime_cap)
        return Loss.total(caps.values())


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
            for charge in account.charges
        ],
        "opt_ins": [
            {
                "curator": opt_in.curator,
                "since": opt_in.since.isoformat(),
                "until": None if opt_in.until is None else opt_in.until.isoformat(),
                "lifetime_cap": opt_in.lifetime_cap and opt_in.lifetime_cap.texts(),
            }
            for opt_in in account.opt_ins
        ],
    }


def _read_state(state: Any) -> Account:
    is_old = state["schema_version"] == _OLD_STATE_VERSION
    known = {"schema_version", "charges"} | (set() if is_old else {"opt_ins"})
    if set(state) != known or state["schema_version"] not in (_OLD_STATE_VERSION, _STATE_VERSION):
        raise ValueError
    return Account(
        tuple(Charge(**{**row, "budget": Budget(**row["budget"])}) for row in state["charges"]),
        tuple(map(_read_opt_in, () if is_old else state["opt_ins"])),
    )


def _read_opt_in(row: dict[str, Any]) -> OptIn:
    cap, until = row["lifetime_cap"], row["until"]
    return OptIn(
        curator=row["curator"],
        since=date.fromisoformat(row["since"]),
        until=None if until is None else date.fromisoformat(until),
        lifetime_cap=None if cap is None else Loss(**cap),
    )
