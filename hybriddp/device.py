"""A device that reports at most once on a release, and never beyond its lifetime cap.

Standard library only. The device trusts nobody with its account: it keeps it itself, in one
small file that holds what was charged and what was sent, and nothing of the records.
"""

import hashlib
import json
import os
import secrets
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from os import PathLike
from pathlib import Path

from hybriddp import ed25519
from hybriddp.client import Client, Record
from hybriddp.client_law import client_budget
from hybriddp.errors import HybridDPError, require
from hybriddp.package import CollectionPackage, Verify, canonical_json, read_package
from hybriddp.params import Budget

if sys.platform != "win32":
    import fcntl

# What one person may lose over a lifetime of reports; the curator's ledger has the same default.
DEFAULT_CAP = Budget(12, Fraction(1, 10_000))

_STATE_VERSION = 1


class ReportRefused(HybridDPError):
    """The device does not report on this package."""


class BudgetExceeded(ReportRefused):
    """The report would cost more than what is left of the cap."""


class AccountCorrupt(HybridDPError):
    """The account's file is not what the device wrote; nothing is reported until it is."""


class Device:
    """One person's device: its account at `state_path` and the curator's public key."""

    def __init__(
        self,
        state_path: str | PathLike[str],
        public_key: bytes,
        *,
        cap: Budget = DEFAULT_CAP,
        verify: Verify = ed25519.verify,
    ) -> None:
        self._account = _Account(Path(state_path).resolve())
        self._public_key = public_key
        self._cap = cap
        self._verify = verify

    def report(self, package_directory: str | PathLike[str], records: Sequence[Record]) -> bytes:
        """Return the line to send for this package, always the same one.

        The charge is on disk before anything is drawn, the report before it is returned. What
        was charged and not stored is burnt: the device refuses that release for good. A random
        nonce tells equal reports apart; nothing in the line tells devices apart.

        Privacy claim
          Neighbours  this user's records replaced by any others (local model)
          Guarantee   the package's budget for everything ever returned for its product, epoch
                      and locale; `cap` for everything this account ever returns
          Assumes     the head list was fixed before this user's records were read; the account's
                      file is neither deleted nor rolled back, and has no second copy in use; on
                      systems without fcntl, one process at a time
          Excludes    timing; that, when and from which address a device reports or refuses
          Charged as  events.ClientReport, events.SubsetReport
          Reference   JPC19 figure 6, theorem 3.3
          Audit       tests/unit/test_device.py::test_no_history_draws_twice_or_beyond_the_cap
        """
        package = read_package(package_directory, self._public_key, self._verify)
        # All that can be wrong with the arguments is found before the charge.
        client = Client(package.head_list_mapping(), package.params)
        pool = _checked(records)
        with self._account.locked():
            charges = self._account.read()
            known = _charge_of(package, charges)
            if known is not None:
                return known.sent
            self._check_cap(package, charges)
            charge = _Charge.of(package)
            self._account.write([*charges, charge])
            line = canonical_json(
                {
                    "release_id": package.release_id,
                    "nonce": secrets.token_hex(16),
                    "cells": client.report(pool),
                }
            )
            self._account.write([*charges, replace(charge, report=line.decode("ascii"))])
            return line

    def _check_cap(self, package: CollectionPackage, charges: Sequence["_Charge"]) -> None:
        cap, asked = self._cap, client_budget(package.params)
        epsilon = sum((charge.budget.epsilon for charge in charges), Fraction(0))
        delta = sum((charge.budget.delta for charge in charges), Fraction(0))
        if epsilon + asked.epsilon > cap.epsilon or delta + asked.delta > cap.delta:
            raise BudgetExceeded(
                f"a report on release {package.release_id} must fit into what is left of the cap: "
                f"cap ({cap.epsilon}, {cap.delta}), spent ({epsilon}, {delta}), "
                f"asked ({asked.epsilon}, {asked.delta}), "
                f"remaining ({cap.epsilon - epsilon}, {cap.delta - delta}) as (epsilon, delta); "
                "this device takes no part in it."
            )


@dataclass(frozen=True, slots=True)
class _Charge:
    """What a release was charged, and the report that was drawn for it, once it was stored."""

    release_id: str
    product: str
    epoch: str
    locale: str
    package_sha256: str
    budget: Budget
    report: str | None = None

    @classmethod
    def of(cls, package: CollectionPackage) -> "_Charge":
        digest = hashlib.sha256(package.to_bytes()).hexdigest()
        return cls(
            package.release_id, package.product, package.epoch, package.locale, digest,
            client_budget(package.params),
        )  # fmt: skip

    @property
    def sent(self) -> bytes:
        if self.report is None:
            raise ReportRefused(
                f"the report on release {self.release_id} was charged and then lost in a crash; "
                "it is spent, and drawing another one would spend it again."
            )
        return self.report.encode("ascii")


def _charge_of(package: CollectionPackage, charges: Sequence[_Charge]) -> _Charge | None:
    """Return the package's own charge; refuse a package whose release or epoch has another."""
    new = _Charge.of(package)
    for old in charges:
        is_same_epoch = (old.product, old.epoch, old.locale) == (new.product, new.epoch, new.locale)
        if not is_same_epoch and old.release_id != new.release_id:
            continue
        if old.package_sha256 != new.package_sha256:
            raise ReportRefused(
                f"a device reports on one package for product {old.product}, epoch {old.epoch}, "
                f"locale {old.locale}: that of release {old.release_id}; "
                f"got another one, of release {new.release_id}."
            )
        return old
    return None


def _checked(records: Sequence[Record]) -> list[Record]:
    pool = list(records)
    require(
        all(
            isinstance(record, tuple)
            and len(record) == 2
            and all(isinstance(text, str) for text in record)
            for record in pool
        ),
        "records must be pairs (query, url) of texts",
        "something else",
        "give an empty text for a missing url",
    )
    return pool


class _Account:
    """The account's file: a line with the SHA-256 of the rest, then all charges as JSON.

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

    def read(self) -> list[_Charge]:
        """Return every charge, oldest first; only a file that never was is an empty account."""
        try:
            data = self._path.read_bytes()
        except FileNotFoundError:
            return []
        digest, _, body = data.partition(b"\n")
        try:
            if digest.decode("ascii") != hashlib.sha256(body).hexdigest():
                raise ValueError
            state = json.loads(body)
            if state["schema_version"] != _STATE_VERSION:
                raise ValueError
            return [
                _Charge(**{**row, "budget": Budget(**row["budget"])}) for row in state["charges"]
            ]
        except (ValueError, TypeError, KeyError):
            raise AccountCorrupt(
                f"{self._path.name} must be an account as this device wrote it, got something "
                "else; restore its newest copy. Without it nobody knows what was spent."
            ) from None

    def write(self, charges: Sequence[_Charge]) -> None:
        """Replace the account, and return once it would survive a power cut."""
        rows = [
            {name: getattr(charge, name) for name in _Charge.__slots__}
            | {"budget": {"epsilon": str(charge.budget.epsilon), "delta": str(charge.budget.delta)}}
            for charge in charges
        ]
        body = canonical_json({"schema_version": _STATE_VERSION, "charges": rows})
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
