"""From noisy tables to centres: the half of k-means that sees nobody's point.

An iteration measures, for each group, how many people every cluster has and what their points add
up to. `next_centres` is all that happens between two measurements, so whoever has the tables and
the first centres can walk the whole way again: `trace_of_tables`. `iterate` does both in turn, for
studies and releases alike.

The rules (MEAN20 Algorithm 1 lines 9 to 15; `kmeans` says where they are read or changed):
- A group's mean of a cluster is its sum over its count, clipped to [0, m]^d.
- A group whose count of a cluster is below 1 has no say in its centre; where no group has one, the
  centre stays.
- Groups are weighed by 1/variance of the noise of their means: w_PWH of Definition 5.3.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.kmeans.noise import undo_lies
from hybriddp.kmeans.setting import NOISE_OF_MEAN, TableSetting

_LEAST_COUNT = 1.0


class ClusterTable(NamedTuple):
    """What one group says of every cluster in one iteration: (K,) and (K, d)."""

    counts: FloatArray | IntArray
    sums: FloatArray | IntArray


@dataclass(frozen=True, slots=True, eq=False)
class GroupTables:
    """One group's tables of all iterations: (tau, K) and (tau, K, d), in the setting's unit."""

    counts: FloatArray | IntArray
    sums: FloatArray | IntArray

    def __post_init__(self) -> None:
        require(
            self.counts.ndim == 2
            and self.sums.ndim == 3
            and self.sums.shape[:2] == self.counts.shape
            and min(self.sums.shape) >= 1
            and {self.counts.dtype.kind, self.sums.dtype.kind} <= set("fiu"),
            "tables must hold numbers: counts (tau, K) and sums (tau, K, d)",
            f"shapes {self.counts.shape} and {self.sums.shape}",
            "take them from one group of one measurement",
        )

    @classmethod
    def stack(cls, tables: Sequence[ClusterTable]) -> "GroupTables":
        """Return the tables of iterations one after the other."""
        return cls(np.array([t.counts for t in tables]), np.array([t.sums for t in tables]))

    @property
    def tables(self) -> list[ClusterTable]:
        """One for each iteration."""
        return [ClusterTable(*table) for table in zip(self.counts, self.sums, strict=True)]


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """The centres (K, d) of every iteration, the first ones included, and what moved them.

    Local users answer with the trace (tau + 1, K, d) before their eyes, so the accounting covers
    all of it. A group that there was not has no tables.
    """

    trace: FloatArray
    trusted: GroupTables | None
    local: GroupTables | None

    @property
    def centres(self) -> FloatArray:
        """The final ones."""
        last: FloatArray = self.trace[-1]
        return last


class GroupView(NamedTuple):
    """One group's view of the clusters: people (K,), means (K, d), 1/variance of their noise (K,).

    A precision of 0 means that the group has nothing to say about the cluster.
    """

    counts: FloatArray
    means: FloatArray
    precisions: FloatArray


# Returns a group's noisy table of the clusters around these centres (K, d).
Measure = Callable[[FloatArray], ClusterTable]


def iterate(
    trusted: Measure | None,
    local: Measure | None,
    centres: FloatArray,
    n_iterations: int,
    setting: TableSetting,
) -> Clustering:
    """Measure both groups and move the centres, time and again.

    Privacy claim: none by itself; nothing is learned of anybody but what the tables say.
    """
    trace, trusted_tables, local_tables = [centres], [], []
    for _ in range(n_iterations):
        now = trace[-1]
        trusted_table = None if trusted is None else trusted(now)
        local_table = None if local is None else local(now)
        trusted_tables.append(trusted_table)
        local_tables.append(local_table)
        trace.append(next_centres(trusted_table, local_table, now, setting))
    return Clustering(np.stack(trace), _stack(trusted_tables), _stack(local_tables))


def trace_of_tables(
    trusted: GroupTables | None,
    local: GroupTables | None,
    centres: FloatArray,
    setting: TableSetting,
) -> FloatArray:
    """Return the centres of every iteration, the first ones included: (tau + 1, K, d).

    Privacy claim: none; post-processing of noisy tables.
    """
    present = [tables for tables in (trusted, local) if tables is not None]
    require(bool(present), "centres need tables", "none", "give a group's")
    require(
        len({tables.sums.shape for tables in present}) == 1
        and present[0].sums.shape[1:] == centres.shape,
        "both groups' tables and the centres must agree on tau, K and d",
        f"sums {[tables.sums.shape for tables in present]} and centres {centres.shape}",
        "take all of them from one measurement",
    )
    absent = [None] * len(present[0].counts)
    of_trusted, of_local = (absent if g is None else g.tables for g in (trusted, local))
    trace = [centres]
    for trusted_table, local_table in zip(of_trusted, of_local, strict=True):
        trace.append(next_centres(trusted_table, local_table, trace[-1], setting))
    return np.stack(trace)


def next_centres(
    trusted: ClusterTable | None,
    local: ClusterTable | None,
    centres: FloatArray,
    setting: TableSetting,
) -> FloatArray:
    """Move the centres (K, d) to the blend of what both groups say: lines 13 to 15.

    Privacy claim: none; post-processing of noisy tables.
    """
    views = views_of(trusted, local, setting)
    precision = np.sum([view.precisions for view in views], axis=0)[:, None]
    weighted = np.sum([view.precisions[:, None] * view.means for view in views], axis=0)
    blend: FloatArray = np.where(
        precision > 0, weighted / np.where(precision > 0, precision, 1), centres
    )
    return blend


def views_of(
    trusted: ClusterTable | None, local: ClusterTable | None, setting: TableSetting
) -> list[GroupView]:
    """Return what each group that there is says of the clusters, the trusted one first."""
    views = []
    if trusted is not None:
        views.append(_trusted_view(trusted, setting))
    if local is not None:
        views.append(_local_view(local, setting))
    return views


def noises_carried(counts: FloatArray, setting: TableSetting) -> FloatArray:
    """Return how many local users' noises each cluster's sum carries (K,), squares of factors.

    `undo_lies` gives a report the factor (1 - q)/(p - q) in the cluster that its user named and
    -q/(p - q) in all others. The paper's estimator is the same with p = 1, q = 0.

    Args:
        counts: How many users named each cluster.

    Privacy claim: none; post-processing of local reports.
    """
    p, q = setting.reading
    carried: FloatArray = (counts * (1 - q) ** 2 + (counts.sum() - counts) * q**2) / (p - q) ** 2
    return carried


def _trusted_view(table: ClusterTable, setting: TableSetting) -> GroupView:
    """Return T's means: lines 9 and 10."""
    counts, sums = table.counts / setting.unit, table.sums / setting.unit
    # Line 13. The noise of the count moves the mean, too, by Y_1/N times the mean; PWH leaves
    # that out, and so do we.
    divisor = counts if setting.weight == NOISE_OF_MEAN else np.ones_like(counts)
    return _view(counts, sums, divisor**2 / setting.curator_variance, setting)


def _local_view(table: ClusterTable, setting: TableSetting) -> GroupView:
    """Return L's means, with `debias` of unbiased counts and sums: lines 11 and 12."""
    named, sums = table.counts / setting.unit, table.sums / setting.unit
    n_noises = noises_carried(named, setting)
    counts, sums = undo_lies(named, *setting.reading), undo_lies(sums, *setting.reading)
    variances = np.where(n_noises > 0, n_noises, 1.0) * setting.report_variance
    return _view(counts, sums, counts**2 / variances, setting)


def _view(
    counts: FloatArray, sums: FloatArray, precisions: FloatArray, setting: TableSetting
) -> GroupView:
    """Divide sums by counts where there is enough to divide by."""
    is_known = counts >= _LEAST_COUNT
    means = sums / np.where(is_known, counts, 1.0)[:, None]
    clipped = np.clip(means, 0.0, setting.largest)
    return GroupView(counts, clipped, np.where(is_known, precisions, 0.0))


def _stack(tables: Sequence[ClusterTable | None]) -> GroupTables | None:
    present = [table for table in tables if table is not None]
    return GroupTables.stack(present) if present else None
