"""What BLENDER and ZEALOUS publish of the same people's records at equal privacy.

A record is a pair <query, url>. Both estimate the same thing, the share of people whose random
record it is: a person with n different records gives 1/n to each. ZEALOUS publishes one random
record of a person (m = 1) that enough people share; BLENDER uses five of an opt-in person's at the
weight of one, and reports of everybody else.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.headlist import HeadList, RecordCounts
from hybriddp.blender.metrics import evaluate
from hybriddp.blender.simulate import SimulatedRelease, simulate
from hybriddp.params import HIGH_UTILITY, BlenderParams
from hybriddp.studies.applications.measures import Histogram
from hybriddp.studies.zealous.logs import RankedItems, StudyLog
from hybriddp.studies.zealous.settings import BLENDER, ZEALOUS_OPTIN, ZealousSetting
from hybriddp.zealous.item_kinds import CLICKS

Row = dict[str, float | str | None]

PUBLISHED, OPTIN_ALONE = "all", "opt-in"  # parts
N_TOP = 100  # records and queries of the truth that are looked at
_N_UNITS = 5
# More queries than 20 % of half a million people can find at epsilon 6: nothing is cut off.
_MAX_HEAD_SIZE = 1_000
# The truth in millionths of a person, because counts are whole numbers.
_PARTS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class People:
    """What there is to know about everybody's records, the same for all settings of a seed."""

    n_urls: int
    willingness: FloatArray  # who opts in first: groups of different sizes are nested
    units: IntArray  # (n_users, 5) records of each, drawn with replacement; -1 for no record
    chosen: IntArray  # (n_users,) the one that ZEALOUS is given
    truth: RecordCounts  # in millionths of a person
    top: IntArray  # the most frequent records
    top_shares: FloatArray

    @property
    def n_users(self) -> int:
        """How many there are, with and without records."""
        return len(self.chosen)

    def split(self, records: IntArray) -> tuple[IntArray, IntArray]:
        """Return the queries and the urls of records, -1 for no record.

        Privacy claim: none; synthetic data.
        """
        queries, urls = np.divmod(records, self.n_urls)
        is_record = records >= 0
        return np.where(is_record, queries, -1), np.where(is_record, urls, -1)


def record_rows(setting: ZealousSetting, log: StudyLog, *, rng: np.random.Generator) -> list[Row]:
    """Measure what one method publishes; BLENDER also says what its opt-in people alone say.

    Privacy claim: none; synthetic data.
    """
    people = log.once("people", lambda: meet(log))
    if setting.method == BLENDER:
        release = _blend(setting, people, rng)
        sums = release.queries
        return [
            {"part": part, **_measure(release.head_list, cells, queries, people)}
            for part, cells, queries in (
                (PUBLISHED, release.records.projected, sums.projected),
                (OPTIN_ALONE, release.records.optin.values, sums.optin.values),
            )
        ]
    given = people.chosen
    if setting.method == ZEALOUS_OPTIN:
        given = given[people.willingness < setting.optin_fraction]
    records, counts = np.unique(given[given >= 0], return_counts=True)
    mechanism = setting.mechanism(len(given))
    named = mechanism.simulate(counts.astype(np.int64), rng=rng)
    shown = Histogram(records[named.is_named], named.noisy_counts)
    return [{"part": PUBLISHED, **_measure(*_as_list(shown, len(given), people), people)}]


def meet(log: StudyLog) -> People:
    """Find out what everybody's records are."""
    held, rng = log.items(CLICKS), log.rng("people")
    first = np.full(log.n_users, -1, np.int64)
    is_first = held.ranks == 0
    first[held.users[is_first]] = held.items[is_first]
    truth = _true_parts(held)
    top = truth.top(N_TOP)
    queries, urls = np.divmod(truth.items, log.log.n_urls)
    return People(
        n_urls=log.log.n_urls,
        willingness=rng.random(log.n_users),
        units=_draw_units(held, log.n_users, rng),
        chosen=first,
        truth=RecordCounts(queries, urls, truth.counts),
        top=top,
        top_shares=truth.counts_of(top) / (_PARTS * log.n_users),
    )


def _true_parts(held: RankedItems) -> Histogram:
    """Return what people give to each record, in millionths: 1/n each if they have n."""
    n_held = np.bincount(held.users)
    items, position = np.unique(held.items, return_inverse=True)
    parts = np.bincount(position, _PARTS / n_held[held.users])
    return Histogram(items, np.maximum(np.round(parts), 1).astype(np.int64))


def _draw_units(held: RankedItems, n_users: int, rng: np.random.Generator) -> IntArray:
    """Draw five of each person's records, with replacement."""
    n_held = np.bincount(held.users, minlength=n_users)
    firsts = np.cumsum(n_held) - n_held
    places = firsts[:, None] + (rng.random((n_users, _N_UNITS)) * n_held[:, None]).astype(np.int64)
    has_some = n_held > 0
    units = np.full((n_users, _N_UNITS), -1, np.int64)
    units[has_some] = held.items[places[has_some]]
    return units


def _blend(setting: ZealousSetting, people: People, rng: np.random.Generator) -> SimulatedRelease:
    params = BlenderParams(
        setting.epsilon,
        setting.delta,
        strategy=HIGH_UTILITY,
        max_head_size=_MAX_HEAD_SIZE,
        max_records_optin=_N_UNITS,
    )
    is_optin = people.willingness < setting.optin_fraction
    return simulate(*people.split(people.units), is_optin, params, rng=rng)


def _as_list(
    shown: Histogram, n_givers: int, people: People
) -> tuple[HeadList, FloatArray, FloatArray]:
    """Return a published histogram as a list with probabilities, of records and of queries."""
    head_list = HeadList.from_records(*people.split(shown.items))
    cells = np.zeros(head_list.n_cells)
    cells[head_list.record_cells] = shown.counts / n_givers
    return head_list, cells, np.add.reduceat(cells, head_list.cell_starts)


def _measure(head_list: HeadList, cells: FloatArray, queries: FloatArray, people: People) -> Row:
    utility = evaluate(head_list, cells, queries, people.truth, _PARTS * people.n_users, N_TOP)
    top_cells = head_list.cells_of(*people.split(people.top))
    # A record that is not listed falls into the cell of its query's, or of all, other records.
    is_listed = np.isin(top_cells, head_list.record_cells)
    shown = np.where(is_listed, cells[top_cells], 0.0)
    errors = np.abs(shown - people.top_shares)
    listed_mass = float(people.top_shares[is_listed].sum())
    return {
        "n_records": float(head_list.n_records),
        "n_queries": float(head_list.n_queries),
        "l1_top_records": float(errors.sum()),
        # Of what is listed only: whoever lists nothing has no error, and no zero either.
        "listed_error": float(errors[is_listed].sum()) / listed_mass if listed_mass else None,
        "top_listed": float(is_listed.mean()),
        "ndcg_queries": utility.ndcg_queries,
        "ndcg_of_ndcgs": utility.ndcg_of_ndcgs,
    }
