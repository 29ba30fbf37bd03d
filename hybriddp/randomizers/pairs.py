"""The laws of a report under two neighbouring records, and how far they are apart."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TYPE_CHECKING

from hybriddp.noise.exponentials import DOWNWARDS, EXACT, exp

if TYPE_CHECKING:
    from hybriddp.randomizers.response import RandomizedResponse

# The laws of a report under two records, cell for cell: (p, q, number of such cells).
LawPair = tuple[tuple[Fraction, Fraction, int], ...]


def two_stage_neighbour_laws(
    query: "RandomizedResponse", urls: Iterable["RandomizedResponse"]
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
