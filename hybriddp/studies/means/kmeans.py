"""Hybrid k-means (MEAN20 section 7 and Algorithm 1 of Appendix E), with its two baselines.

This is the studies' half; `kmeans_release` has what a release draws, and `kmeans_tables` what both
make of noisy tables.

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
  for one that is replaced (tests/errata/test_mean.py, 5g).
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

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require
from hybriddp.kmeans.noise import NoiseSource, SimulatedNoise
from hybriddp.kmeans.points import count_and_sum, nearest_centres
from hybriddp.kmeans.setting import KMeansSetting
from hybriddp.kmeans.tables import Clustering, ClusterTable, iterate


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
    require(
        trusted is not None or local is not None,
        "a clustering needs a group",
        "none",
        "give trusted or local points",
    )
    n_dimensions = centres.shape[1]
    of_trusted = of_local = None
    if trusted is not None:
        points = _checked(trusted, setting, "points", n_dimensions)
        of_trusted = _TrustedGroup(points, setting, noise).measure
    if local is not None:
        points = _checked(local, setting, "points", n_dimensions)
        of_local = _LocalGroup(points, setting, noise).measure
    tables = setting.of_tables(n_dimensions)
    return iterate(of_trusted, of_local, centres, setting.n_iterations, tables)


class _TrustedGroup:
    """The curator's side: lines 6, 9 and 10."""

    def __init__(self, points: FloatArray, setting: KMeansSetting, noise: NoiseSource) -> None:
        self._points, self._noise = points, noise
        self._scale = setting.curator_scale(points.shape[1])

    def measure(self, centres: FloatArray) -> ClusterTable:
        """Return T's noisy table of the clusters around these centres.

        Privacy claim: none by itself; see `cluster`.
        """
        labels = nearest_centres(self._points, centres)
        counts, sums = count_and_sum(self._points, labels, len(centres))
        counts = counts + self._noise.laplace(counts.shape, self._scale)
        return ClusterTable(counts, sums + self._noise.laplace(sums.shape, self._scale))


class _LocalGroup:
    """The local users' side, and what the curator adds up of it: lines 4, 7, 11 and 12."""

    def __init__(self, points: FloatArray, setting: KMeansSetting, noise: NoiseSource) -> None:
        self._points, self._noise, self._epsilon = points, noise, setting.response_epsilon
        scale = setting.report_scale(points.shape[1])
        # Drawn transposed, so that a coordinate's column of reports is contiguous.
        self._reports = (points.T + noise.laplace(points.T.shape, scale)).T

    def measure(self, centres: FloatArray) -> ClusterTable:
        """Return L's table: of the reported points, by the cluster that their users name.

        Privacy claim: none by itself; see `cluster`.
        """
        truth = nearest_centres(self._points, centres)
        named = self._noise.respond(truth, len(centres), self._epsilon)
        return ClusterTable(*count_and_sum(self._reports, named, len(centres)))


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
