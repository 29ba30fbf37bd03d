"""CreateHeadList enumerated on small logs, and its threshold in closed form.

First the names alone with one record a user, as in the paper; then names with their noisy counts
and several records a user, as in strategy `high-utility`.
"""

import math
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hybriddp.blender.events import HeadListDraw, headlist_leak
from hybriddp.blender.finding import HeadListMechanism
from hybriddp.errors import InvalidParameter
from hybriddp.noise.laplace import DiscreteLaplace
from hybriddp.params import Budget

pytestmark = pytest.mark.exact

# Replacing a user touches two records at most; all others keep their counts and cancel.
RECORDS = (-1, 0, 1)  # -1: a user without a usable record


def law_of_list(log: tuple[int, ...], mechanism: HeadListMechanism) -> dict[tuple[int, ...], float]:
    """Return the probability of every possible head list; records that nobody holds never pass."""
    held = sorted(set(log) - {-1})
    passes = {r: float(mechanism.release_probability(log.count(r))) for r in held}
    law = {}
    for named in product((False, True), repeat=len(held)):
        chances = [
            passes[r] if is_in else 1 - passes[r] for r, is_in in zip(held, named, strict=True)
        ]
        law[tuple(r for r, is_in in zip(held, named, strict=True) if is_in)] = math.prod(chances)
    return law


def worst_delta(mechanism: HeadListMechanism, epsilon: float) -> float:
    """Return the largest hockey-stick divergence over all neighbouring logs of ten users."""
    worst = 0.0
    for rest in combinations_with_replacement(RECORDS, 9):
        laws = [law_of_list((*rest, record), mechanism) for record in RECORDS]
        for p, q in product(laws, laws):
            gap = sum(
                max(chance - math.exp(epsilon) * q.get(out, 0), 0) for out, chance in p.items()
            )
            worst = max(worst, gap)
    return worst


@pytest.mark.parametrize("epsilon", ["0.1", "0.5", "0.69", "0.7", "1", "2", "4", "8"])
@pytest.mark.parametrize("delta", ["0.3", "0.05", "1e-3", "1e-5"])
def test_head_list_keeps_its_budget_on_small_logs(epsilon, delta):
    """For every epsilon, also at most ln 2, where JPC19 theorem 3.1 promises nothing."""
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    assert worst_delta(mechanism, float(epsilon)) <= float(delta) + 1e-15
    # And the claim is not idle: a record of one user is all that delta is needed for.
    assert worst_delta(mechanism, float(epsilon)) == pytest.approx(
        float(mechanism.release_probability(1)), rel=1e-9
    )


@given(st.fractions("1/100", 10), st.fractions("1/10000000000", "99/100"))
def test_record_of_one_user_passes_with_probability_at_most_delta(epsilon, delta):
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    a = mechanism.noise.decay
    assert float(mechanism.release_probability(1)) <= float(delta) / (1 + a) * (1 + 1e-9)


@given(st.fractions("1/100", 10), st.fractions("1/10000000000", "99/100"))
def test_threshold_is_the_papers(epsilon, delta):
    mechanism = HeadListMechanism.for_budget(Budget(epsilon, delta))
    b = 2 / float(epsilon)
    tau = max(b * (math.log(math.exp(float(epsilon) / 2) + 1 - 1) - math.log(delta)), 1)
    assert mechanism.threshold in {math.floor(tau * (1 - 1e-12)), math.floor(tau * (1 + 1e-12))}


def test_enumeration_catches_planted_defects():
    budget = Budget(1, "0.01")
    mechanism = HeadListMechanism.for_budget(budget)
    assert worst_delta(mechanism, 1.0) <= 0.01
    # The paper's threshold has room for one step at this delta, not for two.
    assert worst_delta(_unchecked(budget, mechanism.noise, mechanism.threshold - 2), 1.0) > 0.01
    # Half the noise, with a threshold that would hide single users well enough.
    half = DiscreteLaplace(mechanism.noise.scale / 2)
    assert half.tail(5) < 0.01
    assert worst_delta(_unchecked(budget, half, 5), 1.0) > 0.01


def _unchecked(
    budget: Budget, noise: DiscreteLaplace, threshold: int, records_per_user: int = 1
) -> HeadListMechanism:
    """Build a mechanism past its own check, as a bug would."""
    broken = object.__new__(HeadListMechanism)
    fields = (budget, noise, threshold, records_per_user)
    names = ("budget", "noise", "threshold", "records_per_user")
    for name, value in zip(names, fields, strict=True):
        object.__setattr__(broken, name, value)
    return broken


def test_mechanism_refuses_to_be_built_beyond_its_budget():
    sound = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="raise the threshold"):
        HeadListMechanism(sound.budget, sound.noise, sound.threshold - 1)
    with pytest.raises(InvalidParameter, match="raise the scale"):
        HeadListMechanism(sound.budget, DiscreteLaplace(0.4999), sound.threshold)


def test_leak_is_computed_beyond_the_precision_of_floats():
    """A delta below the true leak by 1e-20 of it is refused; the float of the leak rounds up."""
    noise, threshold = DiscreteLaplace(0.7), 9
    with localcontext(prec=60):
        scale = Decimal(noise.scale)
        leak = Fraction((-threshold / scale).exp() / (1 + (-1 / scale).exp()))
    event = HeadListDraw(Budget(4, leak * Fraction(10**30 + 1, 10**30)), noise.scale, threshold)
    assert Fraction(event.singleton_probability) >= leak
    assert event.singleton_probability == pytest.approx(float(noise.tail(threshold)), rel=1e-12)
    with pytest.raises(InvalidParameter, match="raise the threshold"):
        HeadListDraw(Budget(4, leak * Fraction(10**20 - 1, 10**20)), noise.scale, threshold)
    for no_threshold in (0, 6.9):  # P(1 + Y > 6.9) is P(1 + Y > 6), not a^6.9/(1+a)
        with pytest.raises(InvalidParameter, match="threshold must be a whole number"):
            HeadListDraw(Budget(4, "0.9"), noise.scale, no_threshold)


@pytest.mark.parametrize("counts", [[12345.5], ["secret"], [2**63 + 5]])
def test_counts_of_another_type_are_refused_without_quoting_them(counts):
    mechanism = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="counts must") as caught:
        mechanism.draw(np.array(counts))
    assert not {"12345", "secret", "92233"} & set(str(caught.value).split())


def test_extreme_budgets_work_or_say_what_is_wrong():
    assert HeadListMechanism.for_budget(Budget(4, Fraction(1, 10**330))).threshold == 380
    with pytest.raises(InvalidParameter, match="epsilon must be at least 1e-09"):
        HeadListMechanism.for_budget(Budget(Fraction(1, 10**320), "1e-5"))


def test_counts_below_one_are_refused():
    mechanism = HeadListMechanism.for_budget(Budget(4, "1e-5"))
    with pytest.raises(InvalidParameter, match="only the records that occur"):
        mechanism.draw(np.array([3, 0]))


@given(st.fractions("1/100", 50))
def test_noise_never_costs_more_than_epsilon(epsilon):
    noise = DiscreteLaplace.for_epsilon(epsilon, 2)
    assert 2 / Fraction(noise.scale) <= noise.epsilon(2) <= epsilon  # the exact cost is 2/scale
    assert noise.epsilon(2) >= epsilon * (1 - Fraction(1, 10**14))


# Names with their noisy counts, several records a user.
#
# A pair of neighbouring logs is what the replaced user holds in each, record by record, and what
# all others hold of these records: (units before, units after, units of the others). Every other
# record cancels.

Change = tuple[int, int, int]


@lru_cache
def splits(before: int, after: int) -> list[tuple[tuple[int, int], ...]]:
    """Every way to lay a user's units, before and after, on records whose names do not matter."""

    def below(before: int, after: int, largest: tuple[int, int]) -> list[tuple]:
        if before == after == 0:
            return [()]
        firsts = [(b, a) for b in range(before + 1) for a in range(after + 1) if b + a > 0]
        return [
            (first, *rest)
            for first in firsts
            if first <= largest
            for rest in below(before - first[0], after - first[1], first)
        ]

    return below(before, after, (before, after))


@lru_cache
def outcomes(mechanism: HeadListMechanism, n: int, m: int) -> np.ndarray:
    """The law of what is published of a record with n units in one log and m in the other.

    Shape (2, outcomes): not named, or named with a noisy count. Up to the smaller of n and m, and
    from the larger one on, all counts have one likelihood ratio: two outcomes, nothing cut off.
    """
    noise, first = mechanism.noise, mechanism.threshold + 1
    if min(n, m) == 0:  # a record that does not occur is never named
        named = float(noise.tail(first - max(n, m)))
        held = np.array([1 - named, named])
        return np.array([held, [1, 0]]) if n else np.array([[1, 0], held])
    low = max(first, min(n, m) + 1)
    between = np.arange(low, max(low, n, m))
    laws = []
    for units in (n, m):
        tails = noise.tail(np.array([first, low, low + len(between)]) - units)
        laws.append([1 - tails[0], tails[0] - tails[1], *noise.pmf(between - units), tails[2]])
    return np.array(laws)


def divergence(mechanism: HeadListMechanism, epsilon: float, changes: list[Change]) -> float:
    """The hockey-stick divergence of everything that is published, in one direction."""
    p = q = np.ones(1)
    for before, after, others in changes:
        law_p, law_q = outcomes(mechanism, before + others, after + others)
        p, q = np.outer(p, law_p).reshape(-1), np.outer(q, law_q).reshape(-1)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


def others_of(mechanism: HeadListMechanism, split: tuple) -> set[tuple[int, ...]]:
    """What the other users hold of each record: nothing, one unit, or a count near the threshold.

    All combinations with up to two units a user. Else the same of every record, or nothing of
    those that the user holds before alone.
    """
    near, m = mechanism.threshold, mechanism.records_per_user
    levels = (0, 1, near, near + 1 + m)
    if m <= 2:
        return set(product(levels, repeat=len(split)))
    exclusive = tuple(0 if after == 0 else near for _, after in split)
    return {exclusive, *((level,) * len(split) for level in levels)}


def worst_with_counts(mechanism: HeadListMechanism, epsilon: float) -> float:
    """The largest divergence over all neighbouring logs; a user may also hold less, or nothing."""
    m = mechanism.records_per_user
    sizes = range(m + 1) if m <= 2 else (0, m)
    return max(
        divergence(
            mechanism,
            epsilon,
            [(b, a, rest) for (b, a), rest in zip(split, others, strict=True)],
        )
        for before, after in product(sizes, sizes)
        for split in splits(before, after)
        for others in others_of(mechanism, split)
    )


def partitions(n: int) -> list[tuple[int, ...]]:
    """Every way to lay n units on records."""
    return [tuple(before for before, _ in split) for split in splits(n, 0)]


def named_alone(mechanism: HeadListMechanism, units: tuple[int, ...]) -> float:
    """The chance that any of these records is named if nobody else holds them."""
    return 1 - math.prod(1 - float(mechanism.release_probability(c)) for c in units)


def test_there_are_as_many_ways_to_lay_units_as_known():
    """The partitions of (n, n) into pairs (OEIS A002774), and of n (A000041)."""
    assert [len(splits(n, n)) for n in range(6)] == [1, 2, 9, 31, 109, 339]
    assert [len(partitions(n)) for n in range(9)] == [1, 1, 2, 3, 5, 7, 11, 15, 22]


def test_outcomes_are_those_of_single_counts():
    """One outcome for each count, up to a count beyond which less than 1e-12 is left."""
    mechanism = HeadListMechanism.tight(Budget(1, "0.05"), 2)
    noise, threshold = mechanism.noise, mechanism.threshold
    counts = np.arange(threshold + 1, 400)
    changes = [(2, 0, 0), (0, 1, threshold), (0, 1, threshold + 4)]
    p = q = np.ones(1)
    for before, after, others in changes:
        both = []
        for units in (before + others, after + others):
            law = [1 - noise.tail(threshold + 1 - units), *noise.pmf(counts - units)]
            both.append(np.array(law) if units else np.array([1.0, *[0.0] * len(counts)]))
        p, q = np.outer(p, both[0]).reshape(-1), np.outer(q, both[1]).reshape(-1)
        keep = np.maximum(p, q) > 1e-18
        p, q = p[keep], q[keep]
    for epsilon in (0.1, 0.5, 1.0):
        singly = np.maximum(p - math.exp(epsilon) * q, 0).sum()
        assert divergence(mechanism, epsilon, changes) == pytest.approx(singly, abs=1e-12)


@pytest.mark.parametrize("records_per_user", [1, 2, 3, 5])
@pytest.mark.parametrize("epsilon", ["0.25", "0.5", "1", "2", "4"])
@pytest.mark.parametrize("delta", ["0.2", "0.02", "1e-5"])
def test_named_counts_keep_their_budget_on_small_logs(epsilon, delta, records_per_user):
    """Published with the names, the counts cost nothing more, however a user's records lie."""
    mechanism = HeadListMechanism.tight(Budget(epsilon, delta), records_per_user)
    worst = worst_with_counts(mechanism, float(epsilon))
    assert worst <= float(delta) + 1e-14
    # And the claim is not idle: the worst user alone holds all its records, in one of two ways.
    m = records_per_user
    together, apart = (named_alone(mechanism, units) for units in ((m,), (1,) * m))
    assert worst == pytest.approx(max(together, apart), rel=1e-7)
    leak = mechanism.event.singleton_probability
    assert (
        worst * (1 - 1e-9) <= leak <= worst * (1 + m * leak)
    )  # the leak adds up what cannot add up fully


@given(
    st.integers(1, 9),
    st.fractions("1/20", 12, max_denominator=100),
    st.fractions("1/10000000000", "1/2"),
)
def test_leak_is_the_worst_sum_over_all_partitions(records_per_user, epsilon, delta):
    """Convexity puts all units together or all apart; here all partitions are tried."""
    mechanism = HeadListMechanism.tight(Budget(epsilon, delta), records_per_user)
    sums = [
        sum(float(mechanism.release_probability(units)) for units in partition)
        for partition in partitions(records_per_user)
    ]
    leak = headlist_leak(mechanism.noise.scale, mechanism.threshold, records_per_user)
    assert float(leak) == pytest.approx(max(sums), rel=1e-9)
    assert leak <= mechanism.budget.delta


@given(
    st.integers(1, 20),
    st.fractions("1/20", 12, max_denominator=100),
    st.fractions("1/10000000000", "99/100"),
)
def test_tight_threshold_is_the_smallest(records_per_user, epsilon, delta):
    """One lower is refused: it leaks more than delta, or a user's units alone would exceed it."""
    budget, m = Budget(epsilon, delta), records_per_user
    mechanism = HeadListMechanism.tight(budget, m)
    with pytest.raises(InvalidParameter, match="threshold"):
        HeadListDraw(budget, mechanism.noise.scale, mechanism.threshold - 1, m)
    # Both parts of the leak, solved for the threshold.
    b, log_delta = mechanism.noise.scale, math.log(float(delta) * (1 + mechanism.noise.decay))
    bound = max(m, m - 1 - b * log_delta, b * (math.log(m) - log_delta))
    assert mechanism.threshold == math.ceil(bound - 1e-9)


@pytest.mark.parametrize(
    ("epsilon", "records_per_user", "threshold"),
    # By hand: a^6/(1+a) = 5.4e-6 at a = e^-2, a^23/(1+a) = 6.3e-6 at a = e^-1/2. With five records
    # a user: 5 a^32/(1+a) = 8.3e-6 at a = e^-2/5.
    [(4, 1, 6), (1, 1, 23), (2, 2, 24), (4, 5, 32), (1, 5, 125)],
)
def test_tight_thresholds_at_the_usual_delta(epsilon, records_per_user, threshold):
    mechanism = HeadListMechanism.tight(Budget(epsilon, "1e-5"), records_per_user)
    assert mechanism.threshold == threshold


def test_tight_is_never_above_the_papers_threshold():
    for epsilon in ("0.1", "0.5", "1", "2", "4", "8"):
        budget = Budget(epsilon, "1e-5")
        paper, tight = HeadListMechanism.for_budget(budget), HeadListMechanism.tight(budget, 1)
        assert tight.noise == paper.noise
        assert paper.threshold - 1 - 2 / float(epsilon) * math.log(2) <= tight.threshold
        assert tight.threshold <= paper.threshold


def test_enumeration_with_counts_catches_planted_defects():
    budget, delta = Budget("0.5", "0.01"), 0.01
    sound = HeadListMechanism.tight(budget, 3)
    assert worst_with_counts(sound, 0.5) <= delta
    # The threshold one too low.
    assert worst_with_counts(_unchecked(budget, sound.noise, sound.threshold - 1, 3), 0.5) > delta
    # Noise for one record a user, and a threshold that hides single users well enough.
    quiet = DiscreteLaplace.for_epsilon(budget.epsilon, 2)
    assert quiet.tail(sound.threshold + 1 - 3) < delta
    assert worst_with_counts(_unchecked(budget, quiet, sound.threshold, 3), 0.5) > delta
    # A threshold against users whose records are all the same, but not against three records.
    together = next(t for t in range(3, 99) if sound.noise.tail(t + 1 - 3) <= delta)
    assert worst_with_counts(_unchecked(budget, sound.noise, together, 3), 0.5) > delta
    # And the reverse, where epsilon is large.
    large = HeadListMechanism.tight(Budget(4, "0.01"), 3)
    apart = next(t for t in range(3, 99) if 3 * large.noise.tail(t) <= delta)
    assert worst_with_counts(_unchecked(large.budget, large.noise, apart, 3), 4.0) > delta


def test_records_per_user_is_part_of_the_price():
    """An event for one record a user with the noise and threshold for five would be no lie; the
    reverse would be one, and is refused."""
    five, one = (HeadListMechanism.tight(Budget(4, "1e-5"), m) for m in (5, 1))
    HeadListDraw(five.budget, five.noise.scale, five.threshold, 1)
    with pytest.raises(InvalidParameter, match="raise the scale"):
        HeadListDraw(one.budget, one.noise.scale, 10**6, 5)
    with pytest.raises(InvalidParameter, match="at least the 5 units of one user"):
        HeadListDraw(Budget(4, "0.9"), five.noise.scale, 4, 5)
    for no_count in (0, -1, 2.0, True, np.int64(2)):
        with pytest.raises(InvalidParameter, match="records_per_user must be a whole number"):
            HeadListDraw(five.budget, five.noise.scale, five.threshold, no_count)


def test_draw_publishes_the_noisy_counts_of_the_named_records_only():
    mechanism = HeadListMechanism.tight(Budget(4, "1e-5"), 5)
    counts = np.array([1, 10_000, 2, 20_000, 3])
    named = mechanism.draw(counts)
    # Within 80 scales of the counts, and of the threshold: wrong with probability below 1e-12.
    assert named.is_named.tolist() == [False, True, False, True, False]
    assert np.abs(named.noisy_counts - [10_000, 20_000]).max() < 80 * mechanism.noise.scale
    assert named.noisy_counts.shape == (2,)
    nothing = mechanism.draw(np.zeros(0, np.int64))
    assert (nothing.is_named.size, nothing.noisy_counts.size) == (0, 0)


def test_tight_works_for_extreme_budgets_or_says_what_is_wrong():
    assert HeadListMechanism.tight(Budget(4, Fraction(1, 10**330)), 1).threshold == 380
    for m in (1, 3):
        assert HeadListMechanism.tight(Budget(4, "0.999"), m).threshold == m
    with pytest.raises(InvalidParameter, match="delta must be above 0 for a head list"):
        HeadListMechanism.tight(Budget(4), 1)
