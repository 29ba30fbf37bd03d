"""Intervals of estimates whose error is one Laplace variable plus many small ones."""

import math

from scipy import optimize, special

LEVEL = 0.95


def half_width(laplace_scale: float, normal_variance: float, level: float = LEVEL) -> float:
    """Return how far Laplace plus normal noise reaches with this probability.

    Laplace has heavier tails than a normal variable of its variance, so the sum is asked itself.
    """
    b, s = laplace_scale, math.sqrt(normal_variance)
    if s == 0:
        return -b * math.log(1 - level)
    if b < 1e-9 * s:
        return s * float(special.ndtri((1 + level) / 2))
    reach = 40 * (b + s)
    return float(
        optimize.brentq(lambda x: tail(x, b, s) - (1 - level) / 2, 0, reach, xtol=1e-12 * reach)
    )


def two_sided(distance: float, laplace_scale: float, normal_variance: float) -> float:
    """Return how likely Laplace plus normal noise is at least so far from 0, on either side."""
    x, b, s = abs(distance), laplace_scale, math.sqrt(normal_variance)
    if s < 1e-9 * b:
        return math.exp(-x / b)
    if b < 1e-9 * s:
        return 2 * float(special.ndtr(-x / s))
    return min(2 * tail(x, b, s), 1.0)


def tail(x: float, laplace_scale: float, normal_sd: float) -> float:
    """Return P(L + N > x) for Laplace L of this scale and normal N, by their closed form.

    P = Q(x/s) + e^(s^2/2b^2) (e^(-x/b) Q(s/b - x/s) - e^(x/b) Q(s/b + x/s))/2, with Q(z) the
    normal variable's chance of exceeding z; in logarithms, where no factor overflows.
    """
    b, s = laplace_scale, normal_sd
    lift = (s / b) ** 2 / 2
    near = math.exp(lift - x / b + float(special.log_ndtr(x / s - s / b)))
    far = math.exp(lift + x / b + float(special.log_ndtr(-x / s - s / b)))
    return float(special.ndtr(-x / s)) + (near - far) / 2
