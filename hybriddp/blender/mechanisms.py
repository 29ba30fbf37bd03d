"""Which mechanisms find a list and measure it: one choice for releases, simulations and plans.

With strategy `paper` S names records, and T counts people on them. With `high-utility` S's noisy
counts are kept, everybody has m units, and T counts on the clients' own cells. With Gaussian
finding everybody who opted in is in S, gives weights to records, and then measures what was named.
"""

from functools import lru_cache

import numpy as np

from hybriddp.accounting.event import REPLACE_ONE_SENSITIVITY
from hybriddp.arrays import IntArray
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.optin import HistogramMechanism, count_listed_records
from hybriddp.blender.weighted.mechanism import (
    ShareMeasuring,
    WeightedFinding,
    WeightedListMechanism,
)
from hybriddp.params import PAPER, BlenderParams

Finding = HeadListMechanism | WeightedFinding
Measuring = HistogramMechanism | ShareMeasuring


def weighted_mechanism(params: BlenderParams) -> WeightedListMechanism:
    """Return how everybody who opted in finds and measures with Gaussian noise."""
    return WeightedListMechanism.for_budget(params.budget, params.max_records_optin)


@lru_cache(maxsize=64)
def finding_mechanism(params: BlenderParams) -> Finding:
    """Return how S finds the list."""
    if params.is_weighted:
        return weighted_mechanism(params).finding
    if params.strategy == PAPER:
        return HeadListMechanism.for_budget(params.budget)
    return HeadListMechanism.tight(params.budget, params.max_records_optin)


@lru_cache(maxsize=64)
def measuring_mechanism(params: BlenderParams) -> Measuring:
    """Return how T counts, or with Gaussian finding S itself.

    With m units on the clients' cells, and among them repeats, up to m: replacing a user moves the
    cells by at most 2 m and the repeats by at most m.
    """
    if params.is_weighted:
        return weighted_mechanism(params).measuring
    if params.strategy == PAPER:
        return HistogramMechanism.for_budget(params.budget)
    m = params.max_records_optin
    l1_sensitivity = REPLACE_ONE_SENSITIVITY * m + (m if m > 1 else 0)
    return HistogramMechanism.for_budget(params.budget, l1_sensitivity)


def to_measure(
    params: BlenderParams, head_list: HeadList, query_ids: IntArray, url_ids: IntArray
) -> IntArray:
    """Count what T's mechanism adds noise to, from users' records, shape (n_users, m).

    Privacy claim: none; the result is private and must stay with the curator.
    """
    if params.strategy == PAPER:
        return count_listed_records(head_list, query_ids[:, 0], url_ids[:, 0])
    return measured_vector(params, *count_units(head_list, query_ids, url_ids))


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
