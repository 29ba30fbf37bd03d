"""What people of a rehearsal hold, and what they find: counts drawn from a public prior."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.headlist import HeadList


@dataclass(frozen=True, slots=True)
class Held:
    """How many users hold each record: their m units, and their first records."""

    units: IntArray
    firsts: IntArray
    alike: IntArray  # users all of whose units are this record


@dataclass(frozen=True, slots=True)
class Found:
    """One rehearsal's records, and which of them S named."""

    query_ids: IntArray
    url_ids: IntArray
    law: FloatArray
    holders: IntArray  # in S
    named: IntArray
    noisy: IntArray  # units of the named ones

    @property
    def candidates(self) -> HeadList:
        """The list before it is cut to M queries."""
        return HeadList.from_records(self.query_ids[self.named], self.url_ids[self.named])

    def on_cells(self, head_list: HeadList, counts: IntArray, n: int) -> IntArray:
        """Sum n people's counts by cell; whoever holds no known record has <*,*>.

        Privacy claim: none; the data comes from a public prior.
        """
        cells = head_list.cells_of(self.query_ids, self.url_ids)
        held = np.bincount(cells, counts, head_list.n_cells).astype(np.int64)
        held[-1] += n - counts.sum()
        return held


def chances_and_cdfs(law: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chance to be named at all, and the cdf of units then; rows are groups.

    Privacy claim: none; the data comes from a public prior.
    """
    law[:, 0] = 0  # only records that occur are looked at
    chance = law.sum(axis=1)
    return chance, np.cumsum(law, axis=1) / np.maximum(chance, 1e-300)[:, None]


def multinomial(n: int, law: FloatArray, *, rng: np.random.Generator) -> IntArray:
    """Count n draws from a law whose rest is no record.

    Privacy claim: none; the data comes from a public prior.
    """
    rest = max(1 - float(law.sum()), 0.0)
    counts: IntArray = rng.multinomial(n, np.append(law, rest))[:-1]
    return counts
