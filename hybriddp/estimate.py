"""The common currency of both groups: probabilities with their variances."""

from dataclasses import dataclass

from hybriddp.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated probabilities with their variances, element by element.

    An infinite variance means: this source knows nothing about the element.
    """

    values: FloatArray
    variances: FloatArray


@dataclass(frozen=True, slots=True)
class IntervalEstimate(Estimate):
    """Estimates with their 95 % intervals."""

    low: FloatArray
    high: FloatArray
