"""What people pay for histograms, from their exact parameters."""

from fractions import Fraction

from hybriddp.params import Budget
from tasks.budget.policy import DELTA_UNITS, EPSILON_UNITS


def part_of(whole: Budget, n_parts: int) -> Budget:
    """Return one of equal parts of a budget, in whole units of the ledger: their sum fits."""
    return Budget(
        Fraction(int(whole.epsilon * EPSILON_UNITS / n_parts), EPSILON_UNITS),
        Fraction(int(whole.delta * DELTA_UNITS / n_parts), DELTA_UNITS),
    )
