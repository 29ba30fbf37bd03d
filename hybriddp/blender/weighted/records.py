"""What finding and measuring say of the listed records, together.

Weights count who searched for a record, and shares how much of their searches it was. A record is
nearer to the threshold than to the noise of its share, so of rare ones weights know much more. They
become shares by a common ratio, which is learnt from the list; how far single records are from it
is learnt too, and counts as noise. The same people gave both, so their sampling errors go together.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.evidence.sources import CentralCounts

# How far records may differ from the common ratio. Before a list has taught it, half of all lists
# are expected below the usual one (half a Cauchy law).
_USUAL_DEVIATION = 0.1
_DEVIATIONS = np.append(0.0, np.geomspace(0.005, 2.0, 60))
# Of one person's share of a record, as a part of p(1-p): at least that of fifty different searches.
_LEAST_SPREAD = 0.02
# Rounds of weighing weights and shares by what they say themselves; more change nothing.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Ratio:
    """How weights become shares: divided by `value`; records differ from it by `deviation`."""

    value: float
    deviation: float | FloatArray  # of all records, or each record's own


class Noise(Protocol):
    """What weights and shares were drawn with: a WeightedListDraw, or a week of a season."""

    @property
    def weight_units(self) -> int:
        """Units of a weight of one."""

    @property
    def weight_scale(self) -> float:
        """Of the noise on a sum of weights, in units."""

    @property
    def share_units(self) -> int:
        """Units of a share of one."""

    @property
    def share_scale(self) -> float:
        """Of the noise on a sum of shares, in units."""


@dataclass(frozen=True, slots=True)
class Given:
    """Noisy weights and noisy shares of the same records, in people, and the variances of noise."""

    weights: FloatArray
    shares: FloatArray
    of_weights: float | FloatArray
    of_shares: float | FloatArray

    @classmethod
    def of(
        cls, noise: Noise, noisy_weights: IntArray | FloatArray, noisy_shares: IntArray
    ) -> "Given":
        """Read both from their units.

        Privacy claim: none; post-processing of a WeightedListDraw or a SeasonWeek.
        """
        return cls(
            noisy_weights / noise.weight_units,
            noisy_shares / noise.share_units,
            (noise.weight_scale / noise.weight_units) ** 2,
            (noise.share_scale / noise.share_units) ** 2,
        )


def ratio_of(given: Given) -> Ratio:
    """Learn the ratio from the heavier half of what was named, which is hardly selected by noise.

    Privacy claim: none; post-processing of a WeightedListDraw or of SeasonWeeks.
    """
    weights, shares = given.weights, given.shares
    if len(weights) == 0:
        return Ratio(1.0, _USUAL_DEVIATION)
    of_weights, of_shares = (
        np.broadcast_to(variance, weights.shape) for variance in (given.of_weights, given.of_shares)
    )
    heavy = weights >= np.median(weights)
    weights, shares = weights[heavy], shares[heavy]
    of_weights, of_shares = of_weights[heavy], of_shares[heavy]
    exact = of_shares.min() / of_shares  # all 1 in a single release
    error = float(np.sqrt((exact**2 * of_shares).sum()))
    value = float((exact * weights).sum() / max((exact * shares).sum(), error))
    scaled = weights / value
    return Ratio(value, _deviation_of(shares - scaled, of_weights / value**2 + of_shares, scaled))


def _deviation_of(errors: FloatArray, noise: FloatArray, values: FloatArray) -> float:
    """Return the root of the mean square of likely deviations, given errors with some noise."""
    variances = noise[:, None] + (_DEVIATIONS * values[:, None]) ** 2
    log_likelihood = -0.5 * (errors[:, None] ** 2 / variances + np.log(variances)).sum(axis=0)
    prior = np.gradient(_DEVIATIONS) / (1 + (_DEVIATIONS / _USUAL_DEVIATION) ** 2)
    weights = prior * np.exp(log_likelihood - log_likelihood.max())
    return float(np.sqrt((weights * _DEVIATIONS**2).sum() / weights.sum()))


def records_of(
    given: Given,
    ratio: Ratio,
    spread_of_shares: float,
    n_people: int,
    near: FloatArray | None = None,
) -> CentralCounts:
    """Return what both draws say of each record, as one source.

    Args:
        given: Weights and shares of the records.
        ratio: How weights become shares.
        spread_of_shares: The variance of a person's share of a record, as a part of p(1-p).
        n_people: Who gave both.
        near: The sums of shares that the parts of the blend are chosen at, if they are known from
            elsewhere. Chosen at a week's own noisy sums, high ones count more than low ones: of
            one release that is little, over a season it adds up.

    Privacy claim: none; post-processing of a WeightedListDraw or a SeasonWeek.
    """
    shares, of_shares = given.shares, given.of_shares
    scaled, of_scaled = given.weights / ratio.value, given.of_weights / ratio.value**2
    part, values = _blended(scaled, shares, of_scaled, of_shares, ratio.deviation, near)
    # A person who gives d records 1/sqrt(d) each adds p to the variance of their weights.
    spread = (part / ratio.value + (1 - part) * np.sqrt(spread_of_shares)) ** 2
    noise = part**2 * of_scaled + (1 - part) ** 2 * of_shares
    return CentralCounts(
        values / n_people,
        n_people,
        noise,
        np.minimum(spread, 1.0),
        deviation=part * ratio.deviation,
    )


def spread_of(share_scale: float, concentration: float, total: float) -> float:
    """Return the variance of a person's share of a record, as a part of p(1-p).

    The sum of squared shares over the sum of shares of all records that were named; one standard
    error is added, since too small a spread would promise too narrow intervals.

    Privacy claim: none; post-processing of a WeightedListDraw or of SeasonWeeks.
    """
    if total <= share_scale:
        return 1.0
    squares = 4 * (concentration + share_scale)
    return float(np.clip(squares / total, _LEAST_SPREAD, 1.0))


def _blended(
    scaled: FloatArray,
    shares: FloatArray,
    of_scaled: float | FloatArray,
    of_shares: float | FloatArray,
    deviation: float | FloatArray,
    near: FloatArray | None,
) -> tuple[FloatArray, FloatArray]:
    """Return the part of the weights in the blend with the least noise, and the blend."""
    values = shares
    part = np.full_like(shares, 0.5)
    for _ in range(_ROUNDS):
        differing = of_scaled + (deviation * np.maximum(values if near is None else near, 0)) ** 2
        part = of_shares / (of_shares + differing)
        values = part * scaled + (1 - part) * shares
    return part, values
