"""What both strategies' post-processing works with."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from hybriddp.estimate import Estimate, IntervalEstimate
from hybriddp.params import BlenderParams
from tasks.groups import HEADLIST, HISTOGRAM
from tasks.listing import Listing


@dataclass(frozen=True, slots=True)
class Facts:
    """What post-processing needs beside the measurements; all of it is public."""

    params: BlenderParams
    group_sizes: Mapping[str, int]

    @property
    def n_headlist_users(self) -> int:
        """How many people found the list."""
        return self.group_sizes[HEADLIST]

    @property
    def n_histogram_users(self) -> int:
        """How many people measured it."""
        return self.group_sizes[HISTOGRAM]


@dataclass(frozen=True, slots=True)
class Levels:
    """The same quantity for records (cells, <*,*> last) and for queries (* last)."""

    records: Estimate
    queries: Estimate


@dataclass(frozen=True, slots=True)
class Bounded:
    """Both levels with their intervals."""

    records: IntervalEstimate
    queries: IntervalEstimate


def candidate_listing(head_list_draw: pa.Table) -> Listing:
    """Return everything that S named."""
    rows = zip(head_list_draw["query"].to_pylist(), head_list_draw["url"].to_pylist(), strict=True)
    return Listing.of(rows)
