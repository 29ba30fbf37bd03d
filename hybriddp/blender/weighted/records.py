"""What finding and measuring say of the listed records, together.

Weights count who searched for a record, and shares how much of their searches it was. A record is
nearer to the threshold than to the noise of its share, so of rare ones weights know much more. They
become shares by a ratio that the list's other records teach (hybriddp/blender/weighted/ratios.py).
How far a record may be from it is learnt, too, and counts as noise. The same people gave both, so
their sampling errors go together.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.evidence.sources import CentralCounts

# Of one person's share of a record, as a part of p(1-p): at least that of fifty different searches.
_LEAST_SPREAD = 0.02
# Rounds of weighing weights and shares by what they say themselves; more change nothing.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Ratio:
    """How weights become shares: divided by each record's value, which may be off by its deviation.

    The deviation is a part of the value, and a record's own in all weeks.
    """

    values: FloatArray
    deviations: FloatArray
    of_lightest: float  # the value of the lightest record, which is nearest to the threshold


class Noise(Protocol):
    """What weights and shares were drawn with: a WeightedListDraw, or a week of a season."""

    @property
    def most_records(self) -> int:
        """How many records a person gives weight at most."""

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
    least_weight: float  # that a person gives a record, if any

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
            noise.most_records**-0.5,
        )


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
    part, values = blended(given, ratio, near)
    of_people = spread_of_weights(ratio.values, given.least_weight)
    spread = (np.sqrt(of_people) * part + np.sqrt(spread_of_shares) * (1 - part)) ** 2
    noise = part**2 * given.of_weights / ratio.values**2 + (1 - part) ** 2 * given.of_shares
    return CentralCounts(
        values / n_people,
        n_people,
        noise,
        spread,
        deviation=part * ratio.deviations,
    )


def spread_of_weights(ratios: FloatArray, least_weight: float) -> FloatArray:
    """Return the variance of a person's weight over the ratio, as a part of p(1-p).

    Who searches d records once each adds p to the variance of their weights, 1/sqrt(d). Of records
    that are rarely repeated by people who repeat others that would be too little: if nobody gives
    less than u, weights of mean w have a variance of u w at least.

    Privacy claim: none; post-processing of a WeightedListDraw or a SeasonWeek.
    """
    spread: FloatArray = np.minimum(np.maximum(1 / ratios, least_weight) / ratios, 1.0)
    return spread


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


def blended(
    given: Given, ratio: Ratio, near: FloatArray | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return the part of the weights in the blend with the least noise, and the blend.

    Privacy claim: none; post-processing of a WeightedListDraw or of SeasonWeeks.
    """
    shares, of_shares = given.shares, given.of_shares
    scaled, of_scaled = given.weights / ratio.values, given.of_weights / ratio.values**2
    values = shares
    part = np.full_like(shares, 0.5)
    for _ in range(_ROUNDS):
        at = np.maximum(values if near is None else near, 0)
        differing = of_scaled + (ratio.deviations * at) ** 2
        part = of_shares / (of_shares + differing)
        values = part * scaled + (1 - part) * shares
    return part, values
