"""What discrete Gaussian noise costs on whole vectors: no more than a Gaussian a little narrower.

In several dimensions the discrete Gaussian can cost more than the continuous one of its scale. But
it is, but for a hair, a continuous one of variance `scale^2 - SPREAD` that somebody rounded to
integers at random, without knowing the data (docs/proofs/dominated_gaussian.md). So draws compose
like continuous ones: rho adds up, and Gaussian noise with mu^2 = 2 rho dominates all of them.
"""

from fractions import Fraction

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import FloatArray
from hybriddp.errors import require
from hybriddp.noise.gaussian import DiscreteGaussian, gaussian_delta

# The variance of the random rounding. A rounded Gaussian and a discrete one then differ by a factor
# of at most exp(1e-25) a coordinate.
SPREAD = 3
# Narrower noise would lose more than half of its variance to the rounding.
LEAST_VARIANCE = 2 * SPREAD
# Given away for that factor, on up to 1e12 coordinates of everything that one person is ever in.
_SLACK = 1e-12
# Given away for rounding: the floats below err by 1e-11 of a delta above 1e-300 at most.
UPWARDS = 1 + 1e-9
# What is smaller is charged as this: floats end, and Gaussian noise is never pure.
LEAST_CHANCE = 1e-300


def rho_of(noise: DiscreteGaussian, squared_shift: int) -> Fraction:
    """Return the rho of a vector with this noise that moves by at most sqrt(`squared_shift`)."""
    variance = Fraction(noise.scale) ** 2
    require(
        variance >= LEAST_VARIANCE,
        f"noise on a vector must have a squared scale of at least {LEAST_VARIANCE}",
        f"{float(variance):.6g}",
        "use a finer grid",
    )
    return squared_shift / (2 * (variance - SPREAD))


def delta_of(epsilon: npt.ArrayLike, rho: npt.ArrayLike) -> FloatArray:
    """Return what draws that have this rho together cost at most at epsilon, rounded up.

    Where epsilon is not above 0 it is 1.
    """
    epsilon, mu = np.asarray(epsilon, dtype=np.float64), np.sqrt(2 * np.asarray(rho, dtype=float))
    shrunk = epsilon - 2 * _SLACK
    is_still = mu == 0
    delta = gaussian_delta(np.maximum(shrunk, 0), np.where(is_still, 1, mu))
    charged = np.clip(delta * UPWARDS, LEAST_CHANCE, 1)
    return np.where(shrunk > 0, np.where(is_still, 0, charged), 1.0)
