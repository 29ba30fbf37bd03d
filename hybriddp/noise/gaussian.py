"""Gaussian noise and its cost: of a continuous one for studies, of an integer one for releases.

Only `DiscreteGaussian` may touch people's data: floating-point Gaussian noise can be attacked, and
its cost is computed here in floats. One object holds the scale; law, cost and sampler all read it.
"""

import math
import os
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from scipy import special

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require, require_count
from hybriddp.noise.exact_gaussian import (
    MAX_NUMERATOR,
    MIN_SCALE,
    add_gaussian_noise,
    check_scale,
    normaliser_below,
    shift_divergence,
)
from hybriddp.params import Budget

# Scales from a budget have this many steps in each doubling: at most .025 % above the least one,
# and short numerators, for which the sampler reads fewer bytes.
_STEPS_PER_DOUBLING = 1 << 12
# Below it tails are sums, above it Euler and Maclaurin's formula has twelve digits.
_LONGEST_SUM = 1000


def gaussian_delta(epsilon: npt.ArrayLike, ratio: npt.ArrayLike) -> FloatArray:
    """Return the least delta at epsilon of Gaussian noise whose sd is sensitivity/ratio.

    Balle & Wang 2018, theorem 8: Phi(-x) - e^epsilon Phi(-x - ratio), x = epsilon/ratio - ratio/2.
    The densities at x and, times e^epsilon, at x + ratio are equal, so this is density(x) times the
    difference of two Mills ratios: no digits are lost where it is tiny. Relative error about
    1e-15 (1 + |x|)/ratio.
    """
    epsilon, ratio = np.asarray(epsilon, dtype=np.float64), np.asarray(ratio, dtype=np.float64)
    is_valid = bool(np.all(epsilon >= 0) and np.all(ratio > 0) and np.all(np.isfinite(ratio)))
    require(is_valid, "epsilon must be at least 0 and ratio above 0", "others", "check both")
    x = epsilon / ratio - ratio / 2
    far = np.maximum(x, 0)  # where x is negative the first term is large, and not tiny
    mills = special.erfcx(far / math.sqrt(2)) - special.erfcx((far + ratio) / math.sqrt(2))
    tiny = 0.5 * np.exp(-(far**2) / 2) * mills
    large = special.ndtr(-x) - np.exp(epsilon + special.log_ndtr(-x - ratio))
    delta: FloatArray = np.maximum(np.where(x >= 0, tiny, large), 0.0)
    return delta


def gaussian_epsilon(delta: float, ratio: float) -> float:
    """Return the least epsilon whose `gaussian_delta` is at most delta, rounded up."""
    require(0 < delta < 1, "delta must be above 0 and below 1", delta, "use for example 1e-6")
    if gaussian_delta(0.0, ratio) <= delta:
        return 0.0
    return _least(lambda epsilon: bool(gaussian_delta(epsilon, ratio) <= delta))


def classic_sd(budget: Budget, sensitivity: float) -> float:
    """Return sqrt(2 ln(1.25/delta)) sensitivity/epsilon (MEAN20 section 2.1), for epsilon <= 1."""
    _require_delta(budget)
    require(
        budget.epsilon <= 1,
        "epsilon must be at most 1 for the classic Gaussian noise, which is not proved beyond",
        float(budget.epsilon),
        "use analytic_sd, which holds for every epsilon and is smaller",
    )
    return classic_factor(float(budget.delta)) * sensitivity / float(budget.epsilon)


def classic_factor(delta: float) -> float:
    """Return sqrt(2 ln(1.25/delta))."""
    return math.sqrt(2 * math.log(1.25 / delta))


def analytic_sd(budget: Budget, sensitivity: float) -> float:
    """Return the least sd that keeps the budget (Balle & Wang 2018, algorithm 1), rounded up."""
    _require_delta(budget)
    epsilon, delta = float(budget.epsilon), float(budget.delta)
    return sensitivity * _least(lambda sd: bool(gaussian_delta(epsilon, 1 / sd) <= delta))


def _least(is_enough: Callable[[float], bool]) -> float:
    """Return the least positive float that is enough, given that all larger ones are."""
    high = 1.0
    while not is_enough(high):
        high *= 2
    while is_enough(high / 2):
        high /= 2
    low = high / 2
    while (middle := (low + high) / 2) not in (low, high):
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def _require_delta(budget: Budget) -> None:
    require(
        budget.delta > 0,
        "delta must be above 0 for Gaussian noise",
        0,
        "no Gaussian noise keeps an epsilon alone; use for example 1e-6, or Laplace noise",
    )


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Integer noise with P(Y = y) proportional to exp(-y^2/(2 scale^2)).

    The scale (CKS20's sigma) is a fraction a/2^j with a <= 2^28, and not any sigma^2 as in CKS20:
    then every coin of the sampler is a ratio of integers below 2^63, and a float holds it exactly.
    """

    scale: float

    def __post_init__(self) -> None:
        check_scale(self.scale)

    @classmethod
    def for_budget(cls, budget: Budget, sensitivity: int) -> "DiscreteGaussian":
        """Return the least noise of its grid that keeps the budget, by its own `delta`.

        The grid has 4096 scales a doubling, and the next smaller one does not keep the budget.
        (Where sensitivity/scale^2 is near 1 or above, the privacy loss moves in large steps, delta
        is not monotone in the scale, and a still smaller one may.)
        """
        return cls(_least_scale(budget, sensitivity))

    @property
    def reach(self) -> float:
        """Beyond it lies a chance below 1e-17."""
        return 9 * self.scale

    @property
    def variance(self) -> float:
        """The variance of the law, which is scale^2 but for a hair at scales below 2."""
        if self.scale >= 4:
            return self.scale**2  # less 1e-130 of it (Poisson's formula)
        y = np.arange(-160.0, 161.0)
        return float(np.sum(y**2 * self.pmf(y)))

    def pmf(self, value: npt.ArrayLike) -> FloatArray:
        """P(Y = value)."""
        y = np.asarray(value, dtype=np.float64)
        density: FloatArray = np.exp(-((y / self.scale) ** 2) / 2) / self._normaliser
        return density

    def tail(self, value: npt.ArrayLike) -> FloatArray:
        """P(Y >= value), accurate where it is tiny."""
        y = np.asarray(value, dtype=np.float64)
        upper = self._upper_tail(np.where(y >= 1, y, 1 - y))
        return np.where(y >= 1, upper, 1 - upper)

    def _upper_tail(self, y: FloatArray) -> FloatArray:
        if self.scale < _LONGEST_SUM:
            n_terms = math.ceil(40 * self.scale) + 1  # beyond them a double is 0
            sums = np.cumsum(self.pmf(np.arange(n_terms, -1.0, -1.0)))[::-1]
            return sums[np.minimum(y, n_terms).astype(np.int64)]
        # Euler and Maclaurin's formula, divided by exp(-z^2/2).
        z = y / self.scale
        integral = self.scale * math.sqrt(math.pi / 2) * special.erfcx(z / math.sqrt(2))
        ends = 0.5 + z / (12 * self.scale) - (z**3 - 3 * z) / (720 * self.scale**3)
        tail: FloatArray = (integral + ends) * self.pmf(y)
        return tail

    @property
    def _normaliser(self) -> float:
        return float(normaliser_below(Fraction(self.scale) ** 2))

    def delta(self, epsilon: Fraction, sensitivity: int) -> Fraction:
        """Return what adding this noise costs at epsilon for shifts up to the sensitivity.

        Never below the exact number; at most 1e-6 of it above where it is above 1e-12.
        """
        require_count(sensitivity, "sensitivity")
        return Fraction(shift_divergence(Fraction(self.scale) ** 2, epsilon, sensitivity))

    def draw(self, counts: IntArray) -> IntArray:
        """Add noise to integers, exactly and from the operating system's generator.

        Privacy claim
          Neighbours  integers of which one differs, by at most d
          Guarantee   epsilon and delta(epsilon, d), for every epsilon
          Assumes     the positions of `counts` do not depend on private data; one call per charge
          Excludes    timing of the sampler
          Charged as  events.BoundedSum, events.BoundedReport
          Reference   CKS20 algorithm 3 and theorem 7; docs/proofs/exact_gaussian.md
          Audit       tests/noise/test_exact_gaussian.py::test_sampler_has_exactly_the_law
        """
        return add_gaussian_noise(counts, self.scale, os.urandom)

    def simulate(self, counts: IntArray, *, rng: np.random.Generator) -> IntArray:
        """Add noise of the same law from a study's generator.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        return add_gaussian_noise(counts, self.scale, rng.bytes)


@lru_cache(maxsize=64, typed=True)  # a release asks for the noise of one budget time and again
def _least_scale(budget: Budget, sensitivity: int) -> float:
    """Return the scale of the least noise of the grid that keeps the budget."""
    _require_delta(budget)
    require_count(sensitivity, "sensitivity")

    def is_enough(index: int) -> bool:
        noise = DiscreteGaussian(_grid_scale(index))
        return noise.delta(budget.epsilon, sensitivity) <= budget.delta

    smallest, largest = _grid_index(MIN_SCALE), _grid_index(MAX_NUMERATOR)
    start = analytic_sd(budget, sensitivity)
    require(
        start <= MAX_NUMERATOR / 2,  # the search may go a little above it
        "the noise must have a scale of at most 2^27",
        f"{start:.6g}",
        "use a coarser grid of values or a larger budget",
    )
    low, step = max(_grid_index(start), smallest), 1
    while low > smallest and is_enough(low):
        low, step = max(low - step, smallest), 2 * step
    high, step = low, 1
    while not is_enough(high):
        low, high, step = high, min(high + step, largest), 2 * step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return _grid_scale(high)


def _grid_index(scale: float) -> int:
    """Return the number of the largest grid scale that is not above this one."""
    mantissa, exponent = math.frexp(scale)
    return exponent * _STEPS_PER_DOUBLING + math.floor((2 * mantissa - 1) * _STEPS_PER_DOUBLING)


def _grid_scale(index: int) -> float:
    exponent, step = divmod(index, _STEPS_PER_DOUBLING)
    return math.ldexp(0.5 + step / (2 * _STEPS_PER_DOUBLING), exponent)
