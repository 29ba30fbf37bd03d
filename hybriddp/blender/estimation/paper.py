"""Strategy `paper`: T trims and measures the list, clients report in two stages (JPC19)."""

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.blender.estimation.crosscheck import CrossCheck, cross_check
from hybriddp.blender.estimation.denoise import denoise as denoise_reports
from hybriddp.blender.estimation.estimates import Estimate, IntervalEstimate
from hybriddp.blender.estimation.estimates import blend as blend_estimates
from hybriddp.blender.estimation.estimates import project as project_values
from hybriddp.blender.estimation.intervals import normal_interval
from hybriddp.blender.estimation.levels import Bounded, Draws, Levels, Sides
from hybriddp.blender.evidence.sources import Fixed
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import measuring_mechanism
from hybriddp.errors import require
from hybriddp.params import BlenderParams
from hybriddp.randomizers.two_stage import ClientMechanism

INTERVAL_METHOD = "normal, from the variance of the blend, 95 %"


def choose(params: BlenderParams, draws: Draws) -> HeadList:
    """Return the likeliest queries of S's list, as T measured them."""
    return _trimmed(params, draws)[0]


def denoise(params: BlenderParams, head_list: HeadList, draws: Draws) -> Sides:
    """Return T's estimates on the clients' cells, and what the reports say."""
    _, records = _trimmed(params, draws)
    variance = measuring_mechanism(params).noise.variance
    optin = Levels(
        on_client_cells(head_list, records),
        estimate_queries(head_list, records, draws.n_measurers, variance),
    )
    assert draws.reports is not None
    response = ClientMechanism.for_head_list(head_list, params).response
    said = denoise_reports(response, draws.reports, reports_per_client=params.max_records_client)
    return Sides(optin, Levels(said.cells, said.queries))


def blend(_params: BlenderParams, _head_list: HeadList, _draws: Draws, sides: Sides) -> Levels:
    """Weigh both groups by their precision."""
    optin, clients = sides.optin, sides.clients
    return Levels(
        blend_estimates(optin.records, clients.records),
        blend_estimates(optin.queries, clients.queries),
    )


def weighed(
    _params: BlenderParams, _head_list: HeadList, _draws: Draws, sides: Sides, _blended: Levels
) -> Levels:
    """Return what the clients say: its variances are those that it is blended with."""
    return sides.clients


def project(_head_list: HeadList, blended: Levels) -> Levels:
    """Make both levels a distribution; the variances stay those of the blend."""
    return Levels(_projected(blended.records), _projected(blended.queries))


def bound(_blended: Levels, projected: Levels) -> Bounded:
    """Add normal intervals."""
    return Bounded(_bounded(projected.records), _bounded(projected.queries))


def check(
    _params: BlenderParams, head_list: HeadList, _draws: Draws, sides: Sides, blended: Levels
) -> CrossCheck:
    """Compare T with the clients, record by record."""
    records, optin, clients = head_list.record_cells, sides.optin.records, sides.clients.records
    return cross_check(
        Estimate(optin.values[records], optin.variances[records]),
        Fixed(clients.values, clients.variances).at(records),
        blended.records.values[records],
    )


def _trimmed(params: BlenderParams, draws: Draws) -> tuple[HeadList, Estimate]:
    assert draws.measured is not None
    n_users, variance = draws.n_measurers, measuring_mechanism(params).noise.variance
    estimate = estimate_optin(draws.measured, n_users, variance)
    return trim(draws.candidates, estimate, params.max_head_size, n_users, variance)


def _projected(estimate: Estimate) -> Estimate:
    return Estimate(project_values(estimate.values), np.asarray(estimate.variances))


def _bounded(estimate: Estimate) -> IntervalEstimate:
    return IntervalEstimate(
        estimate.values, estimate.variances, *normal_interval(estimate.values, estimate.variances)
    )


def estimate_variance(values: FloatArray, n_users: int, noise_variance: float) -> FloatArray:
    """Return v = p(1-p)/(n-1) + Var(Y)/(n(n-1)), infinite for n = 1 (JPC19 theorem 3.5).

    Differs from JPC19: p(1-p) is floored at 0, because noise can push an estimate out of
    [0, 1], and a negative variance would push the blend's weights out of [0, 1] too.

    Privacy claim: none; post-processing of estimates.
    """
    if n_users == 1:
        return np.full_like(values, np.inf)
    sampling = np.maximum(values * (1 - values), 0) / (n_users - 1)
    return sampling + noise_variance / (n_users * (n_users - 1))


def estimate_optin(noisy_counts: IntArray, n_users: int, noise_variance: float) -> Estimate:
    """Turn noisy counts of record vectors (..., n_records + 1) into probabilities.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    require(
        n_users >= 1,
        "the opt-in group that measures the head list must have at least 1 user",
        n_users,
        "lower headlist_user_fraction or enlarge the opt-in group",
    )
    values = noisy_counts / n_users
    return Estimate(values, estimate_variance(values, n_users, noise_variance))


def sum_by_query(head_list: HeadList, record_values: FloatArray) -> FloatArray:
    """Add up record vectors (..., n_records + 1) to queries (..., n_queries + 1), * last.

    Privacy claim: none; post-processing of estimates.
    """
    # Every query has at least one url, so each segment is non-empty, as reduceat needs.
    starts = np.append(np.cumsum(head_list.url_counts) - head_list.url_counts, head_list.n_records)
    return np.add.reduceat(record_values, starts, axis=-1)


def estimate_queries(
    head_list: HeadList, optin: Estimate, n_users: int, noise_variance: float
) -> Estimate:
    """Return the opt-in estimate of every query, * last (JPC19 section 4.2).

    The sum over urls, with the variance formula applied to that sum.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    marginals = sum_by_query(head_list, optin.values)
    return Estimate(marginals, estimate_variance(marginals, n_users, noise_variance))


def on_client_cells(head_list: HeadList, optin: Estimate) -> Estimate:
    """Bring the opt-in estimate to the clients' cells.

    In strategy `paper` the opt-in group knows nothing about <q,*>: infinite variance there.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    values, variances = np.zeros(head_list.n_cells), np.full(head_list.n_cells, np.inf)
    cells = np.append(head_list.record_cells, head_list.n_cells - 1)
    values[cells], variances[cells] = optin.values, optin.variances
    return Estimate(values, variances)


def trim(
    head_list: HeadList, optin: Estimate, max_head_size: int, n_users: int, noise_variance: float
) -> tuple[HeadList, Estimate]:
    """Keep the `max_head_size` likeliest queries; fold the others' estimates into <*,*>.

    JPC19 figure 4, lines 14-15. The variance of <*,*> is recomputed as if it were one cell,
    which the paper itself calls not statistically valid; strategy `paper` keeps that.

    Privacy claim: none; post-processing of an OptinHistogram draw.
    """
    marginals = sum_by_query(head_list, optin.values)[:-1]
    is_kept = np.zeros(head_list.n_queries, dtype=np.bool_)
    # A stable sort breaks ties by the list's own order, so equal inputs give equal lists.
    is_kept[np.argsort(-marginals, kind="stable")[:max_head_size]] = True
    record_is_kept = is_kept[head_list.query_of_record]
    dropped = optin.values[:-1][~record_is_kept].sum()
    values = np.append(optin.values[:-1][record_is_kept], optin.values[-1] + dropped)
    return head_list.keep(is_kept), Estimate(
        values, estimate_variance(values, n_users, noise_variance)
    )
