"""Both groups' sides of an exact measurement: integer points, integer noise, integer tables."""

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.kmeans.points import count_and_sum_exactly, nearest_centres
from hybriddp.kmeans.tables import ClusterTable
from hybriddp.noise.exact_laplace import ExactLaplace
from hybriddp.noise.words import RandomBytes, words_of
from hybriddp.randomizers.response import RandomizedResponse


class Curator:
    """Counts and adds up the trusted people's points, with noise."""

    def __init__(
        self, points: IntArray, grid: int, noise: ExactLaplace, random_bytes: RandomBytes
    ) -> None:
        self._points, self._grid = points, grid
        self._noise, self._random_bytes = noise, random_bytes

    def measure(self, centres: FloatArray) -> ClusterTable:
        """Return T's table of the clusters around these centres, a person counting as `grid`.

        Privacy claim: none by itself; `kmeans_release.KMeansMechanism.draw` is the release's.
        """
        labels = nearest_centres(self._points, _on_grid(centres, self._grid))
        counts, sums = count_and_sum_exactly(self._points, labels, len(centres))
        noisy = [self._noise.add(t, self._random_bytes) for t in (counts * self._grid, sums)]
        return ClusterTable(*noisy)


class Clients:
    """Reports every client's noisy point once, and answers for it."""

    def __init__(
        self,
        points: IntArray,
        grid: int,
        noise: ExactLaplace,
        response: RandomizedResponse,
        random_bytes: RandomBytes,
    ) -> None:
        self._points, self._grid = points, grid
        self._response, self._random_bytes = response, random_bytes
        # Transposed, so that a coordinate's column of reports is contiguous.
        self._reports = noise.add(points.T, random_bytes).T

    def measure(self, centres: FloatArray) -> ClusterTable:
        """Return L's table: of the reported points, by the cluster that their clients name.

        Privacy claim: none by itself; `kmeans_release.KMeansMechanism.draw` is the release's.
        """
        truth = nearest_centres(self._points, _on_grid(centres, self._grid))
        named = respond(truth, self._response, self._random_bytes)
        counts, sums = count_and_sum_exactly(self._reports, named, len(centres))
        return ClusterTable(counts * self._grid, sums)


def respond(labels: IntArray, response: RandomizedResponse, random_bytes: RandomBytes) -> IntArray:
    """Return every client's randomized response about its label, from one word each.

    The same words own the same answers as in `RandomizedResponse.draw`.

    Privacy claim: none by itself; `kmeans_release.KMeansMechanism.draw` is the release's.
    """
    n_others = response.n_values - 1
    if n_others == 0:
        return labels
    owner = words_of(len(labels), random_bytes) // np.uint64(response.lie_words)
    # The minimum comes before the cast: a quotient may exceed what a signed integer holds.
    lie = np.minimum(owner, np.uint64(n_others)).astype(np.int64)
    return np.where(lie == n_others, labels, lie + (lie >= labels))


def _on_grid(centres: FloatArray, grid: int) -> IntArray:
    return np.rint(centres * grid).astype(np.int64)
