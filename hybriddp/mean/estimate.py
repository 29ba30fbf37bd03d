"""Means of bounded numbers from both groups: each group's estimate, their blend, and its interval.

The estimators of MEAN20: trusted users alone (weight 1), clients alone (weight 0), everybody by
local reports, and blends of the first two by any weight. Errors and intervals are about the mean of
these very users' values.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hybriddp.errors import require, require_one_of
from hybriddp.mean.clients import ReportSums
from hybriddp.mean.events import Noise, ReportLaw
from hybriddp.mean.intervals import BoundedMean, chance_of_difference, half_width
from hybriddp.mean.variance import VarianceEstimate
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.randomizers.numbers.errors import MeanSetting
from hybriddp.randomizers.numbers.grid import ValueGrid

ESTIMATED, KNOWN, PRIVACY, NAIVE = "estimated-variance", "known-variance", "privacy", "naive"
WEIGHTS = (ESTIMATED, KNOWN, PRIVACY, NAIVE)

_RULES: dict[str, Callable[[MeanSetting], float]] = {
    ESTIMATED: lambda setting: float(setting.weight_known_variance),
    KNOWN: lambda setting: float(setting.weight_known_variance),
    PRIVACY: lambda setting: float(setting.weight_privacy),
    NAIVE: lambda setting: float(setting.weight_naive),
}


@dataclass(frozen=True, slots=True)
class GroupMean:
    """A group's noisy mean: its users, the variance of its noise, and that noise's Laplace scale.

    The scale is 0 if the noise is the sum of many users', which is normal.
    """

    value: float
    n_users: int
    noise: float
    laplace_scale: float = 0.0


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with the trusted group's weight in it, its expected squared error, and 95 %."""

    value: float
    weight: float
    error: float
    low: float
    high: float


def trusted_mean(noisy_sum: int, n_users: int, noise: Noise, grid: ValueGrid) -> GroupMean:
    """Return the curator's mean (MEAN20 definition 3.1).

    Privacy claim: none; post-processing of a noisy sum.
    """
    scale = grid.step / n_users
    laplace_scale = noise.scale * scale if isinstance(noise, DiscreteLaplace) else 0.0
    return GroupMean(noisy_sum * scale, n_users, noise.variance * scale**2, laplace_scale)


def local_mean(
    sums: ReportSums,
    key: int,
    law: ReportLaw,
    grid: ValueGrid,
    variance: VarianceEstimate | None = None,
) -> GroupMean:
    """Return the mean of what clients' reports say (MEAN20 definition 3.10).

    Args:
        variance: Of the values, in squares of grid steps, if it is known or estimated: the noise
            of a report may depend on its value, and so the average noise on their spread.

    Privacy claim: none; post-processing of reports.
    """
    n_users = int(sums.n_reports[key])
    position = float(sums.powers[0, key]) / n_users + law.grid / 2
    least, most = (variance.cautious, variance.generous) if variance else (0, law.grid**2 / 4)
    inside = min(max(position, 0.0), float(law.grid))
    # Bits of few clients may all be alike by chance, and would then seem to have hardly any noise:
    # four more clients, in the middle, keep that from narrowing intervals (Agresti and Coull).
    with_four_more = (n_users * inside + 4 * law.grid / 2) / (n_users + 4)
    spread = most if law.noise.c2 > 0 else least
    noise = max(law.noise.mean(at, spread) for at in (inside, with_four_more))
    return GroupMean(position * grid.step, n_users, noise * grid.step**2 / n_users)


def blend(
    trusted: GroupMean,
    local: GroupMean,
    upper: float,
    rule: str,
    variance: VarianceEstimate | None = None,
) -> MeanEstimate:
    """Blend both groups' means with the weight that a rule gives.

    Args:
        variance: Of the values. Of an estimate (rule `estimated-variance`) the weight takes a
            cautious view and the interval a generous one; a known variance is an estimate
            without error. Without any, the weight is PWH's, and the interval assumes the most
            that values up to `upper` can spread.

    Privacy claim: none; post-processing of noisy means.
    """
    require(
        rule != KNOWN or variance is not None,
        "a known variance must be given",
        "none",
        "give it or let it be estimated",
    )
    low, high = (variance.cautious, variance.generous) if variance else (0.0, upper**2 / 4)
    return blend_with(choose_weight(trusted, local, rule, low), trusted, local, upper, high)


def alone(group: GroupMean, weight: float, upper: float) -> MeanEstimate:
    """Return the mean of a group that there is no other beside; its weight is 1 or 0.

    Privacy claim: none; post-processing of a noisy mean.
    """
    of_laplace = group.noise if group.laplace_scale else 0.0
    margin = half_width(group.laplace_scale, group.noise - of_laplace)
    return _inside(group.value, margin, weight, group.noise, upper)


def agreement(trusted: GroupMean, local: GroupMean, upper: float, variance: float) -> float:
    """Return how likely groups of people who are alike differ at least as much: at most this.

    People's values lie between 0 and `upper` and have this variance. The bound also holds for small
    groups with rare large values, which no normal approximation describes.

    Privacy claim: none; post-processing of noisy means.
    """
    of_laplace = trusted.noise if trusted.laplace_scale else 0.0
    return chance_of_difference(
        trusted.value - local.value,
        laplace_scale=trusted.laplace_scale,
        normal_variance=trusted.noise - of_laplace + local.noise,
        samples=(BoundedMean(group.n_users, upper, variance) for group in (trusted, local)),
    )


def choose_weight(trusted: GroupMean, local: GroupMean, rule: str, variance: float) -> float:
    """Return the trusted group's weight by a rule, for values of this variance.

    Privacy claim: none; noises, sizes and a variance that was published or estimated decide.
    """
    require_one_of(rule, "weight", WEIGHTS)
    return _RULES[rule](_setting(trusted, local, variance))


def blend_with(
    weight: float, trusted: GroupMean, local: GroupMean, upper: float, variance: float
) -> MeanEstimate:
    """Blend both groups' means with this weight of the trusted one (MEAN20 definition 3.12).

    Privacy claim: none; post-processing of noisy means.
    """
    value = weight * trusted.value + (1 - weight) * local.value
    error = float(_setting(trusted, local, variance).error_hybrid(weight))
    of_laplace = weight**2 * trusted.noise if trusted.laplace_scale else 0.0
    margin = half_width(weight * trusted.laplace_scale, max(error - of_laplace, 0.0))
    return _inside(value, margin, weight, error, upper)


def _inside(value: float, margin: float, weight: float, error: float, upper: float) -> MeanEstimate:
    """Return an estimate whose numbers are possible means."""
    shown, low, high = (min(max(x, 0.0), upper) for x in (value, value - margin, value + margin))
    return MeanEstimate(shown, weight, error, low, high)


def _setting(trusted: GroupMean, local: GroupMean, variance: float) -> MeanSetting:
    n_users = trusted.n_users + local.n_users
    local_noise = local.noise * local.n_users
    return MeanSetting.alike(
        n_users, trusted.n_users / n_users, trusted.noise, local_noise, variance
    )
