"""Two-stage randomized response: a query, and one of its urls (JPC19 figure 6)."""

import secrets
from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from hybriddp.errors import InvalidParameter
from hybriddp.params import MAX_EPSILON, Budget
from hybriddp.randomizers.pairs import LawPair, two_stage_neighbour_laws, worst_delta
from hybriddp.randomizers.response import RandomizedResponse

# How finely the common factor of both stages is searched for.
_LOSS_STEPS = 1 << 12


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
          Audit       tests/randomizers/test_response.py::test_two_stage_report_keeps_its_budget
        """
        reported = self.query.draw(query)
        if reported == query:
            return query, self.urls[query].draw(url)
        return reported, secrets.randbelow(self.urls[reported].n_values)


def _excess(stretched: Callable[[Fraction], TwoStageResponse], step: int, epsilon: Fraction) -> int:
    """Return 1 if the response with this factor loses more than epsilon, else 0."""
    too_loud = epsilon * (1 + Fraction(step, _LOSS_STEPS)) > MAX_EPSILON
    return int(too_loud or stretched(1 + Fraction(step, _LOSS_STEPS)).delta(epsilon) > 0)
