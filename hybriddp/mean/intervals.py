"""Intervals of estimates whose error is one Laplace variable plus many small ones."""

import math
from collections.abc import Iterable
from typing import NamedTuple

from scipy import special

LEVEL = 0.95
_LARGEST_EXPONENT = 700.0


def half_width(laplace_scale: float, normal_variance: float, level: float = LEVEL) -> float:
    """Return how far Laplace plus normal noise reaches with this probability.

    Laplace has heavier tails than a normal variable of its variance, so the sum is asked itself.
    """
    b, s = laplace_scale, math.sqrt(normal_variance)
    if s == 0:
        return -b * math.log(1 - level)
    if b < 1e-9 * s:
        return s * float(special.ndtri((1 + level) / 2))
    from scipy import optimize  # importing it takes long, and few need it

    reach = 40 * (b + s)
    return float(
        optimize.brentq(lambda x: tail(x, b, s) - (1 - level) / 2, 0, reach, xtol=1e-12 * reach)
    )


class BoundedMean(NamedTuple):
    """The mean of people's values between 0 and `upper`, about the mean that they come from."""

    n_people: int
    upper: float
    variance: float

    def log_moment(self, speed: float) -> float:
        """Return a bound of log E exp(speed * deviation), on either side (Bennett)."""
        reach = speed * self.upper / self.n_people
        return self.n_people * self.variance / self.upper**2 * (math.expm1(reach) - reach)


def chance_of_difference(
    distance: float,
    *,
    laplace_scale: float,
    normal_variance: float,
    samples: Iterable[BoundedMean],
) -> float:
    """Return a bound of the chance that means and noise deviate together at least so far from 0.

    Chernoff's: P(|D| >= x) <= 2 exp(K(s) - s x) at every speed s > 0, where K adds up the
    logarithms of the parts' moment-generating functions. The best speed is taken.
    """
    x, samples = abs(distance), tuple(samples)
    if x == 0:
        return 1.0
    variance = normal_variance + sum(one.variance / one.n_people for one in samples)
    # K(s) >= variance s^2/2, so no faster speed than x/variance is the best; Laplace noise has no
    # moments from 1/scale on, and exponentials overflow.
    limits = [_LARGEST_EXPONENT * one.n_people / one.upper for one in samples]
    limits += [x / variance] if variance > 0 else []
    limits += [1 / laplace_scale] if laplace_scale > 0 else []
    fastest = min(limits)
    from scipy import optimize

    def log_chance(part: float) -> float:
        speed = part * fastest
        noise = normal_variance * speed**2 / 2 - math.log1p(-((laplace_scale * speed) ** 2))
        return noise + sum(one.log_moment(speed) for one in samples) - speed * x

    found = optimize.minimize_scalar(
        log_chance, bounds=(0, 1), method="bounded", options={"xatol": 1e-9}
    )
    return min(2 * math.exp(float(found.fun)), 1.0)


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
