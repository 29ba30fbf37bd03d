"""k-ary randomized response as the integers that it is sampled with.

Standard library only: a client on a device and a simulated client share this one law.

A report is decided by one uniform 64-bit word. Each of the k-1 lies owns `lie_words` of the
2^64 words, the truth owns all others. So probabilities are exact fractions, sampling needs one
comparison and one integer division, and no floating-point rounding stands between the law
whose privacy we compute and the law that is drawn.
"""

import math
import secrets
from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING
from fractions import Fraction

from hybriddp.errors import InvalidParameter, require
from hybriddp.exact import DOWNWARDS, EXACT, UPWARDS, decimal_of, exp
from hybriddp.params import MAX_EPSILON, Budget

N_WORDS = 1 << 64
MAX_VALUES = 1 << 32

# How finely the common factor of both stages is searched for.
_LOSS_STEPS = 1 << 12


@dataclass(frozen=True, slots=True)
class RandomizedResponse:
    """Report one of `n_values` values: the truth, or with `lie_words`/2^64 each other value."""

    n_values: int
    lie_words: int

    def __post_init__(self) -> None:
        require(
            1 <= self.n_values <= MAX_VALUES,
            f"n_values must lie between 1 and {MAX_VALUES}",
            self.n_values,
            "a report needs at least one possible value",
        )
        require(
            type(self.n_values) is type(self.lie_words) is int,
            "n_values and lie_words must be Python integers",
            f"{type(self.n_values).__name__} and {type(self.lie_words).__name__}",
            "a machine integer would overflow in the exact law",
        )
        least, most = (0, 0) if self.n_values == 1 else (1, (N_WORDS - 1) // self.n_values)
        require(
            least <= self.lie_words <= most,
            f"lie_words must lie between {least} and {most} for {self.n_values} values",
            self.lie_words,
            "a lie must be possible, but less likely than the truth",
        )

    @classmethod
    def for_budget(cls, budget: Budget, n_values: int) -> "RandomizedResponse":
        """Build the response of JPC19 figure 6, lines 4 and 6.

        t = (e^eps + (delta/2)(k-1)) / (e^eps + k-1), so each lie has
        (1-t)/(k-1) = (1 - delta/2) / (e^eps + k-1), rounded up to a whole word: rounding
        only ever makes the report more private.
        """
        if n_values == 1:  # the only value there is; nothing to hide
            return cls(1, 0)
        lie = EXACT.divide(
            decimal_of((1 - budget.delta / 2) * N_WORDS),
            EXACT.add(exp(budget.epsilon), n_values - 1),
        )
        lie_words = int(EXACT.multiply(lie, UPWARDS).to_integral_value(ROUND_CEILING))
        require(
            n_values * lie_words < N_WORDS,
            f"epsilon must be large enough to tell {n_values} values apart",
            f"{float(budget.epsilon):.3g}",
            "raise epsilon or shorten the list: such reports would be noise only",
        )
        return cls(n_values, lie_words)

    @property
    def p_lie(self) -> Fraction:
        """Probability of one particular lie."""
        return Fraction(self.lie_words, N_WORDS)

    @property
    def p_truth(self) -> Fraction:
        """Probability of the true value."""
        return 1 - (self.n_values - 1) * self.p_lie

    def pmf(self, value: int) -> list[Fraction]:
        """Return the exact law of the report of `value`, over all values."""
        law = [self.p_lie] * self.n_values
        law[value] = self.p_truth
        return law

    @property
    def epsilon(self) -> float:
        """The pure privacy loss ln(p_truth / p_lie), rounded up; 0 for a single value."""
        if self.n_values == 1:
            return 0.0
        # log1p keeps its precision for tiny losses; the factor covers its last-place error.
        return math.log1p((self.p_truth - self.p_lie) / self.p_lie) * (1 + 2**-50)

    def draw(self, value: int) -> int:
        """Report `value` once, with the operating system's randomness.

        Privacy claim
          Neighbours  one client's value replaced by any other (local model)
          Guarantee   the loss is at most `epsilon`; with delta > 0 in the budget,
                      (budget.epsilon, budget.delta)
          Assumes     the list of values was fixed before this client's data was read;
                      one call per charge
          Excludes    timing
          Charged as  events.ClientReport
          Reference   JPC19 figure 6
          Audit       tests/exact/test_response.py::test_log_ratio_never_exceeds_epsilon
        """
        require(
            0 <= value < self.n_values,
            f"value must be one of the {self.n_values} values",
            "another",
            "map it to the wildcard first",
        )
        word = secrets.randbits(64)
        if word >= (self.n_values - 1) * self.lie_words:
            return value
        lie = word // self.lie_words
        return lie + (lie >= value)  # skip over the truth


@dataclass(frozen=True, slots=True)
class TwoStageResponse:
    """LocalAlg of JPC19 figure 6: report a query, then a url of the reported query's list.

    `urls[q]` is the response over the url list of query q (its wildcard included); the last
    query is the wildcard, whose list holds the wildcard url only. Outputs are *cells*,
    numbered query by query, url by url.
    """

    query: RandomizedResponse
    urls: tuple[RandomizedResponse, ...]

    def __post_init__(self) -> None:
        if len(self.urls) != self.query.n_values:
            raise InvalidParameter(
                f"urls must hold one response for each of the {self.query.n_values} queries, "
                f"got {len(self.urls)}; build it with TwoStageResponse.for_budgets."
            )

    @classmethod
    def for_budgets(
        cls, query_budget: Budget, url_budget: Budget, list_sizes: Sequence[int]
    ) -> "TwoStageResponse":
        """Build both stages; `list_sizes[q]` counts the urls of query q with its wildcard."""
        by_size = {n: RandomizedResponse.for_budget(url_budget, n) for n in set(list_sizes)}
        return cls(
            RandomizedResponse.for_budget(query_budget, len(list_sizes)),
            tuple(by_size[n] for n in list_sizes),
        )

    @classmethod
    def for_exact_loss(
        cls, budget: Budget, query_share: Fraction, list_sizes: Sequence[int]
    ) -> "TwoStageResponse":
        """Build both stages so that the exact worst loss of a report reaches epsilon, at delta = 0.

        The stages' epsilons add up to more than the report loses: who lies about the query says
        nothing of the url. So both are raised by a common factor until the exact loss,
        max(eps_U, eps_Q + ln(k e^eps_U/(e^eps_U + k-1))) for the longest list k, is epsilon.
        """

        def stretched(factor: Fraction) -> "TwoStageResponse":
            whole = budget.epsilon * factor
            stages = Budget(whole * query_share), Budget(whole * (1 - query_share))
            return cls.for_budgets(*stages, list_sizes)

        steps = range(_LOSS_STEPS)  # of factors from 1, where the sum bound holds, to 2
        best = bisect_left(steps, 1, key=lambda i: _excess(stretched, i, budget.epsilon)) - 1
        return stretched(1 + Fraction(best, _LOSS_STEPS))

    @property
    def n_cells(self) -> int:
        """How many different reports there are."""
        return sum(url.n_values for url in self.urls)

    def pmf(self, query: int, url: int) -> list[Fraction]:
        """Return the exact law of the report of one record, over all cells."""
        law: list[Fraction] = []
        for q, response in enumerate(self.urls):
            if q == query:
                law += [self.query.p_truth * p for p in response.pmf(url)]
            else:
                law += [self.query.p_lie / response.n_values] * response.n_values
        return law

    def delta(self, epsilon: Fraction) -> Fraction:
        """Return the delta of one report at this epsilon, over every pair of records."""
        return worst_delta(self.neighbour_laws(), epsilon)

    def neighbour_laws(self) -> list["LawPair"]:
        """Return the laws of the reports of two different records, for every kind of pair."""
        return two_stage_neighbour_laws(self.query, self.urls)

    def draw(self, query: int, url: int) -> tuple[int, int]:
        """Report one record, with the operating system's randomness.

        Privacy claim
          Neighbours  one client's record replaced by any other (local model)
          Guarantee   (query_budget + url_budget) of for_budgets, by basic composition;
                      `delta` gives the exact trade-off
          Assumes     the head list was fixed before this client's data was read;
                      one call per charge
          Excludes    timing
          Charged as  events.ClientReport
          Reference   JPC19 figure 6, theorem 3.3
          Audit       tests/exact/test_response.py::test_two_stage_report_keeps_its_budget
        """
        reported = self.query.draw(query)
        if reported == query:
            return query, self.urls[query].draw(url)
        return reported, secrets.randbelow(self.urls[reported].n_values)


def _excess(stretched: Callable[[Fraction], TwoStageResponse], step: int, epsilon: Fraction) -> int:
    """Return 1 if the response with this factor loses more than epsilon, else 0."""
    too_loud = epsilon * (1 + Fraction(step, _LOSS_STEPS)) > MAX_EPSILON
    return int(too_loud or stretched(1 + Fraction(step, _LOSS_STEPS)).delta(epsilon) > 0)


# The laws of a report under two records, cell for cell: (p, q, number of such cells).
LawPair = tuple[tuple[Fraction, Fraction, int], ...]


def two_stage_neighbour_laws(
    query: RandomizedResponse, urls: Iterable[RandomizedResponse]
) -> list[LawPair]:
    """Compress every pair of neighbouring two-stage laws into a handful of terms.

    Two records of one query differ in two cells. Records of queries q and q' differ in the
    cells of q (kept against lied about) and of q' (the reverse). All other cells are equally
    likely under both; they stand in one term. Lists of equal size behave alike, so pairs of
    sizes suffice.
    """
    sizes = sorted(set(urls), key=lambda url: url.n_values)
    pairs: list[LawPair] = [with_rest()]  # a record replaced by one of the same cell
    for first in sizes:
        truth, lie = query.p_truth * first.p_truth, query.p_truth * first.p_lie
        if first.n_values > 1:
            pairs.append(with_rest((truth, lie, 1), (lie, truth, 1)))
        if query.n_values == 1:
            continue
        lied = query.p_lie / first.n_values
        for second in sizes:
            truth_2, lie_2 = query.p_truth * second.p_truth, query.p_truth * second.p_lie
            lied_2 = query.p_lie / second.n_values
            pairs.append(
                with_rest(
                    (truth, lied, 1),
                    (lie, lied, first.n_values - 1),
                    (lied_2, truth_2, 1),
                    (lied_2, lie_2, second.n_values - 1),
                )
            )
    return pairs


def with_rest(*terms: tuple[Fraction, Fraction, int]) -> LawPair:
    """Add what is equally likely under both laws as one term; leave out what cannot happen."""
    rest = Fraction(1) - sum(p * n for p, _, n in terms)
    return tuple((p, q, n) for p, q, n in (*terms, (rest, rest, 1)) if n > 0 and p > 0)


def worst_delta(pairs: Iterable[LawPair], epsilon: Fraction) -> Fraction:
    """Return the largest hockey-stick divergence sum max(p - e^epsilon q, 0) of the pairs.

    e^epsilon is rounded down and all else is exact, so the result is never below the true one.
    """
    scale = Fraction(EXACT.multiply(exp(epsilon), DOWNWARDS))
    return max(
        sum((n * max(p - scale * q, Fraction(0)) for p, q, n in pair), Fraction(0))
        for pair in pairs
    )
