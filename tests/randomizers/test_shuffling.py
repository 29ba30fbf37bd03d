"""Clients among clients: the bound against exact sums, and against what shuffling truly shows."""

import math
from collections import defaultdict
from fractions import Fraction
from itertools import combinations, combinations_with_replacement

import pytest

from hybriddp.errors import InvalidParameter
from hybriddp.randomizers.shuffling import clones_delta, shuffled_epsilon

pytestmark = pytest.mark.exact

Law = dict[tuple[int, ...], float]


def divergence(here: Law, there: Law, epsilon: float) -> float:
    factor = math.exp(epsilon)
    return math.fsum(max(here[x] - factor * there.get(x, 0.0), 0.0) for x in here)


def clones(local: float, n: int) -> tuple[Law, Law]:
    """Both laws of the theorem, outcome by outcome."""
    p, q = math.exp(local) / (math.exp(local) + 1), math.exp(-local)
    here, there = defaultdict(float), defaultdict(float)
    for c in range(n):
        chance = math.comb(n - 1, c) * q**c * (1 - q) ** (n - 1 - c)
        for a in range(c + 1):
            both = chance * math.comb(c, a) / 2**c
            for b, weight in ((1, p), (0, 1 - p)):
                here[a + b, c - a + 1 - b] += both * weight
                there[a + 1 - b, c - a + b] += both * weight
    return here, there


@pytest.mark.parametrize("local", [0.5, 1.0, 2.0, 4.0])
@pytest.mark.parametrize("n", [1, 2, 5, 40])
def test_the_divergence_is_that_of_the_theorem(local, n):
    for epsilon in (0.01, 0.2 * local, 0.7 * local, 0.99 * local):
        true = divergence(*clones(local, n), epsilon)
        assert true <= clones_delta(epsilon, local, n) <= true + 3e-7 * math.exp(local)
    assert clones_delta(local, local, n) == 0.0


def reported(law: list[dict[tuple[int, ...], float]], values: tuple[int, ...]) -> Law:
    """The law of how often each cell is reported by clients with these values."""
    counts: Law = {(0,) * len(next(iter(law[0]))): 1.0}
    for value in values:
        after: Law = defaultdict(float)
        for count, chance in counts.items():
            for report, weight in law[value].items():
                after[tuple(map(sum, zip(count, report, strict=True)))] += chance * weight
        counts = dict(after)
    return counts


def subset_selection(local: float, n_cells: int, size: int) -> list[dict[tuple[int, ...], float]]:
    """Sets of cells as 0 and 1, e^local times as likely if they hold the value."""
    sets = [tuple(int(cell in chosen) for cell in range(n_cells))
            for chosen in combinations(range(n_cells), size)]  # fmt: skip
    laws = []
    for value in range(n_cells):
        weights = {s: math.exp(local) if s[value] else 1.0 for s in sets}
        total = math.fsum(weights.values())
        laws.append({s: weight / total for s, weight in weights.items()})
    return laws


@pytest.mark.parametrize(("n_cells", "size"), [(2, 1), (3, 1), (4, 2)])
@pytest.mark.parametrize("n_others", [1, 3, 5])
def test_what_shuffled_reports_show_is_never_above_the_bound(n_cells, size, n_others):
    """Randomized response and sets of two, whatever the others hold; in both directions."""
    local = 1.5
    law = subset_selection(local, n_cells, size)
    worst = dict.fromkeys((0.1, 0.5, 1.0), 0.0)
    for others in combinations_with_replacement(range(n_cells), n_others):
        here, there = (reported(law, (value, *others)) for value in (0, 1))
        for epsilon in worst:
            worst[epsilon] = max(worst[epsilon], divergence(here, there, epsilon),
                                 divergence(there, here, epsilon))  # fmt: skip
    for epsilon, true in worst.items():
        assert true <= clones_delta(epsilon, local, n_others + 1)
    # Not idle; sets of two say less than the theorem, which knows epsilon alone, must assume.
    assert worst[1.0] > 0.2 * clones_delta(1.0, local, n_others + 1) or size > 1


@pytest.mark.parametrize(
    ("n", "epsilon"), [(10_000, "0.601"), (190_000, "0.1203"), (500_000, "0.0716")]
)
def test_numbers_of_the_specification(n, epsilon):
    assert shuffled_epsilon(Fraction(4), Fraction(1, 10**6), n) == Fraction(epsilon)


def test_epsilon_is_the_least_step_and_falls_with_the_clients():
    local, delta = Fraction(2), Fraction(1, 10**6)
    stated = [shuffled_epsilon(local, delta, n) for n in (1, 100, 1_000, 10_000, 100_000)]
    assert stated == sorted(stated, reverse=True)
    assert stated[0] == local
    least = stated[-1]
    assert clones_delta(float(least), 2.0, 100_000) <= delta
    assert clones_delta(float(least) - 1e-4, 2.0, 100_000) > delta


@pytest.mark.parametrize(
    ("local", "delta", "n"),
    [(4, 0, 10), (4, 1, 10), (0, Fraction(1, 9), 10), (4, Fraction(1, 9), 0)],
)
def test_impossible_questions_are_refused(local, delta, n):
    with pytest.raises(InvalidParameter):
        shuffled_epsilon(Fraction(local), Fraction(delta), n)
