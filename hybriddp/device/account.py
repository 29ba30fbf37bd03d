"""What a device remembers: charges, reports, times of opt-in, caps that curators named, a secret.

Standard library only. It holds nothing of the records.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date

from hybriddp.device.curator import Loss, larger_cap
from hybriddp.device.package import CollectionPackage
from hybriddp.device.periods import days_of
from hybriddp.device.season import WeekOfSeason
from hybriddp.errors import HybridDPError
from hybriddp.params import Budget
from hybriddp.randomizers.laws import client_budget


class ReportRefused(HybridDPError):
    """The device does not report on this package."""


class BudgetExceeded(ReportRefused):
    """The report would cost more than what is left of the cap."""


class NotItsWeek(ReportRefused):
    """The device reports in another week of the season, or in none of it."""


class SeasonNotOver(ReportRefused):
    """The person cannot opt in before a season is over in which the device has reported."""


class AccountCorrupt(HybridDPError):
    """The account's file is not what the device wrote; nothing is reported until it is."""


@dataclass(frozen=True, slots=True)
class Charge:
    """What a release was charged, and the report that was drawn for it, once it was stored.

    The charge of a week of a series is that of its whole season.
    """

    release_id: str
    product: str
    epoch: str
    locale: str
    package_sha256: str
    budget: Budget
    report: str | None = None
    season: WeekOfSeason | None = None

    @classmethod
    def of(cls, package: CollectionPackage) -> "Charge":
        """Return what a report on the package costs, before it is drawn."""
        digest = hashlib.sha256(package.to_bytes()).hexdigest()
        return cls(
            package.release_id, package.product, package.epoch, package.locale, digest,
            client_budget(package.params), season=package.season,
        )  # fmt: skip

    def is_for_the_same(self, new: "Charge") -> bool:
        """Whether both are for one release, or for one epoch or season of a product and locale."""
        if self.release_id == new.release_id:
            return True
        if (self.product, self.locale) != (new.product, new.locale):
            return False
        if self.season is not None and new.season is not None:
            return self.epoch == new.epoch or self.season.is_same_season(new.season)
        return self.epoch == new.epoch

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
class SeenSeason:
    """A season of which the device was shown a package, whether or not it reported in it."""

    product: str
    locale: str
    season: WeekOfSeason  # as its first week


@dataclass(frozen=True, slots=True)
class Account:
    """Everything that the device remembers, oldest first.

    `named_caps` has, for each public key that the device was ever given, the largest cap for life
    that its curator named, whether or not the person had joined it by then; None is no bound.
    From the `secret`, which the device makes when it first needs one, its week in a season follows.
    What a season is, is what the first of its packages says (`seasons`): else a curator would try
    other numbers, lengths or rotations until the device's own week is the one that it wants.
    """

    charges: tuple[Charge, ...] = ()
    opt_ins: tuple[OptIn, ...] = ()
    named_caps: Mapping[str, Loss | None] = field(default_factory=dict)
    secret: bytes | None = field(default=None, repr=False)
    seasons: tuple[SeenSeason, ...] = ()

    @property
    def spent(self) -> Loss:
        """What the device's own reports cost."""
        return Loss.total(Loss.of(charge.budget) for charge in self.charges)

    def charge_of(self, package: CollectionPackage) -> Charge | None:
        """Return the package's own charge; refuse if its release, epoch or season has another."""
        new = Charge.of(package)
        for old in self.charges:
            if not old.is_for_the_same(new):
                continue
            if old.package_sha256 != new.package_sha256:
                of = old.season
                when = f"epoch {old.epoch}" + (
                    "" if of is None else f" and all of season {of.season} of series {of.series}"
                )
                raise ReportRefused(
                    f"a device reports on one package for product {old.product}, {when}, locale "
                    f"{old.locale}: that of release {old.release_id}; got another one, of release "
                    f"{new.release_id}."
                )
            return old
        return None

    def seeing(self, package: CollectionPackage) -> "Account":
        """Return the account that remembers a package's season; refuse one that contradicts it."""
        if package.season is None:
            return self
        new = SeenSeason(package.product, package.locale, package.season.facts)
        for seen in self.seasons:
            is_alike = (seen.product, seen.locale) == (new.product, new.locale)
            if is_alike and seen.season.is_same_season(new.season):
                if seen == new:
                    return self
                raise ReportRefused(
                    f"season {new.season.season} of series {new.season.series} was another one "
                    "when this device first heard of it: its number, first epoch, length and "
                    "rotation never change, and no two seasons have a day in common."
                )
        return replace(self, seasons=(*self.seasons, new))

    def require_seasons_over(self, today: date) -> None:
        """Refuse to opt in while a curator may charge for a season in which the device reported."""
        first_day = max((c.season.is_over_on for c in self.charges if c.season), default=today)
        if today < first_day:
            raise SeasonNotOver(
                "this device has reported in a season of a series, and a curator may charge opt-in "
                f"people for weeks of it until the day before {first_day}: both together are more "
                f"than it promises. Opt in on {first_day} or later, got {today}, and do not let "
                "the device report in between."
            )

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


def require_own_side(package: CollectionPackage, account: Account) -> None:
    """Refuse a release in which a curator may have counted this person already.

    Whoever's package it is: one curator may have several keys.
    """
    if any(opt_in.lasts for opt_in in account.opt_ins):
        raise ReportRefused(
            "this person opted in, so a curator has their searches and charges them there; their "
            "device stays silent."
        )
    # Whoever opted in is charged in any week of a season, and the promise is for all of them.
    season = package.season
    days = days_of(package.epoch if season is None else season.first_epoch)
    for opt_in in account.opt_ins:
        if days is None or opt_in.until is None or days[0] <= opt_in.until:
            where, later = f"epoch {package.epoch}", "on epochs"
            if season is not None:
                where = f"the season that began in {season.first_epoch}"
                later = "in seasons"
            raise ReportRefused(
                f"this person was opted in until {opt_in.until}, so a curator may have counted "
                f"them in {where}; their device reports {later} that begin later."
            )
