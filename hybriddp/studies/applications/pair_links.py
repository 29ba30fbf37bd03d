"""Which pairs of things occur together more often than chance would have it (Dunning 1993)."""

from dataclasses import dataclass

import numpy as np
from scipy import special

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.studies.applications.sequences import ranges


@dataclass(frozen=True, slots=True, eq=False)
class Links:
    """Pairs that are no accident, in the order of (first, falling ratio, second)."""

    first: IntArray
    second: IntArray
    ratios: FloatArray

    def __len__(self) -> int:
        return len(self.first)

    def leading_from(self, firsts: IntArray, at_most: int) -> tuple[IntArray, IntArray]:
        """Return each first element's links, the strongest `at_most` of them.

        The two arrays hold positions in `firsts` and positions of links, one for each link found.

        Privacy claim: none; the result is as private as the pairs.
        """
        begin = np.searchsorted(self.first, firsts, side="left")
        end = np.searchsorted(self.first, firsts, side="right")
        n_links = np.minimum(end - begin, at_most)
        return np.repeat(np.arange(len(firsts)), n_links), ranges(begin, n_links)


def significant_links(
    first: IntArray, second: IntArray, pair_counts: IntArray, least_ratio: float
) -> Links:
    """Return those of the different pairs that have a log-likelihood ratio of at least this.

    Pairs that occur less often than by chance have high ratios, too, and are left out.

    Privacy claim: none; the result is as private as the pairs.
    """
    counts = pair_counts.astype(np.float64)  # their products may be beyond 64 bits
    total = float(counts.sum())
    of_first = np.bincount(first, counts).astype(np.float64)[first]
    of_second = np.bincount(second, counts).astype(np.float64)[second]
    ratios = log_likelihood_ratio(counts, of_first, of_second, total)
    kept = np.flatnonzero((ratios >= least_ratio) & (counts * total > of_first * of_second))
    order = kept[np.lexsort((second[kept], -ratios[kept], first[kept]))]
    return Links(first[order], second[order], ratios[order])


def log_likelihood_ratio(
    together: FloatArray, first: FloatArray, second: FloatArray, total: float
) -> FloatArray:
    """Return -2 ln(L(p(2|1) = p(2|not 1))/L(any p)) of pairs, Dunning's G2.

    `together` are the pairs' counts, `first` and `second` those of all pairs that begin or end
    alike. G2 = 2 sum O ln(O/E) over the four cells; here with the logarithms taken apart, which
    leaves an error of about 1e-15 total ln(total).

    Privacy claim: none; the result is as private as the counts.
    """
    cells = (together, first - together, second - together, total - first - second + together)
    margins = (first, second, total - first, total - second)
    ratio: FloatArray = 2 * (
        sum(special.xlogy(x, x) for x in cells)
        - sum(special.xlogy(x, x) for x in margins)
        + special.xlogy(total, total)
    )
    return np.maximum(ratio, 0.0)  # below 0 only by rounding
