"""How many frequent items are lost, and how many rare ones get in (ZEAL sections 2.3.1, 5.4).

Items of a count near the wanted one are nobody's mistake: the slack says what is near.
"""

from dataclasses import dataclass

import numpy as np

from hybriddp.arrays import FloatArray, IntArray
from hybriddp.errors import require
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.studies.applications.measures import Histogram


@dataclass(frozen=True, slots=True)
class Inaccuracy:
    """Items that are wrong, in one publication or on average."""

    n_lost: float  # very frequent ones that are not published
    n_intruding: float  # very infrequent ones that are

    @property
    def total(self) -> float:
        """The inaccuracy of ZEAL definition 5."""
        return self.n_lost + self.n_intruding


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which items should be published: those of at least `count` users, give or take `slack`.

    Very frequent is a count above count + slack, very infrequent one below count - slack. ZEAL
    definition 5 has the first without equality, the text above it and theorem 3 with: we keep to
    the definition.
    """

    count: int  # tau*
    slack: int  # xi

    def __post_init__(self) -> None:
        for value, name in ((self.count, "count"), (self.slack, "slack")):
            require(
                type(value) is int and value >= 0,
                f"{name} must be a whole number of at least 0",
                repr(value),
                "counts of users are whole",
            )

    @property
    def most(self) -> int:
        """Items above this count are very frequent."""
        return self.count + self.slack

    @property
    def least(self) -> int:
        """Items below this count are very infrequent."""
        return self.count - self.slack


def inaccuracy(original: Histogram, published: Histogram, wanted: Wanted) -> Inaccuracy:
    """Count the items that one publication gets wrong (inside the E of ZEAL definition 5).

    Privacy claim: none; the result is private, for it reads the original.
    """
    very_frequent = original.items[original.counts > wanted.most]
    return Inaccuracy(
        n_lost=float((published.counts_of(very_frequent) == 0).sum()),
        n_intruding=float((original.counts_of(published.items) < wanted.least).sum()),
    )


def publication_probability(
    counts: IntArray, noise: DiscreteLaplace, first_threshold: int, second_threshold: int
) -> FloatArray:
    """Return how likely ZEALOUS publishes an item of each of these counts (its steps 3 to 5).

    P(published) = P(count + noise > second threshold) if count >= first threshold, else 0.

    Privacy claim: none; the result is as private as the counts.
    """
    passes = noise.tail(second_threshold + 1 - counts)
    return np.where(counts >= first_threshold, passes, 0.0)


def expected_inaccuracy(
    original: Histogram,
    noise: DiscreteLaplace,
    wanted: Wanted,
    *,
    first_threshold: int,
    second_threshold: int,
) -> Inaccuracy:
    """Return the exact inaccuracy of ZEALOUS with any thresholds (ZEAL definition 5).

    `original` counts the items that are left after step 1; what that step drops is not noise, and
    ZEAL leaves it out, too (section 4.1: a database holds at most m items of each user).

    Privacy claim: none; the result is private, for it reads the original.
    """
    counts = original.counts
    published = publication_probability(counts, noise, first_threshold, second_threshold)
    # P(lost) from the noise's other tail, by symmetry: 1 - P(published) would lose its digits.
    lost = np.where(counts >= first_threshold, noise.tail(counts - second_threshold), 1.0)
    return Inaccuracy(
        n_lost=float(lost[counts > wanted.most].sum()),
        n_intruding=float(published[counts < wanted.least].sum()),
    )


def theorem_3_inaccuracy(original: Histogram, noise: DiscreteLaplace, wanted: Wanted) -> Inaccuracy:
    """Return the inaccuracy of ZEALOUS in the setting of ZEAL theorem 3, corrected.

    The setting: tau = tau* - xi, tau' = tau* + xi. A very frequent item of count c is lost if its
    noise is at most -(c - tau*- xi): with continuous noise of scale lambda the probability is
    1/2 exp(-(c - tau* - xi)/lambda), with ours a^(c - tau* - xi)/(1 + a), a = exp(-1/lambda).
    Neither depends on xi beyond the distance of c from tau', and at c = tau' + 1 it is a/(1 + a):
    almost 1/2 for usual scales, however large xi is. What is very infrequent has a count below
    tau and never passes step 3.

    Differs from ZEAL: theorem 3 prints 1/2 exp(-2 xi/lambda) for each very frequent item, and
    accuracy 1 - 1/2 exp(-xi/lambda) below it. Neither holds in its setting. The first bounds the
    loss if both thresholds are tau* - xi, the second if tau' = tau*, which the proof assumes
    (noise of -xi or more keeps a count of tau* + xi). With tau' = tau* + xi they hold for
    c > tau* + 3 xi and c > tau* + 2 xi only. What theorem 4 needs is true: a very frequent item
    is published with probability above 1/2.

    Privacy claim: none; the result is private, for it reads the original.
    """
    return expected_inaccuracy(
        original,
        noise,
        wanted,
        first_threshold=wanted.least,
        second_threshold=wanted.most,
    )
