"""What a season carries privately from week to week: names, sums, noise that was drawn.

It is not itself differentially private. It lies in the private zone, under a key of its own that
goes with the season, and the ledger knows its digest: an older one is not taken for it.
"""

import hashlib
import os
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from io import BytesIO
from pathlib import Path

import numpy as np
import polars as pl
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from hybriddp.device.package import canonical_json
from hybriddp.device.season import DAYS_TO_RESERVE
from hybriddp.series.finding import Carried
from hybriddp.series.season import Season
from tasks.ledger.chain import moment_of
from tasks.ledger.ledger import LedgerCorrupt
from tasks.ledger.payloads import Reserved, SeasonPlace
from tasks.ledger.rules import (
    Entry,
    Kind,
    SeasonKey,
    ended_seasons,
    live_reservations,
    season_key,
)
from tasks.log.epochs import Epoch
from tasks.store.home import Home, make_directory, write_whole
from tasks.store.keys import Keyring
from tasks.store.working_copies import remove

_KEY_BITS, _NONCE_BYTES = 256, 12
_KEY_FILE = "season.key"
# A season that nobody goes on with is over so many epochs after its last one, and not before
# devices know that it is.
_EPOCHS_LATE, _DAYS_LATE = 5, timedelta(days=DAYS_TO_RESERVE + 1)
_DAYS = {"day": 1, "week": 7, "month": 31}


@dataclass(frozen=True)
class State:
    """Every record that anybody ever gave weight and that was not named, and what is carried."""

    records: pl.DataFrame  # query, url: in the order of what is carried
    carried: Carried

    @classmethod
    def nothing(cls, season: Season) -> "State":
        """Return what a season begins with."""
        return cls(
            pl.DataFrame(schema={"query": pl.String, "url": pl.String}), Carried.nothing(season)
        )

    def to_bytes(self) -> bytes:
        """Return it as a file."""
        columns = {
            f"{name}_{track}": values[:, track]
            for name, values in (("sum", self.carried.sums), ("live", self.carried.is_live))
            for track in range(values.shape[1])
        }
        frame = self.records.with_columns(**{n: pl.Series(v) for n, v in columns.items()})
        buffer = BytesIO()
        # It is written and read once, whole: compressing it hard costs more than the disk.
        frame.write_parquet(buffer, compression_level=1, statistics=False)
        return buffer.getvalue()

    @classmethod
    def of_bytes(cls, data: bytes, week: int, season: Season) -> "State":
        """Read it again."""
        frame, tracks = pl.read_parquet(BytesIO(data)), range(len(season.tracks))
        sums, live = (
            np.stack([frame[f"{name}_{track}"].to_numpy() for track in tracks], axis=1)
            for name in ("sum", "live")
        )
        return cls(frame.select("query", "url"), Carried(week, sums, live))


@dataclass(frozen=True, slots=True)
class StateStore:
    """Where a season keeps its state."""

    folder: Path
    season_id: str

    @classmethod
    def of(cls, home: Home, product: str, locale: str, place: SeasonPlace) -> "StateStore":
        """Find the place of a season; its name says nothing to whoever has no key."""
        facts = {"series": place.series, "season": place.season, "of": [product, locale]}
        season_id = Keyring.open(home).release.digest(canonical_json({"season": facts}))[:32]
        return cls(home.series / season_id, season_id)

    def save(self, state: State) -> str:
        """Write a state, durable under its name, and return its digest."""
        data = self._key(make=True)
        nonce = secrets.token_bytes(_NONCE_BYTES)
        week = state.carried.week
        sealed = nonce + data.encrypt(nonce, state.to_bytes(), self._bound_to(week))
        write_whole(self._file(week), sealed)
        return hashlib.sha256(sealed).hexdigest()

    def load(self, week: int, digest: str, season: Season) -> State:
        """Read the state after a week, if it is the one that the ledger knows."""
        return State.of_bytes(self.opened(week, digest), week, season)

    def opened(self, week: int, digest: str) -> bytes:
        """Return that state as it was written: whoever has it knows that it can be read."""
        try:
            sealed = self._file(week).read_bytes()
        except OSError:
            sealed = b""
        if hashlib.sha256(sealed).hexdigest() != digest:
            raise LedgerCorrupt(
                f"{self._file(week)} is not what this season's week {week} left: it was lost, "
                "changed, or restored from another backup than the ledger. Restore it; without it "
                "the season cannot go on, but a series of another name can. Nothing was drawn."
            )
        try:
            nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
            return self._key(make=False).decrypt(nonce, rest, self._bound_to(week))
        except InvalidTag:
            raise LedgerCorrupt(
                f"{self.folder / _KEY_FILE} is not the key of this season; restore it from the "
                "backup. Nothing was drawn."
            ) from None

    def keep_only(self, week: int | None) -> None:
        """Remove every state but that of a week; without one the season is over, with its key."""
        if not self.folder.is_dir():
            return
        if week is None:
            self._forget_key()
            remove(self.folder)
            return
        for path in self.folder.glob("week-*.state"):
            if path != self._file(week):
                path.unlink(missing_ok=True)

    def _forget_key(self) -> None:
        """Overwrite the key before its name goes: what backups hold of the states is noise then."""
        path = self.folder / _KEY_FILE
        if path.exists():
            with path.open("r+b") as file:
                file.write(secrets.token_bytes(_KEY_BITS // 8))
                file.flush()
                os.fsync(file.fileno())

    def _file(self, week: int) -> Path:
        return self.folder / f"week-{week:03d}.state"

    def _bound_to(self, week: int) -> bytes:
        return canonical_json({"season": self.season_id, "week": week})

    def _key(self, *, make: bool) -> AESGCM:
        path = self.folder / _KEY_FILE
        if make:
            make_directory(self.folder)
            write_whole(path, AESGCM.generate_key(_KEY_BITS), keep_existing=True)
        try:
            return AESGCM(path.read_bytes())
        except (OSError, ValueError):
            raise LedgerCorrupt(
                f"{path} is missing or damaged; restore it from the backup. Nothing was drawn."
            ) from None


def forget_ended(entries: list[Entry], home: Home, moment: datetime) -> None:
    """Remove what seasons of any series carry that are over.

    That is so when the last week has begun, though it may be burnt: it had read the state before,
    it carries nothing on, and no earlier week is drawn now. Or when the last week would have been
    due some epochs ago, and nobody has asked for it. Or when somebody has ended it.
    """
    begun = {entry.key for entry in entries if entry.kind is Kind.DRAW_STARTED}
    newest: dict[SeasonKey, tuple[Entry, SeasonPlace]] = {}
    by_hand = ended_seasons(entries)
    for entry in live_reservations(entries):
        reserved = entry.said(Reserved)
        place = reserved.place
        if place is not None:
            key = season_key(reserved.product, reserved.locale, place)
            if key not in newest or newest[key][1].week <= place.week:
                newest[key] = entry, place
    for key, (entry, place) in newest.items():
        n_left = len(place.numbers["weight_scales"]) - place.week
        length = timedelta(days=_DAYS[Epoch.parse(place.first_epoch).kind])
        late = n_left * length + max(_EPOCHS_LATE * length, _DAYS_LATE)
        is_abandoned = moment > moment_of(entry.at) + late
        if is_abandoned or key in by_hand or (n_left == 0 and entry.key in begun):
            StateStore.of(home, *key[:2], place).keep_only(None)
