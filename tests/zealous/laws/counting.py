"""What a release counts of a log before any noise: the tasks' own code and SQL, in memory."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest

import tasks.products.histograms.contributions
import tasks.products.histograms.draws
from hybriddp.zealous.item_kinds import CLICKS, ITEM_KINDS, KEYWORDS, PAIRS
from tasks.budget.accounts import account_of
from tasks.log.engine import DuckDBEngine
from tasks.log.ingest import load_searches
from tasks.products.histograms.contributions import Vocabulary, pick_items
from tasks.products.histograms.draws import ZealousRun, choose_people
from tasks.store.keys import Keyring
from tests.engines import empty_database
from tests.homes import new_home
from tests.zealous.support import request_for, reserve_log, write_log

PEOPLE = tuple(f"person {number}" for number in range(6))

Item = tuple[str, str]


@dataclass(frozen=True)
class Counted:
    """One histogram: everybody's different items, what they give of them, how many give each."""

    own: Mapping[str, frozenset[Item]]
    given: Mapping[str, list[Item]]
    counts: Counter[Item]


class Curator:
    """A home in which the people of a roster are reserved, and any log of theirs is counted."""

    def __init__(self, root: Path) -> None:
        self._home = new_home(root / "home", known_keys=True)
        self._roster = root / "roster.tsv"
        self._roster.write_text("person\toptin\n" + "".join(f"{who}\t1\n" for who in PEOPLE))
        log = write_log(root / "log.tsv", [(PEOPLE[0], "q", "2026-11-10 10:00:00", "u")])
        self._reserved = reserve_log(request_for(log, roster=self._roster), self._home)
        keys = Keyring.open(self._home)
        self._names = {account_of(keys, person): person for person in PEOPLE}

    def count(
        self,
        log: Path,
        kinds: Collection[str] = ITEM_KINDS,
        shown: Collection[str] = (),
        **settings: object,
    ) -> dict[str, Counted]:
        """Count a log, as if these queries had been published when the clicks' turn comes."""
        asked = request_for(log, roster=self._roster, histograms=tuple(kinds), **settings)
        run = ZealousRun(self._home, self._reserved.release_id, self._reserved.attempt, asked)
        published = pa.table({"query": pa.array(shown, pa.string())})
        with empty_database() as connection, pytest.MonkeyPatch.context() as patch:
            engine = DuckDBEngine(connection)
            patch.setattr(
                tasks.products.histograms.draws, "open_warehouse", lambda _: nullcontext(engine)
            )
            patch.setattr(
                tasks.products.histograms.contributions, "load_measurement", lambda *_: published
            )
            load_searches(engine, run)
            choose_people(run)
            return {kind: self._count(engine, run, kind) for kind in asked.kinds}

    def _count(self, engine: DuckDBEngine, run: ZealousRun, kind: str) -> Counted:
        everything = run.request.model_copy(update={"items_per_user": 10**9})
        pick_items(engine, run, everything, kind)
        own = self._picked(engine, kind)
        counted = tasks.products.histograms.draws._count_items(engine, run, kind, 1).to_pylist()
        given = self._picked(engine, kind)
        counts = Counter(item for items in given.values() for item in items)
        found = [((row["first_text"], row["second_text"]), row["n_users"]) for row in counted]
        # An item that came twice would be drawn twice, and one person would be two of its users.
        assert sorted(found) == sorted(counts.items())
        assert all(len(items) == len(set(items)) for items in own.values())
        return Counted(
            {person: frozenset(items) for person, items in own.items()},
            {person: sorted(items) for person, items in given.items()},
            counts,
        )

    def _picked(self, engine: DuckDBEngine, kind: str) -> dict[str, list[Item]]:
        """Return everybody's items that were picked last, as texts."""
        spell, picked = _speller(engine, kind), defaultdict(list)
        people = {row["number"]: row["account"] for row in engine.fetch("people").to_pylist()}
        for row in engine.fetch("picked_items").to_pylist():
            picked[self._names[people[row["person"]]]].append(spell(row["item"]))
        return picked


def _speller(engine: DuckDBEngine, kind: str) -> Callable[[int], Item]:
    """Return what turns an item's number into its two texts."""

    def texts(table: str, column: str = "text") -> dict[int, str]:
        return {row["number"]: row[column] for row in engine.fetch(table).to_pylist()}

    first = texts("numbered_keywords", "keyword") if kind == KEYWORDS else texts("numbered_queries")
    second = {PAIRS: first, CLICKS: texts("numbered_urls")}.get(kind, {0: ""})
    n_second = Vocabulary.of(engine).n_second(kind)
    return lambda item: (first[item // n_second], second[item % n_second])
