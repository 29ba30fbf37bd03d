"""The discrete Gaussian in exact arithmetic: its sampler on whole arrays, and what a shift costs.

The sampler is CKS20's, on integers and random bytes only; nothing is rounded. The divergence is an
upper bound that is computed with fifty digits. Proofs of both: docs/proofs/exact_gaussian.md.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.errors import require
from hybriddp.noise.exact_laplace import ExactLaplace, is_exp
from hybriddp.noise.exponentials import DOWNWARDS, EXACT, decimal_of, exp
from hybriddp.noise.words import RandomBytes

# Long enough that the many last rounds, in which few numbers are missing, do not matter.
_CHUNK = 1 << 20
# Coins have denominators of 2 numerator^2, which must not exceed 2^57.
MAX_NUMERATOR = 1 << 28
# Below it 0 has all of the probability but e^-128.
MIN_SCALE = 1 / 16

_PI = Decimal("3.14159265358979323846264338327950288419716939937510")
# Sums run over blocks of this part of a scale, which are above them by 6e-7 at most where they
# matter; scales below twice this number have blocks of one, and exact sums. Longer blocks are as
# much faster, and a bound as well: a quarter of the number is above by 16 times as much.
BLOCKS_PER_SD = 4096
# Rounding of up to 1e5 products of fifty digits, and of one minus a number within 1e-15 of 1.
_ROUNDED_UP = EXACT.add(1, Decimal("1e-20"))


def add_gaussian_noise(counts: IntArray, scale: float, random_bytes: RandomBytes) -> IntArray:
    """Add integer noise with P(Y = y) proportional to exp(-y^2/(2 scale^2)), made of these bytes.

    Privacy claim: none by itself; `gaussian.DiscreteGaussian.draw` is the release's.
    """
    check_scale(scale)
    counts = as_integers(counts, "counts")
    noisy, flat = np.empty(counts.size, dtype=np.int64), counts.reshape(-1)
    for start in range(0, flat.size, _CHUNK):
        chunk = flat[start : start + _CHUNK]
        noisy[start : start + _CHUNK] = chunk + _noise(len(chunk), scale, random_bytes)
    return noisy.reshape(counts.shape)


def check_scale(scale: float) -> None:
    """Refuse a scale that 64-bit integers cannot draw with exactly."""
    is_finite = math.isfinite(scale)
    require(
        is_finite and scale >= MIN_SCALE and scale.as_integer_ratio()[0] <= MAX_NUMERATOR,
        f"scale must be at least {MIN_SCALE} and a fraction of a numerator of at most 2^28 and "
        "a power of two",
        scale,
        "take it from DiscreteGaussian.for_budget, or one with fewer digits such as 2.5",
    )


def _noise(n: int, scale: float, random_bytes: RandomBytes) -> IntArray:
    """CKS20 algorithm 3 for scale a/b: discrete Laplace numbers, of which some are kept.

    Differs from CKS20: the proposals have the scale a/b itself and not floor(a/b) + 1, so that the
    chance to be kept, exp(-(b|y| - a)^2/(2 a^2)), has a denominator without b.
    """
    a, b = scale.as_integer_ratio()
    noise, missing = np.empty(n, dtype=np.int64), np.arange(n)
    while missing.size:
        proposals = ExactLaplace(scale).add(np.zeros(missing.size, dtype=np.int64), random_bytes)
        is_kept = _is_gaussian(np.abs(b * np.abs(proposals) - a), a, random_bytes)
        noise[missing[is_kept]] = proposals[is_kept]
        missing = missing[~is_kept]
    return noise


def _is_gaussian(distances: IntArray, a: int, random_bytes: RandomBytes) -> BoolArray:
    """Return true with probability exp(-(distance/a)^2/2).

    With distance = q a + r it is exp(-q^2/2) exp(-q r/a) exp(-r^2/(2 a^2)): q^2 coins of ratio 1/2,
    q coins of ratio r/a and one of ratio r^2/(2 a^2), all of which must come up.
    """
    q, r = np.divmod(distances, a)
    is_kept = is_exp(r * r, 2 * a * a, random_bytes)
    (far,) = np.nonzero(is_kept & (q > 0))
    for numerators, denominator, n_coins in (
        (np.ones_like(q), 2, q * q),
        (r, a, q),
    ):
        running, n_thrown = far, 0
        while running.size:
            has_come_up = is_exp(numerators[running], denominator, random_bytes)
            is_kept[running[~has_come_up]] = False
            n_thrown += 1
            running = running[has_come_up & (n_coins[running] > n_thrown)]
        far = far[is_kept[far]]
    return is_kept


def normaliser_below(variance: Fraction) -> Decimal:
    """Return the sum of exp(-y^2/(2 variance)) over all integers, rounded down at its end.

    Poisson's formula: sqrt(2 pi variance) (1 + 2 sum_k exp(-2 pi^2 variance k^2)), k = 1, 2, ...
    All terms are positive, so leaving out those below e^-490 leaves a lower bound.
    """
    n_terms = math.ceil(5 / math.sqrt(variance))
    with localcontext(EXACT):
        sigma2 = decimal_of(variance)
        waves = sum((-2 * _PI**2 * sigma2 * k**2).exp() for k in range(1, n_terms + 1))
        return (2 * _PI * sigma2).sqrt() * (1 + 2 * waves) * DOWNWARDS


@lru_cache(maxsize=256)
def shift_divergence(
    variance: Fraction, epsilon: Fraction, shift: int, blocks_per_sd: int = BLOCKS_PER_SD
) -> Decimal:
    """Return the least delta at epsilon for this noise and a shift of an integer, rounded up.

    CKS20 theorem 7: sum of p(y) - e^epsilon p(y + shift) over the integers y above
    epsilon variance/shift - shift/2. At most 1e-6 above it, relatively, where it is above 1e-12,
    unless fewer blocks are asked for. A smaller shift costs no more.
    """
    require(epsilon >= 0, "epsilon must be at least 0", float(epsilon), "give one of at least 0")
    if shift == 0:
        return Decimal(0)
    edge = epsilon * variance / shift - Fraction(shift, 2)
    first = math.floor(edge) + 1
    if first < 0 and first**2 > 400 * variance:
        return Decimal(1)  # nothing but e^-200 is missing
    if first > 0 and first**2 > 4000 * variance:
        return EXACT.exp(Decimal(-2000))  # P(Y >= first) <= exp(-first^2/(2 variance)), CKS20
    # At g(last + 1) <= e^-45 g(first) what follows is below 1e-11 of a sum that matters.
    last = math.isqrt(math.floor(max(first, 0) ** 2 + 90 * variance)) + 1
    with localcontext(EXACT):
        length = max(1, math.isqrt(math.floor(variance)) // blocks_per_sd)
        total = _excess_above(variance, edge, first, last, shift, length)
        total += _tail_above(variance, last)
        return min(Decimal(1), total / normaliser_below(variance) * _ROUNDED_UP)


def _excess_above(
    variance: Fraction, edge: Fraction, first: int, last: int, shift: int, length: int
) -> Decimal:
    """Bound the sum of g(y) - e^epsilon g(y + shift) from first to last at least, in blocks.

    g(y) = exp(-y^2/(2 variance)). A block of L integers around c is at most L f(c) times
    1 + x^2 (L^2 - 1)/24 cosh(x (L - 1)/2), x = |c|/variance (docs/proofs/exact_gaussian.md). Values
    at the centres follow from each other by products: the ratio of neighbours has a constant ratio.
    """
    n_blocks = -((first - last - 1) // length)
    centre = first + Fraction(length - 1, 2)
    value = exp(-(centre**2) / (2 * variance))
    ratio = exp(-length * (2 * centre + length) / (2 * variance))
    ratio_step = exp(-Fraction(length**2) / variance)
    other = exp(-(centre - edge) * shift / variance)  # e^epsilon g(c + shift)/g(c)
    other_step = exp(-Fraction(length * shift) / variance)
    total = Decimal(0)
    for _ in range(n_blocks):
        total += value * (1 - other)
        value *= ratio
        ratio *= ratio_step
        other *= other_step
    farthest = max(abs(centre), abs(centre + (n_blocks - 1) * length)) / variance
    cosh = exp((farthest * (length - 1) / 2) ** 2 / 2)  # at least the hyperbolic cosine
    return total * length * (1 + decimal_of(farthest**2 * (length**2 - 1) / 24) * cosh)


def _tail_above(variance: Fraction, last: int) -> Decimal:
    """Bound the sum of g(y) over y > last >= 0 by the geometric series of its first ratio."""
    first = exp(-Fraction((last + 1) ** 2) / (2 * variance))
    return first / (1 - exp(-(2 * last + 3) / (2 * variance)))
