"""The expected error of a weight that comes from an estimated variance, by quadrature.

The estimate is the product's (`mean_variance`): reports tell a variance for nothing, and a part of
the trusted users' budget may buy another one. The weight takes a cautious view of it. Values lie in
[0, 1] here.
"""

import math

import numpy as np
from scipy import special

from hybriddp.arrays import FloatArray
from hybriddp.mean.variance import (
    NOISE_CAUTION,
    SAMPLING_CAUTION,
    VarianceEstimate,
    is_worth_paying,
)
from hybriddp.randomizers.numbers.errors import MeanSetting, laplace_noise

# Points of the Laplace and of the normal part of an estimate's error: middles of equal chances.
# Errors are right to three digits (against 1,501 and 1,001 points).
_N_LAPLACE, _N_NORMAL = 401, 201


def error_of_estimated_weight(
    n_users: float, trusted_fraction: float, epsilon: float, variance: float, share: float
) -> float:
    """Return the expected squared error of a hybrid mean of values in [0, 1].

    Args:
        variance: Of everybody's values, which only the errors of its estimates know.
        share: Of the trusted users' budget that buys an estimate, unless `is_worth_paying` says
            that it could not tell anything. The free estimate from Laplace reports is used anyway.
    """
    n_trusted = trusted_fraction * n_users
    if not (share and is_worth_paying(int(n_trusted), share * epsilon)):
        share = 0.0
    trusted_noise, _ = laplace_noise(n_trusted, 1.0, epsilon * (1 - share))
    local_noise = 2 / epsilon**2
    free = _free_estimate(n_users - n_trusted, local_noise, variance)
    paid = _paid_estimate(int(n_trusted) // 2, share * epsilon, variance) if share else None
    views = _cautious_views(free, paid)
    known = MeanSetting.alike(n_users, trusted_fraction, trusted_noise, local_noise, views)
    truth = MeanSetting.alike(n_users, trusted_fraction, trusted_noise, local_noise, variance)
    return float(np.mean(truth.error_hybrid(known.weight_known_variance)))


def _free_estimate(n_local: float, local_noise: float, variance: float) -> VarianceEstimate:
    """Return the errors of `variance_from_reports` for Laplace noise of this variance."""
    # Laplace noise of variance s^2 has the fourth moment 6 s^4. The values' own is at most their
    # variance, for no value is further than 1 from the mean.
    fourth = variance + 6 * variance * local_noise + 6 * local_noise**2
    spread = variance + local_noise
    return VarianceEstimate(variance, 1.0, math.sqrt((fourth - spread**2) / n_local))


def _paid_estimate(n_pairs: int, epsilon: float, variance: float) -> VarianceEstimate:
    """Return the errors of `variance_from_pairs`, sampling as bad as it can be (Bhatia, Davis)."""
    sampling = math.sqrt(variance * (0.5 - variance) / n_pairs)
    return VarianceEstimate(variance, 1.0, math.sqrt(2) / (2 * n_pairs * epsilon), sampling)


def _cautious_views(free: VarianceEstimate, paid: VarianceEstimate | None) -> FloatArray:
    """Return equally likely values of `VarianceEstimate.cautious`."""
    if paid is None:
        laplace, normal, found = np.zeros(1), free.noise, free
    else:
        found = free.combined(paid)
        of_paid = free.error**2 / (free.error**2 + paid.error**2)
        laplace = of_paid * paid.noise / math.sqrt(2) * _laplace_points()
        normal = math.hypot((1 - of_paid) * free.noise, of_paid * paid.sampling)
    guesses = free.value + laplace[:, None] + normal * special.ndtri(_middles(_N_NORMAL))
    margin = NOISE_CAUTION * found.noise + SAMPLING_CAUTION * found.sampling
    views: FloatArray = np.clip(guesses - margin, 0.0, 0.25)  # no variance in [0, 1] is above 1/4
    return views


def _laplace_points() -> FloatArray:
    distance = _middles(_N_LAPLACE) - 0.5
    points: FloatArray = -np.sign(distance) * np.log1p(-2 * np.abs(distance))
    return points


def _middles(n_points: int) -> FloatArray:
    return (np.arange(n_points) + 0.5) / n_points
