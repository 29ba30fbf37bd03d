"""What each group says about the cells of a list, and how sure it is for any true probability.

A variance computed from a noisy estimate is correlated with it, and weights made of such variances
bias a blend. So a source here gives its variance as a function of the true probability, and the
blend evaluates all sources at one common value.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.errors import require

# Rounds of evaluating variances at the blend and blending again; more change nothing.
_ROUNDS = 4


class Source(Protocol):
    """An unbiased estimate of some cells' probabilities."""

    @property
    def values(self) -> FloatArray:
        """The estimates, shape (cells,)."""

    def variance_at(self, probabilities: FloatArray) -> FloatArray:
        """Return the variances if these were the true probabilities, shape (cells, ...).

        Privacy claim: none; post-processing of a draw.
        """

    def log_likelihood(self, grid: FloatArray, centres: FloatArray) -> FloatArray:
        """Return the log-likelihood of each cell's points (cells, points), up to a constant.

        `centres` (cells,) are good guesses of the probabilities.

        Privacy claim: none; post-processing of a draw.
        """

    def shared_covariance(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return U (cells, k) and C (k, k): off the diagonal, the covariance is U C U'.

        Privacy claim: none; post-processing of a draw.
        """

    def at(self, cells: IntArray) -> "Source":
        """Return what the source says about some of its cells.

        Privacy claim: none; post-processing of a draw.
        """


@dataclass(frozen=True, slots=True)
class CentralCounts:
    """Noisy counts of opt-in users, as shares of the group.

    `spread` is the variance of one user's weight on a cell, as a part of p(1-p): 1 for one
    record a user, down to 1/m where a user's m records are spread evenly. It and the noise may
    be the same for all cells, or each cell's own. `deviation` is how far what was counted may be
    from the share itself, as a part of it: the larger a share, the more.
    """

    values: FloatArray
    n_users: int
    noise_variance: float | FloatArray  # of a count, in users
    spread: float | FloatArray = 1.0
    only_occurring: bool = False  # cells that none of these users holds were not looked at
    deviation: FloatArray | None = None

    @classmethod
    def of(
        cls,
        noisy_units: IntArray,
        n_users: int,
        noise_variance: float,
        *,
        records_per_user: int = 1,
        spread: float = 1.0,
        only_occurring: bool = False,
    ) -> "CentralCounts":
        """Turn noisy counts, in units of 1/`records_per_user` of a user, into shares.

        Privacy claim: none; post-processing of a HeadListDraw or OptinHistogram.
        """
        require(
            n_users >= 1,
            "an opt-in group must have at least 1 user",
            n_users,
            "enlarge the opt-in group",
        )
        shares = np.asarray(noisy_units, dtype=np.float64) / (records_per_user * n_users)
        return cls(shares, n_users, noise_variance / records_per_user**2, spread, only_occurring)

    def variance_at(self, probabilities: FloatArray) -> FloatArray:
        """Sampling of users, and noise.

        Privacy claim: none; post-processing of noisy counts.
        """
        n = self.n_users
        spread, noise = (
            _beside(number, probabilities.ndim) for number in (self.spread, self.noise_variance)
        )
        variances = spread * probabilities * (1 - probabilities) / n + noise / n**2
        if self.deviation is None:
            return variances
        return variances + (_beside(self.deviation, probabilities.ndim) * probabilities) ** 2

    def log_likelihood(self, grid: FloatArray, centres: FloatArray) -> FloatArray:
        """Quasi-likelihood of a count x with mean n p and variance V(t) = phi t + s at mean t.

        The integral of (x - t)/V(t), which is Poisson's likelihood for phi = 1 and s = 0. It is
        skewed as counts are, where a normal law would promise too much certainty to the left. A
        deviation d adds (d t)^2 to V(t): a small share cannot have been counted as a large one.

        Privacy claim: none; post-processing of noisy counts.
        """
        spread, noise = (_beside(number, 2) for number in (self.spread, self.noise_variance))
        phi = spread * (1 - np.clip(centres, 0, 0.999))[:, None]
        mean = self.n_users * grid
        counts = (self.n_users * self.values)[:, None]
        if self.deviation is not None:
            differing = (self.deviation[:, None] * mean) ** 2
            return _integral((counts - mean) / (phi * mean + noise + differing), mean)
        with_noise = np.maximum(counts + noise / phi, 0)
        log_likelihood = with_noise / phi * np.log(phi * mean + noise) - mean / phi
        if self.only_occurring:
            log_likelihood = log_likelihood + np.log(-np.expm1(-mean))
        return log_likelihood

    def shared_covariance(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return none: cells of rare records are nearly independent.

        Privacy claim: none; post-processing of noisy counts.
        """
        return np.zeros((len(probabilities), 1)), np.zeros((1, 1))

    def at(self, cells: IntArray) -> "CentralCounts":
        """Return the same for some cells.

        Privacy claim: none; post-processing of noisy counts.
        """
        spread, noise = (
            number[cells] if isinstance(number, np.ndarray) else number
            for number in (self.spread, self.noise_variance)
        )
        deviation = None if self.deviation is None else self.deviation[cells]
        return replace(
            self,
            values=self.values[cells],
            spread=spread,
            noise_variance=noise,
            deviation=deviation,
        )


def _integral(slopes: FloatArray, points: FloatArray) -> FloatArray:
    """Return each row's integral from its first point on, by trapezoids."""
    steps = np.diff(points, axis=1) * (slopes[:, 1:] + slopes[:, :-1]) / 2
    return np.concatenate([np.zeros((len(points), 1)), np.cumsum(steps, axis=1)], axis=1)


def _beside(number: float | FloatArray, n_dimensions: int) -> float | FloatArray:
    """Bring each cell's own number beside arrays whose first dimension is the cells."""
    if not isinstance(number, np.ndarray):
        return number
    return number.reshape((-1, *(1,) * (n_dimensions - 1)))


@dataclass(frozen=True, slots=True)
class Fixed:
    """Estimates whose variances are known as they are, such as those of two-stage reports."""

    values: FloatArray
    variances: FloatArray

    def variance_at(self, probabilities: FloatArray) -> FloatArray:
        """Return the variances, whatever the probabilities are.

        Privacy claim: none; post-processing of estimates.
        """
        trailing = (1,) * (probabilities.ndim - self.variances.ndim)
        return np.broadcast_to(
            self.variances.reshape(self.variances.shape + trailing), probabilities.shape
        )

    def log_likelihood(self, grid: FloatArray, centres: FloatArray) -> FloatArray:
        """Normal, with the known variances.

        Privacy claim: none; post-processing of estimates.
        """
        return normal_log_likelihood(self, grid)

    def shared_covariance(self, probabilities: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return none: only the variances are known.

        Privacy claim: none; post-processing of estimates.
        """
        return np.zeros((len(probabilities), 1)), np.zeros((1, 1))

    def at(self, cells: IntArray) -> "Fixed":
        """Return the same for some cells.

        Privacy claim: none; post-processing of estimates.
        """
        return Fixed(self.values[cells], self.variances[cells])


def normal_log_likelihood(source: Source, grid: FloatArray) -> FloatArray:
    """Return the log-likelihood of points if an estimate is normal around each of them.

    Privacy claim: none; post-processing of estimates.
    """
    variance = source.variance_at(grid)
    return -((source.values[:, None] - grid) ** 2) / (2 * variance) - np.log(variance) / 2


def pool(sources: Sequence[Source]) -> Estimate:
    """Blend sources by their precision, all evaluated at the blend itself.

    Start from the last source, the clients, and iterate. Values may leave [0, 1], as those of
    the sources do; the probabilities at which variances are evaluated may not.

    Privacy claim: none; post-processing of estimates.
    """
    values = sources[-1].values
    for _ in range(_ROUNDS):
        p = np.clip(values, 0, 1)
        precisions = [1 / source.variance_at(p) for source in sources]
        total = np.sum(precisions, axis=0)
        values = (
            np.sum(
                [w * source.values for w, source in zip(precisions, sources, strict=True)], axis=0
            )
            / total
        )
    return Estimate(values, 1 / total)
