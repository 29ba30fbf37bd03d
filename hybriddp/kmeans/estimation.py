"""From the noisy tables of a release to its clusters: the way of the centres, then what they are.

The two steps of a release of clusters, in order. Release and verification call them.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.kmeans.mechanism import KMeansMechanism
from hybriddp.kmeans.start import first_centres
from hybriddp.kmeans.summary import ClusterSummary, describe_clusters
from hybriddp.kmeans.tables import Clustering, GroupTables, trace_of_tables
from hybriddp.params import Budget


@dataclass(frozen=True)
class ClusterDesign:
    """What is drawn, and where centres begin; no point of anybody is in it."""

    budget: Budget  # of every person
    uppers: tuple[Fraction, ...]  # the largest number of each dimension
    grid: int
    n_clusters: int
    n_iterations: int
    debias: bool

    @cached_property
    def mechanism(self) -> KMeansMechanism:
        """What both groups are asked; it refuses what cannot be drawn."""
        return KMeansMechanism.for_budget(
            self.budget,
            n_clusters=self.n_clusters,
            n_iterations=self.n_iterations,
            n_dimensions=len(self.uppers),
            grid=self.grid,
            debias=self.debias,
        )

    @cached_property
    def first_centres(self) -> FloatArray:
        """Where centres begin: public, and the same for every release of this shape."""
        return first_centres(self.n_clusters, len(self.uppers), self.grid)


class MeasuredTables(NamedTuple):
    """Both groups' noisy tables, and how many people the trusted one has, which is public."""

    trusted: GroupTables
    local: GroupTables
    n_trusted: int


class Cluster(NamedTuple):
    """One cluster, in the units of its columns; an error is None where nobody had a say."""

    share: float
    share_error: float
    centre: tuple[float, ...]
    errors: tuple[float | None, ...]


def trace_centres(design: ClusterDesign, measured: MeasuredTables) -> FloatArray:
    """Walk from the first centres to the last ones; return all, in parts of each range.

    Privacy claim: none; post-processing of noisy tables.
    """
    setting = design.mechanism.tables
    return trace_of_tables(measured.trusted, measured.local, design.first_centres, setting)


def name_clusters(
    design: ClusterDesign, measured: MeasuredTables, trace: FloatArray
) -> list[Cluster]:
    """Describe the clusters at the end of the way, largest first.

    Privacy claim: none; post-processing of noisy tables.
    """
    found = Clustering(trace, measured.trusted, measured.local)
    summary = describe_clusters(found, design.mechanism.tables, n_trusted=measured.n_trusted)
    uppers = np.array([float(upper) for upper in design.uppers])
    clusters = [_cluster(summary, place, uppers) for place in range(design.n_clusters)]
    return sorted(clusters, key=lambda cluster: (-cluster.share, cluster.centre))


def find_clusters(design: ClusterDesign, measured: MeasuredTables) -> list[Cluster]:
    """Do both steps.

    Privacy claim: none; post-processing of noisy tables.
    """
    return name_clusters(design, measured, trace_centres(design, measured))


def _cluster(summary: ClusterSummary, place: int, uppers: FloatArray) -> Cluster:
    errors = summary.centre_errors[place] * uppers
    return Cluster(
        float(summary.sizes[place]),
        float(summary.size_errors[place]),
        tuple((summary.centres[place] * uppers).tolist()),
        tuple(float(error) if np.isfinite(error) else None for error in errors),
    )
