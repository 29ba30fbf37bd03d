"""How close a published histogram is to the original (ZEAL sections 7.2 and 8.1).

The original is private: these numbers are for studies and for the curator's own eyes.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray, as_integers
from hybriddp.errors import require, require_count

# What a missing item counts as in the divergence: less than any item that a histogram can hold,
# so that each one that is missing costs something, and more than 0, so that the cost is finite.
_MISSING_COUNT = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """The items that occur and their counts: users of an original, noisy ones if published.

    Items are numbered as `search_log.items_of` numbers them. A count of 0 is an absent item.
    """

    items: IntArray  # ascending, each once
    counts: IntArray  # at least 1

    def __post_init__(self) -> None:
        require(
            self.items.ndim == 1 and self.items.shape == self.counts.shape,
            "items and counts must have one element for each item",
            f"shapes {self.items.shape} and {self.counts.shape}",
            "give every item its count",
        )
        require(
            bool(np.all(np.diff(self.items) > 0)),
            "items must ascend, each once",
            "another order, or an item twice",
            "build it with Histogram.of, and add up the counts of equal items first",
        )
        require(
            bool(np.all(self.counts >= 1)),
            "counts must be at least 1",
            "a smaller one",
            "leave the item out",
        )

    @classmethod
    def of(cls, items: IntArray, counts: IntArray) -> "Histogram":
        """Put items of any order, and of any integer type, in order.

        Privacy claim: none; the result is as private as the counts.
        """
        items, counts = as_integers(items, "items"), as_integers(counts, "counts")
        if items.ndim == 1 and items.shape == counts.shape:  # others are refused below
            order = np.argsort(items, kind="stable")
            items, counts = items[order], counts[order]
        return cls(items, counts)

    def __len__(self) -> int:
        """How many different items there are (ZEAL table 3A)."""
        return len(self.items)

    @property
    def total(self) -> int:
        """The sum of all counts (ZEAL table 3B)."""
        return int(self.counts.sum())

    def counts_of(self, items: IntArray) -> IntArray:
        """Return the counts of these items, 0 where absent.

        Privacy claim: none; the result is as private as the histogram.
        """
        if len(self) == 0:
            return np.zeros(items.shape, np.int64)
        position = np.minimum(np.searchsorted(self.items, items), len(self) - 1)
        counts: IntArray = np.where(self.items[position] == items, self.counts[position], 0)
        return counts

    def top(self, n_items: int) -> IntArray:
        """Return the most frequent items, most frequent first; of equals the lower id first."""
        require_count(n_items, "n_items")
        # Items ascend and the sort is stable, which settles ties.
        return self.items[np.argsort(-self.counts, kind="stable")[:n_items]]


@dataclass(frozen=True, slots=True)
class TopMeasures:
    """How the most frequent items of the original fare (ZEAL section 7.2, figures 2 and 3)."""

    n_items: int  # as many as asked for, or all that the original has
    n_missing: int  # not published: the third row of figure 2
    average_l1: float
    kl_divergence: float

    @property
    def coverage(self) -> float:
        """The share that is published; 1 if there was nothing to publish."""
        return 1 - self.n_missing / self.n_items if self.n_items else 1.0


def top_measures(original: Histogram, published: Histogram, n_items: int) -> TopMeasures:
    """Compare the `n_items` most frequent items of the original with the same, as published.

    Relative frequencies are shares of these items only, in either histogram. ZEAL does not say
    so, but shares of whole histograms would tell little of precision: publication cuts the tail,
    which raises every share that is left, and then the sum p ln(p/q) may fall below 0.

    average_l1: the mean of |p - q| over the items, q = 0 where missing.
    kl_divergence: in nats, sum p ln(p/q), where a missing item has q = 0.5/(their original total),
    and the published ones share the rest. Never below 0, and 0 only if nothing is missing and all
    shares agree.

    Privacy claim: none; the result is private, for it reads the original.
    """
    items = original.top(n_items)
    truth = original.counts_of(items).astype(np.float64)
    shown = published.counts_of(items).astype(np.float64)
    if len(items) == 0:
        return TopMeasures(0, 0, 0.0, 0.0)
    p, q = truth / truth.sum(), shown / max(shown.sum(), 1)
    return TopMeasures(
        n_items=len(items),
        n_missing=int((shown == 0).sum()),
        average_l1=float(np.abs(p - q).mean()),
        kl_divergence=_divergence(p, q, _MISSING_COUNT / float(truth.sum())),
    )


def _divergence(p: FloatArray, q: FloatArray, missing_share: float) -> float:
    """Return sum p ln(p/q) with q = missing_share for missing items.

    The shares q then sum to at most 1 (to less if all are missing), and p to 1: it cannot be
    negative but by rounding.
    """
    is_missing = q == 0
    kept_share = 1 - missing_share * int(is_missing.sum())
    q = np.where(is_missing, missing_share, q * kept_share)
    return max(0.0, float((p * np.log(p / q)).sum()))


def average_count_difference(original: Histogram, published: Histogram) -> float:
    """Return the mean of |original - scaled published count| (ZEAL section 8.1, figure 5).

    One factor makes the published total equal to the original's. The mean is over all items of
    the original; those that are missing differ by their whole count. Items that only the
    publication has take part in the factor, not in the mean.

    Privacy claim: none; the result is private, for it reads the original.
    """
    if len(original) == 0:
        return 0.0
    factor = original.total / max(published.total, 1)
    scaled = factor * published.counts_of(original.items)
    return float(np.abs(original.counts - scaled).mean())
