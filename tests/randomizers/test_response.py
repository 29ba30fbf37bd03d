"""The client's law, enumerated: no sampling, no tolerance beyond the last digits of e^epsilon."""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.randomizers.response import N_WORDS, RandomizedResponse
from hybriddp.randomizers.stages import TwoStageResponse

pytestmark = pytest.mark.exact

epsilons = st.fractions("1/1000", 12, max_denominator=1000)
deltas = st.one_of(st.just(Fraction(0)), st.fractions("1/1000000", "1/10"))
list_sizes = st.lists(st.integers(1, 5), min_size=0, max_size=5).map(lambda sizes: [*sizes, 1])


def at_most_exp(ratio: Fraction, epsilon: Fraction) -> bool:
    """ratio <= e^epsilon, decided with sixty digits."""
    with localcontext(prec=60):
        bound = (Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp()
        return Decimal(ratio.numerator) / Decimal(ratio.denominator) <= bound


def hockey_stick(p: list[Fraction], q: list[Fraction], epsilon: Fraction) -> Fraction:
    """sum max(p - e^epsilon q, 0) over all outputs, e^epsilon rounded down at sixty digits."""
    with localcontext(prec=60):
        scale = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    return sum((max(a - scale * b, Fraction(0)) for a, b in zip(p, q, strict=True)), Fraction(0))


def all_laws(response: TwoStageResponse) -> list[list[Fraction]]:
    return [
        response.pmf(query, url)
        for query, stage in enumerate(response.urls)
        for url in range(stage.n_values)
    ]


def worst_delta(laws: list[list[Fraction]], epsilon: Fraction) -> Fraction:
    return max(hockey_stick(p, q, epsilon) for p, q in product(laws, laws))


@given(epsilons, st.integers(2, 2_000))
def test_log_ratio_never_exceeds_epsilon(epsilon, n_values):
    response = RandomizedResponse.for_budget(Budget(epsilon), n_values)
    assert response.p_truth + (n_values - 1) * response.p_lie == 1
    assert response.p_truth >= response.p_lie
    assert at_most_exp(response.p_truth / response.p_lie, epsilon)


@given(epsilons, st.integers(2, 2_000))
def test_rounding_to_words_costs_less_than_a_billionth_of_epsilon(epsilon, n_values):
    """The other arm: a response that always lied would also keep its epsilon."""
    response = RandomizedResponse.for_budget(Budget(epsilon), n_values)
    assert not at_most_exp(response.p_truth / response.p_lie, epsilon * Fraction(1 - 10**-9))
    assert at_most_exp(response.p_truth / response.p_lie, Fraction(response.epsilon))
    assert response.epsilon < float(epsilon) * (1 + 1e-12)


@given(epsilons, deltas, st.integers(2, 50))
def test_response_has_the_papers_probability_of_the_truth(epsilon, delta, k):
    response = RandomizedResponse.for_budget(Budget(epsilon, delta), k)
    with localcontext(prec=60):
        e = Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())
    t = (e + delta / 2 * (k - 1)) / (e + k - 1)  # JPC19 figure 6, line 4
    assert 0 <= t - response.p_truth <= Fraction(k, N_WORDS)


@given(epsilons, epsilons, deltas, deltas, list_sizes)
def test_two_stage_report_keeps_its_budget(epsilon_q, epsilon_u, delta_q, delta_u, sizes):
    response = TwoStageResponse.for_budgets(
        Budget(epsilon_q, delta_q), Budget(epsilon_u, delta_u), sizes
    )
    laws = all_laws(response)
    assert all(sum(law) == 1 for law in laws)
    assert worst_delta(laws, epsilon_q + epsilon_u) <= delta_q + delta_u


@given(epsilons, epsilons, deltas, list_sizes, st.fractions(0, 1, max_denominator=20))
def test_compressed_delta_equals_the_enumerated_one(epsilon_q, epsilon_u, delta, sizes, share):
    """Also where the report does not keep its budget: at any smaller epsilon."""
    response = TwoStageResponse.for_budgets(
        Budget(epsilon_q, delta), Budget(epsilon_u, delta), sizes
    )
    epsilon = (epsilon_q + epsilon_u) * share
    enumerated = worst_delta(all_laws(response), epsilon)
    # The compressed form may pair a query with itself where no second one of its size exists.
    assert float(response.delta(epsilon)) >= float(enumerated) * (1 - 1e-12)
    doubled = TwoStageResponse.for_budgets(
        Budget(epsilon_q, delta), Budget(epsilon_u, delta), [*sizes[:-1], *sizes[:-1], 1, 1]
    )
    exact = worst_delta(all_laws(doubled), epsilon)
    assert float(doubled.delta(epsilon)) == pytest.approx(float(exact), rel=1e-12, abs=1e-30)


def cell_counts(pairs) -> list[tuple]:
    """A pair of laws as the sorted cells in which they differ."""
    return sorted((p, q) for p, q in pairs if p != q)


@given(epsilons, epsilons, deltas, list_sizes)
def test_every_pair_of_records_is_one_of_the_compressed_pairs(epsilon_q, epsilon_u, delta, sizes):
    """Cell by cell, not only in the worst case: composition needs the whole distribution."""
    doubled = [*sizes[:-1], *sizes[:-1], 1, 1]
    response = TwoStageResponse.for_budgets(
        Budget(epsilon_q, delta), Budget(epsilon_u, delta), doubled
    )
    compressed = [
        cell_counts((p, q) for p, q, n in pair for _ in range(n))
        for pair in response.neighbour_laws()
    ]
    laws = all_laws(response)
    enumerated = [cell_counts(zip(p, q, strict=True)) for p, q in product(laws, laws)]
    assert {str(pair) for pair in enumerated} == {str(pair) for pair in compressed}


def test_two_stage_report_loses_less_than_the_sum_of_its_stages():
    """3.4 + 0.6 over lists of 4 urls loses max(eps_U, eps_Q + ln(k e^eps_U/(e^eps_U + k-1)))."""
    response = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), [4] * 50 + [1])
    assert response.delta(Fraction("3.8134")) == 0
    assert response.delta(Fraction("3.81")) > 0


# A listed query has at least one url and the wildcard, so lists of one value belong to * alone.
head_lists = st.lists(st.integers(2, 6), min_size=1, max_size=5).map(lambda sizes: [*sizes, 1])
shares = st.fractions("1/10", "19/20", max_denominator=20)
STEP = Fraction(1, 1 << 12)


def exact_loss(response: TwoStageResponse) -> float:
    """The formula of the shared measurements: the longest list decides, or the urls alone do."""
    epsilon_q = math.log(response.query.p_truth / response.query.p_lie)
    longest = max(response.urls, key=lambda url: url.n_values)
    epsilon_u, k = math.log(longest.p_truth / longest.p_lie), longest.n_values
    e = math.exp(epsilon_u)
    return max(epsilon_u, epsilon_q + math.log(k * e / (e + k - 1)))


@given(st.fractions("1/10", 12, max_denominator=100), shares, head_lists)
def test_exact_loss_of_a_stretched_report_reaches_epsilon_and_not_more(epsilon, share, sizes):
    response = TwoStageResponse.for_exact_loss(Budget(epsilon, "1e-5"), share, sizes)
    worst = max(max(cell) / min(cell) for cell in zip(*all_laws(response), strict=True))
    assert at_most_exp(worst, epsilon)
    assert not at_most_exp(worst, epsilon * (1 - Fraction(1, 1000)))
    assert math.log(worst) == pytest.approx(exact_loss(response), rel=1e-9)
    # Both stages keep their shares of a whole that is more than epsilon, and one step more of
    # which would be too much.
    stages = [
        math.log(stage.p_truth / stage.p_lie)
        for stage in (response.query, max(response.urls, key=lambda url: url.n_values))
    ]
    assert stages[0] / sum(stages) == pytest.approx(float(share), rel=1e-9)
    factor = round(sum(stages) / float(epsilon) / float(STEP)) * STEP
    assert 1 < factor < 2
    more = [Budget(epsilon * (factor + STEP) * part) for part in (share, 1 - share)]
    assert TwoStageResponse.for_budgets(*more, sizes).delta(epsilon) > 0


def test_papers_split_of_four_is_worth_a_stretch():
    """3.4 + 0.6 over 4 urls loses 3.81; with a loss of exactly 4 both stages get 5 % more."""
    sizes = [4] * 50 + [1]
    response = TwoStageResponse.for_exact_loss(Budget(4), Fraction(85, 100), sizes)
    assert math.log(response.query.p_truth / response.query.p_lie) == pytest.approx(3.57, abs=0.01)
    assert exact_loss(response) == pytest.approx(4, abs=1e-3)
    plain = TwoStageResponse.for_budgets(Budget("3.4"), Budget("0.6"), sizes)
    assert response.query.p_truth > plain.query.p_truth
    assert response.urls[0].p_truth > plain.urls[0].p_truth


@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), 26, 49, 50])
def test_exact_loss_works_up_to_the_largest_epsilon(epsilon):
    """Above 50 no stage's budget exists; the factor stops there."""
    budget = Budget(epsilon)
    response = TwoStageResponse.for_exact_loss(budget, Fraction(1, 2), [3, 2, 1])
    assert response.delta(budget.epsilon) == 0
    assert response.query.p_truth > response.query.p_lie


def test_exact_loss_over_an_empty_list_is_nothing():
    response = TwoStageResponse.for_exact_loss(Budget(4), Fraction(85, 100), [1])
    assert response.pmf(0, 0) == [1]
    assert response.draw(0, 0) == (0, 0)


def test_enumeration_catches_planted_defects():
    epsilon = Fraction(1)
    response = TwoStageResponse.for_budgets(Budget("0.85"), Budget("0.15"), [3, 3, 1])
    laws = all_laws(response)
    assert worst_delta(laws, epsilon) == 0
    # Half the noise: each stage drawn with twice its epsilon.
    loud = TwoStageResponse.for_budgets(Budget("1.7"), Budget("0.3"), [3, 3, 1])
    assert worst_delta(all_laws(loud), epsilon) > 0
    # The last url of the first query is never randomized.
    frank = [list(law) for law in laws]
    frank[2] = [Fraction(0)] * len(laws[2])
    frank[2][2] = response.query.p_truth
    frank[2][3:] = laws[2][3:]
    assert sum(frank[2]) == 1, "the planted law must be a law"
    assert worst_delta(frank, epsilon) > 0


def test_single_value_is_always_reported():
    alone = RandomizedResponse.for_budget(Budget(1), 1)
    assert (alone.p_truth, alone.epsilon, alone.draw(0)) == (1, 0.0, 0)
    empty_list = TwoStageResponse.for_budgets(Budget(1), Budget(1), [1])
    assert empty_list.pmf(0, 0) == [1]
    assert empty_list.delta(Fraction(1, 1000)) == 0
    assert empty_list.draw(0, 0) == (0, 0)


def test_each_word_has_one_owner(monkeypatch):
    """The words at every border: the first and last of each lie, and of the truth."""
    response = RandomizedResponse(4, lie_words=1 << 60)
    for value in range(4):
        lies = [other for other in range(4) if other != value]
        owners = {i << 60: lie for i, lie in enumerate(lies)}
        owners |= {((i + 1) << 60) - 1: lie for i, lie in enumerate(lies)}
        owners |= {3 << 60: value, N_WORDS - 1: value}
        for word, owner in owners.items():
            monkeypatch.setattr(
                "hybriddp.randomizers.response.secrets.randbits", lambda bits, w=word: w
            )
            assert response.draw(value) == owner


@pytest.mark.parametrize(("epsilon", "n_values"), [("1e-20", 2), ("1e-20", 3), ("1e-14", 2000)])
def test_epsilon_too_small_for_the_list_is_refused(epsilon, n_values):
    with pytest.raises(InvalidParameter, match="raise epsilon or shorten the list"):
        RandomizedResponse.for_budget(Budget(epsilon), n_values)


def test_rounding_up_is_of_the_true_number():
    """An epsilon whose lie is a whole word and 1e-45 of the next: fifty digits cannot see it."""
    with localcontext(prec=150):
        words = 5_000_000_000_000_000_003
        epsilon = (N_WORDS / (Decimal(words) + Decimal("1e-45")) - 1).ln()
    response = RandomizedResponse.for_budget(Budget(Fraction(epsilon)), 2)
    assert response.lie_words == words + 1


@pytest.mark.parametrize("precision", [1, 28])
def test_decimal_context_of_the_caller_changes_nothing(precision):
    with localcontext(prec=precision):
        response = TwoStageResponse.for_budgets(Budget(3), Budget(1), [3, 2, 1])
        delta = response.delta(Fraction(3))
    assert response == TwoStageResponse.for_budgets(Budget(3), Budget(1), [3, 2, 1])
    assert delta == response.delta(Fraction(3))
    assert float(delta) == pytest.approx(float(worst_delta(all_laws(response), Fraction(3))))


def test_values_outside_the_list_are_refused():
    with pytest.raises(InvalidParameter, match="one of the 3 values, got another"):
        RandomizedResponse.for_budget(Budget(1), 3).draw(7)


@pytest.mark.parametrize(
    ("n_values", "lie_words"),
    [(0, 0), (3, 0), (2, N_WORDS // 2 + 1), (2, N_WORDS // 2), (1, 1), (1 << 33, 1)],
)
def test_impossible_laws_are_refused(n_values, lie_words):
    with pytest.raises(InvalidParameter):
        RandomizedResponse(n_values, lie_words)


def test_machine_integers_are_refused():
    with pytest.raises(InvalidParameter, match="Python integers, got int and int64"):
        RandomizedResponse(3, np.int64(2**60))


def test_stages_must_fit_together():
    stage = RandomizedResponse.for_budget(Budget(1), 3)
    with pytest.raises(InvalidParameter, match="one response for each of the 3 queries"):
        TwoStageResponse(stage, (stage,))
