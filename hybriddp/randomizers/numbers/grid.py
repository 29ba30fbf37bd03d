"""Numbers on a grid: what both groups of a mean measure are integers, so that noise is exact."""

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.exact import Number, exact
from hybriddp.randomizers.numbers.reports import check_grid

# Rounding to a 65,536th of the range is nothing beside anybody's noise.
DEFAULT_STEPS = 1 << 16
_CHUNK = 1 << 16  # temporary arrays of millions take longer than their arithmetic


class Placed(NamedTuple):
    """Values on the grid, and how many of them had to be clamped. Both are private."""

    positions: IntArray
    n_clamped: int


@dataclass(frozen=True, slots=True)
class ValueGrid:
    """The numbers 0, upper/n_steps, ..., upper."""

    upper: Fraction
    n_steps: int = DEFAULT_STEPS

    def __init__(self, upper: Number, n_steps: int = DEFAULT_STEPS) -> None:
        check_grid(n_steps)
        object.__setattr__(self, "upper", exact(upper, "upper"))
        object.__setattr__(self, "n_steps", n_steps)
        require(
            self.upper > 0,
            "upper must be above 0",
            upper,
            "choose the largest value that should count fully, without looking at the data",
        )

    @property
    def step(self) -> float:
        """The distance of neighbours."""
        return float(self.upper / self.n_steps)

    def place(self, values: FloatArray) -> Placed:
        """Round values to the grid; those outside of it count as its ends.

        Each value decides about itself alone. What is no number is refused, not quoted.

        Privacy claim: none; the result is as private as the values.
        """
        numbers = np.asarray(values, dtype=np.float64)
        require(
            bool(np.all(np.isfinite(numbers))),
            "values must be numbers",
            "NaN or infinity",
            "leave such rows out before anybody is charged",
        )
        positions, n_clamped = np.empty(numbers.size, dtype=np.int64), 0
        flat, upper = numbers.reshape(-1), float(self.upper)
        for start in range(0, flat.size, _CHUNK):
            chunk = flat[start : start + _CHUNK]
            scaled = np.rint(np.clip(chunk, 0, upper) * (self.n_steps / upper))
            np.minimum(
                scaled, self.n_steps, out=positions[start : start + _CHUNK], casting="unsafe"
            )
            n_clamped += int(((chunk < 0) | (chunk > upper)).sum())
        return Placed(positions.reshape(numbers.shape), n_clamped)
