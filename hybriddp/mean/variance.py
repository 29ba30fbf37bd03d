"""How spread out values are, from what is published anyway and from a small paid draw.

The best weight of the trusted group depends on the values' variance, which nobody knows
(MEAN20 section 5). Two private estimates of it:

- free: reports spread more than their noise alone would. Post-processing, so it costs nothing;
- paid: half of the squared differences between pairs of trusted users, with noise.

Both are unbiased, and their errors are known well enough to combine them and to stay on the safe
side: a variance that is too small leads towards the paper's PWH weight, and no weight between PWH's
and the best one has a larger error than PWH's own. One that is too large may cost a lot where
values hardly spread, so the weight takes the variance several standard errors smaller.
"""

import math
from dataclasses import dataclass

from hybriddp.mean.clients import ReportSums
from hybriddp.randomizers.numbers.reports import Quadratic

# How many standard errors smaller than estimated a cautious variance is. Noise has that size even
# where values do not spread at all; the error of sampling vanishes there.
NOISE_CAUTION, SAMPLING_CAUTION = 8.0, 1.0
_AMPLE_SAMPLING = 4.0
# Reports whose noise hides more of the variance than this say nothing of it.
_LEAST_VISIBLE = 1e-3


@dataclass(frozen=True, slots=True)
class VarianceEstimate:
    """An estimate of the variance of values between 0 and `upper`.

    Its standard error is made of `noise`, for privacy, and of `sampling`, for these people's
    pairs are some of many that there could be.
    """

    value: float
    upper: float
    noise: float = 0.0
    sampling: float = 0.0

    @property
    def error(self) -> float:
        """The standard error."""
        return math.hypot(self.noise, self.sampling)

    @property
    def cautious(self) -> float:
        """A variance that is hardly ever too large, for weights."""
        margin = NOISE_CAUTION * self.noise + SAMPLING_CAUTION * self.sampling
        return self._possible(self.value - margin)

    @property
    def generous(self) -> float:
        """A variance that is more often too large than too small, for intervals."""
        return self._possible(self.value + self.error)

    @property
    def ample(self) -> float:
        """A variance that is hardly ever too small, for tests that must not raise false alarms."""
        margin = NOISE_CAUTION * self.noise + _AMPLE_SAMPLING * self.sampling
        return self._possible(self.value + margin)

    def _possible(self, value: float) -> float:
        # Popoviciu: no variable between 0 and m has a variance above m^2/4.
        return min(max(value, 0.0), self.upper**2 / 4)

    def scaled(self, step: float) -> "VarianceEstimate":
        """Return the same in another unit: values are `step` times as large."""
        square = step**2
        return VarianceEstimate(
            self.value * square, self.upper * step, self.noise * square, self.sampling * square
        )

    def combined(self, other: "VarianceEstimate") -> "VarianceEstimate":
        """Weigh two independent estimates by their precisions.

        Privacy claim: none; post-processing of estimates.
        """
        share = other.error**2 / (self.error**2 + other.error**2)
        return VarianceEstimate(
            share * self.value + (1 - share) * other.value,
            self.upper,
            math.hypot(share * self.noise, (1 - share) * other.noise),
            math.hypot(share * self.sampling, (1 - share) * other.sampling),
        )


def variance_from_reports(
    sums: ReportSums, key: int, noise: Quadratic, grid: int
) -> VarianceEstimate | None:
    """Estimate the variance of values, in squares of grid steps, from how their reports spread.

    What reports say has the variance V = v + (average noise), and the noise's square term c2
    takes part of v: V = (1 + c2) v + (noise at the mean). A bit's noise has c2 = -1: bits say
    nothing of the variance, and None is returned.

    Privacy claim: none; post-processing of reports.
    """
    n, visible = int(sums.n_reports[key]), 1 + float(noise.c2)
    if n < 2 or visible < _LEAST_VISIBLE:
        return None
    m1, m2, m3, m4 = (float(power) / n for power in sums.powers[:, key])
    spread = m2 - m1**2
    third = m3 - 3 * m1 * m2 + 2 * m1**3
    fourth = m4 - 4 * m1 * m3 + 6 * m1**2 * m2 - 3 * m1**4
    mean = m1 + grid / 2
    value = (spread - noise.mean(mean, 0.0)) / visible
    # A report at distance d from the mean moves the estimate by d^2 - slope d, on average.
    slope = float(noise.c1) + 2 * float(noise.c2) * mean
    moved = fourth - spread**2 - 2 * slope * third + slope**2 * spread
    return VarianceEstimate(value, float(grid), math.sqrt(max(moved, 0.0) / n) / visible)


def variance_from_pairs(
    noisy_sum: int, n_pairs: int, noise_variance: float, grid: int
) -> VarianceEstimate | None:
    """Estimate the variance, in squares of grid steps, from a noisy sum over pairs.

    Privacy claim: none; post-processing of a noisy sum.
    """
    if n_pairs < 1:
        return None
    value = noisy_sum / (2 * n_pairs)
    # Half a squared difference lies between 0 and grid^2/2 and has the variance as its mean v, so
    # its own variance is at most v (grid^2/2 - v) (Bhatia and Davis).
    possible = min(max(value, 0.0), grid**2 / 4)
    sampling = math.sqrt(possible * (grid**2 / 2 - possible) / n_pairs)
    return VarianceEstimate(value, float(grid), math.sqrt(noise_variance) / (2 * n_pairs), sampling)


def is_worth_paying(n_trusted: int, epsilon: float) -> bool:
    """Whether pairs measured with this epsilon can say anything: decided before anybody pays.

    If not even the largest variance there is, a quarter of the range's square, stands out of the
    noise, a cautious view of any estimate is 0, and the money is better spent on the mean.
    """
    noise = math.sqrt(2) / (epsilon * 2 * max(n_trusted // 2, 1))  # for a range of 1
    return n_trusted >= 2 and NOISE_CAUTION * noise < 1 / 4
