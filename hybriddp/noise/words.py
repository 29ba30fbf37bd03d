"""Uniform words and integers, exactly, by the million, from whatever makes the random bytes."""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from hybriddp.arrays import IntArray

# os.urandom in a release, an rng's `bytes` in a study.
RandomBytes = Callable[[int], bytes]
Words = npt.NDArray[np.uint64]

# operating system is most of what a draw costs.
_SHORT_LIST = 1 << 12


def words_of(n: int, random_bytes: RandomBytes) -> Words:
    """Return n uniform 64-bit words."""
    return np.frombuffer(random_bytes(8 * n), dtype=np.uint64)


def uniform_below(bounds: IntArray, random_bytes: RandomBytes) -> IntArray:
    """Return an exactly uniform integer below each bound (Lemire19, on 16 or 32-bit words).

    Privacy claim: none; which words are drawn does not depend on anybody's data.
    """
    n_bits = 16 if bounds.max(initial=1) <= _SHORT_LIST else 32
    wide, low_mask = bounds.astype(np.uint64), np.uint64((1 << n_bits) - 1)
    product = _short_words(len(bounds), n_bits, random_bytes) * wide
    # Only a low part below the bound can be one of the surplus 2^n_bits mod bound values, so the
    # costly remainder is taken for those few alone.
    (suspects,) = np.nonzero((product & low_mask) < wide)
    while suspects.size:
        surplus = np.uint64(1 << n_bits) % wide[suspects]
        suspects = suspects[(product[suspects] & low_mask) < surplus]
        product[suspects] = _short_words(suspects.size, n_bits, random_bytes) * wide[suspects]
    drawn: IntArray = (product >> np.uint64(n_bits)).astype(np.int64)
    return drawn


def _short_words(n: int, n_bits: int, random_bytes: RandomBytes) -> Words:
    n_bytes = n_bits // 8
    return np.frombuffer(random_bytes(n_bytes * n), dtype=f"u{n_bytes}").astype(np.uint64)
