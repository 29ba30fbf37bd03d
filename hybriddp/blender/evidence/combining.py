"""Everything that all three groups say about a list, as evidence that is combined at once."""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import BoolArray, FloatArray, IntArray
from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.estimation.levels import Draws
from hybriddp.blender.evidence.posterior import (
    LogPrior,
    estimate_other_urls,
    other_cells,
    posterior,
    power_law,
    tail_exponent,
)
from hybriddp.blender.evidence.sources import CentralCounts, Source, pool
from hybriddp.blender.headlist import HeadList
from hybriddp.blender.mechanisms import finding_mechanism, measuring_mechanism
from hybriddp.params import BlenderParams

# Records so rare that fewer users of S would hold one on average are not considered: a listed
# record was held by somebody.
_LEAST_HOLDERS = 0.05


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
class Evidence:
    """All sources about a list, with what is known of the shape of people's searches."""

    params: BlenderParams
    head_list: HeadList
    found: FoundCounts
    measured: MeasuredCounts | None
    clients: Source
    spread: float

    @classmethod
    def of(
        cls, params: BlenderParams, head_list: HeadList, draws: Draws, clients: Source
    ) -> "Evidence":
        """Put the draws of a release together.

        Privacy claim: none; post-processing of the three draws.
        """
        assert draws.noisy_counts is not None
        is_kept = np.isin(draws.candidates.query_ids, head_list.query_ids)
        of_records = is_kept[draws.candidates.query_of_record]
        found = FoundCounts.of(draws.noisy_counts, of_records, params, draws.n_finders)
        measured = (
            None
            if draws.measured is None
            else read_measured(params, draws.measured, draws.n_measurers)
        )
        return cls.around(params, head_list, found, measured, clients)

    @classmethod
    def around(
        cls,
        params: BlenderParams,
        head_list: HeadList,
        found: FoundCounts,
        measured: MeasuredCounts | None,
        clients: Source,
    ) -> "Evidence":
        """Put counts and reports together, which are about the same list.

        Privacy claim: none; post-processing of the three draws.
        """
        spread = _spread(head_list, params, found, measured, clients)
        return cls(params, head_list, found, measured, clients, spread)

    def optin(self) -> IntervalEstimate:
        """Estimate the records without the clients, with the list's own power law as prior."""
        return posterior(self._optin_sources(), self._prior(), least=self._least())

    def cells(self) -> IntervalEstimate:
        """Estimate every cell from all sources.

        Records: S, T and clients, with the list's own power law as prior. <q,*>: T and clients;
        most are rare and noisy, so a gamma prior that is learnt from all of them. <*,*>: what
        remains, which is all that the clients say about it, too: their estimates sum to 1.
        """
        records, params = self.head_list.record_cells, self.params
        sources = [*self._optin_sources(), self.clients.at(records)]
        of_records = posterior(sources, self._prior(), least=self._least())
        n_units = params.max_records_optin * self.found.n_users
        threshold = finding_mechanism(params).threshold / n_units
        everything = [*self._measured_sources(), self.clients]
        of_others = estimate_other_urls(self.head_list, everything, of_records, threshold)
        return _all_cells(self.head_list, of_records, of_others)

    def _prior(self) -> LogPrior:
        return power_law(self.found.tail_exponent)

    def _least(self) -> float:
        return _LEAST_HOLDERS / self.found.n_users

    def _measured_sources(self) -> list[Source]:
        if self.measured is None:
            return []
        return [_measured_source(self.params, self.measured, self.spread)]

    def _optin_sources(self) -> list[Source]:
        records = self.head_list.record_cells
        found = _found_source(self.params, self.found, self.spread)
        return [found, *(source.at(records) for source in self._measured_sources())]


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


def read_measured(params: BlenderParams, noisy: IntArray, n_users: int) -> MeasuredCounts:
    """Take T's noisy vector apart again.

    Privacy claim: none; post-processing of an OptinHistogram.
    """
    if params.max_records_optin == 1:
        return MeasuredCounts(noisy, 0, n_users)
    return MeasuredCounts(noisy[:-1], int(noisy[-1]), n_users)
