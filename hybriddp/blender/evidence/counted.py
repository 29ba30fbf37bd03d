"""What S and T say with Laplace noise: counts of units, as shares of people."""

from dataclasses import dataclass, replace

import numpy as np

from hybriddp.arrays import BoolArray, IntArray
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.evidence.combining import Evidence
from hybriddp.blender.evidence.posterior import tail_exponent
from hybriddp.blender.evidence.sources import CentralCounts, Source, pool
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import finding_mechanism, measuring_mechanism
from hybriddp.params import BlenderParams


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


def counted_evidence(
    params: BlenderParams, head_list: HeadList, draws: Draws, clients: Source
) -> Evidence:
    """Put the draws of a release together.

    Privacy claim: none; post-processing of the three draws.
    """
    assert draws.noisy_counts is not None
    is_kept = np.isin(draws.candidates.query_ids, head_list.query_ids)
    of_records = is_kept[draws.candidates.query_of_record]
    found = FoundCounts.of(draws.noisy_counts, of_records, params, draws.n_finders)
    measured = (
        None if draws.measured is None else read_measured(params, draws.measured, draws.n_measurers)
    )
    return around(params, head_list, found, measured, clients)


def around(
    params: BlenderParams,
    head_list: HeadList,
    found: FoundCounts,
    measured: MeasuredCounts | None,
    clients: Source,
) -> Evidence:
    """Put counts and reports together, which are about the same list.

    Privacy claim: none; post-processing of the three draws.
    """
    spread = spread_of_units(head_list, params, found, measured, clients)
    noise = measuring_mechanism(params).noise.variance
    of_cells = [] if measured is None else [_source(params, measured, noise, spread)]
    return Evidence(
        head_list,
        [
            _found_source(params, found, spread),
            *(source.at(head_list.record_cells) for source in of_cells),
        ],
        of_cells,
        clients,
        found.tail_exponent,
        found.n_users,
        finding_mechanism(params).threshold / (params.max_records_optin * found.n_users),
    )


def _found_source(params: BlenderParams, found: FoundCounts, spread: float) -> CentralCounts:
    noise = finding_mechanism(params).noise.variance
    return replace(_source(params, found, noise, spread), only_occurring=True)


def _source(
    params: BlenderParams, counts: FoundCounts | MeasuredCounts, noise: float, spread: float
) -> CentralCounts:
    units, n_users, m = counts.noisy_units, counts.n_users, params.max_records_optin
    return CentralCounts.of(units, n_users, noise, records_per_user=m, spread=spread)


def spread_of_units(
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


def read_measured(params: BlenderParams, noisy: IntArray, n_users: int) -> MeasuredCounts:
    """Take T's noisy vector apart again.

    Privacy claim: none; post-processing of an OptinHistogram.
    """
    if params.max_records_optin == 1:
        return MeasuredCounts(noisy, 0, n_users)
    return MeasuredCounts(noisy[:-1], int(noisy[-1]), n_users)
