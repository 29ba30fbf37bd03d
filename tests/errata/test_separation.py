"""A mechanism that is indistinguishable and whose every output is a breach (ZEAL section 6.1).

All logs of a few users over a small domain are enumerated in fractions. The checkers, which other
tests may use, are tried first on mechanisms whose answers are known.
"""

from fractions import Fraction
from itertools import chain, combinations, product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.privacy import (
    ANY_RATIO,
    breach_probability,
    breaches,
    hockey_stick,
    least_delta,
    least_probabilistic_delta,
)

pytestmark = pytest.mark.exact

RATIOS = [Fraction(1), Fraction(101, 100), Fraction(2), Fraction(10**12)]
SIZES = [(2, 1), (2, 3), (3, 2), (4, 2), (5, 1), (5, 2), (9, 1), (4, 3)]


def excluded_history(n_histories, n_users):
    """Algorithm A-hat: any history but the first user's, all alike (ZEAL example 3)."""
    domain = range(n_histories)
    chance = Fraction(1, n_histories - 1)
    return {
        log: {history: chance for history in domain if history != log[0]}
        for log in product(domain, repeat=n_users)
    }


@pytest.mark.parametrize(("n_histories", "n_users"), SIZES)
def test_a_hat_is_indistinguishable_for_every_epsilon_with_delta_one_over_the_others(
    n_histories, n_users
):
    """ZEAL proposition 2. The divergence falls with the ratio, so ratio 1 covers every epsilon;
    that it is the same at a ratio of 10^12 says that no epsilon would allow a smaller delta."""
    mechanism = excluded_history(n_histories, n_users)
    for ratio in RATIOS:
        assert least_delta(mechanism, ratio) == Fraction(1, n_histories - 1)


@pytest.mark.parametrize(("n_histories", "n_users"), SIZES)
def test_every_output_of_a_hat_is_a_breach_for_every_epsilon(n_histories, n_users):
    """ZEAL proposition 3 and corollary 2: Omega_2 must hold all that a log can publish, so that
    no delta below 1 is enough, for any log and any epsilon."""
    mechanism = excluded_history(n_histories, n_users)
    for log, law in mechanism.items():
        assert set(law) <= breaches(mechanism, log, ANY_RATIO)
        for ratio in [*RATIOS, ANY_RATIO]:
            assert breach_probability(mechanism, log, ratio) == 1


def test_a_hat_that_forgets_to_exclude_is_perfectly_private():
    """The breach lies in the exclusion, not in the checker."""
    uniform = {log: dict.fromkeys(range(4), Fraction(1, 4)) for log in product(range(4), repeat=2)}
    assert least_delta(uniform, Fraction(1)) == 0
    assert least_probabilistic_delta(uniform, Fraction(1)) == 0


def test_a_hat_that_seldom_excludes_has_the_probability_of_excluding_as_delta():
    """Half A-hat, half one fixed word: only the first half's outputs are breaches."""
    mechanism = {
        log: {"nothing": Fraction(1, 2)} | {o: p / 2 for o, p in law.items()}
        for log, law in excluded_history(4, 2).items()
    }
    assert least_delta(mechanism, Fraction(3)) == Fraction(1, 6)
    assert least_probabilistic_delta(mechanism, ANY_RATIO) == Fraction(1, 2)


def randomized_response(p_truth):
    """Each of two users answers yes or no through the same coin."""
    coin = {True: p_truth, False: 1 - p_truth}
    return {
        log: {
            answers: coin[answers[0] == log[0]] * coin[answers[1] == log[1]]
            for answers in product((0, 1), repeat=2)
        }
        for log in product((0, 1), repeat=2)
    }


def test_checkers_know_randomized_response():
    """p/(1-p) = 3: no delta at ratio 3; at ratio 2 it is 3/4 - 2 (1/4), or that of all."""
    mechanism = randomized_response(Fraction(3, 4))
    assert least_delta(mechanism, Fraction(3)) == 0
    assert least_probabilistic_delta(mechanism, Fraction(3)) == 0
    assert least_delta(mechanism, Fraction(2)) == Fraction(1, 4)
    assert least_probabilistic_delta(mechanism, Fraction(2)) == 1
    assert least_probabilistic_delta(mechanism, ANY_RATIO) == 0


def test_checkers_find_a_leak_of_one_in_ten():
    leaky = {
        log: {("leak", log): Fraction(1, 10)} | {o: p * Fraction(9, 10) for o, p in law.items()}
        for log, law in randomized_response(Fraction(3, 4)).items()
    }
    assert least_delta(leaky, Fraction(3)) == Fraction(1, 10)
    for ratio in (Fraction(3), ANY_RATIO):
        assert least_probabilistic_delta(leaky, ratio) == Fraction(1, 10)


def test_both_inequalities_count():
    """For (0,) the rare output is 4.5 times as likely from its neighbour: it is a breach too."""
    mechanism = {
        (0,): {"rare": Fraction(1, 10), "often": Fraction(4, 10), "same": Fraction(5, 10)},
        (1,): {"rare": Fraction(9, 20), "often": Fraction(4, 10), "same": Fraction(3, 20)},
    }
    assert breaches(mechanism, (0,), Fraction(4)) == {"rare"}
    assert breach_probability(mechanism, (0,), Fraction(4)) == Fraction(1, 10)
    assert breach_probability(mechanism, (1,), Fraction(4)) == Fraction(9, 20)


def test_output_that_only_a_neighbour_can_have_is_a_breach_that_costs_nothing():
    mechanism = {
        (0,): {"a": Fraction(1)},
        (1,): {"a": Fraction(99, 100), "b": Fraction(1, 100)},
    }
    assert breaches(mechanism, (0,), ANY_RATIO) == {"b"}
    assert breach_probability(mechanism, (0,), ANY_RATIO) == 0
    assert least_probabilistic_delta(mechanism, ANY_RATIO) == Fraction(1, 100)


def test_every_neighbour_counts_not_the_worst_one_alone():
    """Each neighbour turns another output of (0,) into a breach; together they are all of them."""
    third = Fraction(1, 3)
    mechanism = {(0,): dict.fromkeys("abc", third)} | {
        (i + 1,): {o: Fraction(1, 2) for o in "abc" if o != lost} for i, lost in enumerate("abc")
    }
    assert breach_probability(mechanism, (0,), Fraction(2)) == 1
    assert max(hockey_stick(mechanism[0,], mechanism[i,], Fraction(2)) for i in (1, 2, 3)) == third


def test_checkers_refuse_what_is_no_mechanism():
    half = {(0,): {"a": Fraction(1)}, (1,): {"a": Fraction(1, 2)}}
    with pytest.raises(AssertionError, match="sum to 1"):
        least_delta(half, Fraction(2))
    incomplete = {log: {"a": Fraction(1)} for log in ((0, 0), (0, 1), (1, 1))}
    with pytest.raises(AssertionError, match="neighbour is missing"):
        least_probabilistic_delta(incomplete, Fraction(2))


weights = st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(any)
small_mechanisms = st.lists(weights, min_size=3, max_size=3).map(
    lambda rows: {
        (i,): {o: Fraction(w, sum(row)) for o, w in zip("abcd", row, strict=True) if w}
        for i, row in enumerate(rows)
    }
)


@given(small_mechanisms, st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(2), Fraction(5)]))
def test_checkers_agree_with_trying_every_set_of_outputs(mechanism, ratio):
    """Definitions 3 and 4 word by word, over all subsets of four outputs; and proposition 1."""
    subsets = [set(s) for s in chain.from_iterable(combinations("abcd", n) for n in range(5))]

    def p(log, outputs):
        return sum((mechanism[log].get(o, Fraction(0)) for o in outputs), Fraction(0))

    def allows(log, omega_1):
        others = [other for other in mechanism if other != log]
        return all(
            p(log, o) <= ratio * p(other, o) and p(other, o) <= ratio * p(log, o)
            for other in others
            for o in omega_1
        )

    probabilistic = max(
        min(p(log, set("abcd") - omega_1) for omega_1 in subsets if allows(log, omega_1))
        for log in mechanism
    )
    pairs = [(a, b) for a in mechanism for b in mechanism if a != b]
    indistinguishable = max(p(a, o) - ratio * p(b, o) for a, b in pairs for o in subsets)
    assert least_probabilistic_delta(mechanism, ratio) == probabilistic
    assert least_delta(mechanism, ratio) == indistinguishable
    assert indistinguishable <= probabilistic  # ZEAL proposition 1
