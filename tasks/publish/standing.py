"""What of all publications stands, and which is the newest: as the ledger says, not the files.

A publication is taken down by the row that withdraws its release, or by a later revision of the
same release that blocks a text which it names. Files only show it.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date

from tasks.ledger.ledger import Ledger
from tasks.ledger.payloads import Publication, Reserved
from tasks.ledger.rules import PUBLICATIONS, Entry, Kind
from tasks.log.epochs import Epoch
from tasks.publish import pointer
from tasks.store.home import Home

# A release and its attempt.
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Standing:
    """The rows of one product and locale, read at one moment; decide on them inside the lock."""

    reservations: dict[Key, Entry]
    publications: list[Entry]  # in the order of their sequence
    by_release: dict[Key, list[Entry]]  # the same
    endings: dict[Key, Entry]  # WITHDRAWN or WITHHELD

    @classmethod
    def of(cls, home: Home, product: str, locale: str) -> "Standing":
        """Read what the ledger knows of a product and locale."""
        return cls.among(Ledger(home.ledger).entries(), product, locale)

    @classmethod
    def among(cls, entries: Iterable[Entry], product: str, locale: str) -> "Standing":
        """Pick the rows of a product and locale."""
        found = cls({}, [], {}, {})
        for entry in entries:
            key = entry.key
            if entry.kind is Kind.RESERVED:
                reserved = entry.said(Reserved)
                if (reserved.product, reserved.locale) == (product, locale):
                    found.reservations[key] = entry
            elif key in found.reservations:
                if entry.kind in PUBLICATIONS:
                    found.publications.append(entry)
                    found.by_release.setdefault(key, []).append(entry)
                elif entry.kind in (Kind.WITHDRAWN, Kind.WITHHELD):
                    found.endings[key] = entry
        return found

    def of_release(self, key: Key) -> list[Entry]:
        """Return every publication of a release, oldest first."""
        return self.by_release.get(key, [])

    def revision(self, key: Key, revision: int) -> Entry | None:
        """Return one publication of a release, if the ledger knows it."""
        of_it = (e for e in self.of_release(key) if e.said(Publication).revision == revision)
        return next(of_it, None)

    def named(self, folder: str) -> Entry | None:
        """Return the publication that lies in a folder of this name."""
        return next((e for e in self.publications if folder_name(e) == folder), None)

    def standing(self, key: Key) -> list[Entry]:
        """Return those publications of a release that nothing took down, oldest first."""
        return [e for e in self.of_release(key) if self.taken_down_by(e) is None]

    def taken_down_by(self, publication: Entry) -> Entry | None:
        """Return the row that took a publication down, if any did."""
        key = publication.key
        if key in self.endings:
            return self.endings[key]
        named_since = set(publication.said(Publication).blocked)
        for later in self.of_release(key):
            # What is blocked is measured, so whoever does not block it names it.
            if later.seq > publication.seq and set(later.said(Publication).blocked) - named_since:
                return later
        return None

    def package_taken_down_by(self, key: Key) -> Entry | None:
        """Return the row after which devices must not find a release's package any more."""
        # What is blocked is measured, so the package names it: blocked before, it was left out.
        blocking = (e for e in self.of_release(key) if e.said(Publication).blocked)
        return self.endings.get(key) or next(blocking, None)

    def newest(self, is_there: Callable[[Entry], bool] = lambda _: True) -> Entry | None:
        """Return the publication that readers are to use: that of the newest epoch.

        An older epoch that is published later is never the newest. Of two releases of one epoch
        the one that was published later counts, and of a release its last revision.
        """
        stands = [e for e in self.publications if self.taken_down_by(e) is None and is_there(e)]
        return max(stands, key=self._rank, default=None)

    def newest_without(self, key: Key) -> Entry | None:
        """Return what would be the newest if a release were withdrawn."""
        return self.newest(lambda e: e.key != key)

    def reservation(self, publication: Entry) -> Reserved:
        """Return what was reserved for a publication."""
        return self.reservations[publication.key].said(Reserved)

    def epoch_of(self, publication: Entry) -> str:
        """Return the period that a publication is about."""
        return self.reservation(publication).epoch

    def would_be_newest(self, key: Key) -> bool:
        """Whether a publication of this release, written now, would be the newest."""
        newest = self.newest()
        return newest is None or self._release_rank(newest) <= self._rank_of(key)

    @property
    def last_latest(self) -> Entry | None:
        """The last publication that readers were pointed to; before version 0.2 all of them."""
        pointed_to = [e for e in self.publications if e.said(Publication).latest]
        return pointed_to[-1] if pointed_to else None

    @property
    def next_sequence(self) -> int:
        """The number of the next publication: numbers never go back, whatever is taken down."""
        return self.publications[-1].said(Publication).sequence + 1 if self.publications else 1

    def _rank(self, publication: Entry) -> tuple[date, int, int]:
        return (*self._release_rank(publication), publication.said(Publication).sequence)

    def _release_rank(self, publication: Entry) -> tuple[date, int]:
        return self._rank_of(publication.key)

    def _rank_of(self, key: Key) -> tuple[date, int]:
        published = self.of_release(key)
        first = published[0].said(Publication).sequence if published else self.next_sequence
        return Epoch.parse(self.reservations[key].said(Reserved).epoch).start, first


def folder_name(publication: Entry) -> str:
    """Return the name of a publication's folder."""
    return pointer.folder_name(
        publication.release_id, publication.attempt, publication.said(Publication).revision
    )
