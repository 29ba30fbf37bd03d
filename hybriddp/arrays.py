"""The three kinds of array that the library computes with."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from hybriddp.errors import require

IntArray = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
BoolArray = npt.NDArray[np.bool_]


def as_integers(values: IntArray, name: str) -> IntArray:
    """Return an array of any integer type as 64-bit integers, or refuse it without quoting it.

    Other libraries' errors quote what they cannot convert, and that may be somebody's data.

    Privacy claim: none; the result is as private as the values.
    """
    array = np.asarray(values)
    require(
        array.dtype.kind in "iu",
        f"{name} must be an array of integers",
        f"type {array.dtype}",
        "encode it as integers first",
    )
    require(
        array.dtype != np.uint64 or array.size == 0 or bool(array.max() <= np.iinfo(np.int64).max),
        f"{name} must fit 64-bit signed integers",
        "a larger one",
        "number the values from 0",
    )
    return array.astype(np.int64, copy=False)


@dataclass(frozen=True, slots=True)
class NamedCounts:
    """Which of the occurring records were named (private), and the named ones' noisy counts."""

    is_named: BoolArray  # one for each occurring record
    noisy_counts: IntArray  # one for each named record, in their order

    @classmethod
    def above(cls, threshold: int, noisy: IntArray) -> "NamedCounts":
        """Name what is strictly above a threshold.

        Privacy claim: none; a mechanism's `draw` says what its noise promises.
        """
        is_named = noisy > threshold
        return cls(is_named, noisy[is_named])
