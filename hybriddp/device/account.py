"""What a device remembers: charges, reports, times of opt-in, and the caps that curators named.

Standard library only. It holds nothing of the records.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from hybriddp.device.curator import Loss, larger_cap
from hybriddp.device.package import CollectionPackage
from hybriddp.errors import HybridDPError
from hybriddp.params import Budget
from hybriddp.randomizers.laws import client_budget


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

    @property
    def lasts(self) -> bool:
        """Whether the person is opted in now."""
        return self.until is None


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that the device remembers, oldest first.

    `named_caps` has, for each public key that the device was ever given, the largest cap for life
    that its curator named, whether or not the person had joined it by then; None is no bound.
    """

    charges: tuple[Charge, ...] = ()
    opt_ins: tuple[OptIn, ...] = ()
    named_caps: Mapping[str, Loss | None] = field(default_factory=dict)

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
        """Return the account that remembers a cap which a curator named.

        It only grows: what was charged under a larger cap stays charged. None has no bound.
        """
        largest = larger_cap(self.named_caps.get(curator, Loss()), stated)
        return replace(self, named_caps={**self.named_caps, curator: largest})

    def charged_elsewhere(self) -> Loss | None:
        """Return the most that curators may have charged; None if nobody knows a bound.

        A curator keeps one account of a person however often they come and go, so it counts once,
        with the largest cap that it ever named. One that was never joined has charged nothing.
        """
        known = [self.named_caps[curator] for curator in {o.curator for o in self.opt_ins}]
        caps = [cap for cap in known if cap is not None]
        return Loss.total(caps) if len(caps) == len(known) else None
