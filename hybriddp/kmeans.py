"""Hybrid k-means (MEAN20 section 7 and Algorithm 1 of Appendix E), with its two baselines.

Points lie in [0, m]^d. Trusted users T hand theirs to the curator. Local users L send one noisy
point and then, in each of tau iterations, a randomized response about the cluster nearest to
them. Every iteration moves a cluster's centre to the blend of both groups' noisy means. The
trusted baseline ("TCM") leaves L out, the local one ("LM") has everybody in L.

What it costs, for a user whose point is replaced by any other (the groups' sizes and the first
centres are public; a centre that is sent out is post-processing of earlier releases):

- T, an iteration: K counts and K d-dimensional sums over disjoint clusters. A point adds 1 to a
  count and up to m d to a sum, and under replace-one it may leave one cluster and enter another:
  L1 sensitivity 2(md + 1). With Lap(2(md + 1) tau/eps) that is eps/tau, tau times: eps.
  The printed scale is half of it (line 2): eps for a point that is added or removed, up to 2 eps
  for one that is replaced (tests/exact/test_errata_mean.py, 5g).
- L: the point, L1 sensitivity m d with Lap(md(tau + 1)/eps), costs eps/(tau + 1); each of tau
  responses about its cluster costs eps/(tau + 1); together eps. It holds against the curator.

Where we read or change the printed pseudocode:
- Lines 10 and 12 sum over all of T and all of L; the sums meant are over C_k and T, C_k and L.
- Line 7 assigns the *reported* point. Section 7 says that users respond with the cluster nearest
  to them, "relative to computing [it] based on their already-reported data": the true point.
- Line 13 weighs by the noise of T's sum; Definition 5.3 asks for that of its mean (errata, 5c).
  Both are offered. (1 - c)n of that definition is the cluster's number of local users.
- Small counts: a group whose (noisy) count of a cluster is below 1 has no say in its centre, and
  where no group has one, the centre stays. A group's mean is clipped to [0, m]^d, where the true
  one lies. The paper says nothing; the rule is the same for all three algorithms.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require
from hybriddp.kmeans_noise import NoiseSource, SimulatedNoise, response_law, undo_lies
from hybriddp.kmeans_points import count_and_sum, nearest_centres
from hybriddp.kmeans_setting import NOISE_OF_MEAN, KMeansSetting

_LEAST_COUNT = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Clustering:
    """The centres (K, d) of every iteration, the first ones included: (tau + 1, K, d).

    Local users answer with the trace before their eyes, so the accounting covers all of it.
    """

    trace: FloatArray

    @property
    def centres(self) -> FloatArray:
        """The final ones."""
        last: FloatArray = self.trace[-1]
        return last


@dataclass(frozen=True, slots=True, eq=False)
class _Means:
    """One group's view of the clusters: noisy means (K, d) and 1/variance of their noise (K,).

    A precision of 0 means that the group has nothing to say about the cluster.
    """

    means: FloatArray
    precisions: FloatArray


def hybrid_kmeans(
    trusted: FloatArray,
    local: FloatArray,
    centres: FloatArray,
    setting: KMeansSetting,
    *,
    rng: np.random.Generator,
) -> Clustering:
    """Cluster both groups' points, (n_T, d) and (n_L, d), from these centres (K, d).

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    return cluster(trusted, local, centres, setting, SimulatedNoise(rng))


def trusted_kmeans(
    trusted: FloatArray, centres: FloatArray, setting: KMeansSetting, *, rng: np.random.Generator
) -> Clustering:
    """Cluster the points of the trusted group alone: MEAN20 section 7, the TCM baseline.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    return cluster(trusted, None, centres, setting, SimulatedNoise(rng))


def local_kmeans(
    points: FloatArray, centres: FloatArray, setting: KMeansSetting, *, rng: np.random.Generator
) -> Clustering:
    """Cluster everybody's points as local reports: MEAN20 section 7, the LM baseline.

    Privacy claim: none; for studies and tests, whose data is synthetic.
    """
    return cluster(None, points, centres, setting, SimulatedNoise(rng))


def cluster(
    trusted: FloatArray | None,
    local: FloatArray | None,
    centres: FloatArray,
    setting: KMeansSetting,
    noise: NoiseSource,
) -> Clustering:
    """Run Algorithm 1 on the groups that there are, with noise from this source.

    Privacy claim: none by itself; the module's accounting holds if the source is exact and the
    first centres do not depend on the points.
    """
    centres = _checked(centres, setting, "centres")
    require(
        len(centres) == setting.n_clusters,
        "centres must hold one row for each cluster",
        f"{len(centres)} for {setting.n_clusters}",
        "choose as many as n_clusters",
    )
    groups: list[_TrustedGroup | _LocalGroup] = []
    for kind, points in ((_TrustedGroup, trusted), (_LocalGroup, local)):
        if points is not None:
            checked = _checked(points, setting, "points", centres.shape[1])
            groups.append(kind(checked, setting, noise))
    require(bool(groups), "a clustering needs a group", "none", "give trusted or local points")
    trace = [centres]
    for _ in range(setting.n_iterations):
        trace.append(_blend([group.means(trace[-1]) for group in groups], trace[-1]))
    return Clustering(np.stack(trace))


class _TrustedGroup:
    """The curator's side: lines 6, 9 and 10."""

    def __init__(self, points: FloatArray, setting: KMeansSetting, noise: NoiseSource) -> None:
        self._points, self._setting, self._noise = points, setting, noise

    def means(self, centres: FloatArray) -> _Means:
        """Return T's means of the clusters around these centres.

        Privacy claim: none by itself; see `cluster`.
        """
        scale = self._setting.curator_scale(centres.shape[1])
        labels = nearest_centres(self._points, centres)
        counts, sums = count_and_sum(self._points, labels, len(centres))
        counts = counts + self._noise.laplace(counts.shape, scale)
        sums = sums + self._noise.laplace(sums.shape, scale)
        # Line 13. The noise of the count moves the mean, too, by Y_1/N times the mean; PWH leaves
        # that out, and so do we.
        divisor = counts if self._setting.weight == NOISE_OF_MEAN else np.ones_like(counts)
        return _means(counts, sums, divisor**2 / float(2 * scale**2), self._setting)


class _LocalGroup:
    """The local users' side, and what the curator makes of it: lines 4, 7, 11 and 12."""

    def __init__(self, points: FloatArray, setting: KMeansSetting, noise: NoiseSource) -> None:
        self._points, self._setting, self._noise = points, setting, noise
        self._scale = setting.report_scale(points.shape[1])
        # Drawn transposed, so that a coordinate's column of reports is contiguous.
        self._reports = (points.T + noise.laplace(points.T.shape, self._scale)).T

    def means(self, centres: FloatArray) -> _Means:
        """Return L's means; with `debias`, of unbiased counts and sums.

        `undo_lies` gives a report the factor (1 - q)/(p - q) in the cluster that its user named
        and -q/(p - q) in all others; the sum of their squares counts how many Laplace noises a
        cluster's sum carries. The paper's estimator is the same with p = 1, q = 0.

        Privacy claim: none by itself; see `cluster`.
        """
        n_clusters, epsilon = len(centres), self._setting.response_epsilon
        truth = nearest_centres(self._points, centres)
        labels = self._noise.respond(truth, n_clusters, epsilon)
        counts, sums = count_and_sum(self._reports, labels, n_clusters)
        p, q = response_law(n_clusters, epsilon) if self._setting.debias else (1.0, 0.0)
        n_noises = (counts * (1 - q) ** 2 + (counts.sum() - counts) * q**2) / (p - q) ** 2
        counts, sums = undo_lies(counts, p, q), undo_lies(sums, p, q)
        variances = np.where(n_noises > 0, n_noises, 1.0) * float(2 * self._scale**2)
        return _means(counts, sums, counts**2 / variances, self._setting)


def _means(
    counts: FloatArray, sums: FloatArray, precisions: FloatArray, setting: KMeansSetting
) -> _Means:
    """Divide sums by counts where there is enough to divide by."""
    is_known = counts >= _LEAST_COUNT
    means = sums / np.where(is_known, counts, 1.0)[:, None]
    return _Means(np.clip(means, 0.0, setting.largest), np.where(is_known, precisions, 0.0))


def _blend(views: Sequence[_Means], old: FloatArray) -> FloatArray:
    """Weigh every group by 1/variance of its noise: w_PWH of Definition 5.3; lines 14 and 15."""
    precision = np.sum([view.precisions for view in views], axis=0)[:, None]
    weighted = np.sum([view.precisions[:, None] * view.means for view in views], axis=0)
    blend: FloatArray = np.where(
        precision > 0, weighted / np.where(precision > 0, precision, 1), old
    )
    return blend


def _checked(
    points: FloatArray, setting: KMeansSetting, name: str, n_dimensions: int | None = None
) -> FloatArray:
    """Return points as columns of floats, or refuse what the sensitivity does not cover."""
    given = np.asarray(points)  # converted after the check: numpy's own errors quote values
    require(
        given.ndim == 2 and given.shape[1] >= 1 and given.dtype.kind in "fiu",
        f"{name} must be an array (n, d) of numbers",
        f"shape {given.shape} of {given.dtype}",
        "one row for each, one column for each coordinate",
    )
    array = np.asfortranarray(given, dtype=np.float64)
    require(
        n_dimensions in (None, array.shape[1]),
        f"{name} must have as many coordinates as the centres",
        f"{array.shape[1]} for {n_dimensions}",
        "all live in one space",
    )
    require(
        bool(np.all((array >= 0) & (array <= setting.largest))),
        f"{name} must lie between 0 and upper in every coordinate",
        "one outside",
        "clip it on the user's side: the noise is made for that range",
    )
    return array
