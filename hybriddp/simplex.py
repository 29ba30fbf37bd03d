"""Post-processing: make estimates a probability distribution."""

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require


def project(values: FloatArray) -> FloatArray:
    """Return the nearest point of the probability simplex, argmin ||p - v|| : p >= 0, sum p = 1.

    Sort and threshold (Wang, Carreira-Perpinan 2013): with u = v in descending order,
    rho = max { j : u_j + (1 - (u_1 + .. + u_j))/j > 0 }, lambda = (1 - (u_1 + .. + u_rho))/rho,
    p = max(v + lambda, 0).

    Privacy claim: none; post-processing of estimates.
    """
    require(
        values.ndim == 1 and values.size >= 1 and bool(np.isfinite(values).all()),
        "values must be a non-empty vector of finite numbers",
        f"shape {values.shape}" if values.ndim != 1 or not values.size else "one that is not",
        "estimate every element before projecting",
    )
    u = np.sort(values)[::-1]
    j = np.arange(1, len(u) + 1)
    lambdas = (1 - np.cumsum(u)) / j
    rho = np.flatnonzero(u + lambdas > 0)[-1]
    projected: FloatArray = np.maximum(values + lambdas[rho], 0)
    return projected


def project_weighted(values: FloatArray, variances: FloatArray) -> FloatArray:
    """Return the point of the simplex that is nearest when uncertain elements may move further.

    argmin sum (p - v)^2/s : p >= 0, sum p = 1, for variances s > 0: p = max(v + lambda s, 0), where
    an element is above 0 if lambda exceeds -v/s. With equal variances this is `project`. What is
    wrong with one element is then paid by those that are least certain, above all by <*,*>.

    Privacy claim: none; post-processing of estimates.
    """
    require(
        values.shape == variances.shape and bool(np.all(variances > 0)),
        "variances must be above 0, one for each value",
        "others",
        "an element that is certain does not move; leave it out",
    )
    require(
        values.ndim == 1 and values.size >= 1 and bool(np.isfinite(values).all()),
        "values must be a non-empty vector of finite numbers",
        f"shape {values.shape}" if values.ndim != 1 or not values.size else "one that is not",
        "estimate every element before projecting",
    )
    order = np.argsort(-values / variances, kind="stable")
    lambdas = (1 - np.cumsum(values[order])) / np.cumsum(variances[order])
    rho = np.flatnonzero(lambdas > (-values / variances)[order])[-1]
    projected: FloatArray = np.maximum(values + lambdas[rho] * variances, 0)
    return projected
