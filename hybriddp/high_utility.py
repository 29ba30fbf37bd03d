"""Strategy `high-utility`: everything that all three groups say, combined (ours).

S's noisy counts are kept, T counts the clients' own cells, clients report cells in one stage, and
each record is estimated from all of it at once. Same people, same epsilon and delta as `paper`.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.estimate import Estimate, IntervalEstimate
from hybriddp.event_rules import REPLACE_ONE_SENSITIVITY
from hybriddp.evidence import CentralCounts, Source, pool
from hybriddp.headlist import HeadList, HeadListMechanism
from hybriddp.optin import HistogramMechanism
from hybriddp.other_urls import estimate_other_urls, other_cells
from hybriddp.params import BlenderParams
from hybriddp.posterior import posterior, power_law, tail_exponent
from hybriddp.simplex import project_weighted

# Records so rare that fewer users of S would hold one on average are not considered: a listed
# record was held by somebody.
_LEAST_HOLDERS = 0.05
# Variances of a projection: smaller parts of the largest would be lost in rounding, and a division
# must be possible where nothing is uncertain, such as an empty list.
_LEAST_PART, _LEAST_VARIANCE = 1e-12, 1e-30


@lru_cache(maxsize=64)
def finding_mechanism(params: BlenderParams) -> HeadListMechanism:
    """Return how S finds the list."""
    return HeadListMechanism.tight(params.budget, params.max_records_optin)


@lru_cache(maxsize=64)
def measuring_mechanism(params: BlenderParams) -> HistogramMechanism:
    """Return how T counts: m units on the clients' cells, and among them repeats, up to m.

    Replacing a user moves the cells by at most 2 m and the repeats by at most m.
    """
    m = params.max_records_optin
    l1_sensitivity = REPLACE_ONE_SENSITIVITY * m + (m if m > 1 else 0)
    return HistogramMechanism.for_budget(params.budget, l1_sensitivity)


def likeliest_queries(
    candidates: HeadList, noisy_counts: IntArray, max_head_size: int
) -> BoolArray:
    """Say which of the named queries stay: those with the largest sums of noisy counts.

    Privacy claim: none; post-processing of a HeadListDraw.
    """
    sums = np.bincount(candidates.query_of_record, noisy_counts, candidates.n_queries)
    is_kept = np.zeros(candidates.n_queries, dtype=np.bool_)
    # A stable sort breaks ties by the list's own order, so equal inputs give equal lists.
    is_kept[np.argsort(-sums, kind="stable")[:max_head_size]] = True
    return is_kept


@dataclass(frozen=True, slots=True)
class FoundCounts:
    """S's draw for the published list, and what all of it says about the tail."""

    noisy_units: IntArray  # one for each record of the list
    tail_exponent: float
    n_users: int

    @classmethod
    def of(
        cls, noisy_units: IntArray, is_kept: BoolArray, params: BlenderParams, n_users: int
    ) -> "FoundCounts":
        """Keep the records that stay; learn from all that were named.

        Privacy claim: none; post-processing of a HeadListDraw.
        """
        threshold = finding_mechanism(params).threshold + 0.5
        return cls(noisy_units[is_kept], tail_exponent(noisy_units, threshold), n_users)


@dataclass(frozen=True, slots=True)
class MeasuredCounts:
    """T's draw: noisy units on every cell, and noisy repeats (0 with one record a user)."""

    noisy_units: IntArray
    repeats: int
    n_users: int


@dataclass(frozen=True, slots=True)
class Combined:
    """What is known of every cell, <*,*> last, and of the opt-in side alone."""

    cells: IntervalEstimate
    optin_records: IntervalEstimate  # records only, without the clients
    spread: float


def combine(
    head_list: HeadList,
    params: BlenderParams,
    found: FoundCounts,
    measured: MeasuredCounts | None,
    clients: Source,
) -> Combined:
    """Estimate every cell from all sources.

    Records: S, T and clients, with the list's own power law as prior. <q,*>: T and clients; most
    are rare and noisy, so a gamma prior that is learnt from all of them. <*,*>: what remains,
    which is all that the clients say about it, too: their estimates sum to 1.

    Privacy claim: none; post-processing of the three draws.
    """
    records = head_list.record_cells
    spread = _spread(head_list, params, found, measured, clients)
    measured_cells = [] if measured is None else [_measured_source(params, measured, spread)]
    optin = [
        _found_source(params, found, spread),
        *(source.at(records) for source in measured_cells),
    ]
    prior = power_law(found.tail_exponent)
    least = _LEAST_HOLDERS / found.n_users
    of_records = posterior([*optin, clients.at(records)], prior, least=least)
    threshold = finding_mechanism(params).threshold / (params.max_records_optin * found.n_users)
    everything = [*measured_cells, clients]
    of_others = estimate_other_urls(head_list, everything, of_records, threshold)
    return Combined(
        _all_cells(head_list, of_records, of_others),
        posterior(optin, prior, least=least),
        spread,
    )


def _found_source(params: BlenderParams, found: FoundCounts, spread: float) -> CentralCounts:
    noise = finding_mechanism(params).noise
    return CentralCounts.of(
        found.noisy_units,
        found.n_users,
        noise.variance,
        records_per_user=params.max_records_optin,
        spread=spread,
        only_occurring=True,
    )


def _measured_source(
    params: BlenderParams, measured: MeasuredCounts, spread: float
) -> CentralCounts:
    noise = measuring_mechanism(params).noise
    return CentralCounts.of(
        measured.noisy_units,
        measured.n_users,
        noise.variance,
        records_per_user=params.max_records_optin,
        spread=spread,
    )


def _spread(
    head_list: HeadList,
    params: BlenderParams,
    found: FoundCounts,
    measured: MeasuredCounts | None,
    clients: Source,
) -> float:
    """Return the variance of a user's weight on a record, as a part of p(1-p).

    Of a user's m units one is picked at random, and T counts how many of the user's units lie on
    the same listed record. The mean of that, over the mean number of listed units, is
    sum E[c^2]/(m sum E[c]). One standard error is added, since too small a spread would
    promise too narrow intervals; without T it is 1, the largest there is.
    """
    m = params.max_records_optin
    if m == 1 or measured is None:
        return 1.0
    records = head_list.record_cells
    share = pool([_found_source(params, found, 1.0), clients.at(records)]).values.sum()
    listed_units = m * measured.n_users * max(float(share), 0.0)
    noise = np.sqrt(measuring_mechanism(params).noise.variance)
    if listed_units <= noise:
        return 1.0
    return float(np.clip((measured.repeats + noise) / listed_units, 1 / m, 1))


def _all_cells(
    head_list: HeadList, of_records: IntervalEstimate, of_others: IntervalEstimate
) -> IntervalEstimate:
    records, others = head_list.record_cells, other_cells(head_list)

    def column(name: str, rest: float) -> FloatArray:
        values = np.full(head_list.n_cells, rest)
        values[records], values[others] = getattr(of_records, name), getattr(of_others, name)
        return values

    values, variances = column("values", 0.0), column("variances", 0.0)
    values[-1], variances[-1] = 1 - values[:-1].sum(), variances[:-1].sum()
    low, high = column("low", 0.0), column("high", 1.0)
    margin = 1.96 * np.sqrt(variances[-1])
    low[-1], high[-1] = np.clip([values[-1] - margin, values[-1] + margin], 0, 1)
    return IntervalEstimate(values, variances, low, high)


def count_units(
    head_list: HeadList, query_ids: IntArray, url_ids: IntArray
) -> tuple[IntArray, int]:
    """Count the units of users (n_users, m) on the clients' cells, and their repeats.

    The repeats of a user are how many of its units lie on the same record as the first, if
    that is listed; the order of a user's units must be random.

    Privacy claim: none; the result is private and must stay with the curator.
    """
    n_users, m = query_ids.shape
    cells = head_list.cells_of(query_ids.reshape(-1), url_ids.reshape(-1))
    is_record = np.zeros(head_list.n_cells, dtype=np.bool_)
    is_record[head_list.record_cells] = True
    by_user = cells.reshape(n_users, m)
    same = (by_user == by_user[:, :1]).sum(axis=1)
    repeats = int(same[is_record[by_user[:, 0]]].sum())
    return np.bincount(cells, minlength=head_list.n_cells).astype(np.int64), repeats


def measured_vector(params: BlenderParams, units: IntArray, repeats: int) -> IntArray:
    """Return what T's mechanism adds noise to: the cells, and with m > 1 the repeats.

    Privacy claim: none; the result is private and must stay with the curator.
    """
    return units if params.max_records_optin == 1 else np.append(units, repeats)


def read_measured(params: BlenderParams, noisy: IntArray, n_users: int) -> MeasuredCounts:
    """Take T's noisy vector apart again.

    Privacy claim: none; post-processing of an OptinHistogram.
    """
    if params.max_records_optin == 1:
        return MeasuredCounts(noisy, 0, n_users)
    return MeasuredCounts(noisy[:-1], int(noisy[-1]), n_users)


def query_estimate(head_list: HeadList, cells: Estimate) -> Estimate:
    """Return queries (* last) as the sums of their cells, <q,*> included.

    Privacy claim: none; post-processing of estimates.
    """
    starts = head_list.cell_starts
    return Estimate(np.add.reduceat(cells.values, starts), np.add.reduceat(cells.variances, starts))


def project(blended: Estimate) -> FloatArray:
    """Make cells a distribution; they are one already unless <*,*> came out below 0.

    Privacy claim: none; post-processing of estimates.
    """
    least = max(_LEAST_PART * float(blended.variances.max()), _LEAST_VARIANCE)
    return project_weighted(blended.values, np.maximum(blended.variances, least))


def around(projected: FloatArray, known: IntervalEstimate) -> IntervalEstimate:
    """Return the distribution with the intervals of what is known, which must hold it.

    Privacy claim: none; post-processing of estimates.
    """
    return IntervalEstimate(
        projected,
        known.variances,
        np.minimum(known.low, projected),
        np.maximum(known.high, projected),
    )


def optin_estimate(head_list: HeadList, combined: Combined) -> Estimate:
    """Bring what the opt-in groups alone say to the cells; they know records only.

    Privacy claim: none; post-processing of the opt-in draws.
    """
    values, variances = np.zeros(head_list.n_cells), np.full(head_list.n_cells, np.inf)
    values[head_list.record_cells] = combined.optin_records.values
    variances[head_list.record_cells] = combined.optin_records.variances
    return Estimate(values, variances)
