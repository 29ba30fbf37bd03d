"""Everything that all groups say about a list, as evidence that is combined at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray
from hybriddp.blender.estimation.estimates import IntervalEstimate
from hybriddp.blender.evidence.posterior import (
    LogPrior,
    estimate_other_urls,
    other_cells,
    posterior,
    power_law,
)
from hybriddp.blender.evidence.sources import Source
from hybriddp.blender.headlist import HeadList

# Records so rare that fewer users of S would hold one on average are not considered: a listed
# record was held by somebody.
LEAST_HOLDERS = 0.05


@dataclass(frozen=True, slots=True)
class Evidence:
    """All sources about a list, with what is known of the shape of people's searches."""

    head_list: HeadList
    of_records: Sequence[Source]  # what opt-in users say of the listed records
    of_cells: Sequence[Source]  # and of every cell, <*,*> last, where any were asked
    clients: Source  # of every cell
    tail_exponent: float
    n_finders: int
    threshold: float  # the share of them that a record needed to be named

    def optin(self) -> IntervalEstimate:
        """Estimate the records without the clients, with the list's own power law as prior."""
        return posterior(self.of_records, self._prior(), least=self._least())

    def cells(self) -> IntervalEstimate:
        """Estimate every cell from all sources.

        Records: all groups, with the list's own power law as prior. <q,*>: those who were asked
        about it; most are rare and noisy, so a gamma prior that is learnt from all of them. <*,*>:
        what remains, which is all that the clients say about it, too: their estimates sum to 1.
        """
        sources = [*self.of_records, self.clients.at(self.head_list.record_cells)]
        of_records = posterior(sources, self._prior(), least=self._least())
        everything = [*self.of_cells, self.clients]
        of_others = estimate_other_urls(self.head_list, everything, of_records, self.threshold)
        return all_cells(self.head_list, of_records, of_others)

    def _prior(self) -> LogPrior:
        return power_law(self.tail_exponent)

    def _least(self) -> float:
        return LEAST_HOLDERS / self.n_finders


def all_cells(
    head_list: HeadList, of_records: IntervalEstimate, of_others: IntervalEstimate
) -> IntervalEstimate:
    """Put records and <q,*> together; <*,*> is what remains.

    Privacy claim: none; post-processing of estimates.
    """
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
