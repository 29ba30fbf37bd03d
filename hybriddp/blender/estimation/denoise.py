"""Server side of the client reports: undo, on average, what the randomizer did."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.estimates import Estimate
from hybriddp.errors import require
from hybriddp.randomizers.stages import TwoStageResponse


@dataclass(frozen=True, slots=True)
class ClientEstimate:
    """What the reports say about queries (..., k) and about cells (..., K), wildcards last."""

    queries: Estimate
    cells: Estimate


def denoise(
    response: TwoStageResponse, report_counts: IntArray, *, reports_per_client: int = 1
) -> ClientEstimate:
    """Estimate probabilities from the number of reports of each cell, shape (..., K).

    JPC19 figure 5, observation 3.4 and theorem 3.6; the Bessel factor of the query's variance
    is not applied twice (docs/errata.md, item 1). Where, for a query q with k_q urls:
      t, a       probability to keep the query, to report one particular other one
      t_q, l_q   probability to keep the url, to report one particular other one
      r_q, r_qu  the fractions of reports
      n          the number of clients: with several reports a client, all of them may tell the
                 same, so only clients count as independent (an upper bound, Cauchy-Schwarz)

    Privacy claim: none; post-processing of client reports.
    """
    total = report_counts.sum(axis=-1, keepdims=True)
    require(
        bool(np.all(total >= 1)),
        "there must be at least 1 client report",
        0,
        "collect reports first, or publish the opt-in estimates alone",
    )
    n = total / reports_per_client
    sizes = np.array([url.n_values for url in response.urls])
    r_qu = report_counts / total
    r_q = np.add.reduceat(r_qu, np.cumsum(sizes) - sizes, axis=-1)

    t, a = float(response.query.p_truth), float(response.query.p_lie)
    queries = Estimate((r_q - a) / (t - a), _per_client(_spread(r_q, n), n) / (t - a) ** 2)
    if response.query.n_values == 1:  # the query is certain, so its fraction has no spread
        queries = Estimate(np.ones_like(r_q), np.zeros_like(r_q))

    query = np.repeat(np.arange(len(sizes)), sizes)
    t_q = np.array([float(url.p_truth) for url in response.urls])[query]
    l_q = np.array([float(url.p_lie) for url in response.urls])[query]
    k_q, p_q, var_q = sizes[query], queries.values[..., query], queries.variances[..., query]
    D = t * (t_q - l_q)
    A = a / k_q - t * l_q
    p_qu = (r_qu - t * l_q * p_q - a * (1 - p_q) / k_q) / D
    # Var(r_qu + A p_q) = Var r_qu + A^2 Var p_q + 2 A Cov(r_qu, r_q)/(t - a).
    covariance = np.maximum(r_qu, 1 / n) * (1 - r_q[..., query])
    own = _per_client(_spread(r_qu, n) + 2 * A * covariance / (t - a), n)
    var_qu = (own + A**2 * var_q) / D**2
    is_single = k_q == 1  # given the query, the url is certain
    return ClientEstimate(
        queries, Estimate(np.where(is_single, p_q, p_qu), np.where(is_single, var_q, var_qu))
    )


def _spread(fraction: FloatArray, n: FloatArray) -> FloatArray:
    """r(1-r), where a fraction of 0 or 1 counts as one report off: it is never that certain."""
    return np.maximum(fraction, 1 / n) * np.maximum(1 - fraction, 1 / n)


def _per_client(spread: FloatArray, n: FloatArray) -> FloatArray:
    """Divide by n - 1 (Bessel); one client says nothing about the spread."""
    return np.where(n > 1, spread / np.maximum(n - 1, 1), np.inf)
