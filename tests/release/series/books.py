"""What a home with a season must say at any time, whoever was killed: a second opinion.

Everything is computed again from the ledger's rows, the sealed files and the logs of the weeks,
which the test wrote itself.
"""

import math
from collections import Counter
from fractions import Fraction
from pathlib import Path

import pyarrow.parquet as pq

from tasks.budget.accounts import account_of
from tasks.budget.policy import current_policy
from tasks.budget.showing.overview import balance
from tasks.budget.spending import put_spending
from tasks.ledger.charges import DELTA_UNITS, RHO_UNITS
from tasks.ledger.ledger import Ledger
from tasks.ledger.rules import Entry, Kind
from tasks.log.engine import open_memory
from tasks.log.ids import id_form_of
from tasks.measured.stored import load_measurement
from tasks.products.head_list import CLIENTS, HEADLIST, JOINING
from tasks.products.head_list.series.season.place import Week, season_of, weeks_of
from tasks.products.head_list.series.season.state import StateStore
from tasks.publish.publish import published_folder
from tasks.publish.shelf import published_heads
from tasks.release.run import Release
from tasks.store.home import Home
from tasks.store.keys import Keyring
from tasks.verify.verify import verify_publication
from tests.release import faults
from tests.release.series.support import CLIENTS as PHONES
from tests.release.series.support import MANY, N_WEEKS, usual
from tests.release.support import files_below

PRODUCT, LOCALE, SERIES = "search", "all", "weekly"
# Absent from the second week on, and charged; leaves after the second; joins in the second.
ABSENT, LEAVER, JOINER = MANY[0], MANY[1], MANY[110]
N_AT_FIRST = 100
RARE = {1: (MANY[2], "rare one"), 2: (MANY[3], "rare two")}


def searches_of(week: int) -> dict[str, list[str]]:
    """What everybody searches for in a week: `weather` from the second on, two rare things once."""
    searches = usual(N_AT_FIRST) if week == 1 else usual()
    if week > 1:
        searches = {person: [*own, "weather"] for person, own in searches.items()}
        del searches[ABSENT]
    if week in RARE:
        person, query = RARE[week]
        searches[person] = [*searches[person], query]
    return searches


def given_in(week: int) -> set[str]:
    """What whoever opted in searches for in a week."""
    return {q for person, own in searches_of(week).items() if person in MANY for q in own}


class Books:
    """A season's books, which are audited again and again; none may change what is written."""

    def __init__(self, root: Path, home: Home) -> None:
        self.root, self.home = root, home
        self.entries: list[Entry] = []
        self._shelved: dict[str, bytes] = {}
        self._verified: set[Path] = set()

    @property
    def weeks(self) -> list[Week]:
        """The weeks that were reserved, and not voided."""
        return weeks_of(self.entries, PRODUCT, LOCALE, SERIES)

    @property
    def drawn(self) -> list[Week]:
        """The weeks that the ledger says were drawn, in order."""
        return sorted((w for w in self.weeks if w.is_drawn), key=lambda week: week.place.week)

    def audit(self) -> None:
        """Look at everything, after every kill."""
        self._rows_stay()
        self._nothing_is_drawn_twice()
        self._draws_continue_from_the_newest_week()
        self._nothing_is_forgotten()
        self._balances_are_exact()
        self._publications_verify()

    def close(self) -> None:
        """Look at everything once more, after the last week."""
        self._verified.clear()
        self.audit()
        weeks = sorted(week.place.week for week in self.weeks)
        assert weeks == list(range(1, N_WEEKS + 1)), "every week was reserved once"
        for week in self.weeks:
            burnt = Ledger(self.home.ledger).attempt(week.release_id, week.attempt).burnt_draws
            assert week.stands != bool(burnt), "what was not burnt is published, nothing is lost"
        published = [week for week in self.weeks if week.stands]
        assert len(self._verified) == len(published)

    def is_burnt(self, week: int) -> bool:
        """Whether a draw of a week was started and never finished."""
        ledger = Ledger(self.home.ledger)
        weeks = weeks_of(ledger.entries(), PRODUCT, LOCALE, SERIES)
        [found] = [w for w in weeks if w.place.week == week] or [None]
        return found is not None and bool(
            ledger.attempt(found.release_id, found.attempt).burnt_draws
        )

    def _rows_stay(self) -> None:
        ledger = Ledger(self.home.ledger)
        ledger.verify(published_heads(self.home))
        before, self.entries = self.entries, ledger.entries()
        assert self.entries[: len(before)] == before, "no row changes or goes"

    def _nothing_is_drawn_twice(self) -> None:
        place = {e.key: e.payload.place for e in self.entries if e.kind is Kind.RESERVED}
        started = [e for e in self.entries if e.kind is Kind.DRAW_STARTED]
        starts = Counter((place[e.key].week, e.draw) for e in started)
        assert max(starts.values(), default=1) == 1, f"a week has begun twice: {starts}"
        draws = faults.read_lines(self.root / "draws")
        calls = Counter((d["release"], d["attempt"], d["mechanism"], d["week"]) for d in draws)
        assert max(calls.values(), default=1) == 1, f"noise was drawn twice: {calls}"
        for draw in draws:
            assert (draw["reserved"], draw["started"], draw["drawn"]) == (True, True, False), draw

    def _draws_continue_from_the_newest_week(self) -> None:
        draws = faults.read_lines(self.root / "draws")
        for week in self.weeks:
            found = [
                (draw["after_week"], draw["week"]) for draw in draws
                if draw["mechanism"] == "WeekFinding"
                and (draw["release"], draw["attempt"]) == (week.release_id, week.attempt)
            ]  # fmt: skip
            number = week.place.week
            newest = max((w.place.week for w in self.drawn if w.place.week < number), default=0)
            whole = [(missing - 1, missing) for missing in range(newest + 1, number + 1)]
            assert found == whole[: len(found)], f"week {number} goes on from {newest}: {found}"
            assert found == whole or not week.is_drawn

    def _nothing_is_forgotten(self) -> None:
        known: set[str] = set()
        given: set[str] = set()
        for week in self.drawn:
            release = Release(self.home, week.release_id, week.attempt)
            listed = set(load_measurement(release, HEADLIST)["query"].to_pylist()) - {None}
            found = set(load_measurement(release, JOINING)["query"].to_pylist())
            assert known | found <= listed, "what was found is known ever after"
            known, given = listed, given | given_in(week.place.week)
            assert known <= given
            # In later weeks less counts, and what half of the people search for may be missed.
            assert week.place.week > 1 or known == {"maps", "news"}
        if self.drawn and (newest := self.drawn[-1]).place.week < N_WEEKS:
            store = StateStore.of(self.home, PRODUCT, LOCALE, newest.place)
            over = any(w.place.week == N_WEEKS and w.has_begun for w in self.weeks)
            if over and not store.folder.exists():
                return  # its last week is burnt: nobody draws from it any more
            assert newest.state is not None
            state = store.load(newest.place.week, newest.state, season_of(newest.place))
            assert set(state.records["query"]) == given - known, "sums of all that was not named"
            assert state.carried.week == newest.place.week
        elif self.drawn:
            assert self.drawn[-1].state is None, "after the last week nothing is carried on"

    def _balances_are_exact(self) -> None:
        sums = self._sums()
        ledger = Ledger(self.home.ledger)
        with open_memory(self.home.spill) as engine:
            policy = current_policy(self.entries)
            put_spending(engine, self.home, self.entries, policy, ledger.moment())
            rows = engine.fetch("spending").to_pylist()
        spending = {
            r["account"]: tuple(int(r[p]) for p in ("epsilon", "delta", "rho")) for r in rows
        }
        assert spending == sums
        keys, form = Keyring.open(self.home), id_form_of(self.entries)
        accounts = {person: account_of(keys, person, form) for person in (*MANY, *PHONES)}
        assert set(sums) <= set(accounts.values())
        spent = {person: sums.get(account, (0, 0, 0)) for person, account in accounts.items()}
        for person in MANY:
            assert spent[person] == self._expected(person), person
        asked = {week.reserved.groups[CLIENTS].epsilon_nano for week in self.weeks}
        for person in PHONES:
            assert spent[person] in {(0, 0, 0), *((epsilon, 0, 0) for epsilon in asked)}, person
        # One person of every balance that there is, and those who are special.
        for person in {*dict(zip(spent.values(), spent, strict=True)).values(), ABSENT, LEAVER}:
            shown = balance(self.home, person).spent
            assert (shown.epsilon, shown.delta, shown.rho) == spent[person], person

    def _sums(self) -> dict[bytes, tuple[int, ...]]:
        """Add up every charge that was not voided, person by person, in plain Python."""
        voided = {e.key for e in self.entries if e.kind is Kind.VOIDED}
        sums: dict[bytes, tuple[int, ...]] = {}
        for entry in self.entries:
            if entry.kind is not Kind.RESERVED or entry.key in voided:
                continue
            sealed = self.home.participation / f"{entry.payload.participation}.parquet"
            for row in pq.read_table(sealed).to_pylist():
                terms = entry.payload.groups[row["cohort"]]
                charge = (terms.epsilon_nano, terms.delta_atto, terms.rho_pico)
                before = sums.get(row["account"], (0, 0, 0))
                sums[row["account"]] = tuple(map(sum, zip(before, charge, strict=True)))
        return sums

    def _expected(self, person: str) -> tuple[int, int, int]:
        """What the season says: tests once, and every week from one's first to one's last."""
        first = 1 if person in MANY[:N_AT_FIRST] else 2
        last = 2 if person == LEAVER else N_WEEKS
        weeks = [week for week in self.weeks if first <= week.place.week <= last]
        if not weeks:
            return 0, 0, 0
        season = season_of(weeks[0].place)
        leak = math.ceil(Fraction(season.leak) * DELTA_UNITS)
        return 0, leak, sum(math.ceil(season.rho(w.place.week) * RHO_UNITS) for w in weeks)

    def _publications_verify(self) -> None:
        key = bytes.fromhex((self.home.public / "signing.pub").read_text())
        for week in self.weeks:
            if not week.stands:
                continue
            folder = published_folder(Release(self.home, week.release_id, week.attempt))
            if folder.exists() and folder not in self._verified:
                verify_publication(self.home, folder, key)
                self._verified.add(folder)
        shelf = files_below(self.home.shelf(PRODUCT, LOCALE))
        shelved = {name: data for name, data in shelf.items() if "/" in name}
        changed = {name for name, data in self._shelved.items() if shelved.get(name) != data}
        assert not changed, "what was published stays as it is"
        self._shelved = shelved
