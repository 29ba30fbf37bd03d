"""Subset selection, enumerated: every set of small domains, and every path of the device's draw.

The best size is derived here too. With e = e^epsilon and sets of w of k values, before rounding,

    V(w) = (k-1 + (w-1)(e-1)) (k-1 + w(e-1)) / ((e-1)^2 w (k-w))

is the variance of a value that nobody holds, and V(w+1) < V(w) exactly for w < (k-e)/(e+1). So
there is one valley, and its bottom max(1, ceil((k-e)/(e+1))) is the floor or the ceiling of
k/(e+1), or 1 (docs/proofs/subset_selection.md).
"""

from collections import Counter
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction
from itertools import combinations, product
from math import ceil, comb, prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.params import Budget
from hybriddp.randomizers.events import SubsetReport
from hybriddp.randomizers.pairs import worst_delta
from hybriddp.randomizers.response import N_WORDS, RandomizedResponse
from hybriddp.randomizers.subset import SubsetResponse

pytestmark = pytest.mark.exact

epsilons = st.fractions("1/1000", 12, max_denominator=1000)
# Every number of values up to 7, with every size of sets.
shapes = st.sampled_from([(k, w) for k in range(2, 8) for w in range(1, k)])

Law = dict[tuple[int, ...], Fraction]


def exp(epsilon: Fraction) -> Fraction:
    """e^epsilon with sixty digits."""
    with localcontext(prec=60):
        return Fraction((Decimal(epsilon.numerator) / Decimal(epsilon.denominator)).exp())


def law_of(response: SubsetResponse, value: int) -> Law:
    """The law that was promised: uniform among the sets with the value, and among the others."""
    k, w = response.n_values, response.size
    with_value = response.p_truth / comb(k - 1, w - 1)
    without = (1 - response.p_truth) / comb(k - 1, w) if k > 1 else Fraction(0)
    return {z: with_value if value in z else without for z in combinations(range(k), w)}


def hockey_stick(p: Law, q: Law, scale: Fraction) -> Fraction:
    return sum((max(p[z] - scale * q[z], Fraction(0)) for z in p), Fraction(0))


@given(epsilons, shapes)
def test_subset_report_keeps_its_budget(epsilon, shape):
    """No set is more than e^epsilon times likelier under one value than under another."""
    response = SubsetResponse.of_size(Budget(epsilon), *shape)
    laws = [law_of(response, value) for value in range(response.n_values)]
    assert all(sum(law.values()) == 1 for law in laws)
    worst = max(p[z] / q[z] for p, q in product(laws, laws) for z in p)
    assert worst <= exp(epsilon)
    # The other arm: sets that say nothing would also keep their budget.
    assert worst > exp(epsilon * Fraction(10**9 - 1, 10**9))
    assert SubsetReport(Budget(epsilon), response).budget.delta == 0


@given(epsilons, shapes)
def test_support_probabilities_are_those_of_the_enumerated_sets(epsilon, shape):
    response = SubsetResponse.of_size(Budget(epsilon), *shape)
    law = law_of(response, 0)
    k = response.n_values

    def chance(*values: int) -> Fraction:
        return sum((p for z, p in law.items() if set(values) <= set(z)), Fraction(0))

    assert chance(0) == response.p_truth
    assert {chance(other) for other in range(1, k)} == {response.p_lie}
    assert {chance(0, other) for other in range(1, k)} == {response.p_pair(holds_one=True)}
    if k > 2:
        pairs = {chance(*pair) for pair in combinations(range(1, k), 2)}
        assert pairs == {response.p_pair(holds_one=False)}
    assert response.p_truth + (k - 1) * response.p_lie == response.size


@given(epsilons, shapes, st.fractions(0, "3/2", max_denominator=20))
def test_compressed_pair_has_the_delta_of_the_enumerated_sets(epsilon, shape, share):
    """At the budget's epsilon, where it is 0, at smaller ones and at larger ones."""
    response = SubsetResponse.of_size(Budget(epsilon), *shape)
    first, second = law_of(response, 0), law_of(response, response.n_values - 1)
    enumerated = hockey_stick(first, second, exp(epsilon * share))
    compressed = worst_delta(response.neighbour_laws(), epsilon * share)
    assert float(compressed) == pytest.approx(float(enumerated), rel=1e-12, abs=1e-30)
    assert compressed >= enumerated or share == 0
    assert (enumerated > 0) == (share < 1)


def test_every_pair_of_values_is_the_compressed_pair():
    """Composition needs the whole distribution of losses, not only the worst one."""
    response = SubsetResponse.of_size(Budget("1.3"), 6, 3)
    (pair,) = response.neighbour_laws()
    expected = Counter()
    for p, q, n in pair:
        expected[p / q] += p * n
    for first, second in product(range(6), range(6)):
        if first == second:
            continue
        p, q = law_of(response, first), law_of(response, second)
        found = Counter()
        for z in p:
            found[p[z] / q[z]] += p[z]
        assert found == expected


def test_enumeration_catches_planted_defects():
    budget = Budget(1)
    sound = SubsetResponse.of_size(budget, 6, 2)

    def worst(laws: list[Law]) -> Fraction:
        return max(p[z] / q[z] if q[z] else Fraction(10**9) for p in laws for q in laws for z in p)

    laws = [law_of(sound, value) for value in range(6)]
    assert worst(laws) <= exp(Fraction(1))
    # Half the noise; one word too many; the truth always in the set of the last value.
    loud = SubsetResponse.of_size(Budget(2), 6, 2)
    assert worst([law_of(loud, value) for value in range(6)]) > exp(Fraction(1))
    one_more = SubsetResponse(6, 2, sound.truth_words + 1)
    assert worst([law_of(one_more, value) for value in range(6)]) > exp(Fraction(1))
    frank = {z: Fraction(5 in z, comb(5, 1)) for z in laws[5]}
    assert sum(frank.values()) == 1, "the planted law must be a law"
    assert worst([*laws[:5], frank]) > exp(Fraction(1))
    # The rest of the set drawn with replacement: a smaller set gives the truth away.
    for wrong in (loud, one_more):
        with pytest.raises(InvalidParameter, match="budget that is charged"):
            SubsetReport(budget, wrong)


def paths(response: SubsetResponse, is_kept: bool) -> Iterator[list[int]]:
    """Every sequence of answers to Floyd's algorithm: below n, n+1, ..., the number of others."""
    n_others = response.n_values - 1
    n_chosen = response.size - is_kept
    yield from (
        list(path) for path in product(*map(range, range(n_others - n_chosen + 1, n_others + 1)))
    )


def drawn_law(response: SubsetResponse, value: int, monkeypatch) -> Law:
    """The law of the device's draw, by running it on all of its randomness."""
    law: dict[tuple[int, ...], Fraction] = Counter()
    kept_share = {True: response.p_truth, False: 1 - response.p_truth}
    for is_kept, share in kept_share.items():
        if share == 0:
            continue
        word = 0 if is_kept else response.truth_words
        monkeypatch.setattr("hybriddp.randomizers.subset.secrets.randbits", lambda bits, w=word: w)
        every = list(paths(response, is_kept))
        for path in every:
            answers, bounds = iter(path), []

            def answer(bound, answers=answers, bounds=bounds):
                bounds.append(bound)
                return next(answers)

            monkeypatch.setattr("hybriddp.randomizers.subset.secrets.randbelow", answer)
            law[tuple(response.draw(value))] += share / len(every)
            assert prod(bounds) == len(every), "each path must be one of equally many"
    return law


@pytest.mark.parametrize("n_values", [1, 2, 3, 4, 5])
def test_device_draws_the_promised_law_over_all_of_its_randomness(n_values, monkeypatch):
    """Exactly, not by sampling: every set, every value, every size."""
    for size in range(1, max(n_values, 2)):
        response = (
            SubsetResponse.for_budget(Budget("0.7"), 1)
            if n_values == 1
            else SubsetResponse.of_size(Budget("0.7"), n_values, size)
        )
        for value in range(n_values):
            drawn = drawn_law(response, value, monkeypatch)
            assert drawn == law_of(response, value), (size, value)


def test_device_check_catches_a_sampler_that_forgets_floyds_replacement(monkeypatch):
    """Without it a set may lose an element; here the element that was drawn twice is kept once."""
    response = SubsetResponse.of_size(Budget("0.7"), 4, 2)

    def sloppy(self: SubsetResponse, value: int) -> list[int]:
        from hybriddp.randomizers import subset

        is_kept = subset.secrets.randbits(64) < self.truth_words
        n_others = self.n_values - 1
        steps = range(n_others - (self.size - is_kept), n_others)
        chosen = {subset.secrets.randbelow(last + 1) for last in steps}
        return sorted([other + (other >= value) for other in chosen] + [value] * is_kept)

    monkeypatch.setattr(SubsetResponse, "draw", sloppy)
    assert drawn_law(response, 1, monkeypatch) != law_of(response, 1)


def test_each_word_has_one_owner(monkeypatch):
    """The first and last word that keep the truth, and that do not."""
    response = SubsetResponse.of_size(Budget(1), 5, 2)
    words = {
        0: True,
        response.truth_words - 1: True,
        response.truth_words: False,
        N_WORDS - 1: False,
    }
    for word, is_kept in words.items():
        monkeypatch.setattr("hybriddp.randomizers.subset.secrets.randbits", lambda bits, w=word: w)
        for value in range(5):
            report = response.draw(value)
            assert (value in report) == is_kept
            assert report == sorted(set(report))
            assert len(report) == 2


@given(epsilons, st.integers(2, 60))
def test_chosen_size_has_the_least_variance_of_all_sizes(epsilon, n_values):
    chosen = SubsetResponse.for_budget(Budget(epsilon), n_values)
    every = [SubsetResponse.of_size(Budget(epsilon), n_values, w) for w in range(1, n_values)]
    assert chosen.rare_variance == min(response.rare_variance for response in every)


@given(epsilons, st.integers(2, 5_000))
def test_best_size_is_at_the_bottom_of_the_only_valley(epsilon, n_values):
    e = exp(epsilon)
    bottom = max(1, ceil((n_values - e) / (e + 1)))
    chosen = SubsetResponse.for_budget(Budget(epsilon), n_values)
    assert chosen.size == bottom
    k, w = n_values, chosen.size
    ideal = (k - 1 + (w - 1) * (e - 1)) * (k - 1 + w * (e - 1)) / ((e - 1) ** 2 * w * (k - w))
    assert float(chosen.rare_variance) == pytest.approx(float(ideal), rel=1e-9)


@given(epsilons, st.integers(2, 60))
def test_size_one_is_k_ary_randomized_response(epsilon, n_values):
    """Up to the rounding to words, of the truth here and of each lie there."""
    sets = SubsetResponse.of_size(Budget(epsilon), n_values, 1)
    single = RandomizedResponse.for_budget(Budget(epsilon), n_values)
    assert abs(sets.p_truth - single.p_truth) <= Fraction(n_values, N_WORDS)
    assert sets.p_lie == (1 - sets.p_truth) / (n_values - 1)
    assert sets.p_pair(holds_one=True) == sets.p_pair(holds_one=False) == 0


def test_a_list_that_is_short_against_epsilon_is_reported_by_single_values():
    """ceil((k-e)/(e+1)) is 1 for k <= 2 e + 1, and 2 for the next k."""
    for epsilon in (1, 2, 4):
        e = float(exp(Fraction(epsilon)))
        border = int(2 * e + 1)
        assert SubsetResponse.for_budget(Budget(epsilon), border).size == 1
        assert SubsetResponse.for_budget(Budget(epsilon), border + 1).size == 2


def test_single_value_is_always_reported():
    alone = SubsetResponse.for_budget(Budget(1), 1)
    assert (alone.p_truth, alone.p_lie, alone.draw(0)) == (1, 0, [0])
    assert worst_delta(alone.neighbour_laws(), Fraction(1, 1000)) == 0
    assert SubsetReport(Budget("1e-9"), alone).response == alone


def test_two_values_are_reported_one_at_a_time():
    two = SubsetResponse.for_budget(Budget(1), 2)
    assert two.size == 1
    assert float(two.p_truth) == pytest.approx(np.e / (np.e + 1), rel=1e-15)
    assert two.p_pair(holds_one=True) == two.p_pair(holds_one=False) == 0


@pytest.mark.parametrize(("epsilon", "n_values"), [("1e-20", 2), ("1e-20", 3), ("1e-19", 200_000)])
def test_epsilon_too_small_for_the_list_is_refused(epsilon, n_values):
    with pytest.raises(InvalidParameter, match="raise epsilon or shorten the list"):
        SubsetResponse.for_budget(Budget(epsilon), n_values)


def test_the_largest_epsilon_still_lies_sometimes():
    """e^50 is beyond 2^64: the last word is left to the lie, and the loss stays below 50."""
    response = SubsetResponse.for_budget(Budget(50), 2)
    assert response.truth_words == N_WORDS - 1
    SubsetReport(Budget(50), response)


def test_rounding_down_is_of_the_true_number():
    """Epsilons whose truth is a whole word more or less 1e-43 or 1e-47 of it: fifty digits and a
    safety factor of 1e-45 decide all of them towards privacy, and the event agrees."""
    k, w, words = 5, 2, 9_000_000_000_000_000_007
    for shift in ("-1e-43", "-1e-47", "0", "1e-47", "1e-43"):
        with localcontext(prec=150):
            share = Decimal(words) * (1 + Decimal(shift)) / N_WORDS
            epsilon = Fraction((share / (1 - share) * (k - w) / w).ln())
        response = SubsetResponse.of_size(Budget(epsilon), k, w)
        assert response.truth_words == (words if shift == "1e-43" else words - 1)
        SubsetReport(Budget(epsilon), response)


@pytest.mark.parametrize("precision", [1, 28])
def test_decimal_context_of_the_caller_changes_nothing(precision):
    with localcontext(prec=precision):
        response = SubsetResponse.for_budget(Budget(1), 17)
        delta = worst_delta(response.neighbour_laws(), Fraction(1, 2))
    assert response == SubsetResponse.for_budget(Budget(1), 17)
    assert delta == worst_delta(response.neighbour_laws(), Fraction(1, 2))


@pytest.mark.parametrize("value", [-1, 5])
def test_values_outside_the_list_are_refused_without_quoting_them(value):
    with pytest.raises(InvalidParameter, match="one of the 5 values, got another"):
        SubsetResponse.for_budget(Budget(1), 5).draw(value)


@pytest.mark.parametrize(
    ("n_values", "size", "truth_words"),
    [
        (0, 1, N_WORDS),
        (1 << 33, 1, N_WORDS // 2),
        (1, 1, N_WORDS - 1),  # one value is certain
        (4, 0, N_WORDS // 2),
        (4, 4, N_WORDS - 1),
        (4, 1, N_WORDS),  # never a lie
        (4, 1, N_WORDS // 4),  # no more likely than any other
        (4, 2, N_WORDS // 2),
        (4, 1, 0),
        (4, 1, -5),
    ],
)
def test_impossible_laws_are_refused(n_values, size, truth_words):
    with pytest.raises(InvalidParameter):
        SubsetResponse(n_values, size, truth_words)


def test_machine_integers_are_refused():
    with pytest.raises(InvalidParameter, match="Python integers"):
        SubsetResponse(3, 1, np.int64(2**62))
    with pytest.raises(InvalidParameter, match="Python integers"):
        SubsetResponse(np.int64(3), 1, 2**63)
