"""A device that reports at most once on a release or season, and never beyond its lifetime cap.

Standard library only. The device trusts nobody with its account: it keeps it itself, in one
small file (`hybriddp.device.file`) that holds what was charged and what was sent.

One human is on one side at a time: while a curator has their searches, because they opted in,
their device stays silent. Tell the device first and the curator then; to leave, the curator first.
In a series a side is for a season: who changes is on neither until it is over.
"""

import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from os import PathLike
from pathlib import Path

from hybriddp.client import Client, Record, checked_records
from hybriddp.device import ed25519
from hybriddp.device.account import (
    Account,
    AccountCorrupt,
    BudgetExceeded,
    Charge,
    NotItsWeek,
    OptIn,
    ReportRefused,
    SeasonNotOver,
    require_own_side,
)
from hybriddp.device.curator import Loss
from hybriddp.device.file import AccountFile
from hybriddp.device.package import (
    MAX_REPORTED_CELLS,
    CollectionPackage,
    Verify,
    canonical_json,
    read_package,
)
from hybriddp.device.season import SECRET_BYTES
from hybriddp.errors import require
from hybriddp.params import Budget

__all__ = [
    "DEFAULT_CAP", "AccountCorrupt", "BudgetExceeded", "Device", "NotItsWeek", "ReportRefused",
    "SeasonNotOver",
]  # fmt: skip

# What one person may lose over a lifetime of reports; the curator's ledger has the same default.
DEFAULT_CAP = Budget(12, "1/10000")


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
        self._file = AccountFile(Path(state_path).resolve())
        self._public_key = public_key
        self._cap = cap
        self._verify = verify

    def report(self, package_directory: str | PathLike[str], records: Sequence[Record]) -> bytes:
        """Return the line to send for this package, always the same one.

        The charge is on disk before anything is drawn, the report before it is returned. What
        was charged and not stored is burnt: the device refuses that release for good. A random
        nonce tells equal reports apart; nothing in the line tells devices apart. Of a series' weeks
        the device reports in one of a season, which it draws by itself without its records.

        Privacy claim
          Neighbours  this user's records, in all weeks of a season, replaced by any others (local
                      model)
          Guarantee   the package's budget for everything ever returned for its product, epoch
                      and locale, and for all of its season; `cap` for everything this account
                      ever returns
          Assumes     the head list was fixed before this user's records were read; the account's
                      file is neither deleted nor rolled back, and has no second copy in use; on
                      systems without fcntl, one process at a time; for people who opted in, that
                      the device knew before the curator did, and the right day
          Excludes    timing; that, when and from which address a device reports or refuses
          Charged as  events.ClientReport, events.SubsetReport
          Reference   JPC19 figure 6, theorem 3.3
          Audit       tests/device/test_device.py::test_no_history_draws_twice_or_beyond_the_cap
        """
        package = read_package(package_directory, self._public_key, self._verify)
        with self._file.locked():
            account = self._file.read()
            if package.curator is not None:  # schema 2 says nothing of a cap
                account = self._remember(account, package.curator.lifetime_cap)
            # All that can be wrong with the arguments is found before the charge.
            client, pool = _client_of(package), checked_records(records)
            known = account.charge_of(package)
            if known is not None:
                return known.sent
            self._file.require_room()
            require_own_side(package, account)
            account = self._in_its_week(package, account)
            charge = Charge.of(package)
            what = f"a report on release {package.release_id}"
            self._require_sum(what, account, Loss.of(charge.budget))
            self._file.write(replace(account, charges=(*account.charges, charge)))
            line = canonical_json(
                {
                    "release_id": package.release_id,
                    "nonce": secrets.token_hex(16),
                    "cells": client.report(pool),
                }
            )
            charge = replace(charge, report=line.decode("ascii"))
            self._file.write(replace(account, charges=(*account.charges, charge)))
            return line

    def opt_in(
        self, today: date, lifetime_cap: Loss | None, *, even_beyond_cap: bool = False
    ) -> None:
        """Record that this person opts in to the curator's log, before the curator is told.

        From now on the device stays silent. Asked again, nothing changes but the curator's cap, if
        it is larger now. What the device reported before is about releases whose opt-in people
        were drawn already, and is sent again. Of a season in which the device has reported more
        weeks may follow: until they cannot, opting in is refused with the first day on which it
        works.

        Args:
            today: The day, in UTC.
            lifetime_cap: The most that the curator's ledger charges a person for life, as its
                packages and labels say; None if there is no such bound. It is remembered even if
                it is refused, and if the curator ever named a larger one, that counts.
            even_beyond_cap: Record it although the device's own reports and the curator's cap
                together are more than the device's cap, or a season is not over: for those who
                are in the log anyway.
        """
        _require_day(today)
        with self._file.locked():
            known = self._remember(self._file.read(), lifetime_cap)
            account = known
            if not known.is_opted_in(self._curator):
                new = OptIn(self._curator, today, None)
                account = replace(known, opt_ins=(*known.opt_ins, new))
            if not even_beyond_cap:
                self._require_sum("opting in", account, Loss())
                if account != known:
                    account.require_seasons_over(today)
            if account != known:
                self._file.write(account)

    def opt_out(self, today: date) -> date:
        """Record that the curator no longer has this person's searches, after it said so.

        The device reports again on epochs, and in seasons, that begin after the day that is
        returned, if both sides' caps leave room. Without an opt-in that lasts, nothing changes.
        """
        _require_day(today)
        with self._file.locked():
            account = self._file.read()
            left = [
                replace(opt_in, until=max(today, opt_in.since))
                if opt_in.lasts and opt_in.curator == self._curator
                else opt_in
                for opt_in in account.opt_ins
            ]
            if tuple(left) != account.opt_ins:
                self._file.write(replace(account, opt_ins=tuple(left)))
            return max((o.until for o in left if o.until is not None), default=today)

    @property
    def _curator(self) -> str:
        return self._public_key.hex()

    def _in_its_week(self, package: CollectionPackage, account: Account) -> Account:
        """Refuse another week of a season than the device's own; make the secret of it, once.

        The season is on disk before the week is looked at: whoever learns that a week is not the
        device's own cannot tell it of another season.
        """
        season, known = package.season, account
        if season is None:
            return account
        account = account.seeing(package)
        if account.secret is None:
            account = replace(account, secret=secrets.token_bytes(SECRET_BYTES))
        if account != known:
            self._file.write(account)
        assert account.secret is not None
        if season.own_week(account.secret, package.product, package.locale) != season.week:
            raise NotItsWeek(
                f"a device reports in one week of a season at most, and week {season.week} of "
                f"season {season.season} of series {season.series} is not its own; nothing was "
                "charged. Ask it again in the next week."
            )
        return account

    def _remember(self, account: Account, stated: Loss | None) -> Account:
        """Store a cap that the curator named, before anything is decided or refused.

        Whoever signed it has the key that the owner gave this device; no stranger adds to the file.
        """
        known = account.knowing(self._curator, stated)
        if known != account:
            self._file.write(known)
        return known

    def _require_sum(self, what: str, account: Account, asked: Loss) -> None:
        """Refuse what would take both sides together beyond the cap."""
        spent, elsewhere = account.spent, account.charged_elsewhere()
        if elsewhere is not None and (spent + asked + elsewhere).fits(self._cap):
            return
        curators = (
            ""
            if elsewhere == Loss()
            else f"what curators may have charged {elsewhere or 'has no bound for life'}, "
        )
        remaining = (spent + (elsewhere or Loss())).left_of(self._cap)
        raise BudgetExceeded(
            f"{what} must fit into what is left of the cap: cap {Loss.of(self._cap)}, "
            f"spent {spent}, {curators}asked {asked}, remaining {remaining} as (epsilon, delta); "
            "this device takes no part in it."
        )


def _require_day(today: date) -> None:
    # A datetime is a date to Python, and would be stored in a form that no account is read in.
    require(type(today) is date, "today must be a date", "something else", "give the day, in UTC")


def _client_of(package: CollectionPackage) -> Client:
    client = Client(package.head_list_mapping(), package.params)
    require(
        client.n_reported_cells <= MAX_REPORTED_CELLS,
        f"a report must name at most {MAX_REPORTED_CELLS} cells",
        "a package that asks for more",
        "its list is too long for its epsilon; fetch another one",
    )
    return client
