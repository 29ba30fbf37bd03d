"""Hybrid k-means as a release draws it: integers, exact noise, the operating system's randomness.

Points are integers 0 to `grid` in each coordinate; whoever calls scales columns by their own bounds
before (`mean_grid.ValueGrid`). Each iteration measures the people around the centres that earlier
tables led to, so the tables and the first centres are all that is published: the rest is
`kmeans_tables`. Centres lie in the unit cube; people compare themselves with centres rounded to
the grid, in integers.

Proof: docs/proofs/kmeans.md.
"""

import math
import os
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hybriddp.arrays import FloatArray, IntArray, as_integers
from hybriddp.errors import require, require_count
from hybriddp.kmeans.events import ClusterReport, ClusterSums, replaced_point_moves
from hybriddp.kmeans.groups import Clients, Curator
from hybriddp.kmeans.setting import TableSetting
from hybriddp.kmeans.tables import Clustering, iterate
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.words import RandomBytes
from hybriddp.params import Budget
from hybriddp.randomizers.numbers.grid import DEFAULT_STEPS
from hybriddp.randomizers.numbers.reports import check_grid
from hybriddp.randomizers.response import RandomizedResponse


@dataclass(frozen=True, slots=True)
class KMeansMechanism:
    """What both groups' tables of all iterations are drawn with."""

    budget: Budget
    n_iterations: int
    n_dimensions: int
    curator_scale: int  # of the noise on each of T's counts and sums, in steps of the grid
    report_scale: int  # of the noise on each coordinate of a client's point
    response: RandomizedResponse  # which cluster a client names
    grid: int = DEFAULT_STEPS
    debias: bool = True  # how tables become centres: undo what clients' lies do to them

    def __post_init__(self) -> None:
        check_grid(self.grid)
        _ = self.trusted_event, self.client_event  # which refuse noise that costs too much

    @classmethod
    def for_budget(
        cls,
        budget: Budget,
        *,
        n_clusters: int,
        n_iterations: int,
        n_dimensions: int,
        grid: int = DEFAULT_STEPS,
        debias: bool = True,
    ) -> "KMeansMechanism":
        """Return the mechanism with the least noise in whole steps; it needs no delta.

        MEAN20 Algorithm 1 line 2 with twice its b_T, for neighbours who replace their point.
        """
        require_count(n_clusters, "n_clusters")
        require_count(n_iterations, "n_iterations")
        require_count(n_dimensions, "n_dimensions")
        check_grid(grid)
        moved = replaced_point_moves(grid, n_dimensions)
        part = Budget(budget.epsilon / (n_iterations + 1))  # of the point, and of each response
        return cls(
            Budget(budget.epsilon),
            n_iterations,
            n_dimensions,
            math.ceil(moved * n_iterations / budget.epsilon),
            math.ceil(grid * n_dimensions / part.epsilon),
            RandomizedResponse.for_budget(part, n_clusters),
            grid,
            debias,
        )

    @property
    def n_clusters(self) -> int:
        """K."""
        return self.response.n_values

    @property
    def trusted_event(self) -> ClusterSums:
        """What the ledger records for each trusted person."""
        return ClusterSums(
            self.budget, self.grid, self.n_dimensions, self.n_iterations, self.curator_scale
        )

    @property
    def client_event(self) -> ClusterReport:
        """What the ledger records for each client."""
        return ClusterReport(
            self.budget,
            self.grid,
            self.n_dimensions,
            self.n_iterations,
            self.report_scale,
            self.response,
        )

    @property
    def tables(self) -> TableSetting:
        """How tables become centres; with the first centres, all that `trace_of_tables` needs.

        Of nothing but quotients, so that every machine gets the same numbers. 2 b^2 is the
        variance of discrete Laplace noise but for 1/6 of a step's square.
        """
        of_curator, of_report = (
            float(2 * Fraction(scale, self.grid) ** 2)
            for scale in (self.curator_scale, self.report_scale)
        )
        return TableSetting(
            of_curator,
            of_report,
            float(self.response.p_truth),
            float(self.response.p_lie),
            debias=self.debias,
            unit=self.grid,
        )

    def draw(
        self, trusted: IntArray | None, local: IntArray | None, centres: FloatArray
    ) -> Clustering:
        """Measure the groups that there are in all iterations, from these first centres (K, d).

        Privacy claim
          Neighbours  one row of `trusted`, or of `local` (local model), replaced by any other
          Guarantee   (budget.epsilon, 0) for each row, for all that is returned; the events
                      refuse noise that costs more
          Assumes     a person is one row; the groups' sizes, the first centres and the grid do
                      not depend on anybody's point; one call per charge
          Excludes    timing of the sampler; simulated clients trust whoever runs this with their
                      points
          Charged as  events.ClusterSums, events.ClusterReport
          Reference   MEAN20 algorithm 1; docs/proofs/kmeans.md
          Audit       tests/kmeans/test_replacing.py::test_replaced_point_costs_at_most_epsilon
        """
        return self._measure(trusted, local, centres, os.urandom)

    def simulate(
        self,
        trusted: IntArray | None,
        local: IntArray | None,
        centres: FloatArray,
        *,
        rng: np.random.Generator,
    ) -> Clustering:
        """Measure with a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return self._measure(trusted, local, centres, rng.bytes)

    def _measure(
        self,
        trusted: IntArray | None,
        local: IntArray | None,
        centres: FloatArray,
        random_bytes: RandomBytes,
    ) -> Clustering:
        self._check_centres(centres)
        require(
            trusted is not None or local is not None,
            "a clustering needs a group",
            "none",
            "give trusted or local points",
        )
        of_trusted = of_local = None
        if trusted is not None:
            noise = ExactLaplace(float(self.curator_scale))
            of_trusted = Curator(self._checked(trusted), self.grid, noise, random_bytes).measure
        if local is not None:
            noise = ExactLaplace(float(self.report_scale))
            points, response = self._checked(local), self.response
            of_local = Clients(points, self.grid, noise, response, random_bytes).measure
        return iterate(of_trusted, of_local, centres, self.n_iterations, self.tables)

    def _checked(self, points: IntArray) -> IntArray:
        points = as_integers(points, "points")
        require(
            points.ndim == 2 and points.shape[1] == self.n_dimensions,
            f"points must be an array (n, {self.n_dimensions})",
            f"shape {points.shape}",
            "one row for each person, one column for each coordinate",
        )
        require(
            points.size == 0 or bool(points.min() >= 0 and points.max() <= self.grid),
            f"points must lie between 0 and {self.grid} in every coordinate",
            "one outside",
            "clamp them first: the noise is made for that range",
        )
        return np.asfortranarray(points)

    def _check_centres(self, centres: FloatArray) -> None:
        require(
            centres.shape == (self.n_clusters, self.n_dimensions)
            and bool(np.all((centres >= 0) & (centres <= 1))),
            f"centres must be ({self.n_clusters}, {self.n_dimensions}) numbers from 0 to 1",
            f"others, of shape {centres.shape}",
            "take kmeans_start.first_centres",
        )
