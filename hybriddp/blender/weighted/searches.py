"""All records of people, as arrays: what they give weight to, and what their shares are.

A release does the same in SQL (sql/head_list/weighted/); a test compares both.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import IntArray
from hybriddp.blender.headlist import HeadList, RecordCounts, one_record_each
from hybriddp.blender.weighted.weights import SHARE_UNITS, concentration_of, weights_up_to
from hybriddp.errors import require


@dataclass(frozen=True, slots=True, eq=False)
class Searches:
    """The records of people, person after person, each person's in random order. Private.

    A negative id stands for a record that is not usable, the wildcard <*,*>.
    """

    n_records: IntArray  # of each person, 0 or more
    query_ids: IntArray  # of all records
    url_ids: IntArray

    def __post_init__(self) -> None:
        require(
            int(self.n_records.sum()) == len(self.query_ids) == len(self.url_ids),
            "ids must be those of all people's records",
            f"{len(self.query_ids)} and {len(self.url_ids)}",
            "give each person's records one after the other",
        )

    @classmethod
    def of_units(cls, query_ids: IntArray, url_ids: IntArray) -> "Searches":
        """Read ids of shape (people,) or (people, records).

        Privacy claim: none; the result is as private as the records.
        """
        queries, urls = (np.asarray(ids) for ids in (query_ids, url_ids))
        per_person = 1 if queries.ndim == 1 else queries.shape[1]
        flat = one_record_each(queries.reshape(-1), urls.reshape(-1))
        return cls(np.full(len(queries), per_person, dtype=np.int64), *flat)

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return len(self.n_records)

    def of(self, people: IntArray) -> "Searches":
        """Return the records of some people.

        Privacy claim: none; the result is as private as the records.
        """
        starts, sizes = (np.cumsum(self.n_records) - self.n_records)[people], self.n_records[people]
        ends = np.cumsum(sizes)
        rows = np.repeat(starts - (ends - sizes), sizes) + np.arange(int(sizes.sum()))
        return Searches(sizes, self.query_ids[rows], self.url_ids[rows])

    def firsts(self) -> tuple[IntArray, IntArray]:
        """Return a record of each person, by chance; wildcards of those who have none.

        Privacy claim: none; the result is as private as the records.
        """
        starts = np.cumsum(self.n_records) - self.n_records
        has_any = np.flatnonzero(self.n_records > 0)
        ids = []
        for of_all in (self.query_ids, self.url_ids):
            first = np.full(self.n_people, -1, dtype=np.int64)
            first[has_any] = of_all[starts[has_any]]
            ids.append(first)
        return ids[0], ids[1]

    def weights(self, most_records: int, *, rng: np.random.Generator) -> RecordCounts:
        """Sum up the weights of records, of at most so many different ones of each person.

        Privacy claim: none; the result is private and must stay with the curator.
        """
        usable = np.flatnonzero((self.query_ids >= 0) & (self.url_ids >= 0))
        query_ids, url_ids = self.query_ids[usable], self.url_ids[usable]
        _, firsts, which = np.unique(
            _numbered(query_ids, url_ids), return_index=True, return_inverse=True
        )
        people = np.repeat(np.arange(self.n_people), self.n_records)[usable]
        own = np.unique(people * max(len(firsts), 1) + which)
        people, which = np.divmod(own, max(len(firsts), 1))
        order = np.lexsort((rng.random(len(own)), people))
        people, which = people[order], which[order]
        n_own = np.bincount(people, minlength=self.n_people)
        rank = np.arange(len(own)) - (np.cumsum(n_own) - n_own)[people]
        is_given = rank < most_records
        each = np.append(0, weights_up_to(most_records))[np.minimum(n_own, most_records)]
        sums = np.bincount(which[is_given], each[people[is_given]], len(firsts)).astype(np.int64)
        given = sums > 0
        return RecordCounts(query_ids[firsts[given]], url_ids[firsts[given]], sums[given])

    def shares(self, named: HeadList) -> IntArray:
        """Sum up the shares of every cell but <*,*>, and last the concentration of named records.

        A share is of one record, rounded down; <q,*> has those of all records that are not named.

        Privacy claim: none; the result is private and must stay with the curator.
        """
        records = _numbered(self.query_ids, self.url_ids)
        cells = named.cells_of(self.query_ids, self.url_ids)
        people = np.repeat(np.arange(self.n_people), self.n_records)
        is_listed = cells < named.n_cells - 1
        n_different = int(records.max(initial=0)) + 1
        keys, first, counts = np.unique(
            people[is_listed] * n_different + records[is_listed],
            return_index=True,
            return_counts=True,
        )
        cells, people = cells[is_listed][first], keys // n_different
        parts = SHARE_UNITS * counts // self.n_records[people]
        sums = np.bincount(cells, parts, named.n_cells - 1).astype(np.int64)
        of_named = parts[np.isin(cells, named.record_cells)]
        return np.append(sums, sum(map(concentration_of, of_named.tolist())))


def _numbered(query_ids: IntArray, url_ids: IntArray) -> IntArray:
    """Return a number for each different record."""
    urls, url = np.unique(url_ids, return_inverse=True)
    query = np.unique(query_ids, return_inverse=True)[1]
    numbers: IntArray = np.unique(query * max(len(urls), 1) + url, return_inverse=True)[1]
    return numbers
