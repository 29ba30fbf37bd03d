"""What a release says of its clusters: centres and sizes, each with a standard error.

Both are about the people of the last iteration: those who were nearest to a centre before it moved
for the last time. Errors are about these very people, and to first order in the noise.

A size is a mean, of who is in the cluster and who is not, so the groups are blended as in
`mean_errors` (MEAN20 lemma 3.13 and definition 4.1), from counts in which lies are undone.

The error of a centre has the noise of the last iteration: of T's counts and sums, of clients'
points, and of their lies about clusters that are far from each other. It leaves out:
- what noise in earlier iterations did to the clusters themselves,
- that clouds are wide: lies within them, and that both groups' people differ by chance,
- the pull of lies, without `debias`, and of clipping at the walls,
- all that is not noise: k-means may have put two centres into one cloud.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require
from hybriddp.kmeans.noise import undo_lies
from hybriddp.kmeans.setting import TableSetting
from hybriddp.kmeans.tables import Clustering, ClusterTable, GroupView, noises_carried, views_of
from hybriddp.randomizers.numbers.errors import MeanSetting


@dataclass(frozen=True, slots=True, eq=False)
class ClusterSummary:
    """Centres (K, d) and shares of people (K,), with standard errors.

    Where no group has a say the centre stood still and its error is infinite. Sizes need not add
    up to 1: each is estimated by itself.
    """

    centres: FloatArray
    centre_errors: FloatArray
    sizes: FloatArray
    size_errors: FloatArray


def describe_clusters(
    found: Clustering, setting: TableSetting, *, n_trusted: int = 0
) -> ClusterSummary:
    """Return what the last tables say of the clusters.

    Args:
        n_trusted: How many people the trusted group has, which is public.

    Privacy claim: none; post-processing of noisy tables.
    """
    require(
        (found.trusted is None) == (n_trusted == 0),
        "n_trusted must say how many trusted people are in the tables",
        n_trusted,
        "give 0 if and only if there are none",
    )
    trusted = None if found.trusted is None else found.trusted.tables[-1]
    local = None if found.local is None else found.local.tables[-1]
    sizes, size_errors = _sizes(trusted, local, setting, n_trusted)
    errors = _centre_errors(trusted, local, found.centres, setting)
    return ClusterSummary(found.centres, errors, sizes, size_errors)


def _sizes(
    trusted: ClusterTable | None, local: ClusterTable | None, setting: TableSetting, n_trusted: int
) -> tuple[FloatArray, FloatArray]:
    """Return each cluster's share of all people, and its standard error."""
    p, q = setting.p_truth, setting.p_lie
    named = np.zeros(1) if local is None else local.counts / setting.unit
    n_local = round(float(named.sum()))
    of_trusted = np.zeros(1) if trusted is None else trusted.counts / setting.unit
    of_local = undo_lies(named, p, q)
    n_people = n_trusted + n_local
    require(n_people > 0, "sizes are shares of people", "nobody", "publish no clusters of nobody")
    rough = np.clip((of_trusted + of_local) / n_people, 0.0, 1.0)
    of_lies = (rough * p * (1 - p) + (1 - rough) * q * (1 - q)) / (p - q) ** 2
    if n_local == 0:
        weight, variances = 1.0, np.full(rough.shape, setting.curator_variance / n_trusted**2)
    elif n_trusted == 0:
        weight, variances = 0.0, of_lies / n_local
    else:
        blend = MeanSetting.alike(
            n_people,
            n_trusted / n_people,
            setting.curator_variance / n_trusted**2,
            of_lies,
            rough * (1 - rough),
        )
        weight = blend.weight_known_variance
        variances = blend.error_hybrid(weight)
    shares = weight * of_trusted / max(n_trusted, 1) + (1 - weight) * of_local / max(n_local, 1)
    return np.clip(shares, 0.0, 1.0), np.sqrt(variances)


def _centre_errors(
    trusted: ClusterTable | None,
    local: ClusterTable | None,
    centres: FloatArray,
    setting: TableSetting,
) -> FloatArray:
    """Return the standard error of every coordinate, from the weights that `next_centres` took."""
    views = views_of(trusted, local, setting)
    noises = [] if trusted is None else [_trusted_noise(views[0], setting)]
    if local is not None:
        noises.append(_local_noise(views[-1], local.counts / setting.unit, centres, setting))
    total = np.sum([view.precisions for view in views], axis=0)
    variances = np.zeros(centres.shape)
    for view, noise in zip(views, noises, strict=True):
        is_heard = view.precisions > 0
        weights = np.where(is_heard, view.precisions / np.where(total > 0, total, 1), 0.0)
        counts = np.where(is_heard, view.counts, 1.0)
        variances += (weights / counts)[:, None] ** 2 * noise
    return np.where(total[:, None] > 0, np.sqrt(variances), np.inf)


def _trusted_noise(view: GroupView, setting: TableSetting) -> FloatArray:
    """Return the variance of sum - mean * count: the count's noise moves the mean, too."""
    noise: FloatArray = setting.curator_variance * (1 + view.means**2)
    return noise


def _local_noise(
    view: GroupView, named: FloatArray, centres: FloatArray, setting: TableSetting
) -> FloatArray:
    """Return the same for L: of reported points, and of who of other clusters named this one."""
    p, q = setting.reading
    of_points = noises_carried(named, setting) * setting.report_variance
    spread = setting.p_lie * (1 - setting.p_lie) / (p - q) ** 2
    squares = (centres[:, None, :] - centres) ** 2  # K^2 d numbers: clusters are few
    of_lies = spread * np.einsum("j,kjd->kd", np.maximum(view.counts, 0.0), squares)
    noise: FloatArray = of_points[:, None] + of_lies
    return noise
