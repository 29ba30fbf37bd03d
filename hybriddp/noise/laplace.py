"""Exact integer noise: the discrete Laplace law, OpenDP's sampler, and the cost of both.

One object holds the scale; pmf, tail, variance, sampler and privacy cost all read it.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import FloatArray, IntArray, as_integers
from hybriddp.errors import require

if TYPE_CHECKING:
    from opendp.mod import Measurement

LEAST_EPSILON = Fraction(1, 10**9)
# At which the cost of a draw is compared with OpenDP's: units of one person, of many, of a grid.
_ASKED_SENSITIVITIES = (1, 2, 3, 10, 1_000, 2**20)


@lru_cache(maxsize=64)
def _measurement(scale: float) -> "Measurement":
    import opendp.prelude as dp  # only draws need it; it imports half of the installed libraries

    dp.enable_features("contrib")
    # On integers make_laplace is the discrete Laplace of Canonne, Kamath, Steinke (2020), drawn
    # exactly from OpenSSL's generator. make_laplace_threshold is not used on purpose: it keeps
    # counts equal to its threshold but is charged as if it dropped them.
    # T=int would mean 32 bits, and a larger count an error that quotes it.
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    return dp.m.make_laplace(*space, scale=scale)


def _require_charged(measurement: "Measurement", noise: "DiscreteLaplace") -> None:
    """See that OpenDP's own privacy map of what is drawn is the cost that people are charged."""
    for l1_sensitivity in _ASKED_SENSITIVITIES:
        cost: float = measurement.map(l1_sensitivity)  # type: ignore[no-untyped-call]
        require(
            Fraction(cost) <= noise.epsilon(l1_sensitivity),
            "the cost of the noise must be what OpenDP's privacy map says",
            f"less at scale {noise.scale!r}",
            "install the version of opendp in requirements.txt",
        )


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Integer noise with P(Y = y) = (1-a)/(1+a) a^|y|, where a = exp(-1/scale)."""

    scale: float

    def __post_init__(self) -> None:
        require(
            0 < self.scale < math.inf,
            "scale must be above 0 and finite",
            self.scale,
            "derive it from a budget with DiscreteLaplace.for_epsilon",
        )

    @property
    def reach(self) -> float:
        """Beyond it lies a chance below 1e-17."""
        return 40 * self.scale

    @classmethod
    def for_epsilon(cls, epsilon: Fraction, l1_sensitivity: int) -> "DiscreteLaplace":
        """Return the least noise whose cost at this sensitivity is at most epsilon, exactly.

        l1_sensitivity/epsilon rounded to a float may be a hair too small; step up until `epsilon`
        agrees.
        """
        require(
            epsilon >= LEAST_EPSILON,
            f"epsilon must be at least {float(LEAST_EPSILON):g} for noisy counts",
            f"{epsilon.numerator}/{epsilon.denominator}",
            "below it the noise drowns any log",
        )
        noise = cls(float(l1_sensitivity / epsilon))
        while noise.epsilon(l1_sensitivity) > epsilon:
            noise = cls(math.nextafter(noise.scale, math.inf))
        return noise

    @property
    def decay(self) -> float:
        """The ratio a of neighbouring probabilities."""
        return math.exp(-1 / self.scale)

    @property
    def variance(self) -> float:
        """2a/(1-a)^2, which is slightly below the continuous Laplace's 2 scale^2."""
        return 2 * self.decay / math.expm1(-1 / self.scale) ** 2

    def pmf(self, value: npt.ArrayLike) -> FloatArray:
        """P(Y = value)."""
        y = np.abs(np.asarray(value, dtype=np.float64))
        return math.tanh(0.5 / self.scale) * np.exp(-y / self.scale)

    def tail(self, value: npt.ArrayLike) -> FloatArray:
        """P(Y >= value), accurate where it is tiny."""
        y = np.asarray(value, dtype=np.float64)
        upper = np.exp(-np.maximum(y, 1) / self.scale) / (1 + self.decay)
        lower = 1 - np.exp(-np.maximum(1 - y, 0) / self.scale) / (1 + self.decay)
        return np.where(y >= 1, upper, lower)

    def epsilon(self, l1_sensitivity: int) -> Fraction:
        """What adding this noise costs: l1_sensitivity/scale, rounded up to a float.

        That is OpenDP's privacy map. Whoever only reads a release asks for it without OpenDP;
        `draw` does not draw unless OpenDP says the same.
        """
        exactly = Fraction(l1_sensitivity) / Fraction(self.scale)
        nearest = float(exactly)
        above = math.nextafter(nearest, math.inf) if Fraction(nearest) < exactly else nearest
        return Fraction(above)

    def draw(self, counts: IntArray) -> IntArray:
        """Add noise to integer counts by OpenDP, exactly and from a cryptographic source.

        Where there are many counts, ExactLaplace draws the same law forty times faster.

        Privacy claim
          Neighbours  count vectors at L1 distance at most d
          Guarantee   epsilon(d), delta = 0
          Assumes     the positions of `counts` do not depend on private data; one call per charge
          Excludes    timing of the sampler
          Charged as  events.BoundedSum
          Reference   CKS20 algorithm 2, as opendp.measurements.make_laplace
          Audit       tests/noise/test_draws.py::test_draws_follow_the_discrete_laplace_law
        """
        counts = as_integers(counts, "counts")
        if counts.size == 0:
            return counts
        measurement = _measurement(self.scale)
        _require_charged(measurement, self)
        noisy = measurement(counts.ravel().tolist())
        return np.asarray(noisy, dtype=np.int64).reshape(counts.shape)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Add noise of the same law from a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        # The difference of two geometric variables is discrete Laplace.
        p_stop = -math.expm1(-1 / self.scale)
        first, second = rng.geometric(p_stop, size=(2, *counts.shape))
        noisy: IntArray = counts + first - second
        return noisy
