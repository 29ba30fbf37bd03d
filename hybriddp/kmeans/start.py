"""The first centres of a release: spread over the cube, the same for everybody and for ever.

They must not depend on anybody's point. A generator with a public seed would do, but numpy may
change what a seed gives (its policy keeps the streams of bit generators, not those of methods such
as `random`), and then nobody could check an old release. So nothing here is random, and all of it
is integers.

The centres are where k-means itself goes if people stand evenly all over the cube: a few rounds
on a low-discrepancy sequence, started from the sequence's own first points. Like packed spheres,
they are far from each other and from the walls. The rounds end before the centres come to rest:
there they would stand in line with the axes, where data that do so, too, cannot pull them apart.
Like any start that looks at no data it may put two centres into one cloud.
"""

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require, require_count
from hybriddp.kmeans.points import count_and_sum_exactly, nearest_centres
from hybriddp.noise.exponentials import EXACT
from hybriddp.randomizers.numbers.grid import DEFAULT_STEPS
from hybriddp.randomizers.numbers.reports import check_grid

MAX_CLUSTERS = 1 << 10
_N_POINTS, _N_ROUNDS = 1 << 12, 5
_N_ROOT_STEPS = 128


def first_centres(n_clusters: int, n_dimensions: int, grid: int = DEFAULT_STEPS) -> FloatArray:
    """Return first centres (K, d) in the unit cube, multiples of 1/grid."""
    require_count(n_clusters, "n_clusters")
    require_count(n_dimensions, "n_dimensions")
    check_grid(grid)
    require(
        n_clusters <= MAX_CLUSTERS,
        f"n_clusters must be at most {MAX_CLUSTERS}",
        n_clusters,
        "choose the first centres yourself, without looking at the data",
    )
    points = _spread_points(max(_N_POINTS, 16 * n_clusters), n_dimensions, grid)
    centres = points[:n_clusters]
    for _ in range(_N_ROUNDS):
        labels = nearest_centres(points, centres)
        counts, sums = count_and_sum_exactly(points, labels, n_clusters)
        means = (2 * sums + counts[:, None]) // np.maximum(2 * counts, 1)[:, None]
        centres = np.where(counts[:, None] > 0, means, centres)
    return centres / grid


def _spread_points(n_points: int, n_dimensions: int, grid: int) -> IntArray:
    """Return integers (n, d) from 0 to grid, as evenly over the cube as possible.

    The multiples of 1/g, 1/g^2, ..., 1/g^d, counted modulo 1, with g^(d+1) = g + 1: the golden
    ratio's sequence in d dimensions. In words of 64 bits, whose overflow is the modulo.
    """
    root, exponent = EXACT.create_decimal(2), EXACT.divide(1, n_dimensions + 1)
    for _ in range(_N_ROOT_STEPS):
        root = EXACT.power(EXACT.add(root, 1), exponent)
    steps = [int(EXACT.divide(1 << 64, EXACT.power(root, j + 1))) for j in range(n_dimensions)]
    numbers = np.arange(n_points, dtype=np.uint64)[:, None] * np.array(steps, dtype=np.uint64)
    middle = numbers + np.uint64(1 << 63)
    scaled = (middle >> np.uint64(32)) * np.uint64(grid + 1)
    return (scaled >> np.uint64(32)).astype(np.int64)
