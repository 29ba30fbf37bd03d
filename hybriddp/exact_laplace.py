"""The discrete Laplace law by the million: CKS20's exact sampler on whole arrays.

OpenDP draws the same law one number at a time, about a hundred thousand a second. A histogram of
millions of rare items needs more than that, so this module runs the same algorithm on arrays. It
works on integers and the operating system's randomness only; nothing is rounded.
"""

import os
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.errors import require
from hybriddp.random_words import RandomBytes

_CHUNK = 1 << 18
# A scale is a fraction of two integers. What is drawn before the division is below 2^8 numerators
# but for a chance of e^-256, and must fit 63 bits.
_MAX_NUMERATOR, _MAX_DENOMINATOR = 1 << 54, 1 << 62


@dataclass(frozen=True, slots=True)
class ExactLaplace:
    """Integer noise with P(Y = y) proportional to exp(-|y|/scale), as `noise.DiscreteLaplace`."""

    scale: float

    def __post_init__(self) -> None:
        numerator, denominator = self.scale.as_integer_ratio()
        require(
            0 < numerator <= _MAX_NUMERATOR and denominator <= _MAX_DENOMINATOR,
            "scale must be above 0 and neither tiny nor huge",
            self.scale,
            "take it from DiscreteLaplace.for_epsilon",
        )

    def draw(self, counts: IntArray) -> IntArray:
        """Add noise to integer counts, exactly and from the operating system's generator.

        Privacy claim
          Neighbours  count vectors at L1 distance at most d
          Guarantee   epsilon = d/scale, delta = 0
          Assumes     the positions of `counts` do not depend on private data, or a threshold
                      hides them (zealous.ZealousMechanism); one call per charge
          Excludes    timing of the sampler
          Charged as  events.ItemHistogram
          Reference   CKS20 algorithms 1 and 2; docs/proofs/exact_laplace.md
          Audit       tests/exact/test_exact_laplace.py::test_sampler_has_exactly_the_law
        """
        return self.add(counts, os.urandom)

    def add(self, counts: IntArray, random_bytes: RandomBytes) -> IntArray:
        """Add noise made of these bytes.

        Privacy claim: none by itself; `draw` is the release's.
        """
        counts = as_integers(counts, "counts")
        noisy, flat = np.empty(counts.size, dtype=np.int64), counts.reshape(-1)
        for start in range(0, flat.size, _CHUNK):
            chunk = flat[start : start + _CHUNK]
            noisy[start : start + _CHUNK] = chunk + self._noise(len(chunk), random_bytes)
        return noisy.reshape(counts.shape)

    def _noise(self, n: int, random_bytes: RandomBytes) -> IntArray:
        """CKS20 algorithm 2 for scale t/s; a rejected number starts anew."""
        t, s = self.scale.as_integer_ratio()
        noise, missing = np.empty(n, dtype=np.int64), np.arange(n)
        while missing.size:
            remainder = _uniform_below(t, missing.size, random_bytes)
            is_kept = is_exp(remainder, t, random_bytes)
            places, remainder = missing[is_kept], remainder[is_kept]
            magnitude = (remainder + t * _n_whole(len(places), random_bytes)) // s
            is_negative = _uniform_below(2, len(places), random_bytes) == 1
            # Minus zero would count zero twice.
            is_good = ~is_negative | (magnitude > 0)
            noise[places[is_good]] = np.where(is_negative, -magnitude, magnitude)[is_good]
            missing = np.concatenate([missing[~is_kept], places[~is_good]])
        return noise


def is_exp(numerators: IntArray, denominator: int, random_bytes: RandomBytes) -> BoolArray:
    """Return true with probability exp(-numerator/denominator), for ratios up to 1.

    CKS20 algorithm 1: count coins of probability ratio/1, ratio/2, ratio/3, ... until one fails;
    the number of the failing one is odd with that probability.

    Privacy claim: none; a part of samplers.
    """
    is_odd = np.zeros(len(numerators), dtype=np.bool_)
    running, k = np.arange(len(numerators)), 1
    while running.size:
        coin = _uniform_below(denominator * k, running.size, random_bytes)
        has_failed = coin >= numerators[running]
        is_odd[running[has_failed]] = k % 2 == 1
        running, k = running[~has_failed], k + 1
    return is_odd


def _n_whole(n: int, random_bytes: RandomBytes) -> IntArray:
    """Return how often a coin of probability 1/e comes up before it first fails."""
    counts, running = np.zeros(n, dtype=np.int64), np.arange(n)
    while running.size:
        ones = np.ones(running.size, dtype=np.int64)
        running = running[is_exp(ones, 1, random_bytes)]
        counts[running] += 1
    return counts


def _uniform_below(bound: int, n: int, random_bytes: RandomBytes) -> IntArray:
    """Return n exactly uniform integers below the bound: too large ones are drawn again."""
    n_bits = (bound - 1).bit_length()
    if n_bits == 0:
        return np.zeros(n, dtype=np.int64)
    # The shortest words that hold the bound: the kernel's generator is most of the time.
    n_bytes = next(size for size in (1, 2, 4, 8) if 8 * size >= n_bits)

    def short_numbers(how_many: int) -> IntArray:
        words = np.frombuffer(random_bytes(n_bytes * how_many), dtype=f"u{n_bytes}")
        return (words >> (8 * n_bytes - n_bits)).astype(np.int64)

    drawn = short_numbers(n)
    (too_large,) = np.nonzero(drawn >= bound)
    while too_large.size:
        drawn[too_large] = short_numbers(too_large.size)
        too_large = too_large[drawn[too_large] >= bound]
    return drawn
