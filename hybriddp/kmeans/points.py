"""Points and centres: which is nearest, how far off, and what a cluster adds up to.

Arrays of points are (n, d). Nothing of size (n, K, d) is built; columns in Fortran order are
fastest. Integer points and centres are compared in integers, without any rounding.
"""

import numpy as np

from hybriddp.arrays import FloatArray, IntArray

# Points compared with all centres at a time: few enough to stay in the cache.
_CHUNK = 1 << 14


Points = FloatArray | IntArray


def nearest_centres(points: Points, centres: Points) -> IntArray:
    """Return the number of the centre nearest to every point, the first of equals.

    Privacy claim: none; the result is as private as the points.
    """
    labels, _ = _nearest(points, centres)
    return labels


def within_cluster_squares(points: FloatArray, centres: FloatArray) -> float:
    """Return the sum of squared distances to the nearest centre: WCSS, MEAN20 section 7.

    Privacy claim: none; the result is as private as the points.
    """
    _, scores = _nearest(points, centres)
    # Where every point is a centre, rounding could leave a sum below 0.
    return max(float(np.einsum("ij,ij->", points, points) + scores.sum()), 0.0)


def _nearest(points: Points, centres: Points) -> tuple[IntArray, Points]:
    """Return the nearest centre z and its score |z|^2 - 2xz, the squared distance less |x|^2."""
    labels = np.zeros(len(points), dtype=np.int64)
    best = np.empty(len(points), dtype=np.result_type(points, centres))
    squares, columns = np.einsum("ij,ij->i", centres, centres)[:, None], points.T
    for start in range(0, len(points), _CHUNK):
        chunk = slice(start, start + _CHUNK)
        scores = -2 * centres @ columns[:, chunk] + squares
        best[chunk] = scores[0]
        for k in range(1, len(centres)):
            np.copyto(labels[chunk], k, where=scores[k] < best[chunk])
            np.minimum(best[chunk], scores[k], out=best[chunk])
    return labels, best


def count_and_sum(
    points: FloatArray, labels: IntArray, n_clusters: int
) -> tuple[FloatArray, FloatArray]:
    """Return the number (K,) and the sum (K, d) of the points with each label, as floats.

    Privacy claim: none; the result is as private as the points.
    """
    counts = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    sums = [np.bincount(labels, column, n_clusters) for column in points.T]
    return counts, np.stack(sums, axis=1)


def count_and_sum_exactly(
    points: IntArray, labels: IntArray, n_clusters: int
) -> tuple[IntArray, IntArray]:
    """Return the number (K,) and the sum (K, d) of the integer points with each label.

    Privacy claim: none; the result is as private as the points.
    """
    sums = np.zeros((points.shape[1], n_clusters), dtype=np.int64)
    for total, column in zip(sums, points.T, strict=True):
        np.add.at(total, labels, column)
    return np.bincount(labels, minlength=n_clusters).astype(np.int64), sums.T
