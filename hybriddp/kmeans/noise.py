"""The random parts of k-means behind one small seam, so that a test can tell them what to draw."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from hybriddp.arrays import FloatArray, IntArray


class NoiseSource(Protocol):
    """What `kmeans.cluster` draws; scales and budgets arrive as exact fractions.

    A release does not come here: `kmeans_release` measures integers.
    """

    def laplace(self, shape: tuple[int, ...], scale: Fraction) -> FloatArray:
        """Return independent Laplace noise of this scale."""
        ...

    def respond(self, labels: IntArray, n_values: int, epsilon: Fraction) -> IntArray:
        """Return every user's randomized response about its label below n_values.

        Privacy claim: that of the source; n_values-ary randomized response costs epsilon.
        """
        ...


@dataclass(frozen=True, slots=True)
class SimulatedNoise:
    """The laws of a release, up to the rounding of floats, from a study's generator."""

    rng: np.random.Generator

    def laplace(self, shape: tuple[int, ...], scale: Fraction) -> FloatArray:
        """Return independent Laplace noise of this scale."""
        return self.rng.laplace(0.0, float(scale), shape)

    def respond(self, labels: IntArray, n_values: int, epsilon: Fraction) -> IntArray:
        """Keep a label with probability p - q, else take any of all: MEAN20 Algorithm 1 line 7.

        Privacy claim: none; for studies and tests, whose data is synthetic.
        """
        p_truth, p_lie = response_law(n_values, epsilon)
        responses = self.rng.integers(0, n_values, labels.shape)
        is_kept = self.rng.random(labels.shape) < p_truth - p_lie
        np.copyto(responses, labels, where=is_kept)
        return responses


def response_law(n_values: int, epsilon: Fraction) -> tuple[float, float]:
    """Return the probabilities p of the true value and q of any one other value.

    Line 7's (e^eps - 1)/(K + e^eps - 1) for the truth, else one of K at random, is
    p = e^eps/(K + e^eps - 1) and q = 1/(K + e^eps - 1): K-ary randomized response.
    """
    odds = math.exp(epsilon)
    return odds / (odds + n_values - 1), 1 / (odds + n_values - 1)


def undo_lies(totals: FloatArray, p_truth: float, p_lie: float) -> FloatArray:
    """Return the unbiased counts (K,) or sums (K, d) behind those of the clusters that users named.

    A user of another cluster is in cluster k's total with probability q, one of its own with p: on
    average it is q times everybody's plus p - q times its own.

    Privacy claim: none; post-processing of local reports.
    """
    unbiased: FloatArray = (totals - p_lie * totals.sum(axis=0)) / (p_truth - p_lie)
    return unbiased
