"""The discrete Laplace law by the million: CKS20's exact sampler on whole arrays.

OpenDP draws the same law one number at a time, about a hundred thousand a second. The records of a
head list and the rare items of a histogram need more than that, so this module runs the same
algorithm on arrays. It works on integers and the operating system's randomness only; nothing is
rounded.
"""

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import BoolArray, IntArray, as_integers
from hybriddp.errors import require
from hybriddp.noise.words import RandomBytes

_CHUNK = 1 << 18
# A scale is a fraction of two integers. What is drawn before the division is below 2^8 numerators
# but for a chance of e^-256, and must fit 63 bits.
_MAX_NUMERATOR, _MAX_DENOMINATOR = 1 << 54, 1 << 62
# Coins compare digits of so many bits: ratios' numerators stay below 2^57, the digits' below 2^63.
_DIGIT_BITS = 6
Digits = npt.NDArray[np.uint8]


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
                      hides them (finding.HeadListMechanism, zealous.ZealousMechanism); one call
                      per charge
          Excludes    timing of the sampler
          Charged as  events.HeadListDraw, events.OptinHistogram, events.ItemHistogram
          Reference   CKS20 algorithms 1 and 2; docs/proofs/exact_laplace.md
          Audit       tests/noise/test_exact_laplace.py::test_sampler_has_exactly_the_law
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
    digits = _first_digits(numerators, denominator)
    is_odd = ~_is_below(numerators, digits, denominator, random_bytes)
    (running,), k = np.nonzero(~is_odd), 2
    while running.size:
        is_odd[running] = k % 2 == 1
        # One chance in k, and then the ratio: the former needs fewer bytes.
        running = running[_uniform_below(k, running.size, random_bytes) == 0]
        running = running[
            _is_below(numerators[running], digits[running], denominator, random_bytes)
        ]
        k += 1
    return is_odd


def _is_one_in_e(n: int, random_bytes: RandomBytes) -> BoolArray:
    """Return true with probability 1/e: `is_exp` of ratios of 1, whose first coin never fails."""
    is_odd, running, k = np.zeros(n, dtype=np.bool_), np.arange(n), 2
    while running.size:
        is_odd[running] = k % 2 == 1
        running = running[_uniform_below(k, running.size, random_bytes) == 0]
        k += 1
    return is_odd


def _is_below(
    numerators: IntArray, digits: Digits, denominator: int, random_bytes: RandomBytes
) -> BoolArray:
    """Return true with probability numerator/denominator: a uniform number is below the ratio.

    Their digits are compared until they differ; `digits` are the ratios' first ones.
    """
    drawn = _random_digits(len(digits), random_bytes)
    is_below: BoolArray = drawn < digits
    (places,) = np.nonzero(drawn == digits)
    numerators, digits = numerators[places], digits[places]
    while places.size:
        # What is left of the ratio behind this digit.
        numerators = (numerators << _DIGIT_BITS) - digits.astype(np.int64) * denominator
        digits = _first_digits(numerators, denominator)
        drawn = _random_digits(len(places), random_bytes)
        is_below[places] = drawn < digits
        is_tied = drawn == digits
        places, numerators, digits = places[is_tied], numerators[is_tied], digits[is_tied]
    return is_below


def _first_digits(numerators: IntArray, denominator: int) -> Digits:
    """Return the ratios' first digits; a ratio of 1 has one that no random digit reaches."""
    digits: Digits = ((numerators << _DIGIT_BITS) // denominator).astype(np.uint8)
    return digits


def _random_digits(n: int, random_bytes: RandomBytes) -> Digits:
    return np.frombuffer(random_bytes(n), dtype=np.uint8) >> np.uint8(8 - _DIGIT_BITS)


def _n_whole(n: int, random_bytes: RandomBytes) -> IntArray:
    """Return how often a coin of probability 1/e comes up before it first fails."""
    counts, running = np.zeros(n, dtype=np.int64), np.arange(n)
    while running.size:
        running = running[_is_one_in_e(running.size, random_bytes)]
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
