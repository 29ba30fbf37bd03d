"""Do the opt-in groups and the clients tell the same story? Free: both are noisy already.

Both estimate the same probabilities from different people, independently. If they disagree by more
than their noise, the groups search differently, somebody feeds in false reports, or there is a bug.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from hybriddp.arrays import BoolArray, FloatArray
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.blender.evidence.sources import Source

# Of the records that are called suspicious, or changed, this share may be innocent
# (Benjamini-Hochberg).
FALSE_DISCOVERY_RATE = 0.05


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """How far the two sides are apart, record by record and over the whole list."""

    z: FloatArray  # (opt-in - clients) in standard errors
    p_values: FloatArray
    is_suspicious: BoolArray
    chi_square: float
    n_records: int
    p_value: float  # of the chi-square: small if the lists disagree as a whole


def cross_check(
    optin: Estimate, clients: Source, blended: FloatArray, excess: FloatArray | None = None
) -> CrossCheck:
    """Compare both sides on the same records.

    `optin` is the posterior of the opt-in side alone: it knows that only high counts were seen.
    The clients' variances and covariances are taken at the blend, the best guess of the truth.
    `excess` is the excess kurtosis of what clients say of each record, 0 if that is normal.

    Privacy claim: none; post-processing of all groups' estimates.
    """
    n_records = len(optin.values)
    if n_records == 0:
        nothing = np.zeros(0)
        return CrossCheck(nothing, nothing, np.zeros(0, np.bool_), 0.0, 0, 1.0)
    p = np.clip(blended, 0, 1)
    difference = optin.values - clients.values
    of_clients = clients.variance_at(p)
    variances = optin.variances + of_clients
    z = difference / np.sqrt(variances)
    directions, mixing = clients.shared_covariance(p)
    chi_square = _mahalanobis(difference, variances, directions, mixing)
    if excess is None:
        p_values = 2 * special.ndtr(-np.abs(z))  # as scipy.stats, which takes long to import
        p_value = special.chdtrc(n_records, max(chi_square, 0.0))
    else:
        heavy = np.maximum(excess, 0) * (of_clients / variances) ** 2
        p_values = _heavy_tail(z**2, 1, heavy)
        p_value = _heavy_tail(max(chi_square, 0.0), n_records, heavy.sum())
    return CrossCheck(z, p_values, discoveries(p_values), chi_square, n_records, float(p_value))


def _heavy_tail(
    sum_of_squares: FloatArray | float, n: int, heavy: FloatArray | float
) -> FloatArray:
    """Return the chance that n squared differences sum up to more, if some are not normal.

    A square of variance 1 and excess kurtosis k has variance 2 + k. With a handful of reports on
    a cell k is not small, and chi-square's law would withhold honest lists. The gamma law of the
    same mean and variance holds its tail down to one in a hundred thousand, from 20 reports on
    (tests/blender/estimation/test_crosscheck.py).
    """
    stretch = 1 + heavy / (2 * n)
    tail: FloatArray = special.chdtrc(n / stretch, sum_of_squares / stretch)
    return tail


def _mahalanobis(
    difference: FloatArray, variances: FloatArray, directions: FloatArray, mixing: FloatArray
) -> float:
    """d' (D + U C U')^-1 d by Woodbury's identity, where D + U C U' has these variances."""
    diagonal = variances - np.einsum("ij,jk,ik->i", directions, mixing, directions)
    scaled = directions / diagonal[:, None]
    inner = np.eye(len(mixing)) + mixing @ directions.T @ scaled
    along = scaled.T @ difference
    correction = along @ np.linalg.solve(inner, mixing @ along)
    return float((difference**2 / diagonal).sum() - correction)


def discoveries(p_values: FloatArray) -> BoolArray:
    """Return the largest set of small p-values with the wanted false discovery rate.

    Privacy claim: none; post-processing of estimates.
    """
    order = np.argsort(p_values, kind="stable")
    limits = FALSE_DISCOVERY_RATE * np.arange(1, len(p_values) + 1) / len(p_values)
    passing = np.flatnonzero(p_values[order] <= limits)
    is_suspicious = np.zeros(len(p_values), dtype=np.bool_)
    if passing.size:
        is_suspicious[order[: passing[-1] + 1]] = True
    return is_suspicious
