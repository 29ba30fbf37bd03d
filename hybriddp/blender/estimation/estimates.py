"""Estimates of both groups, blended by their precision, and made a probability distribution."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.errors import require


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated probabilities with their variances, element by element.

    An infinite variance means: this source knows nothing about the element.
    """

    values: FloatArray
    variances: FloatArray


@dataclass(frozen=True, slots=True)
class IntervalEstimate(Estimate):
    """Estimates with their 95 % intervals."""

    low: FloatArray
    high: FloatArray


def blend(optin: Estimate, clients: Estimate) -> Estimate:
    """Return w p_O + (1-w) p_C with w = v_C/(v_O + v_C), which has the least variance.

    An infinite variance gives weight 0, a variance of 0 all the weight; two sources of equal
    standing (both know nothing, or both are certain) share evenly. JPC19 figure 7, theorem 3.7.

    Privacy claim: none; post-processing of estimates.
    """
    require(
        optin.values.shape == clients.values.shape,
        "both groups must estimate the same elements",
        f"shapes {optin.values.shape} and {clients.values.shape}",
        "bring the opt-in estimate to the client's cells first",
    )
    v_O, v_C = np.broadcast_arrays(optin.variances, clients.variances)
    require(
        bool(np.all(v_O >= 0) and np.all(v_C >= 0)),
        "variances must be at least 0",
        "a negative or undefined one",
        "a variance below 0 would weigh a source outside [0, 1]",
    )
    differs = (v_O != v_C) & ~(np.isinf(v_O) & np.isinf(v_C))
    # v_C/(v_O + v_C), written so that an infinity on either side comes out as 0 or 1.
    ratio = np.divide(v_O, v_C, out=np.full(v_O.shape, np.inf), where=differs & (v_C > 0))
    w = np.where(differs, 1 / (1 + ratio), 0.5)
    values = _weigh(w, optin.values) + _weigh(1 - w, clients.values)
    variances = _weigh(w**2, v_O) + _weigh((1 - w) ** 2, v_C)
    return Estimate(values, variances)


def _weigh(weight: FloatArray, values: FloatArray) -> FloatArray:
    # 0 * inf must be 0: a source without weight adds neither value nor variance.
    weighed = np.zeros(values.shape)
    np.multiply(weight, values, out=weighed, where=weight > 0)
    return weighed


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
