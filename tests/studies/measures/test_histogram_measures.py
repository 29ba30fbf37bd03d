"""Measures of published histograms (ZEAL sections 2.3, 5.4, 7.2, 8.1), against cases by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.errors import InvalidParameter
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.studies.applications.measures import Histogram, average_count_difference, top_measures
from hybriddp.studies.zealous.inaccuracy import (
    Wanted,
    expected_inaccuracy,
    inaccuracy,
    publication_probability,
    theorem_3_inaccuracy,
)
from hybriddp.zealous.items import UserItems
from tests.stats import ALPHA, mean_p_value

histograms = st.dictionaries(st.integers(0, 30), st.integers(1, 99), max_size=20).map(
    lambda counts: histogram(counts)
)


def histogram(counts: dict[int, int]) -> Histogram:
    return Histogram.of(np.array([*counts], dtype=int), np.array([*counts.values()], dtype=int))


EMPTY = histogram({})
ORIGINAL = histogram({0: 50, 1: 30, 2: 10, 3: 6, 4: 4})
PUBLISHED = histogram({0: 20, 1: 20, 3: 10})


def test_histogram_knows_its_items_their_number_and_their_total():
    assert (len(ORIGINAL), ORIGINAL.total, len(EMPTY), EMPTY.total) == (5, 100, 0, 0)
    assert PUBLISHED.counts_of(np.array([3, 2, 0, 99, -1])).tolist() == [10, 0, 20, 0, 0]
    assert EMPTY.counts_of(np.array([3, 2])).tolist() == [0, 0]
    users = UserItems.of(np.array([0, 0, 1]), np.array([7, 5, 7]))
    assert Histogram.of(*users.histogram()).counts_of(np.array([5, 7])).tolist() == [1, 2]


def test_most_frequent_items_come_first_and_of_equals_the_lower_id():
    ties = histogram({9: 2, 1: 2, 5: 7, 3: 2})
    assert ties.top(3).tolist() == [5, 1, 3]
    assert ties.top(99).tolist() == [5, 1, 3, 9]


@pytest.mark.parametrize(
    ("items", "counts", "rule"),
    [
        ([1, 1], [2, 2], "each once"),
        ([1, 2], [2, 0], "at least 1"),
        ([1, 2], [2], "one element for each"),
        ([1], [2.5], "integers"),
    ],
)
def test_broken_histograms_are_refused(items, counts, rule):
    with pytest.raises(InvalidParameter, match=rule):
        Histogram.of(np.array(items), np.array(counts))


def test_top_measures_of_a_case_worked_by_hand():
    measures = top_measures(ORIGINAL, PUBLISHED, 3)
    assert (measures.n_items, measures.n_missing) == (3, 1)
    assert measures.coverage == pytest.approx(2 / 3)
    # p = 5/9, 3/9, 1/9 and q = 1/2, 1/2, 0: differences 1/18, 3/18, 2/18.
    assert measures.average_l1 == pytest.approx(1 / 9)
    # The missing item has q = 0.5/90 = 1/180, the others share 179/180.
    q = 179 / 360
    by_hand = 5 / 9 * math.log(5 / 9 / q) + 1 / 3 * math.log(1 / 3 / q) + 1 / 9 * math.log(20)
    assert measures.kl_divergence == pytest.approx(by_hand)


def test_average_count_difference_of_a_case_worked_by_hand():
    # Twice the published counts: 40, 40, 0, 20, 0 against 50, 30, 10, 6, 4.
    assert average_count_difference(ORIGINAL, PUBLISHED) == pytest.approx(
        (10 + 10 + 10 + 14 + 4) / 5
    )
    # An item of nobody takes part in the factor (1, not 2), not in the mean.
    invented = histogram({0: 20, 1: 20, 3: 10, 77: 50})
    expected = (30 + 10 + 10 + 4 + 4) / 5
    assert average_count_difference(ORIGINAL, invented) == pytest.approx(expected)


def test_nothing_published_misses_everything_at_a_finite_divergence():
    measures = top_measures(ORIGINAL, EMPTY, 2)
    assert (measures.n_missing, measures.coverage) == (2, 0)
    assert measures.average_l1 == pytest.approx(1 / 2)
    # p ln(p/(0.5/80)) = p ln(2 count)
    assert measures.kl_divergence == pytest.approx(5 / 8 * math.log(100) + 3 / 8 * math.log(60))
    assert average_count_difference(ORIGINAL, EMPTY) == pytest.approx(20)


def test_empty_original_has_nothing_to_miss():
    for published in (EMPTY, PUBLISHED):
        measures = top_measures(EMPTY, published, 5)
        assert (measures.n_items, measures.n_missing, measures.coverage) == (0, 0, 1)
        assert (measures.average_l1, measures.kl_divergence) == (0, 0)
        assert average_count_difference(EMPTY, published) == 0


@given(histograms, st.integers(1, 40), st.integers(1, 9))
def test_histogram_against_any_multiple_of_itself_is_perfect(original, n_items, factor):
    published = Histogram(original.items, original.counts * factor)
    measures = top_measures(original, published, n_items)
    assert measures.n_items == min(n_items, len(original))
    assert (measures.n_missing, measures.coverage) == (0, 1)
    assert measures.average_l1 == pytest.approx(0, abs=1e-15)
    assert measures.kl_divergence == pytest.approx(0, abs=1e-15)
    assert average_count_difference(original, published) == pytest.approx(0, abs=1e-12)


@given(histograms, histograms, st.integers(1, 40))
def test_distances_stay_in_their_ranges_and_vanish_only_for_equal_shares(a, b, n_items):
    measures = top_measures(a, b, n_items)
    n, items = measures.n_items, a.top(n_items)
    assert 0 <= measures.coverage <= 1
    assert 0 <= measures.average_l1 * n <= 2 + 1e-12
    assert 0 <= measures.kl_divergence < math.inf
    truth, shown = a.counts_of(items), b.counts_of(items)
    is_proportional = bool(np.all(truth * shown.sum() == shown * truth.sum())) and np.all(shown > 0)
    assert (measures.kl_divergence < 1e-14) == is_proportional
    # Pinsker: the divergence of two laws is at least half of the squared L1 distance.
    if measures.n_missing == 0:
        assert measures.kl_divergence >= (measures.average_l1 * n) ** 2 / 2 - 1e-12


@given(histograms, histograms, st.integers(1, 40), st.permutations(range(31)))
def test_other_ids_change_nothing(a, b, n_items, ids):
    # Counts made different: ties are settled by ids on purpose.
    a = Histogram(a.items, a.counts * 31 + a.items)
    renamed = [Histogram.of(np.array(ids)[h.items], h.counts) for h in (a, b)]
    assert average_count_difference(*renamed) == pytest.approx(average_count_difference(a, b))
    before, after = top_measures(a, b, n_items), top_measures(*renamed, n_items)
    assert after.n_missing == before.n_missing
    assert after.average_l1 == pytest.approx(before.average_l1)
    assert after.kl_divergence == pytest.approx(before.kl_divergence)


# Definition 5: above 15 is very frequent, below 5 very infrequent, and 5 to 15 never wrong.
WANTED = Wanted(count=10, slack=5)


def test_inaccuracy_counts_lost_and_intruding_items_but_no_close_cases():
    original = histogram({0: 30, 1: 16, 2: 15, 3: 10, 4: 5, 5: 4, 6: 1})
    perfect = histogram({0: 1, 1: 1})
    assert inaccuracy(original, perfect, WANTED).total == 0
    assert inaccuracy(original, histogram({0: 1, 1: 1, 3: 99, 4: 9}), WANTED).total == 0
    wrong = inaccuracy(original, histogram({1: 20, 4: 7, 5: 8, 6: 8, 99: 3}), WANTED)
    assert (wrong.n_lost, wrong.n_intruding, wrong.total) == (1, 3, 4)
    # The baseline of section 2.3.1 loses every very frequent item.
    nothing = inaccuracy(original, EMPTY, WANTED)
    assert (nothing.n_lost, nothing.n_intruding) == (2, 0)


def test_wanted_counts_are_whole_numbers():
    for count, slack in ((10, -1), (10.5, 1), (-1, 0)):
        with pytest.raises(InvalidParameter, match="whole number"):
            Wanted(count, slack)


def lost_by_enumeration(count: int, noise: DiscreteLaplace, second_threshold: int) -> float:
    """P(count + Y <= threshold) as a sum of probabilities of Y."""
    return float(noise.pmf(np.arange(-2_000, second_threshold - count + 1)).sum())


@pytest.mark.parametrize("scale", [0.3, 1, 4, 20])
@pytest.mark.parametrize(("first", "second"), [(1, 1), (5, 15), (20, 8)])
def test_publication_probability_is_the_sum_over_all_noise(scale, first, second):
    noise, counts = DiscreteLaplace(scale), np.arange(1, 60)
    for count, published in zip(
        counts, publication_probability(counts, noise, first, second), strict=True
    ):
        lost = lost_by_enumeration(count, noise, second) if count >= first else 1.0
        assert published == pytest.approx(1 - lost, abs=1e-12)
        alone = expected_inaccuracy(
            histogram({0: int(count)}),
            noise,
            WANTED,
            first_threshold=first,
            second_threshold=second,
        )
        assert alone.n_lost == pytest.approx(lost if count > 15 else 0, rel=1e-9, abs=1e-300)
        assert alone.n_intruding == pytest.approx(1 - lost if count < 5 else 0, abs=1e-12)


def lost(count: int, noise: DiscreteLaplace, *, first: int, second: int, wanted: Wanted) -> float:
    """P(a very frequent item of this count is lost)."""
    assert count > wanted.most
    alone = histogram({0: count})
    return expected_inaccuracy(
        alone, noise, wanted, first_threshold=first, second_threshold=second
    ).n_lost


@pytest.mark.parametrize("scale", [1, 4, 20])
@pytest.mark.parametrize("slack", [1, 5, 12])
def test_theorem_3_as_printed_holds_only_far_above_the_very_frequent(scale, slack):
    """Errata: neither 1/2 exp(-2 xi/lambda) nor 1/2 exp(-xi/lambda) holds at tau' = tau* + xi."""
    noise, wanted = DiscreteLaplace(scale), Wanted(20, slack)
    for count in range(wanted.most + 1, wanted.most + 3 * slack + 2):
        loss = theorem_3_inaccuracy(histogram({0: count}), noise, wanted)
        distance = count - wanted.most
        assert loss.n_lost == pytest.approx(noise.decay**distance / (1 + noise.decay))
        assert loss.n_lost < 1 / 2  # what theorem 4 needs
        assert (loss.n_lost <= math.exp(-2 * slack / scale) / 2) == (count > 20 + 3 * slack)
        assert (loss.n_lost <= math.exp(-slack / scale) / 2) == (count > 20 + 2 * slack)
    # Theorem 3 calls a count of tau* + xi very frequent, too: it is lost more often than not.
    assert lost_by_enumeration(wanted.most, noise, wanted.most) > 1 / 2


@pytest.mark.parametrize("scale", [1, 4, 20])
@pytest.mark.parametrize("slack", [0, 1, 5, 12])
def test_printed_bounds_of_theorem_3_are_those_of_lower_second_thresholds(scale, slack):
    noise, wanted = DiscreteLaplace(scale), Wanted(20, slack)
    for count in range(wanted.most + 1, wanted.most + 30):
        rules = {"first": wanted.least, "wanted": wanted}
        assert lost(count, noise, second=20, **rules) <= math.exp(-slack / scale) / 2
        at_first = lost(count, noise, second=wanted.least, **rules)
        assert at_first <= math.exp(-2 * slack / scale) / 2


def test_theorem_3_lets_nothing_very_infrequent_pass_and_adds_up_over_items():
    noise = DiscreteLaplace(3)
    original = histogram({i: i + 1 for i in range(40)})
    whole = theorem_3_inaccuracy(original, noise, WANTED)
    assert whole.n_intruding == 0
    by_hand = sum(lost_by_enumeration(count, noise, 15) for count in range(16, 41))
    assert whole.n_lost == pytest.approx(by_hand)
    assert theorem_3_inaccuracy(EMPTY, noise, WANTED).total == 0


def zealous_runs(original, scale, first, second, n_runs, rng) -> np.ndarray:
    """Publish (ZEALOUS steps 3 to 5) many times: (n_runs, 2) lost and intruding items."""
    counts = original.counts
    noisy = DiscreteLaplace(scale).simulate(np.tile(counts, (n_runs, 1)), rng=rng)
    is_published = (counts >= first) & (noisy > second)
    wrong = np.stack([~is_published & (counts > 15), is_published & (counts < 5)]).sum(axis=2).T
    for row in range(50):  # the library's measure says the same of the first ones
        shown = is_published[row]
        measured = inaccuracy(original, Histogram(original.items[shown], noisy[row][shown]), WANTED)
        assert (measured.n_lost, measured.n_intruding) == tuple(wrong[row])
    return wrong


@pytest.mark.statistical
def test_expected_inaccuracy_is_the_mean_of_measured_ones(rng):
    """False alarms: ALPHA for each check.

    Power: at these counts a run loses 2.0 items with a standard deviation of 1.2, so the mean of
    10,000 has a standard error of 0.012 and a shift of 0.15 is rejected with probability above
    1 - 1e-9. A second threshold off by one shifts it by 0.6, a scale off by a tenth by 0.2.
    """
    original = histogram({count: count for count in range(1, 41)})
    noise = DiscreteLaplace(4.0)
    theorem = theorem_3_inaccuracy(original, noise, WANTED)
    runs = zealous_runs(original, 4.0, 5, 15, 10_000, rng)
    assert runs[:, 1].max() == 0 == theorem.n_intruding
    assert mean_p_value(runs[:, 0], np.array(theorem.n_lost)) > ALPHA
    for scale, second in ((4.0, 14), (4.0, 16), (3.6, 15), (4.4, 15)):
        wrong = zealous_runs(original, scale, 5, second, 10_000, rng)
        assert mean_p_value(wrong[:, 0], np.array(theorem.n_lost)) < ALPHA

    lax = expected_inaccuracy(original, noise, WANTED, first_threshold=2, second_threshold=6)
    runs = zealous_runs(original, 4.0, 2, 6, 10_000, rng)
    assert mean_p_value(runs, np.array([lax.n_lost, lax.n_intruding])) > ALPHA
    wrong = zealous_runs(original, 4.0, 3, 6, 10_000, rng)  # an intruder of count 2 too few
    assert mean_p_value(wrong, np.array([lax.n_lost, lax.n_intruding])) < ALPHA
