"""95 % intervals of published probabilities, and of the ranks that they give."""

import numpy as np
from scipy import special

from hybriddp.arrays import FloatArray, IntArray

# Standard errors either side of a normal 95 % interval.
STANDARD_ERRORS = 1.959963984540054

# Points on which the expected rank is tabulated, and those at which each row's is read off.
_TABLE_POINTS = 2_000
_QUADRATURE_POINTS = 9

Interval = tuple[FloatArray, FloatArray]


def normal_interval(values: FloatArray, variances: FloatArray) -> Interval:
    """Return the normal interval inside [0, 1].

    Privacy claim: none; post-processing of estimates.
    """
    margin = STANDARD_ERRORS * np.sqrt(variances)
    return np.clip(values - margin, 0, 1), np.clip(values + margin, 0, 1)


def rank_intervals(values: FloatArray, variances: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the range of ranks that each row's true probability may have among all rows.

    The rank is 1 plus the number of rows above. Given a row's own probability x, each other row
    lies above it independently, so the rank has mean 1 + sum P(p_j > x) and variance
    sum P(1 - P); x itself is normal around its estimate. Two standard deviations of the whole.

    Privacy claim: none; post-processing of estimates.
    """
    n_rows = len(values)
    if n_rows == 0:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    # A probability is never less certain than "between 0 and 1".
    errors = np.clip(np.sqrt(variances), 1e-15, 1)
    nodes, weights = np.polynomial.hermite_e.hermegauss(_QUADRATURE_POINTS)
    weights = weights / weights.sum()
    x = values[:, None] + errors[:, None] * nodes
    expected, spread = _rows_above(values, errors, x)
    own = special.ndtr(-np.broadcast_to(nodes, x.shape))
    expected, spread = expected - own, np.maximum(spread - own * (1 - own), 0)
    mean = 1 + (expected * weights).sum(axis=1)
    second = ((1 + expected) ** 2 + spread) @ weights
    margin = STANDARD_ERRORS * np.sqrt(np.maximum(second - mean**2, 0))
    low = np.clip(np.floor(mean - margin + 0.5), 1, n_rows).astype(np.int64)
    high = np.clip(np.ceil(mean + margin - 0.5), 1, n_rows).astype(np.int64)
    position = np.empty(n_rows, dtype=np.int64)
    position[np.argsort(-values, kind="stable")] = np.arange(1, n_rows + 1)
    return np.minimum(low, position), np.maximum(high, position)


def _rows_above(values: FloatArray, errors: FloatArray, x: FloatArray) -> Interval:
    """Return the expected number of rows above each x, and its variance, from a table."""
    # Even in the number of rows, so that crowded places have many points.
    reach = np.array([-4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0])
    places = np.sort((values[:, None] + errors[:, None] * reach).reshape(-1))
    shares = np.linspace(0, 1, min(_TABLE_POINTS, len(places)))
    table = np.unique(np.quantile(places, shares))
    expected, spread = np.zeros(len(table)), np.zeros(len(table))
    for value, error in zip(values, errors, strict=True):
        above = special.ndtr((value - table) / error)
        expected += above
        spread += above * (1 - above)
    return np.interp(x, table, expected), np.interp(x, table, spread)
