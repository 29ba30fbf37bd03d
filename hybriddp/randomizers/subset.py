"""Subset selection (Ye, Barg 2018) as the integers that it is sampled with.

Standard library only: a client on a device and a simulated client share this one law.

A report is a set of `size` of the `n_values` values. One uniform 64-bit word decides whether the
true value is in it; the rest of the set is uniform among the other values. With sets of one value
this is k-ary randomized response.
"""

import secrets
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from fractions import Fraction

from hybriddp.errors import require
from hybriddp.noise.exponentials import DOWNWARDS, EXACT, exp
from hybriddp.params import Budget
from hybriddp.randomizers.pairs import LawPair, with_rest
from hybriddp.randomizers.response import MAX_VALUES, N_WORDS


@dataclass(frozen=True, slots=True)
class SubsetResponse:
    """Report `size` of `n_values` values, the truth among them with `truth_words`/2^64."""

    n_values: int
    size: int
    truth_words: int

    def __post_init__(self) -> None:
        require(
            type(self.n_values) is type(self.size) is type(self.truth_words) is int,
            "n_values, size and truth_words must be Python integers",
            "another type",
            "a machine integer would overflow in the exact law",
        )
        require(
            1 <= self.n_values <= MAX_VALUES,
            f"n_values must lie between 1 and {MAX_VALUES}",
            self.n_values,
            "a report needs at least one possible value",
        )
        most = max(self.n_values - 1, 1)
        require(
            1 <= self.size <= most,
            f"size must lie between 1 and {most} for {self.n_values} values",
            self.size,
            "a set of no values, or of all of them, would say nothing",
        )
        is_certain = self.n_values == 1 and self.truth_words == N_WORDS
        require(
            is_certain
            or self.size * N_WORDS < self.truth_words * self.n_values < N_WORDS * self.n_values,
            "the truth must be in the set more often than any other value, but not always",
            f"{self.truth_words} words",
            "build it with SubsetResponse.for_budget",
        )

    @classmethod
    def for_budget(cls, budget: Budget, n_values: int) -> "SubsetResponse":
        """Return the response with the least variance for rare values, at delta = 0.

        The best size is the floor or the ceiling of k/(e^eps + 1), if that is possible at all
        (docs/proofs/subset_selection.md).
        """
        if n_values == 1:  # the only value there is; nothing to hide
            return cls(1, 1, N_WORDS)
        ideal = EXACT.divide(Decimal(n_values), EXACT.add(exp(budget.epsilon), 1))
        rounded = (int(ideal.to_integral_value(way)) for way in (ROUND_FLOOR, ROUND_CEILING))
        sizes = {min(max(size, 1), n_values - 1) for size in rounded}
        # Exact fractions: a device and a server must come to the same size, also at a tie.
        candidates = [cls.of_size(budget, n_values, size) for size in sorted(sizes)]
        return min(candidates, key=lambda response: response.rare_variance)

    @classmethod
    def of_size(cls, budget: Budget, n_values: int, size: int) -> "SubsetResponse":
        """Return the response with sets of this size.

        The truth is in the set with probability w e^eps/(w e^eps + k - w), rounded down to a
        whole word: rounding only ever makes the report more private.
        """
        weight = EXACT.multiply(exp(budget.epsilon), size)
        share = EXACT.divide(weight, EXACT.add(weight, n_values - size))
        words = EXACT.multiply(EXACT.multiply(share, N_WORDS), DOWNWARDS)
        truth_words = int(words.to_integral_value(ROUND_FLOOR))
        require(
            size * N_WORDS < truth_words * n_values,
            f"epsilon must be large enough to tell {n_values} values apart",
            f"{float(budget.epsilon):.3g}",
            "raise epsilon or shorten the list: such reports would be noise only",
        )
        return cls(n_values, size, truth_words)

    @property
    def p_truth(self) -> Fraction:
        """Probability that the true value is in the report (p*)."""
        return Fraction(self.truth_words, N_WORDS)

    @property
    def p_lie(self) -> Fraction:
        """Probability that one particular other value is in the report (q*)."""
        if self.n_values == 1:
            return Fraction(0)
        return (self.size - self.p_truth) / (self.n_values - 1)

    @property
    def rare_variance(self) -> Fraction:
        """Variance of the estimate of a value that nobody holds, for one client."""
        return self.p_lie * (1 - self.p_lie) / (self.p_truth - self.p_lie) ** 2

    def p_pair(self, *, holds_one: bool) -> Fraction:
        """Probability that two particular values are both in the report of a third, or of one."""
        k, w, p = self.n_values, self.size, self.p_truth
        if k < 2 or (k < 3 and not holds_one):
            return Fraction(0)
        if holds_one:
            return p * (w - 1) / (k - 1)
        return (w - 1) * (p * (w - 2) + (1 - p) * w) / ((k - 1) * (k - 2))

    def neighbour_laws(self) -> list[LawPair]:
        """Return the laws of the reports of two different values; all pairs are alike.

        Sets that hold both values or neither are equally likely under both. The others come in
        two kinds, of one likelihood ratio each, so each kind is one term.
        """
        if self.n_values == 1:
            return [with_rest()]
        k, w = self.n_values, self.size
        own = self.p_truth * (k - w) / (k - 1)
        other = (1 - self.p_truth) * w / (k - 1)
        return [with_rest((own, other, 1), (other, own, 1))]

    def draw(self, value: int) -> list[int]:
        """Report `value` once, as a sorted list, with the operating system's randomness.

        Privacy claim
          Neighbours  one client's value replaced by any other (local model)
          Guarantee   (budget.epsilon, 0) of for_budget
          Assumes     the list of values was fixed before this client's data was read;
                      one call per charge
          Excludes    timing
          Charged as  events.SubsetReport
          Reference   YB18 section III; docs/proofs/subset_selection.md
          Audit       tests/randomizers/test_subset.py::test_subset_report_keeps_its_budget
        """
        require(
            0 <= value < self.n_values,
            f"value must be one of the {self.n_values} values",
            "another",
            "map it to the wildcard first",
        )
        is_kept = secrets.randbits(64) < self.truth_words
        # Floyd's algorithm: a uniform set of the n_values - 1 others, numbered without the truth.
        chosen: set[int] = set()
        n_others = self.n_values - 1
        for last in range(n_others - (self.size - is_kept), n_others):
            candidate = secrets.randbelow(last + 1)
            chosen.add(last if candidate in chosen else candidate)
        others = [other + (other >= value) for other in chosen]  # skip over the truth
        return sorted([*others, value] if is_kept else others)
